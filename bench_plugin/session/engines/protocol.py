"""The protocol of an engine: what computes the cells of a run, while pytest waits for each in turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Protocol

from bench_plugin.domain.cell import Cell
from bench_plugin.domain.outcome import Outcome
from bench_plugin.domain.settings import Settings
from bench_plugin.session.basis import Basis

Note = Callable[[str], None]


class Engine(Protocol):
    """Computes every cell once. Its rows are written by the process that asks for them, never by the engine."""

    def tolerances(self, overrides: Mapping[Cell, Mapping[str, float]]) -> None:
        """Set the tolerances of cells whose tests have a marker, before :meth:`plan`."""

    def slowdowns(self, marked: Mapping[Cell, float]) -> None:
        """Set by what share cells whose tests have a marker may be slower than the run of ``--bench-against``."""

    def plan(self, cells: Sequence[Cell]) -> None:
        """Start to compute these cells ahead, in their order."""

    def future(self, cell: Cell) -> Future[Outcome]:
        """The future outcome of a cell, which is computed next, whether it was planned or not."""

    def progress(self, cell: Cell) -> str:
        """What the cell is at now, in a few words."""

    def close(self) -> None:
        """Cancel the waiting cells, end every process that the engine started, and wait for its threads."""


Begin = Callable[[Settings], Engine]


class EngineModule(Protocol):
    """A file of this folder that is the name of an engine (domain/settings.py has the list)."""

    @staticmethod
    def prepared(basis: Basis, note: Note, cells: Sequence[Cell]) -> Begin:
        """What makes the engine for these cells, once rows can be written and the settings are final.

        Whatever would keep every cell from being computed is found now, before the rows of an earlier run are replaced.
        Raises UsageError and EnvironmentMissing.
        """
