"""When a call is repeated in a fresh process, which result counts, and what the row says: one policy for every check.

An agent serves many calls, and a framework may keep state from an earlier one. So a failure in a used agent is a
verdict on the cell only after a fresh agent has confirmed it, and so is a mismatch of numbers that a used agent made.

==================================================  =======================================================
failure in a used agent                             repeated in a fresh one?
==================================================  =======================================================
the tool says that it does not implement this       no: that does not depend on what its process did before
the board was lost                                  no: it was tried again already (pipeline/board_stages.py)
the agent, or the tool's own process, crashed       yes
an exception that is not declared as the tool's     yes: a tool that wrote where it must not may break our own code
any other                                           yes, unless starting an agent takes longer than the call, as for
                                                    operator cases, generated graphs and parts of graphs
==================================================  =======================================================

A crash, or an exception that the adapter does not declare as the tool's own, may come from the machine. It is
confirmed, and may be stored, once two fresh agents failed with one signature: so such a failure in a fresh agent is
repeated once more. Where starting an agent takes longer than the call, only crashes are confirmed.

A mismatch whose stages were made by used agents, in this run or in an earlier one, is computed again with fresh ones,
and what they give counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from bench_plugin.domain.outcome import Cause, Failure, Outcome, Symptom

CARRIED = "harness: state carried over"  # the flag of a cell whose result depended on what an agent did before


@dataclass(frozen=True, kw_only=True)
class Attempted:
    """A call that was tried: what all kinds of results have in common.

    ``fresh`` says that its processes had done nothing before, ``retry`` is what the row says of a repeated call.
    """

    failure: Failure | None
    fresh: bool = False
    retry: Mapping[str, Any] = field(default_factory=dict)


Result = TypeVar("Result", bound=Attempted)


def settled(
    attempt: Callable[[bool], Result], *, fresh: bool = False, short: bool = False, confirm: bool = True
) -> Result:
    """The result that counts, after as many attempts as it takes.

    ``attempt`` is called with true where only fresh processes will do, the first time with ``fresh``. ``short``: the
    call takes less time than the start of an agent. ``confirm``: the result will be stored if it can be.
    """
    first = attempt(fresh)
    if first.failure is None or not (first.fresh or _repeats(first.failure, short=short)):
        return first
    counted, note = first, {}
    if not first.fresh:
        counted = attempt(True)
        note = repeated(first.failure, counted.failure)
    failure = counted.failure
    if confirm and failure is not None and _confirms(failure, short=short):
        repeat = attempt(True)
        again = repeat.failure
        if again is not None and again.symptom is Symptom.BOARD_LOST:
            return replace(repeat, retry=repeated(failure, again))
        failure = replace(failure, confirmed=again is not None and again.signature == failure.signature)
        note = note or {**repeated(failure, again), "symptom": ""}
        note.update(confirmation(failure) or {"again": _ended(again)})
    return replace(counted, failure=failure, retry=note)


def repeated(first: Failure, second: Failure | None) -> dict[str, Any]:
    """What the row says of a failure in a used agent and of its repeat in a fresh one.

    If nothing fails in the fresh one, the first failure was a fault of the harness: the agent had kept state from an
    earlier call. Two failures of different kinds say nothing of that: a tool that writes where it must not fails now in
    this way, now in that one.
    """
    return {
        "first": f"{first.stage}: {first.symptom}: {first.message}",
        "fresh": _ended(second),
        "symptom": "" if second else str(Symptom.HARNESS),
    }


def confirmation(failure: Failure | None) -> dict[str, Any]:
    """What the row says of a failure that is stored because it came twice; empty for any other."""
    return {"confirmed": True} if failure is not None and failure.confirmed else {}


def with_repeat(again: Outcome, mismatch: Outcome) -> Outcome:
    """The outcome that fresh processes gave, with a note of the ``mismatch`` that used ones gave before."""
    differs = again.status is not mismatch.status
    note = {
        "first": f"compare: mismatch: {mismatch.reason}", "fresh": str(again.status),
        "symptom": str(Symptom.HARNESS) if differs else "", "mismatch": True,
    }  # fmt: skip
    flags = (*again.flags, CARRIED) if differs and CARRIED not in again.flags else again.flags
    return replace(again, flags=flags, retry=note)


def _repeats(failure: Failure, *, short: bool) -> bool:
    """Whether a failure in a used agent is repeated in a fresh one."""
    if failure.symptom in (Symptom.UNSUPPORTED, Symptom.BOARD_LOST):
        return False
    undeclared = failure.symptom is Symptom.EXCEPTION and failure.cause is not Cause.TOOL
    return failure.symptom is Symptom.CRASH or undeclared or not short


def _confirms(failure: Failure, *, short: bool) -> bool:
    """Whether a failure in a fresh agent is repeated in another one, because it may be stored then and not before."""
    if failure.storable or not failure.confirmable:
        return False
    return failure.symptom is Symptom.CRASH or not short


def _ended(failure: Failure | None) -> str:
    return f"{failure.stage}: {failure.symptom}" if failure else "finished"
