"""Graphs of which single layers are quantised: rounded in floating point, or with QuantizeLinear in front of them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bench_plugin.adapters.onnx_tools import onnx_rounding
from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "sensitivity_graphs",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Graphs of which single layers are quantised",
    "distribution": "onnx",
    "operations": [],
    "uses": ["onnx_rounding"],
}

FLOAT, UINT8 = 1, 2  # onnx's numbers of the types
WEIGHTS, ACTIVATIONS = "weights", "activations"
PER_TENSOR = -1
NO_WEIGHT = -1
BIAS = 2  # the place of the bias among the inputs of a convolution and of Gemm
ROUND_SINCE, AXIS_SINCE = 11, 13  # opsets of Round, and of DequantizeLinear with an axis
# What follows a layer without leaving the loop of its kernel: the integers behind it are the result of both.
FOLLOWERS = ("Relu", "Clip")
# Operators that hold products and that are left in floating point, because no quantiser here has a form for them.
UNTOUCHED = frozenset(
    {"LSTM", "GRU", "RNN", "Einsum", "Attention", "DeformConv", "MultiHeadAttention", "If", "Loop", "Scan"}
    | {"Conv", "ConvTranspose", "Gemm", "MatMul"}
)

Ranges = Mapping[str, Sequence[float]]  # the smallest and the largest value of a tensor, by its name


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


class Layer(NamedTuple):
    """A convolution or a product of matrices.

    ``place`` is that of its node, ``given`` are the places of its activations among the node's inputs, ``weight`` that
    of its weights or NO_WEIGHT, ``axis`` that of the output channels among the weights' dimensions or PER_TENSOR.
    ``result`` is the tensor that is quantised behind it.
    """

    name: str
    named: bool
    operator: str
    place: int
    given: tuple[int, ...]
    weight: int
    axis: int
    result: str


class Graph:
    """A graph whose layers can be quantised one by one: constants are computed, BatchNormalization is folded."""

    def __init__(self, onnx: Any, model: Any) -> None:
        self.onnx = onnx
        self.model = _simplified(onnx, model)
        self.opset = next((one.version for one in model.opset_import if one.domain in ("", "ai.onnx")), 0)
        self.weights = {one.name: onnx.numpy_helper.to_array(one) for one in self.model.graph.initializer}
        self.layers = _layers(self)

    def untouched(self) -> dict[str, int]:
        """How many nodes with products are no layer here, by their operator."""
        places = {one.place for one in self.layers}
        found: dict[str, int] = {}
        for place, node in enumerate(self.model.graph.node):
            if node.op_type in UNTOUCHED and place not in places:
                found[node.op_type] = found.get(node.op_type, 0) + 1
        return found

    def tensors(self) -> list[str]:
        """The tensors whose ranges have to be known: activations and results of all layers, each once."""
        nodes = self.model.graph.node
        names = [nodes[one.place].input[place] for one in self.layers for place in one.given]
        return list(dict.fromkeys([*names, *(one.result for one in self.layers)]))

    def exposing(self, names: Sequence[str]) -> Any:
        """A copy of the model with these tensors of float32 as further outputs."""
        model = self.copied()
        known = {value.name for value in model.graph.output}
        model.graph.output.extend(
            self.onnx.helper.make_tensor_value_info(name, FLOAT, None) for name in names if name not in known
        )
        return model

    def copied(self) -> Any:
        """A copy of the model."""
        model = self.onnx.ModelProto()
        model.CopyFrom(self.model)
        return model


def rounded(graph: Graph, assignment: Mapping[tuple[int, str], int], ranges: Ranges) -> Any:
    """A copy of the model in which each part of the assignment, (layer, kind), is rounded to its number of bits.

    It computes in float32 still. Raises Unsupported for activations of a file whose opset has no Round.
    """
    model = graph.copied()
    before: dict[int, list[Any]] = {}
    for (index, kind), bits in assignment.items():
        layer = graph.layers[index]
        node = model.graph.node[layer.place]
        if kind == WEIGHTS:
            name = node.input[layer.weight]
            integers, scale = weight_steps(graph.weights[name], bits, layer.axis)
            node.input[layer.weight] = _stored(graph, model, "%s_rounded_%d" % (name, index), integers * scale)
            continue
        if graph.opset < ROUND_SINCE:
            raise Unsupported("activations are rounded by Round, which opset %d does not have" % graph.opset)
        for place in layer.given:
            name = node.input[place]
            made = "%s_rounded_%d_%d" % (name, index, place)
            nodes = _rounding(graph, model, name, made, ranges, bits)
            node.input[place] = made
            before.setdefault(layer.place, []).extend(nodes)
    return _with_nodes(model, before, {})


def quantised(graph: Graph, chosen: Sequence[int], ranges: Ranges) -> tuple[Any, list[dict[str, Any]]]:
    """A copy of the model in which the chosen layers are quantised to 8 bits as compilers expect it, and the rows of
    their results.

    Activations are uint8 per tensor, weights int8 per channel, biases int32, between QuantizeLinear and
    DequantizeLinear. A row names the layer and its tensors: ``integers``, which is a further output of the model, and
    ``real``, what they are rounded from, with ``scale`` and ``zero``. Raises Unsupported for an opset below 13.
    """
    if graph.opset < AXIS_SINCE:
        raise Unsupported("DequantizeLinear has no axis in opset %d, so weights cannot be per channel" % graph.opset)
    model = graph.copied()
    before: dict[int, list[Any]] = {}
    behind: dict[int, list[Any]] = {}
    made: dict[str, str] = {}  # the dequantised activation by the name of the tensor
    results = {graph.layers[index].result for index in chosen}
    rows = []
    for index in chosen:
        layer = graph.layers[index]
        node = model.graph.node[layer.place]
        scales = []
        for place in layer.given:
            name = node.input[place]
            scale, _ = activation_step(ranges[name], 8)
            scales.append(scale)
            if name not in made and name not in results:
                made[name] = name + "_dequantised"
                before.setdefault(layer.place, []).extend(
                    _quantising(graph, model, name, name + "_quantised", made[name], ranges)
                )
            node.input[place] = made.get(name, name)
        if layer.weight != NO_WEIGHT:
            before.setdefault(layer.place, []).extend(_integer_weights(graph, model, layer, node, index, scales[0]))
        row, place, nodes = _result(graph, model, layer, ranges)
        rows.append({"layer": index, **row})
        behind.setdefault(place, []).extend(nodes)
    model = _with_nodes(model, before, behind)
    known = {value.name: value for value in graph.onnx.shape_inference.infer_shapes(model).graph.value_info}
    for row in rows:
        name = row["integers"]
        model.graph.output.append(known.get(name) or graph.onnx.helper.make_tensor_value_info(name, UINT8, None))
    return model, rows


def nudged(graph: Graph, model: Any, results: Sequence[str], steps: float) -> Any:
    """A copy of a quantised model whose activations are moved by so many steps before they are rounded.

    ``results`` are the integers of layers, which are rounded as before.
    """
    moved = type(model)()
    moved.CopyFrom(model)
    scales = {one.name: graph.onnx.numpy_helper.to_array(one) for one in moved.graph.initializer}
    before: dict[int, list[Any]] = {}
    for place, node in enumerate(moved.graph.node):
        if node.op_type == "QuantizeLinear" and node.output[0] not in results:
            made = node.output[0] + "_nudged"
            by = _stored(graph, moved, made + "_by", scales[node.input[1]] * steps)
            before[place] = [graph.onnx.helper.make_node("Add", [node.input[0], by], [made])]
            node.input[0] = made
    return _with_nodes(moved, before, {})


def weight_steps(values: Any, bits: int, axis: int) -> tuple[Any, Any]:
    """Integers [...] of the same shape and their float32 steps, which can be multiplied with them.

    Symmetric: the largest magnitude, of a channel along ``axis`` or of all for PER_TENSOR, is 2^(bits - 1) - 1 steps.
    """
    import numpy as np

    largest = 2 ** (bits - 1) - 1
    others = tuple(place for place in range(values.ndim) if place != axis) if axis != PER_TENSOR else None
    peak = np.abs(values).max(axis=others, keepdims=True) if values.size else np.ones([1] * values.ndim)
    scale = np.where(peak > 0, peak / largest, 1).astype(np.float32)
    return np.clip(np.rint(values / scale), -largest, largest).astype(np.float32), scale


def activation_step(limits: Sequence[float], bits: int) -> tuple[Any, int]:
    """The float32 step and the zero point of an activation: its range with 0 in it is divided into 2^bits - 1 steps."""
    import numpy as np

    low, high = min(limits[0], 0.0), max(limits[1], 0.0)
    levels = 2**bits - 1
    scale = np.float32((high - low) / levels) if high > low else np.float32(1)
    return scale, int(min(max(round(-low / float(scale)), 0), levels))


def _simplified(onnx: Any, model: Any) -> Any:
    """The model with functions inlined, plain weights, constants computed and BatchNormalization folded."""
    if model.functions:
        model = importlib.import_module("onnx.inliner").inline_local_functions(model)
    stored = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in stored]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    _compute_constants(onnx, model)
    if not any(attribute.HasField("g") for node in model.graph.node for attribute in node.attribute):
        model = onnx_rounding.folded(onnx, model)  # a body of a Loop may use a weight of the graph around it
    del model.graph.value_info[:]
    return model


def _compute_constants(onnx: Any, model: Any) -> None:
    """Store what follows from stored tensors alone, such as a transposed weight, as a tensor of its own."""
    known = {tensor.name: tensor for tensor in model.graph.initializer}
    outputs = {value.name for value in model.graph.output}
    kept = []
    for node in model.graph.node:
        given = [name for name in node.input if name]
        names = [name for name in node.output if name]
        constant = node.op_type in onnx_rounding.CONSTANT and node.domain in ("", "ai.onnx")
        if not constant or any(name not in known for name in given) or outputs & set(names):
            kept.append(node)
            continue
        graph = onnx.helper.make_graph(
            [node], "one", [], [onnx.helper.make_empty_tensor_value_info(name) for name in names],
            [known[name] for name in dict.fromkeys(given)],
        )  # fmt: skip
        one = onnx.helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
        values = importlib.import_module("onnx.reference").ReferenceEvaluator(one).run(None, {})
        for name, value in zip(names, values):
            known[name] = onnx.numpy_helper.from_array(value, name)
            model.graph.initializer.append(known[name])
    del model.graph.node[:]
    model.graph.node.extend(kept)


def _layers(graph: Graph) -> list[Layer]:
    """The layers in the order of the file whose weights and activations are float32."""
    model = graph.onnx.shape_inference.infer_shapes(graph.copied()).graph
    types = {value.name: value.type.tensor_type.elem_type for value in (*model.value_info, *model.input, *model.output)}
    types.update({name: FLOAT if x.dtype.name == "float32" else 0 for name, x in graph.weights.items()})
    users: dict[str, list[Any]] = {}
    for node in graph.model.graph.node:
        for name in node.input:
            users.setdefault(name, []).append(node)
    outputs = {value.name for value in graph.model.graph.output}
    found = []
    for place, node in enumerate(graph.model.graph.node):
        sides = _sides(node, graph.weights)
        if sides is None or any(types.get(name, FLOAT) != FLOAT for name in node.input if name):
            continue
        result = node.output[0]
        after = users.get(result, [])
        if result not in outputs and len(after) == 1 and after[0].op_type in FOLLOWERS:
            result = after[0].output[0]
        found.append(Layer(node.name or node.output[0], bool(node.name), node.op_type, place, *sides, result))
    return found


def _sides(node: Any, weights: Mapping[str, Any]) -> tuple[tuple[int, ...], int, int] | None:
    """The places of a layer's activations and of its weights, and their axis of channels; None for what is no layer."""
    if node.domain not in ("", "ai.onnx") or node.op_type not in ("Conv", "ConvTranspose", "Gemm", "MatMul"):
        return None
    computed = tuple(place for place in (0, 1) if node.input[place] not in weights)
    if not computed:
        return None
    if len(computed) > 1:
        return computed, NO_WEIGHT, PER_TENSOR
    weight = 1 - computed[0]
    turned = {one.name: one.i for one in node.attribute}
    if node.op_type in ("Conv", "ConvTranspose"):
        return (computed, weight, 0 if node.op_type == "Conv" else 1) if weight == 1 else None
    if node.op_type == "Gemm":
        axis = (0 if turned.get("transB") else 1) if weight == 1 else (1 if turned.get("transA") else 0)
        return computed, weight, axis
    rank = weights[node.input[weight]].ndim
    return computed, weight, PER_TENSOR if rank < 2 else rank - 1 if weight == 1 else rank - 2


