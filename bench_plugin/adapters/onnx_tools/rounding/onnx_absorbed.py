"""Layers that take in what stands before them, and the scale of the attention behind them, before they are rounded."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bench_plugin.adapters.onnx_tools.rounding.onnx_constants import (
    Constant,
    Convert,
    Place,
    Readers,
    lost,
    number_of,
    put_number,
)
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_absorbed",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Layers of ONNX files that take in others",
    "distribution": "onnx",
    "operations": [],
    "uses": ["onnx_constants"],
}

NORMALIZATIONS = ("LayerNormalization", "RMSNormalization")
WITH_BIAS = ("Conv", "ConvTranspose", "Gemm")
MOVES = ("Reshape", "Transpose", "Identity")  # what is between a layer and the attention that reads it


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


class _Layer(NamedTuple):
    """A product with a matrix, float32 [inputs, outputs]: names of its weights and of its bias, empty without one.

    ``factor`` is what an attention behind it multiplies its queries by, and ``of`` its name; 1 where there is none.
    """

    weights: str
    bias: str
    matrix: Any
    transposed: bool
    factor: float = 1.0
    of: str = ""


class _Line(NamedTuple):
    """What multiplies, and what is added to, the input of a layer: float32 [inputs] or []; 0 where nothing is.

    ``shared`` says that something else reads it too, which may be given the factor and the shift as they are rounded.
    """

    name: str
    factor: Any
    shift: Any
    shared: bool = False


def places(
    onnx: Any, model: Any, known: Mapping[str, Constant], read: Readers, convert: Convert
) -> Iterator[Place]:  # fmt: skip
    """Weights that take in a factor of their layer's input or output, biases that take in what is added to it."""
    import numpy as np

    makers = {name: node for node in model.graph.node for name in node.output}
    scales = {scale.attention: scale for scale in _scales(onnx, model)}
    for scale in scales.values():
        yield from _of_keys(onnx, scale, convert)
    for node in model.graph.node:
        layer = _layer(node, known, read)
        if layer is None:
            continue
        reader = _reader_of_queries(node, layer, read)
        if reader in scales:
            layer = layer._replace(factor=scales[reader].root, of=scales[reader].name)
        given = node.input[0]
        line = _line(onnx, makers[given], known) if given in makers else None
        if line is not None and line.factor.size in (1, len(layer.matrix)):
            yield from _taken(line._replace(shared=len(read[given]) > 1), layer, known, convert)
        if layer.of:
            nothing = np.zeros((), dtype=np.float32)
            yield from _taken(_Line("", nothing + 1, nothing), layer, known, convert)
    for node in model.graph.node:
        if node.op_type == "HardSigmoid" and node.input[0] in makers:
            yield from _before_gate(onnx, makers[node.input[0]], node, known, read, convert)


def _before_gate(
    onnx: Any, layer: Any, gate: Any, known: Mapping[str, Constant], read: Readers, convert: Convert
) -> Iterator[Place]:
    """The weights of a layer that take in the factor of a HardSigmoid behind it, and the bias that takes in its sum."""
    alpha, beta = (float(number_of(onnx, gate, name) or 0) for name in ("alpha", "beta"))
    own = layer.op_type in WITH_BIAS and len(read[layer.output[0]]) == 1 and len(layer.input) > 2 and alpha
    name = gate.name or gate.output[0]
    ways = (("times", "alpha", 0.0), ("with", "beta", beta))
    for role, (verb, attribute, summand) in zip(layer.input[1:3], ways, strict=False) if own else ():
        if role not in known or len(read[role]) > 1:
            continue
        added = lost((known[role].values * alpha + summand).astype("float32"), convert)
        if added is not None:
            put = functools.partial(known[role].add, added / alpha)
            yield Place(f"{role} {verb} {name}.{attribute}", attribute == "alpha", put, role)


