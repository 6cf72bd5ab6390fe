"""What a merged results file takes along: series and logs, each copied under the name of its content."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench_plugin.domain.paths import LOGS
from bench_plugin.results.rows import Row
from bench_plugin.results.series import copied


class Logs:
    """The logs of rows of several files. A row names its log as the machine did that wrote it; it may be elsewhere."""

    def __init__(self) -> None:
        self._names: dict[Path, str] = {}
        self._found: dict[str, Path] = {}

    def named(self, row: Mapping[str, Any], results: Path) -> Row:
        """The row of a file ``results`` with the name that its log has in a merged file, ``logs/<digest>.log``.

        It stays as it is where the log is not at hand.
        """
        path = _located(str(row.get("log") or ""), results)
        if path is None:
            return dict(row)
        if path not in self._names:
            self._names[path] = f"{LOGS}/{hashlib.sha256(path.read_bytes()).hexdigest()[:32]}.log"
            self._found[self._names[path]] = path
        return {**row, "log": self._names[path]}

    def copy(self, rows: Iterable[Mapping[str, Any]], folder: Path) -> None:
        """Copy the logs that these rows name below ``folder``. Raises OSError."""
        for name in sorted({str(row.get("log") or "") for row in rows} & self._found.keys()):
            _copy(self._found[name], folder / name)


def copy_series(rows: Sequence[Mapping[str, Any]], sources: Sequence[Path], folder: Path) -> list[str]:
    """Copy the series that the rows name from beside the results files ``sources``; returns sentences on missing ones.

    Raises OSError.
    """
    names = {
        str(entry[key])
        for row in rows for entry in ((row.get("numbers") or {}).get("series") or {}).values()
        for key in ("file", "times") if key in entry
    }  # fmt: skip
    lost = [name for name in sorted(names) if not copied(name, sources, folder)]
    return [f"{len(lost)} of {len(names)} series are missing or damaged; the first: {lost[0]}"] if lost else []


def _located(log: str, results: Path) -> Path | None:
    """The file of a log: where the row says, or in the folder of logs of its results file or of the folder above."""
    if not log:
        return None
    folders = (results.parent, results.parent.parent)
    places = [Path(log)] if Path(log).is_absolute() else []
    places += [folder / LOGS / Path(log).name for folder in folders]
    return next((path for path in places if path.is_file()), None)


def _copy(source: Path, to: Path) -> None:
    if to.exists():
        return
    to.parent.mkdir(parents=True, exist_ok=True)
    partial = to.with_name(f".{to.name}.{os.getpid()}")
    try:
        shutil.copyfile(source, partial)
        partial.replace(to)
    finally:
        partial.unlink(missing_ok=True)