def _stored(graph: Graph, model: Any, name: str, values: Any, dtype: str = "float32") -> str:
    """Store an array [...] under a name; returns the name."""
    import numpy as np

    model.graph.initializer.append(graph.onnx.numpy_helper.from_array(np.asarray(values).astype(dtype), name))
    return name


def _rounding(graph: Graph, model: Any, name: str, made: str, ranges: Ranges, bits: int) -> list[Any]:
    """Nodes that round a tensor to the integers of so many bits and give its real value, as ``made``."""
    scale, zero = activation_step(ranges[name], bits)
    node = graph.onnx.helper.make_node
    step = _stored(graph, model, made + "_scale", scale)
    low = _stored(graph, model, made + "_low", -zero)
    high = _stored(graph, model, made + "_high", 2**bits - 1 - zero)
    chain = [made + "_steps", made + "_whole", made + "_above", made + "_within"]
    return [
        node("Div", [name, step], [chain[0]]), node("Round", [chain[0]], [chain[1]]),
        node("Max", [chain[1], low], [chain[2]]), node("Min", [chain[2], high], [chain[3]]),
        node("Mul", [chain[3], step], [made]),
    ]  # fmt: skip


def _quantising(graph: Graph, model: Any, name: str, integers: str, made: str, ranges: Ranges) -> list[Any]:
    """QuantizeLinear of a tensor to uint8 ``integers``, and DequantizeLinear of these to ``made``."""
    scale, zero = activation_step(ranges[name], 8)
    parameters = [
        _stored(graph, model, integers + "_scale", scale), _stored(graph, model, integers + "_zero", zero, "uint8"),
    ]  # fmt: skip
    node = graph.onnx.helper.make_node
    return [
        node("QuantizeLinear", [name, *parameters], [integers], integers),
        node("DequantizeLinear", [integers, *parameters], [made], made),
    ]


