"""A history of runs beside a results file, and its index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench_plugin.results.index.making import Made, index_of, update
from tests.results.nights import Row, night, run_id, write


class History:
    """Runs in ``reports/history``, as the plugin keeps them; ``notes`` are what indexing told."""

    def __init__(self, folder: Path) -> None:
        self.results = folder / "reports/results.jsonl"
        self.index = index_of(self.results)
        self.notes: list[str] = []

    def add(self, number: int, *cells: Row, **more: Any) -> Path:
        """A run that is over and in the history."""
        return write(self.results.parent / "history" / f"{run_id(number)}.jsonl", night(number, *cells, **more))

    def update(self, *sources: Path, **more: Any) -> Made:
        return update(self.index, sources, self.results, self.notes.append, **more)


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path)
