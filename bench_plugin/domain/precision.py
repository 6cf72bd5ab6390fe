"""Precisions: the types that a model is computed in, one record with a short name for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

ORIGINAL = "original"  # the exported graph, with float32 weights
WEIGHTS = "weights"  # the prepared graph whose weights are integers with their dequantisation; activations are not
FIXED, KMEANS = "fixed", "kmeans"  # the same by quantisers of ours: fixed point, and an index into a codebook
FIXED_QDQ = "fixed-qdq"  # fixed point throughout: weights, activations and biases, without zero points
STORED = frozenset({WEIGHTS, FIXED, KMEANS})
INTEGERS = frozenset({"int8", "uint8", "int4", "uint4", "int2", "uint2"})
FEW_BITS = frozenset({"int4", "uint4", "int2", "uint2"})  # narrower than a byte


@dataclass(frozen=True)
class Precision:
    """The types of weights, activations, accumulation, inputs and outputs, and how integers are scaled.

    ``stored``: the file that a tool is given holds the rounded weights already, and nothing else is rounded.
    """

    name: str
    weights: str
    activations: str
    accumulate: str
    io: str = "float32"
    scheme: str = ""
    granularity: str = ""
    calibration: str = ""
    proven_by: str = ""  # the precision whose cell must prove that the structure is right, where this one cannot
    stored: bool = False

    @property
    def computed(self) -> bool:
        """Whether weights and activations have the same floating-point type, which then gives noise and tolerance."""
        return self.weights == self.activations and not self.integers

    @property
    def tolerance_row(self) -> str:
        """The row of the table of tolerances (compare/table.py) for results in floating point."""
        return self.name if self.computed else "fp32"

    @property
    def reduced(self) -> bool:
        """Whether any type is narrower than float32, so that the unrounded model is only approximated."""
        return self.weights != "float32"

    @property
    def integers(self) -> bool:
        """Whether weights are integers."""
        return self.weights in INTEGERS

    @property
    def weight_bits(self) -> int:
        """The bits of a weight that is an integer; 0 where weights are none."""
        return int(self.weights.lstrip("uint")) if self.integers else 0

    @property
    def few_bits(self) -> bool:
        """Whether weights are integers that are narrower than a byte, which a tool may keep in a wider carrier."""
        return self.weights in FEW_BITS

    @property
    def weight_only(self) -> bool:
        """Whether weights are integers and activations are not."""
        return self.integers and self.activations == "float32"

    @property
    def quantised(self) -> bool:
        """Whether weights are integers, so that results are judged in steps of their scales."""
        return self.integers and not self.stored

    @property
    def rounds_weights(self) -> bool:
        """Whether only weights are rounded, and the file says how, so that fp32's rules apply to the rounded file."""
        return not self.computed and not self.quantised


PRECISIONS: Mapping[str, Precision] = MappingProxyType(
    {
        record.name: record
        for record in (
            Precision("fp32", "float32", "float32", "float32"),
            Precision("fp16", "float16", "float16", "float32"),
            Precision("bf16", "bfloat16", "bfloat16", "float32", proven_by="fp32"),
            Precision("w8a8", "int8", "uint8", "int32", scheme="affine", granularity="channel", calibration="static"),
            Precision(
                "w8a8-dyn", "int8", "uint8", "int32", scheme="affine", granularity="channel", calibration="dynamic"
            ),
            Precision("w8", "int8", "float32", "float32", scheme="symmetric", granularity="channel"),
            Precision("w16", "float16", "float32", "float32"),
            Precision("w4", "int4", "float32", "float32", scheme="symmetric", granularity="block"),
            Precision("w4a8", "int4", "uint8", "int32", scheme="affine", granularity="channel", calibration="static"),
            *(
                Precision(name, name, name, "int32", scheme="affine", granularity="channel", calibration="static")
                for name in ("int4", "uint4", "int2", "uint2")
            ),
        )
    }
)
ALIASES: Mapping[str, str] = MappingProxyType({"int8": "w8a8"})


def precision_of(name: str, graph: str) -> Precision:
    """The types of a cell: its precision's, but for a graph in which only weights are rounded. Raises KeyError."""
    record = PRECISIONS[name]
    if graph not in STORED:
        return record
    return replace(record, activations="float32", accumulate="float32", calibration="", stored=True)
