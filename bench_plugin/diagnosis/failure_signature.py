"""Whether two failures are the same: their messages are compared without the parts that belong to one graph."""

from __future__ import annotations

import re
from collections.abc import Collection

from bench_plugin.domain.outcome import Failure, Symptom


def normalised(text: str, names: Collection[str] = ()) -> str:
    """A message without the parts that differ from graph to graph: ``names``, numbers, addresses, paths, sizes."""

    def quoted(found: re.Match[str]) -> str:
        inner = found[0][1:-1]
        plain = re.sub(r"_\d+$", "", inner)  # frameworks number the layers of one kind in a process
        return "'...'" if inner in names or re.search(r"[\d/:]", plain) else f"'{plain}'"

    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    line = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`", quoted, line)
    line = re.sub(r"(/[\w.+-]+)+", "PATH", line)
    line = re.sub(r"0x[0-9a-fA-F]+|[-+]?\d[\d.]*(e[-+]?\d+)?", "N", line)
    line = re.sub(r"[(\[]\s*\w*(\s*,\s*\w*)*\s*[)\]]", "(N)", line)  # sizes, as numbers or as symbols
    return re.sub(r"\s+", " ", line)[:200]


def same_failure(one: Failure, other: Failure, names: Collection[str] = ()) -> bool:
    """Whether stage and symptom are the same, and an exception's type and message, or a crash's signal."""
    if (one.stage, one.symptom) != (other.stage, other.symptom):
        return False
    if one.symptom in (Symptom.EXCEPTION, Symptom.UNSUPPORTED, Symptom.INVALID_MODEL, Symptom.VERSION_SKEW):
        return one.types[:1] == other.types[:1] and normalised(one.message, names) == normalised(other.message, names)
    return one.symptom is not Symptom.CRASH or one.signal == other.signal
