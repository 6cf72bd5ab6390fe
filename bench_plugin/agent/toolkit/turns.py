"""A turn of a deployed model: a few timed calls, while other launches of this and of another artefact wait."""

from __future__ import annotations

import gc
import time
from array import array
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Sequence

Invoke = Callable[[], Any]
Clock = Callable[[], int]
MOST_CALLS, MOST_INNER, MOST_BUSY = 10_000, 1_000_000, 60_000_000_000


@dataclass(frozen=True)
class TurnPlan:
    """``calls`` samples of ``inner`` inferences each; ``busy`` nanoseconds are spent in each inference beside it.

    The busy time lies inside the timed region: with it somebody proves that a slowdown would be found.
    """

    calls: int
    inner: int = 1
    busy: int = 0

    @classmethod
    def of(cls, meta: Mapping[str, Any]) -> TurnPlan:
        """The plan in the metadata of a request. Raises ValueError for a number out of its range."""
        limits = (("calls", 1, MOST_CALLS), ("inner", 1, MOST_INNER), ("busy", 0, MOST_BUSY))
        found = {}
        for name, least, most in limits:
            value = meta.get(name, least)
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                raise ValueError("%s is %r; a whole number from %d to %d is wanted" % (name, value, least, most))
            found[name] = value
        return cls(**found)


def turn(invokes: Sequence[Invoke], plan: TurnPlan, clock: Clock = time.perf_counter_ns) -> "array[float]":
    """Seconds per inference of each sample of a turn [calls], over the samples of the model in turn.

    Python's garbage collection is off meanwhile. Raises what the runtime raises.
    """
    if plan.busy:
        invokes = [_busy(invoke, plan.busy, clock) for invoke in invokes]
    found = array("d")
    index, size = 0, len(invokes)
    enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(plan.calls):
            chunk = [invokes[(index + number) % size] for number in range(plan.inner)]
            index = (index + plan.inner) % size
            begin = clock()
            for invoke in chunk:
                invoke()
            found.append((clock() - begin) / (1e9 * plan.inner))
    finally:
        if enabled:
            gc.enable()
    return found


def _busy(invoke: Invoke, nanoseconds: int, clock: Clock) -> Invoke:
    def both() -> None:
        invoke()
        until = clock() + nanoseconds
        while clock() < until:
            pass

    return both
