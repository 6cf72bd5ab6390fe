"""What a tool may round of an ONNX file: constants, numbers in attributes, and what it makes of several constants."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bench_plugin.adapters.onnx_tools.rounding.onnx_constants import (
    Constant,
    Convert,
    Readers,
    constants,
    lost,
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
    "uses": ["onnx_constants"],
}

# Numbers in attributes that a converter may write out as tensors of their own.
ATTRIBUTES = {
    "BatchNormalization": ("epsilon",), "Celu": ("alpha",), "Elu": ("alpha",), "Gemm": ("alpha", "beta"),
    "GroupNormalization": ("epsilon",), "HardSigmoid": ("alpha", "beta"), "InstanceNormalization": ("epsilon",),
    "LayerNormalization": ("epsilon",), "LeakyRelu": ("alpha",), "RMSNormalization": ("epsilon",),
    "Selu": ("alpha", "gamma"), "Shrink": ("bias", "lambd"), "ThresholdedRelu": ("alpha",),
}  # fmt: skip
# Operators that read constants as they read results: what only they read is no weight of a layer.
ARITHMETIC = frozenset({"Add", "Concat", "Div", "Expand", "Max", "Min", "Mul", "PRelu", "Pow", "Sub", "Where"})
NORMALIZATIONS = ("LayerNormalization", "RMSNormalization")


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


@dataclass(frozen=True)
class Place:
    """One rounding that a tool may do. ``weight`` says whether it is that of the weight of a layer.

    ``round`` adds what the rounding changes to the constants of a model that has the same nodes and tensors. ``of``
    names the constant that this is another way to round of.
    """

    name: str
    weight: bool
    round: Callable[[Any], None]
    of: str = ""


class _Layer(NamedTuple):
    """A product with a matrix, float32 [inputs, outputs]: names of its weights and of its bias, empty without one."""

    weights: str
    bias: str
    matrix: Any
    transposed: bool


class _Line(NamedTuple):
    """What multiplies, and what is added to, the input of a layer: float32 [inputs] or []; 0 where nothing is."""

    name: str
    factor: Any
    shift: Any


def places(onnx: Any, model: Any, convert: Convert) -> list[Place]:
    """The constants of the model's graph that ``convert`` changes, then numbers in attributes, then other ways.

    Other ways to round a constant are the reciprocal of a divisor, and weights and biases that take in what their
    layer's input was multiplied by and what was added to it. Constants in bodies of Loop, If and Scan are no places.
    """
    known, read = constants(onnx, model), readers(model)
    found = []
    for name, constant in known.items():
        added = lost(constant.values, convert)
        if added is not None:
            weight = constant.values.ndim >= 2 and not {node.op_type for node in read[name]} <= ARITHMETIC
            found.append(Place(name, weight, functools.partial(constant.add, added)))
    found += _attributes(onnx, model, convert)
    found += _reciprocals(known, read, convert)
    return [*found, *_absorbed(onnx, model, known, read, convert)]


def _attributes(onnx: Any, model: Any, convert: Convert) -> Iterator[Place]:
    for index, node in enumerate(model.graph.node):
        for name in ATTRIBUTES.get(node.op_type, ()) if node.domain in ("", "ai.onnx") else ():
            number = _number(onnx, node, name)
            added = lost(number, convert) if number is not None else None
            if added is not None:
                put = functools.partial(_put_number, onnx, index, name, float(number + added))
                yield Place(f"{node.name or node.output[0]}.{name}", False, put)


def _put_number(onnx: Any, index: int, name: str, number: float, model: Any) -> None:
    node = model.graph.node[index]
    kept = [one for one in node.attribute if one.name != name]
    del node.attribute[:]
    node.attribute.extend([*kept, onnx.helper.make_attribute(name, number)])


def _number(onnx: Any, node: Any, name: str) -> Any | None:
    """The number of an attribute, or its default, as float32 []; None where neither is known."""
    import numpy as np

    given = next((one.f for one in node.attribute if one.name == name), None)
    if given is None:
        attribute = onnx.defs.get_schema(node.op_type).attributes.get(name)
        given = attribute.default_value.f if attribute is not None else None
    return None if given is None else np.array(given, dtype=np.float32)


def _reciprocals(known: Mapping[str, Constant], read: Readers, convert: Convert) -> Iterator[Place]:
    """Divisors that a tool multiplies by the reciprocal of, which it rounds."""
    for name, constant in known.items():
        only = all(node.op_type == "Div" and node.input[1] == name for node in read[name])
        if only and constant.values.all():
            added = lost(1 / constant.values, convert)
            if added is not None and (1 / constant.values + added).all():
                changed = 1 / (1 / constant.values + added)
                yield Place(f"1/{name}", False, functools.partial(constant.add, changed - constant.values), name)


def _absorbed(onnx: Any, model: Any, known: Mapping[str, Constant], read: Readers, convert: Convert) -> Iterator[Place]:
    """Weights that take in a factor of their layer's input, and biases that take in what is added to it."""
    for node in model.graph.node:
        line = _line(onnx, node, known)
        for reader in read.get(node.output[0], ()) if line is not None else ():
            layer = _layer(reader, node.output[0], known, read)
            if line is not None and layer is not None and line.factor.size in (1, len(layer.matrix)):
                yield from _into(line, layer, known, convert)


