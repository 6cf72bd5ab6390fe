"""Graphs of which single layers are quantised: rounded in floating point, or with QuantizeLinear in front of them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from bench_plugin.adapters.characterise.sensitivity_layers import (
    FLOAT,
    PER_TENSOR,
    PRODUCTS,
    RECURRENT,
    Layer,
    activation_step,
    layers_of,
    weight_steps,
)
from bench_plugin.adapters.onnx_tools.rounding import onnx_folding
from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "sensitivity_graphs",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Graphs of which single layers are quantised",
    "distribution": "onnx",
    "operations": [],
    "uses": ["onnx_folding", "sensitivity_layers"],
}

UINT8 = 2  # onnx's number of the type
WEIGHTS, ACTIVATIONS = "weights", "activations"
BIAS = 2  # the place of the bias among the inputs of the operators that have one
BIASED = ("Conv", "ConvTranspose", "Gemm")
ROUND_SINCE, AXIS_SINCE = 11, 13  # opsets of Round, and of DequantizeLinear with an axis
# Operators that hold products and that are left in floating point, because no quantiser here has a form for them.
UNTOUCHED = frozenset(
    {*PRODUCTS, *RECURRENT, "Einsum", "Attention", "DeformConv", "MultiHeadAttention", "If", "Loop", "Scan"}
)

Ranges = Mapping[str, Sequence[float]]  # the smallest and the largest value of a tensor, by its name


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


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
            for place, axis in layer.weights:
                name = node.input[place]
                integers, scale = weight_steps(graph.weights[name], bits, axis)
                node.input[place] = _stored(graph, model, "%s_rounded_%d_%d" % (name, index, place), integers * scale)
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
        model = onnx_folding.folded(onnx, model)  # a body of a Loop may use a weight of the graph around it
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
        constant = node.op_type in onnx_folding.CONSTANT and node.domain in ("", "ai.onnx")
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
    outputs = {value.name for value in graph.model.graph.output}
    return list(layers_of(graph.model.graph.node, types, graph.weights, outputs))


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
    nodes: list[Any] = []
    flat: Any = None
    for place, axis in layer.weights:
        name = node.input[place]
        integers, scale = weight_steps(graph.weights[name], 8, axis)
        flat = scale.reshape(-1) if axis != PER_TENSOR else scale.reshape(())
        base = "%s_layer_%d_%d" % (name, index, place)
        nodes.append(_dequantising(graph, model, base, (integers, flat, "int8"), axis))
        node.input[place] = base
    bias = node.input[BIAS] if nodes and layer.operator in BIASED and len(node.input) > BIAS else ""
    values = graph.weights.get(bias)
    if values is None or values.shape != flat.shape:
        return nodes
    steps = (given_scale * flat).astype("float32")
    whole = (values.astype("float64") / steps).round().clip(-(2**31), 2**31 - 1)
    base = "%s_layer_%d" % (bias, index)
    node.input[BIAS] = base
    return [*nodes, _dequantising(graph, model, base, (whole, steps, "int32"), 0)]


def _dequantising(graph: Graph, model: Any, made: str, stored: tuple[Any, Any, str], axis: int) -> Any:
    """DequantizeLinear to ``made`` of integers [...] that are stored with their scale and their type."""
    integers, scale, dtype = stored
    names = [
        _stored(graph, model, made + "_integers", integers, dtype), _stored(graph, model, made + "_scale", scale),
        _stored(graph, model, made + "_zero", 0 * scale, dtype),
    ]  # fmt: skip
    along = {"axis": axis} if axis != PER_TENSOR else {}
    return graph.onnx.helper.make_node("DequantizeLinear", names, [made], made, **along)


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
