"""Whether two failures are one: what they say is compared without what belongs to a single graph."""

from __future__ import annotations

import re
from collections.abc import Collection

from bench_plugin.domain.outcome import Failure, Symptom


def normalised(text: str, names: Collection[str] = ()) -> str:
    """A message without what differs from graph to graph: ``names``, numbers, addresses, paths, sizes."""

    def quoted(found: re.Match[str]) -> str:
        inner = found[0][1:-1]
        plain = re.sub(r"_\d+$", "", inner)  # layers of one kind are counted in a process
        return "'...'" if inner in names or re.search(r"[\d/:]", plain) else f"'{plain}'"

    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    line = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`", quoted, line)
    line = re.sub(r"(/[\w.+-]+)+", "PATH", line)
    line = re.sub(r"0x[0-9a-fA-F]+|[-+]?\d[\d.]*(e[-+]?\d+)?", "N", line)
    line = re.sub(r"[(\[]\s*\w*(\s*,\s*\w*)*\s*[)\]]", "(N)", line)  # sizes, by number or by symbol
    return re.sub(r"\s+", " ", line)[:200]


def same_failure(one: Failure, other: Failure, names: Collection[str] = ()) -> bool:
    """The same stage and symptom; exceptions also by kind and normalised message, crashes by signal."""
    if (one.stage, one.symptom) != (other.stage, other.symptom):
        return False
    if one.symptom in (Symptom.EXCEPTION, Symptom.UNSUPPORTED, Symptom.INVALID_MODEL, Symptom.VERSION_SKEW):
        return one.types[:1] == other.types[:1] and normalised(one.message, names) == normalised(other.message, names)
    return one.symptom is not Symptom.CRASH or one.signal == other.signal
