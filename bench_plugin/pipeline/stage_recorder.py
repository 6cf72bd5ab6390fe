"""The stage recorder: cells obtain their stages through it, so it knows the stage that each cell is at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from bench_plugin.domain.cell import Cell
from bench_plugin.pipeline.admission import Admission
from bench_plugin.pipeline.stages import Done, Stages, Task
from bench_plugin.reach.processes.leased_agent import LeasedAgent, Limits


class StageRecorder:
    """Obtains stages and records the current one of every cell of a run; safe to use from several threads.

    Before each stage it lets those go first who want the machine alone.
    """

    def __init__(self, stages: Stages, admission: Admission | None = None) -> None:
        self._stages = stages
        self._admission = admission or Admission()
        self._at: dict[Cell, str] = {}

    def progress(self, cell: Cell) -> str:
        """The stage that the cell is at; before its first one ``waiting``, and what is computed meanwhile."""
        at = dict(self._at)
        if cell in at:
            return at[cell]
        others = "; ".join(f"{other.id}: {stage}" for other, stage in at.items())
        return f"waiting while others are computed ({others})" if others else "waiting"

    def obtain(self, cell: Cell, name: str, task: Task, *, fresh: bool = False) -> Done:
        """Obtain a stage for a cell, made by a ``fresh`` process if asked; meanwhile the cell's progress is ``name``.

        Raises EnvironmentMissing when the stage's toolchain cannot be installed.
        """
        self.at(cell, name)
        self._admission.pause()
        return self._stages.obtain(task, fresh=fresh)

    def obtain_for_nobody(self, task: Task) -> Done:
        """Obtain a stage that is credited to no cell."""
        return self._stages.obtain(task)

    def apart(
        self, cell: Cell, name: str, task: Task, make: Callable[[LeasedAgent, Limits], Done], *, only: str = ""
    ) -> Done:
        """What ``make`` gives for a cell with a fresh agent, never stored; meanwhile the cell's progress is ``name``.

        ``only`` names the board that it must be, where the cell was on it before.
        Raises EnvironmentMissing when the task's toolchain cannot be installed.
        """
        self.at(cell, name)
        return self._stages.apart(task, make, only=only)

    def apart_ahead(
        self, cell: Cell, name: str, task: Task, roles: Sequence[str]
    ) -> AbstractContextManager[Callable[[], None]]:
        """What starts fresh agents for the next :meth:`apart` of a cell side by side, one for each role of the task."""
        self.at(cell, name)
        return self._stages.apart_ahead(task, roles)

    def at(self, cell: Cell, name: str) -> None:
        """Note what the cell does now, where that is no stage."""
        self._at[cell] = name

    def finished(self, cell: Cell) -> None:
        """Forget the progress of a cell that has its outcome."""
        self._at.pop(cell, None)
