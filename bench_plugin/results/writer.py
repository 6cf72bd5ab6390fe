"""The writer of a run's rows, into one file that all processes of the run share."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench_plugin.domain.masking import clean
from bench_plugin.results.history import archive, run_of_file

ENCODER = json.JSONEncoder(allow_nan=False)  # made once: a run writes thousands of rows


class ResultsWriter:
    """Appends rows to a file, which is created with the first row. Several processes may write to the same file.

    Without ``resume`` an existing file moves to the history (:mod:`bench_plugin.results.history`) when the run begins.
    With ``resume`` the run continues that of the file and keeps its id.
    """

    def __init__(self, path: Path, *, resume: bool) -> None:
        self._path = path
        self._resume = resume
        self._file: int | None = None

    def begin(self, opener: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write the first rows, once per ``opener``: only the first of several processes of a run writes them.

        Raises OSError as :meth:`append` does.
        """
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
        """Append one row completely or not at all: in one write, under a lock, on a new line after an incomplete one.

        The row is written without secrets and half characters (domain/masking.py).

        Raises OSError when the row cannot be written, for instance because the disk is full.
        """
        data = ENCODER.encode(clean(row)).encode() + b"\n"
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
    """The ``opener`` of the last :meth:`ResultsWriter.begin` for a results file; empty when there is none."""
    try:
        return path.with_suffix(".run").read_text("utf-8")
    except OSError:
        return ""
