"""When a failed call is repeated in a fresh process, and what the row says of it: one policy for every check.

An agent serves many calls, and a framework may keep state from an earlier one. So a failure in a used agent is a
verdict on the cell only after a fresh agent has confirmed it.

==================================================  =======================================================
failure in a used agent                             repeated in a fresh one?
==================================================  =======================================================
the tool says that it does not implement this       no: that does not depend on what its process did before
the agent is lost (crash)                           yes
any other                                           yes, unless starting an agent takes longer than the call, as for
                                                    operator cases, generated graphs and parts of graphs
==================================================  =======================================================
"""

from __future__ import annotations

from typing import Any

from bench_plugin.domain.outcome import Failure, Symptom


def repeats(failure: Failure, *, used: bool, short: bool = False) -> bool:
    """Whether the call is repeated.

    ``used``: the agent had served calls before. ``short``: the call takes less time than the start of an agent.
    """
    if not used or failure.symptom is Symptom.UNSUPPORTED:
        return False
    return failure.symptom is Symptom.CRASH or not short


def repeated(first: Failure, second: Failure | None) -> dict[str, Any]:
    """What the row says of a repeat.

    If the second result differs, the first was a fault of the harness: the agent had kept state from an earlier call.
    """
    differs = second is None or (first.stage, first.symptom) != (second.stage, second.symptom)
    return {
        "first": f"{first.stage}: {first.symptom}: {first.message}",
        "fresh": f"{second.stage}: {second.symptom}" if second else "finished",
        "symptom": str(Symptom.HARNESS) if differs else "",
    }
