"""When a failed call is made again in a fresh process, and what the row says of it: one policy for every check.

An agent lives from call to call, and a framework may carry something over from the call before. So a failure in a used
agent is no verdict on the cell until a fresh agent has confirmed it.

==================================================  =======================================================
failure in a used agent                             repeated in a fresh one?
==================================================  =======================================================
the tool says that it does not implement this       no: that does not depend on what its process did before
the agent is lost (crash)                           yes
any other                                           yes, unless a fresh agent costs more than the call: operator
                                                    cases, generated graphs and parts of a graph come by the hundred
==================================================  =======================================================
"""

from __future__ import annotations

from typing import Any

from bench_plugin.domain.outcome import Failure, Symptom


def repeats(failure: Failure, *, used: bool, short: bool = False) -> bool:
    """Whether to make the call again; ``short`` calls take less time than the start of an agent."""
    if not used or failure.symptom is Symptom.UNSUPPORTED:
        return False
    return failure.symptom is Symptom.CRASH or not short


def repeated(first: Failure, second: Failure | None) -> dict[str, Any]:
    """What the row says of a repeat; a differing verdict is the harness's own (an agent carried something over)."""
    differs = second is None or (first.stage, first.symptom) != (second.stage, second.symptom)
    return {
        "first": f"{first.stage}: {first.symptom}: {first.message}",
        "fresh": f"{second.stage}: {second.symptom}" if second else "finished",
        "symptom": str(Symptom.HARNESS) if differs else "",
    }
