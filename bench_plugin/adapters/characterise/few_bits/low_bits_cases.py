"""Operator cases of few bits: MatMul, Gemm and Conv with weights of 4 and 2 bits, as data like ONNX's own cases.

Every case is one layer: DequantizeLinear of stored integers in front of the weights, and where activations are rounded
too, QuantizeLinear and DequantizeLinear in front of them. Activations that are rounded lie at least a fifth of a step
from any tie, so that their integers depend on no last bit; some lie beyond the range and are clipped.
"""

from __future__ import annotations

import importlib
import itertools
import json
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from bench_plugin.adapters.characterise.few_bits import low_bits
from bench_plugin.agent import packs
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.contract import CollectCall
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "low_bits_cases",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Operator cases of few bits",
    "distribution": "onnx",
    "operations": ["collect"],
    "uses": ["low_bits"],
}

CATEGORY = "low-bits"
TYPES = ("int4", "uint4", "int2", "uint2")
GRANULARITIES = ("tensor", "channel", "block")
ROUNDED = ("weights", "both", "a8")
A8, WITH_A8 = "uint8", "int4"
RTOL, ATOL = 1e-3, 1e-7  # of onnx's runner, where a case says nothing else
OFF_TIES = 0.3  # how far rounded activations lie from their integers, in steps
BLOCK = 16  # for convolutions, whose channels are few
A8_LEVELS = 255


class Layer(NamedTuple):
    """A layer: shapes of its input, weights and bias, the axes of outputs and inputs of the weights, its attributes."""

    operator: str
    x: tuple[int, ...]
    w: tuple[int, ...]
    bias: tuple[int, ...]
    outputs: int
    inputs: int
    block: int
    attributes: dict[str, Any]


LAYERS = {
    "matmul": Layer("MatMul", (3, 64), (64, 32), (), 1, 0, 32, {}),
    "gemm": Layer("Gemm", (3, 64), (32, 64), (32,), 0, 1, 32, {"transB": 1}),
    "conv": Layer("Conv", (1, 32, 6, 6), (8, 32, 3, 3), (8,), 0, 1, BLOCK, {"pads": [1, 1, 1, 1]}),
}


class Adapter:
    """Remembers nothing between calls."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing is kept."""

    def collect(self, call: CollectCall) -> Reply:
        """``cases.json``: one description per case; ``cases.bin``: models, inputs and expected outputs."""
        call.stage("build")
        onnx = importlib.import_module("onnx")
        reference = importlib.import_module("onnx.reference")
        index, data = call.path("cases.json"), call.path("cases.bin")
        cases: dict[str, Any] = {}
        with open(data, "wb") as file:
            writer = packs.Writer(file)
            for name, model, x in _cases(onnx):
                onnx.checker.check_model(model, full_check=True)
                outputs = reference.ReferenceEvaluator(model).run(None, {"x": x})
                cases[name] = {
                    "category": CATEGORY, **_described(model), "rtol": RTOL, "atol": ATOL,
                    "model": writer.add_bytes(model.SerializeToString()),
                    "sets": [[[writer.add(x)], [writer.add(one) for one in outputs]]],
                }  # fmt: skip
        with open(index, "w", encoding="utf-8") as file:
            json.dump(cases, file, separators=(",", ":"))
        return Reply({"cases": len(cases), "onnx": onnx.__version__}, files={"cases.json": index, "cases.bin": data})


def _cases(onnx: Any) -> Iterator[tuple[str, Any, Any]]:
    """Every case: its name, its model and its input [...]."""
    for (short, layer), kind, granularity, rounded in itertools.product(LAYERS.items(), TYPES, GRANULARITIES, ROUNDED):
        if rounded != "a8" or kind == WITH_A8:
            name = "low_bits_%s_%s_%s_%s" % (short, kind, granularity, rounded)
            yield (name, *_case(onnx, name, layer, kind, granularity, rounded))


