"""Admission to the machine: who takes times has it alone, and waits for one stage of each, not for whole cells."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.outcome import Outcome, Status
from bench_plugin.pipeline.admission import Admission
from bench_plugin.pipeline.schedule import Need, Schedule

SECONDS = 10


def started(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_nobody_computes_beside_a_time_and_all_do_afterwards() -> None:
    admission, inside, entered, leave = Admission(), [], threading.Event(), threading.Event()

    def timed() -> None:
        with admission.shared(), admission.alone():
            entered.set()
            assert leave.wait(SECONDS)
            inside.append("timed")

    def computed() -> None:
        with admission.shared():
            inside.append("computed")

    one = started(timed)
    assert entered.wait(SECONDS)
    other = started(computed)
    other.join(0.1)
    assert inside == []
    leave.set()
    one.join(SECONDS)
    other.join(SECONDS)
    assert inside == ["timed", "computed"]


def test_a_time_waits_for_the_stage_of_another_cell_and_the_cell_waits_before_its_next() -> None:
    admission, order = Admission(), []
    in_stage, end_stage, waiting = threading.Event(), threading.Event(), threading.Event()

    def cell() -> None:
        with admission.shared():
            in_stage.set()
            assert end_stage.wait(SECONDS)
            order.append("first stage")
            admission.pause()
            order.append("second stage")

    def timed() -> None:
        with admission.shared():
            waiting.set()
            with admission.alone():
                order.append("time")

    one = started(cell)
    assert in_stage.wait(SECONDS)
    other = started(timed)
    assert waiting.wait(SECONDS)
    other.join(0.1)
    assert order == []
    end_stage.set()
    one.join(SECONDS)
    other.join(SECONDS)
    assert order == ["first stage", "time", "second stage"]


def test_two_times_come_one_after_the_other_and_neither_waits_for_the_others_share() -> None:
    admission, at_once, most = Admission(), [0], [0]
    both = threading.Barrier(2)

    def timed() -> None:
        with admission.shared():
            both.wait(SECONDS)
            for _ in range(20):
                with admission.alone():
                    at_once[0] += 1
                    most[0] = max(most[0], at_once[0])
                    at_once[0] -= 1

    threads = [started(timed) for _ in range(2)]
    for thread in threads:
        thread.join(SECONDS)
    assert not any(thread.is_alive() for thread in threads) and most[0] == 1


def test_a_pause_without_anybody_who_wants_the_machine_is_none() -> None:
    admission = Admission()
    admission.pause()
    with admission.shared():
        admission.pause()
    with admission.alone():
        pass


def test_the_machine_is_free_again_after_an_error() -> None:
    admission = Admission()
    try:
        with admission.shared(), admission.alone():
            raise OSError
    except OSError:
        pass
    with admission.alone():
        pass


def test_a_schedule_computes_nothing_beside_a_cell_that_takes_times() -> None:
    admission, beside, during = Admission(), [], threading.Event()
    cells = [Cell(Check.TIMING, "timed", "pytorch"), *(Cell(Check.EXPORT, f"m{n}", f"f{n}") for n in range(4))]

    def compute(cell: Cell, others: Mapping[Cell, Outcome]) -> Outcome:
        if cell.check is Check.TIMING:
            with admission.alone():
                during.set()
                for _ in range(20):
                    threading.Event().wait(0.005)
                during.clear()
        else:
            beside.append(during.is_set())
        return Outcome(Status.SUPPORTED)

    schedule = Schedule(compute, lambda cell: Need(cell.framework, 1), jobs=3, memory=100, admission=admission)
    schedule.plan(cells)
    for cell in cells:
        assert schedule.future(cell).result(SECONDS).status is Status.SUPPORTED
    schedule.close()
    schedule.join(SECONDS)
    assert beside == [False] * 4
