"""Whether two failures are the same: their messages are compared without the parts that belong to one graph."""

from __future__ import annotations

import re
from collections.abc import Collection

from bench_plugin.domain.outcome import Failure, Symptom
from bench_plugin.domain.texts.messages import normalised


def alike(one: str, other: str, names: Collection[str] = ()) -> bool:
    """Whether two messages say the same; frameworks number the layers of one kind, but for the first of a process."""
    texts = {re.sub(r"_#(?=['\"`])", "", normalised(text, names)) for text in (one, other)}
    return len(texts) == 1


def same_failure(one: Failure, other: Failure, names: Collection[str] = ()) -> bool:
    """Whether stage and symptom are the same, and an exception's type and message, or a crash's signal.

    ``names`` are those of the graph's tensors and nodes, which the parts of a graph do not all have.
    """
    if (one.stage, one.symptom) != (other.stage, other.symptom):
        return False
    if one.symptom in (Symptom.EXCEPTION, Symptom.UNSUPPORTED, Symptom.INVALID_MODEL, Symptom.VERSION_SKEW):
        return one.types[:1] == other.types[:1] and alike(one.message, other.message, names)
    return one.symptom is not Symptom.CRASH or one.signal == other.signal
