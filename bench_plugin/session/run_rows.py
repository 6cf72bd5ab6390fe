"""The rows of a run: what it may reuse of an earlier one, where its own are written, and what could not be written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Outcome
from bench_plugin.domain.settings import Settings
from bench_plugin.results.begun import BegunCells
from bench_plugin.results.history import archive, folder_of
from bench_plugin.results.resume import reusable_outcomes
from bench_plugin.results.rows import Rows, parse_rows
from bench_plugin.results.writer import ResultsWriter


class RunRows:
    """The rows of one run. Every process of the run has an own one; ``note`` is told what a person should know."""

    def __init__(self, settings: Settings, note: Callable[[str], None]) -> None:
        self._settings = settings
        self._note = note
        self._asked = settings.results
        self._writer = ResultsWriter(settings.results, resume=settings.resume)
        self._lost: list[Mapping[str, Any]] = []
        self._said = False
        self._said_where = False
        self._kept: Path | None = None

    @property
    def path(self) -> Path:
        """The file with the rows: the one that was asked for, or one in a folder of the run's own beside it."""
        return self._kept or self._writer.path

    @property
    def unwritten(self) -> Sequence[Mapping[str, Any]]:
        """Rows that could not be written, of this process and of the workers that are over."""
        return [*self._lost, *self._writer.unwritten]

    @property
    def trouble(self) -> str:
        """Why rows could not be written; empty where all were."""
        return self._writer.trouble

    @cached_property
    def reusable(self) -> Mapping[str, Outcome]:
        """What ``--bench-resume`` may reuse, by the key of the row. Raises UsageError for a file that has no rows."""
        if not self._settings.resume or not self._asked.is_file():
            return {}
        return reusable_outcomes(self._asked, self._note)

    def begin(self, opener: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write the first rows, unless another process of the run did. Raises UsageError where that is not possible."""
        try:
            self._writer.begin(opener, rows)
        except OSError as error:
            where = error.filename or self._writer.path
            raise UsageError(f"--bench-results: {where} cannot be written: {error.strerror or error}") from error
        self._say_where()

    def join(self, opener: str) -> bool:
        """Whether workers of pytest-xdist have begun these rows; if so, they are also those of this process."""
        if not self._writer.join(opener):
            return False
        self._say_where()
        return True

    def append(self, row: Mapping[str, Any]) -> None:
        """Append a row. One that cannot be written is kept until the end, and the run says so once."""
        self._writer.append(row)
        if self._writer.unwritten and not self._said:
            self._said = True
            self._note(f"{self.path}: {self._writer.trouble}; the run goes on and keeps its rows until there is room")

    def begin_cell(self, row: Mapping[str, Any]) -> None:
        """Note the row that a cell gets if this worker is killed while it computes it."""
        try:
            self._begun.begin(row)
        except OSError as error:
            if not self._said:
                self._said = True
                self._note(f"{self.path.parent}: {error.strerror}; a cell whose worker is killed now gets no row")

    def add_begun(self, nodeid: str) -> bool:
        """Append the row of a cell whose worker was killed; returns whether there was one."""
        row = self._begun.take(nodeid)
        if row is not None:
            self.append(row)
        return row is not None

    def add_unwritten(self, texts: Iterable[str]) -> None:
        """Take over the rows, as JSON, that a worker could not write."""
        self._lost += [json.loads(text) for text in texts]

    def flush(self) -> None:
        """Try once more to write what could not be written."""
        lost, self._lost = self._lost, []
        for row in lost:
            self._writer.append(row)
        self._writer.flush()

    def read(self) -> Rows:
        """All rows of the run at its end, also those that could not be written. Raises UsageError."""
        self.flush()
        found = parse_rows(self.path)
        if not found.rows and not self.unwritten:
            raise UsageError(f"{self.path}: there is no row in it")
        return Rows((*found.rows, *map(dict, self.unwritten)), found.notes)

    def keep(self) -> None:
        """Move the rows of a run that found the file in use to the history, now that it is over."""
        if self._writer.path == self._asked or not self._writer.path.exists():
            return
        try:
            self._kept = archive(self._writer.path, folder_of(self._asked))
        except OSError as error:
            self._note(f"{self._writer.path} cannot be moved to the history: {error.strerror}; the next run does it")

    def close(self) -> None:
        """Give the file free for other runs."""
        self._begun.end()
        self._writer.close()

    @property
    def _begun(self) -> BegunCells:
        return BegunCells(self._writer.path)

    def _say_where(self) -> None:
        if self._writer.occupied_by and not self._said_where:
            self._said_where = True
            self._note(
                f"{self._asked} is in use by the run {self._writer.occupied_by}, which is not over; this run writes to "
                f"{self._writer.path.parent} and its rows move to {folder_of(self._asked)} when it ends"
            )
