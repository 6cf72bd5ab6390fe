"""Series over time as side files beside a results file, ``series/<sha256>.npy``: named by their content.

A row names them in ``numbers["series"]``. Rows of the history and of runs beside a results file name the same folder.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_plugin.domain.errors import BenchError

if TYPE_CHECKING:
    import numpy as np

    Values = np.ndarray[Any, Any]

FOLDER = "series"
NAMED = re.compile(rb"series/([0-9a-f]{64})\.npy")
FRESH = 24 * 3600.0  # seconds: a file may be that much older than the row that will name it
PARTIAL = ".partial"


class SeriesUnreadable(BenchError):
    """A side file is missing or damaged; the text says which one, and how."""


def keep(folder: Path, series: Mapping[str, Values]) -> dict[str, dict[str, Any]]:
    """Write series [n, ...] below ``folder``, that of the results file; returns what the row says of each.

    That is ``file``, relative to the folder, and ``samples``, which is n. The same values are one file. Raises OSError.
    """
    found: dict[str, dict[str, Any]] = {}
    for name, values in series.items():
        data = _written(values)
        path = folder / FOLDER / f"{hashlib.sha256(data).hexdigest()}.npy"
        _store(path, data)
        found[name] = {"file": f"{FOLDER}/{path.name}", "samples": len(values)}
    return found


def add(folder: Path, name: str, data: bytes) -> None:
    """Keep a side file that another machine wrote, under the ``name`` that its row has.

    Raises SeriesUnreadable for a name or a content that is not that of a series, and OSError.
    """
    if not NAMED.fullmatch(name.encode()) or hashlib.sha256(data).hexdigest() != Path(name).stem:
        raise SeriesUnreadable(f"{name!r} with {len(data)} bytes is not a series; its name must be that of its content")
    _store(folder / name, data)


def described(kept: Mapping[str, Mapping[str, Any]], about: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """``numbers["series"]`` of a row: what :func:`keep` returned, with what the agent says of each series in ``about``.

    The file with the times of a series is beside that with its values, as ``times``; a series without a value has no
    file, and says so by ``samples``, which is 0.
    """
    found: dict[str, Any] = {}
    for name in [*kept, *(name for name in about if name not in kept)]:
        series, _, times = name.rpartition(".")
        if times == "time" and series in kept:
            continue
        found[name] = {**about.get(name, {}), **kept.get(name, {})}
        if f"{name}.time" in kept:
            found[name]["times"] = kept[f"{name}.time"]["file"]
    return found


def read(results: Path, entry: Mapping[str, Any], key: str = "file") -> Values:
    """The values [n, ...] of a series that a row of the file ``results`` names; its times [n] with ``key="times"``.

    Raises SeriesUnreadable for a file that is missing, or whose content is not what its name says.
    """
    import numpy as np

    name = str(entry.get(key, ""))
    if not NAMED.fullmatch(name.encode()):
        raise SeriesUnreadable(f"{results.name}: {name!r} is not the name of a series; expected {FOLDER}/<sha256>.npy")
    path = _located(results, name)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise SeriesUnreadable(f"{path} is missing; the series was removed, or not copied with its results") from None
    except OSError as error:
        raise SeriesUnreadable(f"{path} cannot be read: {error.strerror}") from error
    digest = hashlib.sha256(data).hexdigest()
    if digest != path.stem:
        raise SeriesUnreadable(f"{path} is damaged: its {len(data)} bytes have the digest {digest[:12]}…")
    try:
        values: Values = np.load(io.BytesIO(data), allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise SeriesUnreadable(f"{path} is no array: {error}") from error
    return values


def trouble(results: Path, entry: Mapping[str, Any]) -> str:
    """Why the side files of a series cannot be used, for a report; empty where they are whole."""
    try:
        for key in ("file", "times"):
            if key in entry:
                read(results, entry, key)
    except SeriesUnreadable as error:
        return str(error)
    return ""


def troubles(results: Path, rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """One remark for a person on the side files that rows name and that cannot be used; none where all are whole."""
    entries = [one for row in rows for one in ((row.get("numbers") or {}).get("series") or {}).values()]
    found = [text for one in entries if (text := trouble(results, one))]
    return [f"{len(found)} of {len(entries)} series cannot be read; the first: {found[0]}"] if found else []


def copied(name: str, sources: Iterable[Path], folder: Path) -> bool:
    """Copy a side file from beside one of the results files ``sources`` below ``folder``; whether it is there, whole.

    Raises OSError where it cannot be written.
    """
    if not NAMED.fullmatch(name.encode()):
        return False
    for source in sources:
        try:
            data = _located(source, name).read_bytes()
        except OSError:
            continue
        if hashlib.sha256(data).hexdigest() == Path(name).stem:
            _store(folder / name, data)
            return True
    return False


def folders(results: Path) -> tuple[Path, Path]:
    """Where the side files of a results file can be: beside it, or above it, for one of the history or of a run beside.

    >>> [str(path) for path in folders(Path("reports/history/a.jsonl"))]
    ['reports/history/series', 'reports/series']
    """
    return results.parent / FOLDER, results.parent.parent / FOLDER


def remove_unnamed(folder: Path, files: Iterable[Path]) -> list[Path]:
    """Remove the side files below ``folder`` that no row in ``files`` names; returns what was removed.

    Those that are younger than a day stay, because the cell that they are of may not have its row yet. A results file
    that cannot be read keeps all of them. Raises OSError.
    """
    limit = time.time() - FRESH
    old = [path for path in _side_files(folder) if path.stat().st_mtime < limit]
    if not old:
        return []
    named = {name.decode() for path in files for name in NAMED.findall(path.read_bytes())}
    unnamed = [path for path in old if path.stem not in named]
    for path in unnamed:
        path.unlink(missing_ok=True)
    return unnamed


def _side_files(folder: Path) -> list[Path]:
    found = sorted((folder / FOLDER).glob("*.npy"))
    return [*found, *sorted((folder / FOLDER).glob(f"*{PARTIAL}"))]


def _located(results: Path, name: str) -> Path:
    """The path of a side file; where it is nowhere, the one beside the results file."""
    paths = [folder.parent / name for folder in folders(results)]
    return next((path for path in paths if path.exists()), paths[0])


def _written(values: Values) -> bytes:
    import numpy as np

    file = io.BytesIO()
    np.save(file, values, allow_pickle=False)
    return file.getvalue()


def _store(path: Path, data: bytes) -> None:
    """Write a side file by an atomic rename; one that is there and whole only becomes young again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == path.stem:
        os.utime(path)
        return
    partial = path.with_name(f"{path.stem}.{os.getpid()}-{threading.get_ident()}{PARTIAL}")
    try:
        partial.write_bytes(data)
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