def _case(onnx: Any, name: str, layer: Layer, kind: str, granularity: str, rounded: str) -> tuple[Any, Any]:
    import numpy as np

    helper, stored = onnx.helper, onnx.numpy_helper.from_array
    draw = np.random.default_rng(zlib.crc32(name.encode()))
    groups = {
        "tensor": low_bits.Grouping(None), "channel": low_bits.Grouping(layer.outputs),
        "block": low_bits.Grouping(layer.inputs, layer.block),
    }[granularity]  # fmt: skip
    weights = draw.standard_normal(layer.w) * draw.uniform(0.5, 2.0, _along(layer))
    maker, tensors = low_bits.dequantised(onnx, "w", low_bits.quantised(weights, kind, groups), "w")
    nodes, given = [maker], ["x", "w"]
    if rounded == "weights":
        x = draw.standard_normal(layer.x).astype(np.float32)
    else:
        x, made, more = _rounded_input(onnx, draw, layer.x, kind if rounded == "both" else A8)
        nodes, tensors, given = [*made, *nodes], [*tensors, *more], ["x_real", "w"]
    if layer.bias:
        tensors.append(stored(draw.standard_normal(layer.bias).astype(np.float32), "b"))
        given.append("b")
    nodes.append(helper.make_node(layer.operator, given, ["y"], **layer.attributes))
    opset = low_bits.OPSETS[kind]
    graph = helper.make_graph(
        nodes, name, [helper.make_tensor_value_info("x", low_bits.FLOAT, layer.x)],
        [helper.make_tensor_value_info("y", low_bits.FLOAT, _result(layer))], tensors,
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=low_bits.IRS[opset])
    return model, x


def _rounded_input(onnx: Any, draw: Any, shape: tuple[int, ...], kind: str) -> tuple[Any, list[Any], list[Any]]:
    """An input [...] off all ties, the nodes that round it to ``x_real``, and their stored tensors."""
    import numpy as np

    low, high = low_bits.LIMITS[kind]
    scale = np.float32(0.25 if high - low < A8_LEVELS else 1 / 32)
    middle = 0 if low else (high + 1) // 2
    integers = draw.integers(low - middle - 1, high - middle + 2, shape)  # one step beyond both ends is clipped
    x = ((integers + draw.uniform(-OFF_TIES, OFF_TIES, shape)) * float(scale)).astype(np.float32)
    _, zero = low_bits.activation(float(low - middle), float(high - middle), kind)
    tensors = [onnx.numpy_helper.from_array(np.asarray(scale), "x_scale"), onnx.numpy_helper.from_array(zero, "x_zero")]
    nodes = [
        onnx.helper.make_node("QuantizeLinear", ["x", "x_scale", "x_zero"], ["x_integers"]),
        onnx.helper.make_node("DequantizeLinear", ["x_integers", "x_scale", "x_zero"], ["x_real"]),
    ]
    return x, nodes, tensors


def _along(layer: Layer) -> tuple[int, ...]:
    """The shape of one factor for each output channel, so that channels have different ranges."""
    return tuple(size if place == layer.outputs else 1 for place, size in enumerate(layer.w))


def _result(layer: Layer) -> tuple[int, ...]:
    """The shape of the layer's output; convolutions keep the size of the image."""
    channels = layer.w[layer.outputs]
    return (layer.x[0], channels, *layer.x[2:]) if layer.operator == "Conv" else (*layer.x[:-1], channels)


def _described(model: Any) -> dict[str, Any]:
    """The description of a case's model that plans and adapters use instead of the file."""
    ports = {
        place: [
            {"name": one.name, "type": "tensor", "dtype": "float32",
             "shape": [dim.dim_value for dim in one.type.tensor_type.shape.dim]}
            for one in values
        ]
        for place, values in (("inputs", model.graph.input), ("outputs", model.graph.output))
    }  # fmt: skip
    return {
        "operators": sorted({node.op_type for node in model.graph.node}), "nodes": len(model.graph.node),
        "functions": 0, "ir": model.ir_version, "opsets": {"ai.onnx": model.opset_import[0].version}, **ports,
    }  # fmt: skip
