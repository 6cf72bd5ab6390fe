"""What a tool may round of an ONNX file: constants, numbers in attributes, and what it makes of several constants."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

from bench_plugin.adapters.onnx_tools.rounding import onnx_absorbed
from bench_plugin.adapters.onnx_tools.rounding.onnx_constants import (
    Constant,
    Convert,
    Place,
    Readers,
    constants,
    lost,
    number_of,
    put_number,
    readers,
)
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_places",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "What may be rounded in ONNX files",
    "distribution": "onnx",
    "operations": [],
    "uses": ["onnx_absorbed", "onnx_constants"],
}

# Numbers in attributes that a converter may write out as tensors of their own.
ATTRIBUTES = {
    "BatchNormalization": ("epsilon",), "Celu": ("alpha",), "Elu": ("alpha",), "Gemm": ("alpha", "beta"),
    "GroupNormalization": ("epsilon",), "HardSigmoid": ("alpha", "beta"), "InstanceNormalization": ("epsilon",),
    "LayerNormalization": ("epsilon",), "LeakyRelu": ("alpha",), "RMSNormalization": ("epsilon",),
    "Selu": ("alpha", "gamma"), "Shrink": ("bias", "lambd"), "ThresholdedRelu": ("alpha",),
}  # fmt: skip
TIE = 2.0**-21  # of a number: four roundings of float32
MOST_TIES, MOST_TIES_OF_FILE = 4, 16  # of one constant and of all: each is a choice of its own
# Operators that read constants as they read results: what only they read is no weight of a layer.
ARITHMETIC = frozenset({"Add", "Concat", "Div", "Expand", "Max", "Min", "Mul", "PRelu", "Pow", "Sub", "Where"})


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def places(onnx: Any, model: Any, convert: Convert) -> list[Place]:
    """The constants of the model's graph that ``convert`` changes, then numbers in attributes, other ways, and ties.

    Other ways to round a constant are the reciprocal of a divisor, and weights and biases that take in what their
    layer's input was multiplied by and what was added to it. Constants in bodies of Loop, If and Scan are no places.
    """
    read = readers(model)
    # What only computed other constants, which are stored now, is read by nobody.
    known = {name: one for name, one in constants(onnx, model).items() if name in read}
    found: list[Place] = []
    ties: list[Place] = []
    for name, constant in known.items():
        added = lost(constant.values, convert)
        if added is not None:
            weight = constant.values.ndim >= 2 and not {node.op_type for node in read[name]} <= ARITHMETIC
            found.append(Place(name, weight, functools.partial(constant.add, added)))
            ties += _ties(name, constant, convert)
    found += _attributes(onnx, model, convert)
    found += _reciprocals(known, read, convert)
    found += onnx_absorbed.places(onnx, model, known, read, convert)
    return [*found, *ties] if len(ties) <= MOST_TIES_OF_FILE else found


def _ties(name: str, constant: Constant, convert: Convert) -> list[Place]:
    """The elements of a constant that lie as near to a tie as float32 arithmetic may move them, on its other side.

    A tool that computes the constant from others in float32, such as one that folds a BatchNormalization, may so round
    it to either side. None where there are more than ``MOST_TIES``.
    """
    import numpy as np

    nearest = convert(constant.values)
    others = [convert((constant.values.astype(np.float64) * (1 + move)).astype(np.float32)) for move in (TIE, -TIE)]
    near = [np.flatnonzero(other != nearest) for other in others]
    if sum(map(len, near)) > MOST_TIES:  # counted first: each place holds an array as large as the constant
        return []
    places: list[Place] = []
    for other, indices in zip(others, near, strict=True):
        for index in indices:
            added = np.zeros_like(constant.values)
            added.flat[index] = np.float32(other.flat[index]) - np.float32(nearest.flat[index])
            said = f"element {index} of {name} on the other side of a tie"
            places.append(Place(said, False, functools.partial(constant.add, added), name, tie=True))
    return places


def _attributes(onnx: Any, model: Any, convert: Convert) -> Iterator[Place]:
    for index, node in enumerate(model.graph.node):
        for name in ATTRIBUTES.get(node.op_type, ()) if node.domain in ("", "ai.onnx") else ():
            number = number_of(onnx, node, name)
            added = lost(number, convert) if number is not None else None
            if added is not None:
                put = functools.partial(put_number, onnx, index, name, float(number + added))
                yield Place(f"{node.name or node.output[0]}.{name}", False, put)


def _reciprocals(known: Mapping[str, Constant], read: Readers, convert: Convert) -> Iterator[Place]:
    """Divisors that a tool multiplies by the reciprocal of, which it rounds."""
    for name, constant in known.items():
        only = all(node.op_type == "Div" and node.input[1] == name for node in read[name])
        if only and constant.values.all():
            added = lost(1 / constant.values, convert)
            if added is not None and (1 / constant.values + added).all():
                changed = 1 / (1 / constant.values + added)
                yield Place(f"1/{name}", False, functools.partial(constant.add, changed - constant.values), name)
