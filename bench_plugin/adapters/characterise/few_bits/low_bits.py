"""Weights and activations of ONNX graphs as integers of few bits, with QuantizeLinear and DequantizeLinear.

The integers of a tensor share one scale for the whole tensor, for each output channel, or for each block of inputs of
a channel (opset 21). Signed weights are symmetric, unsigned ones have a zero point. Of thirteen ranges, from the whole
one down to two fifths of it, every group gets the one with the smallest squared error: with two bits the whole range
would leave little but zeros.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bench_plugin.adapters.onnx_tools.shared import onnx_names
from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "low_bits",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Integers of few bits in ONNX graphs",
    "distribution": "onnx",
    "operations": [],
    "uses": ["onnx_names"],
}

FLOAT = 1
LIMITS = {
    "int16": (-32768, 32767), "uint16": (0, 65535), "int8": (-128, 127), "uint8": (0, 255),
    "int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3),
}  # fmt: skip
OPSETS = {"int8": 21, "uint8": 21, "int4": 21, "uint4": 21, "int2": 25, "uint2": 25}
IRS = {21: 10, 25: 13}  # the oldest IR version of files of these opsets
OLDEST_IR = 7  # of files of the others
NARROW = frozenset({"int4", "uint4", "int2", "uint2"})  # the types narrower than a byte
BLOCKS = (32, 16)  # inputs that share a scale, the larger number where it divides the inputs
SHARES = [1.0 - 0.05 * step for step in range(13)]  # of the whole range
OPERATORS = ("MatMul", "Gemm", "Conv")  # those whose second input are weights
RECURRENT = ("LSTM", "GRU", "RNN")  # those whose second and third inputs are: of the inputs and of the state
OTHERS = {"ConvTranspose": (1,), **dict.fromkeys(RECURRENT, (1, 2))}  # the places of weights of other contractions


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


class Grouping(NamedTuple):
    """Which elements of a tensor share a scale: all (``axis`` None), a slice along ``axis``, or blocks along it."""

    axis: int | None
    block: int = 0


class Quantised(NamedTuple):
    """The integers [...] of a tensor, the scale (float32) and the zero point of each group, None where that is 0."""

    integers: Any
    scale: Any
    zero: Any
    grouping: Grouping


def quantised(values: Any, kind: str, grouping: Grouping) -> Quantised:
    """The array [...] as integers of the type ``kind``. Raises ValueError where blocks do not divide their axis.

    The scale is [] for one group, [channels] for slices, and has the shape of ``values`` with the axis divided by the
    block for blocks, as DequantizeLinear wants it.
    """
    import numpy as np

    values = np.asarray(values, dtype=np.float64)
    apart, summed = _groups(values, grouping)
    low, high = LIMITS[kind]
    best: Any = None
    for share in SHARES:
        scale, zero = _parameters(apart, summed, low, high, share)
        steps = np.clip(np.rint(apart / scale) + zero, low, high)
        error = (((steps - zero) * scale - apart) ** 2).sum(axis=summed, keepdims=True)
        if best is None:
            best = [steps, scale, zero, error]
            continue
        nearer = error < best[3]
        best = [np.where(nearer, new, old) for new, old in zip((steps, scale, zero, error), best)]
    steps, scale, zero, _ = best
    shape = _shape(values, grouping)
    given = None if low else as_type(zero.reshape(shape), kind)
    whole = as_type(steps.reshape(values.shape), kind)
    return Quantised(whole, scale.astype(np.float32).reshape(shape), given, grouping)


def as_type(values: Any, kind: str) -> Any:
    """Whole numbers [...] as integers of the type, which numpy itself may lack."""
    import numpy as np

    dtype = np.dtype(kind) if kind not in NARROW else getattr(importlib.import_module("ml_dtypes"), kind)
    return values.astype(np.int8 if kind.startswith("int") else np.uint8).astype(dtype)


def real(made: Quantised) -> Any:
    """The values (float64 [...]) that integers stand for."""
    import numpy as np

    whole, (axis, block) = made.integers.astype(np.float64), made.grouping
    scale, zero = (np.asarray(0.0 if x is None else x).astype(np.float64) for x in (made.scale, made.zero))
    if axis is not None:
        along = tuple(-1 if place == axis else 1 for place in range(whole.ndim))
        scale, zero = (np.repeat(x, block, axis) if block and x.ndim else x for x in (scale, zero))
        scale, zero = (x.reshape(along) if not block and x.ndim else x for x in (scale, zero))
    return (whole - zero) * scale


def _groups(values: Any, grouping: Grouping) -> tuple[Any, tuple[int, ...]]:
    """The values so that every group is along some axes, and these axes."""
    axis, block = grouping
    if axis is None:
        return values, tuple(range(values.ndim))
    if not block:
        return values, tuple(place for place in range(values.ndim) if place != axis)
    size = values.shape[axis]
    if size % block:
        raise ValueError("blocks of %d do not divide an axis of %d" % (block, size))
    return values.reshape(*values.shape[:axis], size // block, block, *values.shape[axis + 1 :]), (axis + 1,)


def _shape(values: Any, grouping: Grouping) -> tuple[int, ...]:
    axis, block = grouping
    if axis is None:
        return ()
    if not block:
        return (values.shape[axis],)
    return (*values.shape[:axis], values.shape[axis] // block, *values.shape[axis + 1 :])


def _parameters(values: Any, axes: tuple[int, ...], low: int, high: int, share: float) -> tuple[Any, Any]:
    """Scale and zero point, of float32's exactness, for a share of the range of every group."""
    import numpy as np

    least = np.minimum(values.min(axis=axes, keepdims=True), 0.0) * share
    most = np.maximum(values.max(axis=axes, keepdims=True), 0.0) * share
    span = np.maximum(-least, most) / high if low else (most - least) / high
    scale = np.where(span > 0, span, 1.0).astype(np.float32).astype(np.float64)
    zero = np.zeros_like(scale) if low else np.clip(np.rint(-least / scale), low, high)
    return scale, zero


