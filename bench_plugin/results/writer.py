"""The writer of a run's rows, into one file that all processes of the run share and that no other run writes to."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.texts.masking import clean
from bench_plugin.results.begun import BegunCells
from bench_plugin.results.history import archive, files_beside, folder_beside, folder_of, run_of_file
from bench_plugin.results.rows import of_run

ENCODER = json.JSONEncoder(allow_nan=False)  # made once: a run writes thousands of rows
WAIT = 5.0  # seconds; the workers of a killed pytest-xdist live a little longer than their controller
LOOK = 0.1  # seconds


class ResultsWriter:
    """Appends rows to a file, which is created with the first row. Several processes of a run may write to it.

    Without ``resume`` an existing file moves to the history (:mod:`bench_plugin.results.history`) when the run begins.
    With ``resume`` the run continues that of the file and keeps its id; it waits at most ``wait`` seconds for the
    processes of the run before it to end.

    ``path`` is the file with the rows. While another run writes to the one that was asked for, that is a file of the
    same name in a folder of this run's own beside it, and ``occupied_by`` is the id of the other run. Every process
    of a run holds a shared flock(2) on ``path`` for its life, so that the lock of a dead run is gone with it.
    ``unwritten`` are rows that could not be written, for the reason in ``trouble``; they are tried again with the next.
    Every row gets the id of the run.
    """

    def __init__(self, path: Path, *, resume: bool, wait: float = WAIT) -> None:
        self.path = path
        self.occupied_by = ""
        self.unwritten: list[Mapping[str, Any]] = []
        self.trouble = ""
        self._asked = path
        self._resume = resume
        self._wait = wait
        self._file: int | None = None
        self._run = ""

    def begin(self, opener: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write the first rows, once per ``opener``: only the first of several processes of a run writes them.

        Raises OSError when they cannot be written, and UsageError when a file is to be resumed that another run uses.
        """
        self._asked.parent.mkdir(parents=True, exist_ok=True)
        deadline = time.monotonic() + self._wait
        while True:
            with _gate(self._asked):
                if self.join(opener):
                    return
                free = not in_use(self._asked)
                if free or not self._resume:
                    self._open_new(opener, rows, free=free)
                    return
            if time.monotonic() > deadline:
                other = run_of_file(self._asked)
                raise UsageError(
                    f"--bench-resume: {self._asked} is in use by the run {other}, which is not over; wait for its end, "
                    "or leave the option out, which writes to another file"
                )
            time.sleep(LOOK)

    def join(self, opener: str) -> bool:
        """Write to the file of ``opener``, if one of its processes has begun one; returns whether there is one."""
        path = file_of(self._asked, opener)
        if path is None:
            return False
        self._move_to(path)
        self._open()
        self._run = run_of_file(self.path)
        return True

    def append(self, row: Mapping[str, Any]) -> None:
        """Append one row completely or not at all, on a new line after an incomplete one.

        It is written without secrets and half characters (domain/texts/masking.py). One that cannot be written is kept
        in ``unwritten``. Raises ValueError or TypeError for a row that JSON cannot hold, which is not kept.
        """
        own = of_run(row, self._run)
        data = _encoded(own)
        self.flush()
        if self.unwritten or not self._tried(data):
            self.unwritten.append(own)

    def flush(self) -> None:
        """Write the rows that could not be written before, in their order."""
        while self.unwritten:
            if not self._tried(_encoded(self.unwritten[0])):
                return
            del self.unwritten[0]

    def _tried(self, data: bytes) -> bool:
        """Whether a row could be written; if not, ``trouble`` says why."""
        try:
            self._write(data)
        except OSError as error:
            self.trouble = error.strerror or str(error)
            return False
        return True

    def close(self) -> None:
        """Write what is left and give the file free, for other runs."""
        self.flush()
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _open_new(self, opener: str, rows: Sequence[Mapping[str, Any]], *, free: bool) -> None:
        """Open the file for a new run and write its first rows. The caller holds the gate of the file asked for."""
        self._run = next((str(row["run"]) for row in rows if row["kind"] == "header"), opener)
        if free:
            _tidy(self._asked)
            if self._asked.exists() and self._resume:
                self._run = run_of_file(self._asked) or self._run
            elif self._asked.exists():
                archive(self._asked, folder_of(self._asked))
        else:
            own = folder_beside(self._asked, self._run)
            own.mkdir()
            self._move_to(own / self._asked.name)
        self._open()
        for row in rows:
            self._write(_encoded(of_run(row, self._run)), gated=free)
        _gate_of(self.path).write_text(opener, "utf-8")

    def _move_to(self, path: Path) -> None:
        if path != self._asked:
            self.path, self.occupied_by = path, run_of_file(self._asked) or "its id is not known"

    def _write(self, data: bytes, *, gated: bool = False) -> None:
        """Write one row, under the file's gate unless the caller holds it. Raises OSError, and leaves no part of it."""
        file = self._open()
        if gated:
            _append(file, memoryview(data))
            return
        with _gate(self.path):
            _append(file, memoryview(data))

    def _open(self) -> int:
        if self._file is None:
            self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
            fcntl.flock(self._file, fcntl.LOCK_SH)
        return self._file


def file_of(results: Path, opener: str) -> Path | None:
    """The file with the rows of the run that ``opener`` began for ``results``; None when it has not begun."""
    return next((path for path in (results, *files_beside(results)) if _opener_of(path) == opener), None)


def in_use(path: Path) -> bool:
    """Whether a process that is alive writes to a results file. Raises OSError when the file cannot be opened."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def _tidy(results: Path) -> None:
    """Move the files of runs that were killed while they wrote beside ``results`` to the history, and drop notes."""
    BegunCells(results).forget()
    for path in files_beside(results):
        if not in_use(path):
            archive(path, folder_of(results))


def _encoded(row: Mapping[str, Any]) -> bytes:
    """The line of a row. Raises ValueError or TypeError for values that JSON does not have."""
    return ENCODER.encode(clean(row)).encode() + b"\n"


def _append(file: int, data: memoryview) -> None:
    size = os.fstat(file).st_size
    if size and os.pread(file, 1, size - 1) != b"\n":
        data = memoryview(b"\n" + data)
    try:
        while data:  # a disk that is nearly full takes a part, and says at the next part what is wrong
            data = data[os.write(file, data) :]
    except OSError:
        os.ftruncate(file, size)
        raise


@contextmanager
def _gate(results: Path) -> Iterator[None]:
    """The lock under which processes open a results file and append to it, one at a time."""
    file = os.open(_gate_of(results), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _gate_of(results: Path) -> Path:
    """The file that is locked while a results file is opened or appended to; its text is the opener."""
    return results.with_name(f"{results.name}.run")


def _opener_of(results: Path) -> str:
    try:
        return _gate_of(results).read_text("utf-8", "replace")
    except OSError:
        return ""