def _into(line: _Line, layer: _Layer, known: Mapping[str, Constant], convert: Convert) -> Iterator[Place]:
    import numpy as np

    factor, shift = (np.broadcast_to(values, len(layer.matrix)) for values in (line.factor, line.shift))
    shifted = bool(shift.any())
    if not factor.all() or (shifted and not layer.bias):
        return
    added = lost(layer.matrix * factor[:, None], convert)
    if added is not None:
        changed = added / factor[:, None]
        puts = [functools.partial(known[layer.weights].add, changed.T if layer.transposed else changed)]
        if shifted:  # the sum is taken in by the bias, and not multiplied by the rounded weights
            puts.append(functools.partial(known[layer.bias].add, -shift @ changed))
        yield Place(f"{layer.weights} times {line.name}", True, functools.partial(_all, puts), layer.weights)
    if shifted:
        added = lost(known[layer.bias].values + shift @ layer.matrix, convert)
        if added is not None:
            put = functools.partial(known[layer.bias].add, added)
            yield Place(f"{layer.bias} with that of {line.name}", False, put, layer.bias)


def _all(puts: Sequence[Callable[[Any], None]], model: Any) -> None:
    for put in puts:
        put(model)


def _line(onnx: Any, node: Any, known: Mapping[str, Constant]) -> _Line | None:
    """The factor and the shift that a node ends with; None where it has none."""
    import numpy as np

    nothing = np.zeros((), dtype=np.float32)
    if node.op_type == "Selu":
        return _Line(f"{node.name or node.output[0]}.gamma", _number(onnx, node, "gamma"), nothing)
    names = [name for name in node.input if name in known]
    if node.op_type == "Mul" and len(names) == 1:
        factor = known[names[0]].values
        across = factor.ndim > 1 and factor.size != factor.shape[-1]
        return None if across else _Line(names[0], factor.reshape(-1), nothing)
    if node.op_type in NORMALIZATIONS and names and names == list(node.input[1:]):
        factor, *shifts = (known[name].values for name in names)
        return _Line(names[0], factor, shifts[0] if shifts else nothing) if factor.ndim == 1 else None
    return None


def _layer(node: Any, given: str, known: Mapping[str, Constant], read: Readers) -> _Layer | None:
    """The node as a product of ``given`` with a matrix that nothing else reads; None where it is none."""
    if node.op_type not in ("Gemm", "MatMul") or node.input[0] != given or node.input[1] not in known:
        return None
    weights, values = node.input[1], known[node.input[1]].values
    options = {one.name: one.f or one.i for one in node.attribute}
    if values.ndim != 2 or len(read[weights]) != 1 or any(options.get(name, 1) != 1 for name in ("alpha", "beta")):
        return None
    if options.get("transA"):
        return None
    transposed = bool(options.get("transB"))
    matrix = values.T if transposed else values
    bias = node.input[2] if len(node.input) > 2 else _added(node.output[0], known, read)
    own = bias in known and known[bias].values.shape == (matrix.shape[1],) and len(read[bias]) == 1
    return _Layer(weights, bias if own else "", matrix, transposed)


def _added(product: str, known: Mapping[str, Constant], read: Readers) -> str:
    """The constant that is added to a product right behind it; empty where there is none."""
    users = read.get(product, [])
    if len(users) != 1 or users[0].op_type != "Add":
        return ""
    return next((name for name in users[0].input if name in known), "")
