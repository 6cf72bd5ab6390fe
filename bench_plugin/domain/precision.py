"""Precisions: the types that a model is computed in, one record with a short name for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Precision:
    """The types of weights, activations, accumulation, inputs and outputs, and how integers are scaled."""

    name: str
    weights: str
    activations: str
    accumulate: str
    io: str = "float32"
    scheme: str = ""
    granularity: str = ""
    calibration: str = ""
    proven_by: str = ""  # the precision whose cell must prove that the structure is right, where this one cannot

    @property
    def computed(self) -> bool:
        """Whether weights and activations have the same floating-point type, which then gives noise and tolerance."""
        return self.weights == self.activations

    @property
    def tolerance_row(self) -> str:
        """The row of the table of tolerances (compare/table.py) for results in floating point."""
        return self.name if self.computed else "fp32"

    @property
    def reduced(self) -> bool:
        """Whether any type is narrower than float32, so that the unrounded model is only approximated."""
        return self.weights != "float32"

    @property
    def quantised(self) -> bool:
        """Whether weights are integers, so that results are judged in steps of their scales."""
        return self.weights == "int8"

    @property
    def rounds_weights(self) -> bool:
        """Whether only weights are rounded to a narrower float, so that fp32's rules apply to the rounded file."""
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
ORIGINAL = "original"  # the exported graph, with float32 weights
ALIASES: Mapping[str, str] = MappingProxyType({"int8": "w8a8"})
