"""Which stage every cell is at: stages are obtained through it, and progress is read from it."""

from __future__ import annotations

from bench_plugin.domain.cell import Cell
from bench_plugin.pipeline.stages import Done, Stages, Task


class StageRecorder:
    """Shared by all cells of a run; safe to use from several threads."""

    def __init__(self, stages: Stages) -> None:
        self._stages = stages
        self._at: dict[Cell, str] = {}

    def progress(self, cell: Cell) -> str:
        """The stage that the cell is at; ``waiting`` before its first one."""
        return self._at.get(cell, "waiting")

    def obtain(self, cell: Cell, name: str, task: Task) -> Done:
        """Obtain a stage for a cell, which is at ``name`` meanwhile."""
        self._at[cell] = name
        return self._stages.obtain(task)

    def obtain_for_nobody(self, task: Task) -> Done:
        """Obtain a stage that is credited to no cell."""
        return self._stages.obtain(task)

    def finished(self, cell: Cell) -> None:
        """The cell has its outcome."""
        self._at.pop(cell, None)