def _integer_weights(graph: Graph, model: Any, layer: Layer, node: Any, index: int, given_scale: Any) -> list[Any]:
    """DequantizeLinear of a layer's weights and, where it has one of its own, of its bias."""
    make = graph.onnx.helper.make_node
    name = node.input[layer.weight]
    integers, scale = weight_steps(graph.weights[name], 8, layer.axis)
    flat = scale.reshape(-1) if layer.axis != PER_TENSOR else scale.reshape(())
    base = "%s_layer_%d" % (name, index)
    stored = [
        _stored(graph, model, base + "_integers", integers, "int8"), _stored(graph, model, base + "_scale", flat),
        _stored(graph, model, base + "_zero", 0 * flat, "int8"),
    ]  # fmt: skip
    axis = {"axis": layer.axis} if layer.axis != PER_TENSOR else {}
    nodes = [make("DequantizeLinear", stored, [base], base, **axis)]
    node.input[layer.weight] = base
    bias = node.input[BIAS] if layer.operator != "MatMul" and len(node.input) > BIAS else ""
    values = graph.weights.get(bias)
    if values is None or values.shape != flat.shape:
        return nodes
    steps = (given_scale * flat).astype("float32")
    whole = (values.astype("float64") / steps).round().clip(-(2**31), 2**31 - 1)
    base = "%s_layer_%d" % (bias, index)
    stored = [
        _stored(graph, model, base + "_integers", whole, "int32"), _stored(graph, model, base + "_scale", steps),
        _stored(graph, model, base + "_zero", 0 * flat, "int32"),
    ]  # fmt: skip
    node.input[BIAS] = base
    return [*nodes, make("DequantizeLinear", stored, [base], base, axis=0)]


