"""Datatypes of peaks: how wide they are, which of them a precision computes in, and which wider one can carry them."""

from __future__ import annotations

from dataclasses import dataclass

from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.precision import ALIASES, PRECISIONS
from bench_plugin.domain.texts.choices import unknown

BITS = {
    "int1": 1, "int2": 2, "int4": 4, "int8": 8, "int16": 16, "fp16": 16, "bf16": 16, "fp32": 32, "fp64": 64,
}  # fmt: skip
# What carries a datatype that a platform does not have: the nearest wider one of its kind that it has.
CARRIERS = {
    "int1": ("int2", "int4", "int8", "int16"), "int2": ("int4", "int8", "int16"), "int4": ("int8", "int16"),
    "int8": ("int16",), "fp16": ("fp32", "fp64"), "bf16": ("fp32", "fp64"), "fp32": ("fp64",),
}  # fmt: skip
# Figures of sources that name no datatype, and what they are taken for: an upper bound of each of these.
UNNAMED = {"float": ("fp16", "bf16", "fp32"), "any": tuple(BITS)}
# The datatype of peaks by the type's name in a precision (domain/precision.py).
NAMES = {
    "float64": "fp64", "float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "int16": "int16", "uint16": "int16",
    "int8": "int8", "uint8": "int8", "int4": "int4", "uint4": "int4", "int2": "int2", "uint2": "int2", "int1": "int1",
}  # fmt: skip
USUAL = ("fp32", "fp16", "int8", "int4", "int2")  # what is predicted where no precision is named


@dataclass(frozen=True)
class Stored:
    """How a precision stores and computes: bits of weights and of activations, and the datatype of its products."""

    name: str
    weights: int
    activations: int
    computed: str


def stored_as(precision: str) -> Stored:
    """How a precision of the axis, or a datatype by itself, stores and computes. Raises UsageError for another name.

    A product is computed in the wider of both types; weights in integers beside activations in floating point are
    made floating point before they are multiplied.

    >>> stored_as("int8"), stored_as("w8").computed
    (Stored(name='int8', weights=8, activations=8, computed='int8'), 'fp32')
    """
    record = PRECISIONS.get(ALIASES.get(precision, precision))
    if record is None or record.weights not in NAMES or record.activations not in NAMES:
        if precision not in BITS:
            raise unknown("precision", precision, dict.fromkeys((*PRECISIONS, *ALIASES, *BITS)))
        return Stored(precision, BITS[precision], BITS[precision], precision)
    weights, activations = NAMES[record.weights], NAMES[record.activations]
    if activations.startswith("int"):
        computed = max(weights, activations, key=lambda name: BITS[name])
        if not computed.startswith("int"):
            raise UsageError(f"precision {precision}: {weights} weights with {activations} activations are not known")
    else:
        computed = activations
    return Stored(precision, BITS[weights], BITS[activations], computed)