def activation(low: float, high: float, kind: str) -> tuple[Any, Any]:
    """Scale (float32) and zero point of activations in a range, which is widened to hold 0."""
    import numpy as np

    first, last = LIMITS[kind]
    low, high = min(low, 0.0), max(high, 0.0)
    scale = np.float32((high - low) / (last - first) or 1.0)
    zero = int(np.clip(np.rint(first - low / float(scale)), first, last))
    return scale, as_type(np.asarray(zero), kind)


def dequantised(onnx: Any, name: str, found: Quantised, result: str) -> tuple[Any, list[Any]]:
    """The node DequantizeLinear that makes ``result``, and its stored tensors, whose names begin with ``name``."""
    stored = onnx.numpy_helper.from_array
    names = ["%s_integers" % name, "%s_scale" % name]
    tensors = [stored(found.integers, names[0]), stored(found.scale, names[1])]
    if found.zero is not None:
        names.append("%s_zero" % name)
        tensors.append(stored(found.zero, names[2]))
    axis, block = found.grouping
    attributes = {} if axis is None else {"axis": axis, **({"block_size": block} if block else {})}
    return onnx.helper.make_node("DequantizeLinear", names, [result], "%s_dequantised" % name, **attributes), tensors


def grouping_of(node: Any, weights: Any, granularity: str) -> Grouping:
    """How the weights [...] of a contraction are grouped at a granularity: tensor, channel or block.

    Where no block divides the inputs, and for convolutions, a channel has one scale in place of those of its blocks.
    The channels of a recurrent layer are the rows of its gates, [directions, rows, inputs]; directions share scales.
    """
    if granularity == "tensor":
        return Grouping(None)
    transposed = any(one.name == "transB" and one.i for one in node.attribute)
    rank = weights.ndim
    if node.op_type in OTHERS:
        outputs, inputs = 1, 2
    else:
        outputs, inputs = (0, 1) if node.op_type == "Conv" or transposed else (rank - 1, rank - 2)
    if granularity == "block" and not node.op_type.startswith("Conv"):
        block = next((size for size in BLOCKS if weights.shape[inputs] % size == 0), 0)
        if block:
            return Grouping(inputs, block)
    return Grouping(outputs)


