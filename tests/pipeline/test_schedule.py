"""The order in which cells are computed: what a test waits for, then the lane with the most work ahead."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

import pytest

from bench_plugin.agent.measure import resident
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.outcome import Outcome, Status
from bench_plugin.pipeline.schedule import Need, Schedule

SHORT = [Cell(Check.EXPORT, f"short{number}", "pytorch") for number in range(2)]
LONG = [Cell(Check.EXPORT, f"long{number}", "tensorflow") for number in range(3)]
SMALL = [Cell(Check.EXPORT, f"small{number}", "mxnet") for number in range(4)]


class Recorded:
    """A schedule of one thread that waits in its first cell until ``go`` is set, and what it computed."""

    def __init__(self, planned: Sequence[Cell], *, brief: bool = False) -> None:
        self.go = threading.Event()
        self.order: list[str] = []
        self._brief = brief
        self.schedule = Schedule(self._compute, self._need, jobs=1, memory=100)
        self.schedule.plan(planned)

    def finish(self, cells: Sequence[Cell]) -> list[str]:
        """Let the thread go on, wait for the cells, and return the models in the order of their computation."""
        self.go.set()
        for cell in cells:
            self.schedule.future(cell).result(10)
        return self.order

    def _compute(self, cell: Cell, others: Mapping[Cell, Outcome]) -> Outcome:
        self.order.append(cell.model)
        assert self.go.wait(10)
        return Outcome(Status.SUPPORTED)

    def _need(self, cell: Cell) -> Need:
        memory = 1 if cell in SMALL else 4
        return Need(cell.framework, memory, brief=self._brief and cell in LONG)


@pytest.mark.parametrize(("brief", "first"), [(False, "long0"), (True, "short0")])
def test_the_lane_with_most_work_comes_first(brief: bool, first: str) -> None:
    made = Recorded([*SMALL, *SHORT, *LONG], brief=brief)
    assert made.finish([*SMALL, *SHORT, *LONG])[0] == first


def test_a_cell_that_a_test_waits_for_comes_next() -> None:
    made = Recorded([*SMALL, *SHORT, *LONG])
    waited = made.schedule.future(SMALL[2])
    made.go.set()
    assert waited.result(10).status is Status.SUPPORTED
    order = made.finish([*LONG])
    assert order.index("small2") <= 1


def test_what_the_threads_have_freed_is_free_for_others() -> None:
    kept: list[bytearray] = []

    def compute(cell: Cell, others: Mapping[Cell, Outcome]) -> Outcome:
        blocks = [bytearray(b"\1") * 100_000 for _ in range(4000)]  # small enough for glibc's heap
        kept.append(bytearray(100_000))  # above them, so that glibc keeps what is freed
        del blocks
        return Outcome(Status.SUPPORTED)

    before = resident()
    schedule = Schedule(compute, lambda cell: Need("one", 1), jobs=1, memory=100)
    schedule.plan(SHORT[:1])
    assert schedule.future(SHORT[0]).result(30).status is Status.SUPPORTED
    schedule.close()
    schedule.join(30)
    assert resident() < before + 100e6
