"""The operator cases of few bits: products of matrices and convolutions whose weights are integers of 4 or 2 bits.

They are made by ``adapters/characterise/few_bits/low_bits_cases.py``, which has the same names; a test compares the
two. A case is asked for by a precision: ``pytest suites/operators --precisions int4``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from bench_plugin.domain.precision import PRECISIONS, WEIGHTS
from bench_plugin.inventory.cases import Case

CATEGORY = "low-bits"
OPERATORS = {"matmul": "MatMul", "gemm": "Gemm", "conv": "Conv"}
TYPES = {"int4": 21, "uint4": 21, "int2": 25, "uint2": 25}  # with the opset that has them
IRS = {21: 10, 25: 13}
GRANULARITIES = ("tensor", "channel", "block")
# What is rounded beside the weights: nothing; activations to the type of the weights; activations to uint8.
ROUNDED = ("weights", "both", "a8")
WITH_A8 = "int4"  # the type of weights that comes with activations of eight bits, as w4a8


def _made() -> Iterator[Case]:
    for (name, operator), (kind, opset), granularity, rounded in itertools.product(
        OPERATORS.items(), TYPES.items(), GRANULARITIES, ROUNDED
    ):
        if rounded == "a8" and kind != WITH_A8:
            continue
        nodes = 2 if rounded == "weights" else 4
        others = ("DequantizeLinear",) if rounded == "weights" else ("DequantizeLinear", "QuantizeLinear")
        operators = tuple(sorted((*others, operator)))
        yield Case(f"low_bits_{name}_{kind}_{granularity}_{rounded}", CATEGORY, nodes, IRS[opset], opset, operators)


CASES: Mapping[str, Case] = MappingProxyType({case.name: case for case in _made()})


def precisions_of(name: str) -> tuple[str, ...]:
    """The precisions that a case belongs to: of its type, and of the models whose layers are such cases."""
    _, _, _, kind, granularity, rounded = name.split("_")
    if rounded == "a8":
        return ("w4a8",)
    blocks = rounded == "weights" and PRECISIONS["w4"].weights == kind and PRECISIONS["w4"].granularity == granularity
    return (kind, "w4") if blocks else (kind,)


def graph_of(name: str) -> str:
    """The graph of a case, as the prepared graphs of models are called: ``weights`` or ``qdq``."""
    return WEIGHTS if name.endswith("_weights") else "qdq"