def _result(graph: Graph, model: Any, layer: Layer, ranges: Ranges) -> tuple[dict[str, Any], int, list[Any]]:
    """The row of a layer's result, the place of the node that makes it, and the nodes behind that one.

    The node's output gets another name, so that whatever takes the result takes the dequantised one.
    """
    name, real = layer.result, layer.result + "_real"
    nodes = model.graph.node
    place = next(at for at in range(layer.place, len(nodes)) if name in nodes[at].output)
    nodes[place].output[list(nodes[place].output).index(name)] = real
    scale, zero = activation_step(ranges[name], 8)
    row = {"integers": name + "_integers", "real": real, "scale": float(scale), "zero": zero}
    return row, place, _quantising(graph, model, real, name + "_integers", name, {real: ranges[name]})


def _with_nodes(model: Any, before: Mapping[int, Sequence[Any]], behind: Mapping[int, Sequence[Any]]) -> Any:
    """The model with further nodes in front of and behind those at these places, without tensors that none takes."""
    nodes = [
        one
        for place, node in enumerate(model.graph.node)
        for one in (*before.get(place, ()), node, *behind.get(place, ()))
    ]
    copies = []
    for node in nodes:
        copy = type(node)()
        copy.CopyFrom(node)
        copies.append(copy)
    del model.graph.node[:]
    model.graph.node.extend(copies)
    if not any(attribute.HasField("g") for node in copies for attribute in node.attribute):
        used = {name for node in copies for name in node.input} | {value.name for value in model.graph.output}
        for place in reversed(range(len(model.graph.initializer))):
            if model.graph.initializer[place].name not in used:
                del model.graph.initializer[place]
    return model