def at_opset(onnx: Any, model: Any, opset: int) -> Any:
    """The model in an opset that is not older than ``opset``, with an IR version that such files need."""
    del model.graph.value_info[:]
    used = {node.domain for node in model.graph.node} | {""}
    imports = [row for row in model.opset_import if row.domain in used or (row.domain == "ai.onnx" and "" in used)]
    del model.opset_import[:]
    model.opset_import.extend(imports)
    own = next(row.version for row in model.opset_import if row.domain in ("", "ai.onnx"))
    if own < opset:
        model = importlib.import_module("onnx.version_converter").convert_version(model, opset)
    model.ir_version = max(model.ir_version, IRS.get(opset, OLDEST_IR))
    return model


def quantisable(onnx: Any, graph: Any, *, every: bool = False) -> Iterator[tuple[Any, int, Any]]:
    """The products of matrices and convolutions of a graph with stored float32 weights, or ``every`` contraction.

    Each node comes with the place of such an input, and its weights [...].
    """
    stored = {tensor.name: tensor for tensor in graph.initializer}
    places = {**dict.fromkeys(OPERATORS, (1,)), **(OTHERS if every else {})}
    for node in graph.node:
        for place in () if node.domain else places.get(node.op_type, ()):
            tensor = stored.get(node.input[place])
            if tensor is not None and tensor.data_type == FLOAT and len(tensor.dims) > 1:
                yield node, place, onnx.numpy_helper.to_array(tensor)


class Stored(NamedTuple):
    """What stands for the weights of a layer: nodes of which the last makes them, and their stored tensors."""

    nodes: list[Any]
    tensors: list[Any]


def with_weights(onnx: Any, model: Any, stored: Callable[[str, Any, Any], Stored], *, every: bool = False) -> list[Any]:
    """Replace the weights of all products of matrices and convolutions, or of ``every`` contraction; returns the nodes.

    ``stored`` is given a name, the node and its weights [...], and makes what results in a tensor of that name.
    Tables that Gather reads stay as they are. Raises Unsupported where there is no such node.
    """
    graph = model.graph
    found, before, names = [], [], set()
    for node, place, weights in quantisable(onnx, graph, every=every):
        transposed = any(one.name == "transB" and one.i for one in node.attribute)
        made = "%s_of_%s%s" % (node.input[place], node.op_type, "_transposed" if transposed else "")
        if made not in names:  # weights that several nodes share are stored once
            names.add(made)
            one = stored(made, node, weights)
            before.extend(one.nodes)
            graph.initializer.extend(one.tensors)
        node.input[place] = made
        found.append(node.output[0])
    if not found:
        raise Unsupported("no MatMul, Gemm or Conv of the file has stored float32 weights")
    nodes = [*before, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    forget_unused(graph)
    return [node for node in graph.node if node.output[0] in found]


def with_activations(
    onnx: Any, model: Any, layers: Sequence[Any], ranges: Mapping[str, tuple[float, float]], kind: str
) -> None:
    """Put QuantizeLinear and DequantizeLinear in front of the first input of each layer, with the range of its name."""
    graph = model.graph
    wanted = list(dict.fromkeys(node.input[0] for node in layers))
    for node in layers:
        node.input[0] = "%s_dequantised" % node.input[0]
    makers: dict[str, list[Any]] = {}
    for name in wanted:
        scale, zero = activation(*ranges[name], kind)
        parameters = ["%s_scale" % name, "%s_zero" % name]
        values = zip((scale, zero), parameters)
        graph.initializer.extend(onnx.numpy_helper.from_array(_array(value), one) for value, one in values)
        made = "%s_quantised" % name
        makers[name] = [
            onnx.helper.make_node("QuantizeLinear", [name, *parameters], [made], made),
            onnx.helper.make_node(
                "DequantizeLinear", [made, *parameters], ["%s_dequantised" % name], "%s_real" % made
            ),
        ]  # fmt: skip
    nodes = [one for value in graph.input for one in makers.pop(value.name, [])]
    for node in graph.node:
        nodes.append(node)
        nodes.extend(one for name in node.output for one in makers.pop(name, []))
    del graph.node[:]
    graph.node.extend(nodes)


def _array(value: Any) -> Any:
    return importlib.import_module("numpy").asarray(value)


def forget_unused(graph: Any) -> None:
    """Drop the stored tensors that no node reads any more, nor a branch or a body of one."""
    used = {name for node in graph.node for name in onnx_names.read_by(node)} | {value.name for value in graph.output}
    kept = [tensor for tensor in graph.initializer if tensor.name in used]
    del graph.initializer[:]
    graph.initializer.extend(kept)
