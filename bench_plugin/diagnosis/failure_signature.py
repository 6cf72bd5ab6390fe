"""Whether two failures are the same: their messages are compared without the parts that belong to one graph."""

from __future__ import annotations

from collections.abc import Collection

from bench_plugin.domain.messages import normalised
from bench_plugin.domain.outcome import Failure, Symptom


def same_failure(one: Failure, other: Failure, names: Collection[str] = ()) -> bool:
    """Whether stage and symptom are the same, and an exception's type and message, or a crash's signal.

    ``names`` are those of the graph's tensors and nodes, which the parts of a graph do not all have.
    """
    if (one.stage, one.symptom) != (other.stage, other.symptom):
        return False
    if one.symptom in (Symptom.EXCEPTION, Symptom.UNSUPPORTED, Symptom.INVALID_MODEL, Symptom.VERSION_SKEW):
        return one.types[:1] == other.types[:1] and normalised(one.message, names) == normalised(other.message, names)
    return one.symptom is not Symptom.CRASH or one.signal == other.signal
