"""Notes on begun cells: the row that a cell gets if the process that computes it ends before it has a verdict.

pytest-xdist's controller knows of a killed worker only the node id that it ran. So every worker notes the row of the
cell that it begins, in a file of its own beside the results, and the controller writes the row of the one that is lost.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any


class BegunCells:
    """The notes of all processes of a run whose rows are in ``results``."""

    def __init__(self, results: Path) -> None:
        self._results = results
        self._own = results.with_name(f".{results.name}.{os.getpid()}.begun")

    def begin(self, row: Mapping[str, Any]) -> None:
        """Note the row that the cell gets if this process ends now. Raises OSError."""
        self._own.write_text(json.dumps(row), "utf-8")

    def forget(self) -> None:
        """Remove the notes of all processes: a run begins, and those of the run before it are gone."""
        for path in self._files():
            path.unlink(missing_ok=True)

    def end(self) -> None:
        """Remove the note of this process, which computes no cell any more."""
        with suppress(OSError):  # there is none where nothing can be written
            self._own.unlink()

    def take(self, nodeid: str) -> Mapping[str, Any] | None:
        """The row of a cell whose process is gone, and forget it; None where nothing was noted."""
        for path, row in self._noted():
            if _same(str(row.get("nodeid")), nodeid):
                path.unlink(missing_ok=True)
                return row
        return None

    def _noted(self) -> Iterator[tuple[Path, Mapping[str, Any]]]:
        for path in self._files():
            try:
                row = json.loads(path.read_bytes())
            except (OSError, ValueError):  # its process ended while it wrote it, before it began the cell
                continue
            if isinstance(row, dict):
                yield path, row

    def _files(self) -> list[Path]:
        return sorted(self._results.parent.glob(f".{self._results.name}.*.begun"))


def _same(one: str, other: str) -> bool:
    """Whether two node ids are of one test: relative to two folders, the longer one ends with the shorter one."""
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")
