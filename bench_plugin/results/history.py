"""The history: results files of earlier runs, ``history/<run id>.jsonl`` beside the results file.

The last ten runs are kept, and also the last run that computed every cell of its profile, however old it is: runs that
were narrowed or ended early do not replace it.

A run that found the results file in use writes to ``run-<run id>/`` beside it, where its logs and pages are too. Its
rows move to the same history when it ends.

The side files that rows name (results/series.py) stay as long as one of these files names them.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench_plugin.domain.errors import UsageError
from bench_plugin.results.opening import opened
from bench_plugin.results.rows import read_rows
from bench_plugin.results.series import remove_unnamed

KEPT = 10
BESIDE = "run-"  # begins the name of a folder of a run that found the results file in use
SHORTEST = 4  # the fewest characters of a key or a run id that may stand for the whole


def new_run_id() -> str:
    """A run id: UTC date and time and six random hex digits, so that ids sort by time."""
    return f"{datetime.now(UTC).strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"


def folder_of(results: Path) -> Path:
    """The folder of the earlier runs of a results file."""
    return results.parent / "history"


def folder_beside(results: Path, run: str) -> Path:
    """The folder of a run that found a results file in use."""
    return results.parent / f"{BESIDE}{run}"


def files_beside(results: Path) -> list[Path]:
    """The files of runs that found a results file in use, and are not over or were killed; oldest first."""
    return sorted(results.parent.glob(f"{BESIDE}*/{results.name}"))


def run_of_file(path: Path) -> str:
    """The run id in the first row of a results file; empty when there is none or the row cannot be read."""
    try:
        with opened(path) as file:
            header = json.loads(file.readline())
    except (OSError, ValueError):
        return ""
    return str(header.get("run", "")) if isinstance(header, dict) else ""


def archive(path: Path, folder: Path) -> Path:
    """Move a results file to the history in ``folder`` in one step, prune it, and return the new path.

    A file without a run id, from an older version, gets one from the time of its last change. Raises OSError.
    """
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(path.stat().st_mtime))
    kept = folder / f"{run_of_file(path) or f'{stamp}-000000'}.jsonl"
    folder.mkdir(exist_ok=True)
    os.replace(path, kept)
    _prune(folder)
    with suppress(OSError):  # what could not be removed is tried again when the next run begins
        remove_unnamed(folder.parent, _all_files(folder.parent))
    return kept


def earlier_runs(results: Path) -> list[Path]:
    """The files of the history, newest first."""
    return sorted(folder_of(results).glob("*.jsonl"), reverse=True)


def find_row(cell: str, results: Path) -> Mapping[str, Any]:
    """The last row with that key, unique beginning of a key, or node id, in the newest run that has one.

    Raises UsageError when no run has it, or several keys of a run begin with it.
    """
    counts = []
    for path in _files(results) or [results]:  # reading what is not there says so
        cells = [row for row in read_rows(path).rows if row["kind"] == "cell"]
        if found := _matching(cells, cell, path):
            return found[-1]
        counts.append(f"{path} ({len(cells)} cells)")
    raise UsageError(f"{cell}: no cell of a run has this key or node id; looked in {', '.join(counts)}")


def find_run(name: str, results: Path) -> Path:
    """The results file that ``name`` means: a path, a run id beside ``results``, or a unique beginning of a run id.

    Raises UsageError when there is none, or there are several.
    """
    if Path(name).is_file():
        return Path(name)
    runs = {run: path for path in _files(results) if (run := run_of_file(path) or path.stem)}
    found = [path for run, path in runs.items() if run == name]
    if not found and len(name) >= SHORTEST:
        found = [path for run, path in runs.items() if run.startswith(name)]
    if len(found) > 1:
        raise UsageError(f"{name}: {len(found)} runs begin so; give more of the run id")
    if not found:
        known = ", ".join(runs) or "none"
        raise UsageError(f"{name}: neither a results file nor a run id; runs beside {results}: {known}")
    return found[0]


def _files(results: Path) -> list[Path]:
    """The results file, where there is one, and those of the history, newest first."""
    return [*([results] if results.exists() else []), *earlier_runs(results)]


def _matching(cells: Sequence[Mapping[str, Any]], cell: str, path: Path) -> list[Mapping[str, Any]]:
    found = [row for row in cells if cell in (row["key"], row["nodeid"])]
    if not found and len(cell) >= SHORTEST:
        found = [row for row in cells if row["key"].startswith(cell)]
        if len({row["key"] for row in found}) > 1:
            raise UsageError(f"{cell}: {len(found)} cells of {path} begin so; give more of the key")
    return found


def _all_files(folder: Path) -> list[Path]:
    """Every file of rows in the folder of a results file: other results files too, the history, and runs beside."""
    return [path for pattern in ("*.jsonl", "history/*.jsonl", f"{BESIDE}*/*.jsonl") for path in folder.glob(pattern)]


def _prune(folder: Path) -> None:
    runs = sorted(folder.glob("*.jsonl"), reverse=True)
    old = runs[KEPT:]
    if not old:
        return
    full = next((path for path in runs if _is_full(path)), None)
    for path in old:
        if path != full:
            path.unlink()
            shutil.rmtree(folder.parent / f"{BESIDE}{path.stem}", ignore_errors=True)  # its logs and pages, if any


def _is_full(path: Path) -> bool:
    """Whether every cell of the run's profile has a row, which for most files the number of lines shows."""
    lines = path.read_bytes().splitlines()
    try:
        total: int = max(json.loads(line).get("total", 0) for line in lines if b'"kind": "plan"' in line)
        if len(lines) < total:
            return False
        rows = read_rows(path).rows
    except (ValueError, UsageError):  # no plan either
        return False
    return 0 < total <= len({row["key"] for row in rows if row["kind"] == "cell"})
