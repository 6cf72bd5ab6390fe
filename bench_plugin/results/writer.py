"""The writer of a run's rows: one file per run, opened once by however many processes share the run."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench_plugin.results.history import archive, run_of_file


class ResultsWriter:
    """Appends rows; the file is made with the first one. Several processes may write to one file.

    Without ``resume`` a file that is there moves to the history (:mod:`bench_plugin.results.history`) when the run is
    opened. A resumed run continues the run of the file: it keeps its id.
    """

    def __init__(self, path: Path, *, resume: bool) -> None:
        self._path = path
        self._resume = resume
        self._file: int | None = None

    def begin(self, opener: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write the opening rows, once per ``opener``: of several processes of one run the first does it."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.with_suffix(".run").open("a+") as opened:
            fcntl.flock(opened, fcntl.LOCK_EX)
            opened.seek(0)
            if opened.read() == opener:
                return
            continued = ""
            if self._path.exists():
                if self._resume:
                    continued = run_of_file(self._path)
                else:
                    archive(self._path)
            for row in rows:
                self.append({**row, "run": continued} if continued and row["kind"] == "header" else row)
            opened.truncate(0)
            opened.write(opener)

    def append(self, row: Mapping[str, Any]) -> None:
        """One row, whole or not at all: one write under a lock, behind a line that a killed run may have cut."""
        data = json.dumps(row, allow_nan=False).encode() + b"\n"
        file = self._open()
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            size = os.fstat(file).st_size
            if size and os.pread(file, 1, size - 1) != b"\n":
                data = b"\n" + data
            written = os.write(file, data)
            if written != len(data):
                raise OSError(f"{self._path}: only {written} of {len(data)} bytes of a row were written")
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)

    def _open(self) -> int:
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        return self._file


def opener_of(path: Path) -> str:
    """What :meth:`ResultsWriter.begin` was last told for a results file; empty when there is none."""
    try:
        return path.with_suffix(".run").read_text("utf-8")
    except OSError:
        return ""
