"""How often a call is made, and which attempt counts: every order of results in used and in fresh processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from bench_plugin.domain.outcome import Cause, Failure, Stage, Symptom
from bench_plugin.pipeline.retry import Attempted, settled

CRASH = Failure(Stage.RUN, Symptom.CRASH, "the agent was killed by SIGSEGV in stage run", signal=11)
ABORT = replace(CRASH, message="the agent was killed by SIGABRT in stage run", signal=6)
RAISED = Failure(Stage.RUN, Symptom.EXCEPTION, "no lowering of node 17 at 0x7f21ab, see /tmp/a1/log.txt")
ALIKE = replace(RAISED, message="no lowering of node 18 at 0x7f99cd, see /tmp/b2/log.txt")
OWN = replace(RAISED, cause=Cause.TOOL)
NO_SPACE = Failure(Stage.RUN, Symptom.EXCEPTION, "No space left on device", cause=Cause.ENVIRONMENT)
REFUSED = Failure(Stage.RUN, Symptom.UNSUPPORTED, "no Einsum", cause=Cause.TOOL)
TIMEOUT = Failure(Stage.RUN, Symptom.TIMEOUT, "stage run took longer than 3 s")
HARNESS = Failure(Stage.RUN, Symptom.HARNESS, "the agent sent garbage")


class Process:
    """Gives the results in their order; the first attempt is in a used process unless ``fresh``."""

    def __init__(self, *results: Failure | None, fresh: bool = False) -> None:
        self._results = list(results)
        self._fresh = fresh
        self.asked: list[bool] = []

    def attempt(self, fresh: bool) -> Attempted:
        self.asked.append(fresh)
        return Attempted(failure=self._results.pop(0), fresh=fresh or self._fresh)

    def settle(self, *, short: bool = False, confirm: bool = True) -> Attempted:
        found = settled(self.attempt, short=short, confirm=confirm)
        assert not self._results, "an attempt was not made"
        return found


@pytest.mark.parametrize(
    "results", [(None,), (REFUSED,), (CRASH, CRASH, CRASH), (RAISED, RAISED, ALIKE), (OWN, OWN), (TIMEOUT, TIMEOUT),
                (NO_SPACE, NO_SPACE), (HARNESS, HARNESS)],
)  # fmt: skip
def test_attempts_after_a_used_process(results: Sequence[Failure | None]) -> None:
    process = Process(*results)
    found = process.settle()
    assert process.asked == [False, True, True][: len(results)]
    assert (found.failure is not None and found.failure.confirmed) is (len(results) == 3)


@pytest.mark.parametrize("results", [(None,), (CRASH, CRASH), (RAISED, ALIKE), (OWN,), (TIMEOUT,), (NO_SPACE,)])
def test_attempts_after_a_fresh_process(results: Sequence[Failure | None]) -> None:
    found = Process(*results, fresh=True).settle()
    assert (found.failure is not None and found.failure.confirmed) is (len(results) == 2)


def test_short_calls_repeat_what_may_not_be_the_tool_s_and_confirm_crashes_alone() -> None:
    for results in ((OWN,), (TIMEOUT,), (RAISED, RAISED), (RAISED, None), (NO_SPACE, NO_SPACE), (CRASH, CRASH, CRASH)):
        Process(*results).settle(short=True)
    found = Process(RAISED, None).settle(short=True)
    assert found.failure is None and found.retry["symptom"] == "harness"
    assert Process(CRASH, CRASH).settle(short=True, confirm=False).failure == CRASH


def test_the_fresh_result_counts_and_the_row_says_so() -> None:
    found = Process(RAISED, None).settle()
    assert (found.failure, found.fresh) == (None, True)
    assert found.retry["symptom"] == "harness" and found.retry["fresh"] == "finished"


def test_another_failure_in_a_fresh_process_is_no_sign_of_what_an_agent_did_before() -> None:
    """A tool that corrupts its memory fails otherwise each time."""
    found = Process(RAISED, CRASH, CRASH).settle()
    assert found.failure is not None and found.failure.symptom is Symptom.CRASH
    assert found.retry["symptom"] == "" and found.retry["fresh"] == "run: crash"


def test_a_failure_that_comes_once_in_two_fresh_processes_counts_and_is_not_confirmed() -> None:
    for second in (None, ABORT, RAISED):
        found = Process(CRASH, second, fresh=True).settle()
        assert found.failure == CRASH and not found.failure.storable
        assert found.retry["again"] == (f"run: {second.symptom}" if second else "finished")


def test_what_may_be_stored() -> None:
    confirmed = [replace(one, confirmed=True) for one in (CRASH, RAISED)]
    assert all(one.storable for one in (OWN, REFUSED, replace(REFUSED, symptom=Symptom.INVALID_MODEL), *confirmed))
    never = [
        replace(CRASH, symptom=symptom, confirmed=True, cause=Cause.TOOL)
        for symptom in (Symptom.TIMEOUT, Symptom.OUT_OF_MEMORY, Symptom.HARNESS, Symptom.BOARD_LOST)
    ]
    never += [replace(one, confirmed=True, cause=Cause.ENVIRONMENT) for one in (CRASH, RAISED, REFUSED)]
    assert not any(one.storable for one in (CRASH, RAISED, NO_SPACE, *never))
