"""What is computed in: a record per precision, with a short name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Precision:
    """Types of weights, activations and accumulation, of inputs and outputs, and how integers are scaled."""

    name: str
    weights: str
    activations: str
    accumulate: str
    io: str = "float32"
    scheme: str = ""
    granularity: str = ""
    calibration: str = ""
    proven_by: str = ""  # the precision whose cell has to show that the structure is right, where this one cannot

    @property
    def computed(self) -> bool:
        """Whether weights and activations have one floating-point type: noise and tolerance are those of that type."""
        return self.weights == self.activations

    @property
    def tolerance_row(self) -> str:
        """The row of the table of tolerances (compare/table.py) that results in floating point are held to."""
        return self.name if self.computed else "fp32"

    @property
    def reduced(self) -> bool:
        """Whether anything is narrower than float32: the unrounded model is then only approximated."""
        return self.weights != "float32"

    @property
    def quantised(self) -> bool:
        """Whether weights are integers: results are judged in steps of their scales."""
        return self.weights == "int8"

    @property
    def rounds_weights(self) -> bool:
        """Whether weights alone are rounded to a narrower float: the rules are those of fp32 on the rounded file."""
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
        )
    }
)
ORIGINAL = "original"  # the graph as it was exported, with float32 weights
ALIASES: Mapping[str, str] = MappingProxyType({"int8": "w8a8"})