def _taken(line: _Line, layer: _Layer, known: Mapping[str, Constant], convert: Convert) -> Iterator[Place]:
    """The ways to round a layer that takes in a line before it and the factor behind it."""
    import numpy as np

    factor, shift = (np.broadcast_to(values, len(layer.matrix)) for values in (line.factor, line.shift))
    shifted = bool(shift.any())
    if not factor.all() or (shifted and not layer.bias):
        return
    names = " and ".join(name for name in (line.name, layer.of) if name)
    whole = layer.matrix * (factor * layer.factor)[:, None]
    rounded = whole + _lost(whole, convert)
    half = (factor + _lost(factor, convert), shift + _lost(shift, convert))
    others = [(", which others round", half)] if line.shared and half[0].all() else []
    for words, (multiplied, moved) in (("", (factor, shift)), *others):
        held = rounded / (multiplied * layer.factor)[:, None]  # gives what the layer would that has taken in the line
        changed = held - layer.matrix
        puts = [functools.partial(known[layer.weights].add, changed.T if layer.transposed else changed)]
        if shifted:  # the sum is taken in by the bias, and not multiplied by the rounded weights
            puts.append(functools.partial(known[layer.bias].add, shift @ layer.matrix - moved @ held))
        if changed.any():
            yield Place(f"{layer.weights} times {names}{words}", True, functools.partial(_all, puts), layer.weights)
    if shifted or (layer.of and layer.bias):
        added = lost((known[layer.bias].values + shift @ layer.matrix) * layer.factor, convert)
        if added is not None:
            put = functools.partial(known[layer.bias].add, added / layer.factor)
            yield Place(f"{layer.bias} with that of {names}", False, put, layer.bias)


class _Scale(NamedTuple):
    """The scale of an Attention: its place among the nodes, its name, and its root; queries and keys get one each."""

    attention: str
    node: int
    name: str
    root: float


def _scales(onnx: Any, model: Any) -> Iterator[_Scale]:
    """The scales that are known, given or the default; ``attention`` is the name of the node's output."""
    attentions = [(index, node) for index, node in enumerate(model.graph.node) if node.op_type == "Attention"]
    sizes = _last_sizes(onnx, model) if attentions else {}
    for index, node in attentions:
        options = {one.name: one.f or one.i for one in node.attribute}
        scale, size = options.get("scale"), sizes.get(node.input[0], 0) / (options.get("q_num_heads") or 1)
        if scale is None and size:
            scale = size**-0.5  # https://onnx.ai/onnx/operators/onnx__Attention.html
        if scale is not None and scale > 0:
            name = f"the root of {node.name or node.output[0]}.scale"
            yield _Scale(node.output[0], index, name, float(scale**0.5))


def _last_sizes(onnx: Any, model: Any) -> dict[str, int]:
    """The last size of each tensor, where it is known."""
    found = onnx.shape_inference.infer_shapes(model)
    values = [*found.graph.input, *found.graph.value_info]
    return {one.name: one.type.tensor_type.shape.dim[-1].dim_value for one in values if one.type.tensor_type.shape.dim}


def _of_keys(onnx: Any, scale: _Scale, convert: Convert) -> Iterator[Place]:
    """The root of a scale that is rounded for the keys alone."""
    import numpy as np

    added = lost(np.array(scale.root, dtype=np.float32), convert)
    if added is not None:
        put = functools.partial(put_number, onnx, scale.node, "scale", scale.root * float(scale.root + added))
        yield Place(scale.name, False, put)


def _reader_of_queries(node: Any, layer: _Layer, read: Readers) -> str:
    """The first output of the Attention whose queries the layer makes; empty where it makes none."""
    name = node.output[0]
    while len(read.get(name, ())) == 1:
        user = read[name][0]
        if user.op_type == "Attention":
            return str(user.output[0]) if user.input[0] == name else ""
        if user.op_type not in MOVES and (user.op_type != "Add" or layer.bias not in user.input):
            return ""
        name = user.output[0]
    return ""


def _lost(values: Any, convert: Convert) -> Any:
    """What a rounding adds to the values, zeros where that is nothing or where one of them is not finite then."""
    added = lost(values, convert)
    return values * 0 if added is None else added


def _all(puts: Sequence[Callable[[Any], None]], model: Any) -> None:
    for put in puts:
        put(model)


def _line(onnx: Any, node: Any, known: Mapping[str, Constant]) -> _Line | None:
    """The factor and the shift that a node ends with; None where it has none."""
    import numpy as np

    nothing = np.zeros((), dtype=np.float32)
    if node.op_type == "Selu":
        return _Line(f"{node.name or node.output[0]}.gamma", number_of(onnx, node, "gamma"), nothing)
    names = [name for name in node.input if name in known]
    if node.op_type == "Mul" and len(names) == 1:
        factor = known[names[0]].values
        across = factor.ndim > 1 and factor.size != factor.shape[-1]
        return None if across else _Line(names[0], factor.reshape(-1), nothing)
    if node.op_type in NORMALIZATIONS and names and names == list(node.input[1:]):
        factor, *shifts = (known[name].values for name in names)
        return _Line(names[0], factor, shifts[0] if shifts else nothing) if factor.ndim == 1 else None
    return None


def _layer(node: Any, known: Mapping[str, Constant], read: Readers) -> _Layer | None:
    """The node as a product with a matrix that nothing else reads; None where it is none."""
    if node.op_type not in ("Gemm", "MatMul") or node.input[1] not in known:
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
