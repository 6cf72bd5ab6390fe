"""The share of a model's contractions (convolutions, products of matrices, recurrent layers) that ran in integers.

One rule for every tool: what is counted is read from the tool's own graph or profile, and ``integer`` follows from it.
"""

from __future__ import annotations

from typing import Dict, Iterable, Mapping, Tuple

INTEGER, PARTLY, SIMULATED = "integer", "partly", "simulated"


def counted(rows: Iterable[Tuple[str, bool]]) -> Dict[str, Dict[str, int]]:
    """Counts by kind, under ``integer`` and ``float``, of contractions that are given as a kind and whether it is one
    of integers.
    """
    found: Dict[str, Dict[str, int]] = {"integer": {}, "float": {}}
    for kind, whole in rows:
        part = found["integer" if whole else "float"]
        part[kind] = part.get(kind, 0) + 1
    return found


def placed(counts: Mapping[str, Mapping[str, int]]) -> Dict[str, object]:
    """For a row's placement: the counts, and ``integer_share`` of 1, without which there are no contractions."""
    whole, others = (sum(counts[part].values()) for part in ("integer", "float"))
    share: Dict[str, object] = {"contractions": {part: dict(sorted(counts[part].items())) for part in counts}}
    if whole + others:
        share["integer_share"] = round(whole / (whole + others), 4)
    return share


def integer(counts: Mapping[str, Mapping[str, int]]) -> str:
    """What a quantised model's row says: all in integers, partly, or simulated; "" where there is no contraction."""
    whole, others = (sum(counts[part].values()) for part in ("integer", "float"))
    if not whole + others:
        return ""
    return SIMULATED if not whole else PARTLY if others else INTEGER


def saturates(machine: str, flags: str) -> bool:
    """Whether products of uint8 and int8 saturate in 16 bits: on x86 without VNNI, by /proc/cpuinfo's ``flags``."""
    if machine not in ("x86_64", "AMD64"):
        return False
    return not {"avx512_vnni", "avx_vnni", "avxvnni"}.intersection(flags.split())


def carried(carriers: Mapping[str, int], asked: str, *, in_float: bool) -> Dict[str, object]:
    """For a row's placement: in which types the weights of how many contractions are held, and ``emulated``.

    Weights of the type ``asked`` (int4, uint4, int2, uint2) are emulated where they are held in a wider one: ``yes``,
    ``partly`` or ``no``. It is ``partly`` too where they are not, but activations that a graph rounds to integers stay
    ``in_float``. Without contractions nothing is said.
    """
    if not carriers:
        return {}
    native = carriers.get(asked, 0)
    emulated = "yes" if not native else "partly" if in_float or native < sum(carriers.values()) else "no"
    return {"carriers": dict(sorted(carriers.items())), "emulated": emulated}
