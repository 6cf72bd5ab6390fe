"""Layers of quantised graphs with results in floating point: in steps, clamped to the integers' range, not rounded."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Mapping
from typing import Any

from bench_plugin.adapters.characterise.few_bits import low_bits
from bench_plugin.adapters.onnx_tools.separated import onnx_separated
from bench_plugin.agent.toolkit import versions
from bench_plugin.agent.toolkit.rebuilding import NEAR_TIE, SMALL

ADAPTER = {
    "name": "onnx_unrounded",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Layers before their rounding",
    "distribution": "onnx",
    "operations": [],
    "uses": ["low_bits", "onnx_separated"],
}


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx")

    def reset(self) -> None:
        """Nothing to forget."""


def unrounded(onnx: Any, model: Any, inside: Mapping[str, bool] | None = None) -> Any:
    """Separated layers whose results are floating point: in steps, clamped to the integers' range, not rounded.

    Integers ``inside`` of them become floating point, too; they are rounded where the value is true.
    """
    inside = inside or {}
    declared = {value.name: value for value in model.graph.output}
    wide = {
        one.input[0]: one.output[0]
        for one in model.graph.node if one.op_type == "Cast" and one.output[0] == f"{one.input[0]}{onnx_separated.WIDE}"
    }  # fmt: skip
    types = onnx_separated.typed(onnx, model)
    known = {tensor.name: tensor for tensor in model.graph.initializer}
    nodes: list[Any] = []
    for node in model.graph.node:
        name = wide.get(node.output[0], node.output[0])
        if node.op_type == "Cast" and name in wide.values():
            continue
        if node.op_type == "QuantizeLinear" and name in declared:
            steps = _Steps(onnx, model.graph, node, known, declared[name].type.tensor_type)
            nodes += steps.clamped(node.input[0], name)
            declared[name].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
        elif node.op_type == onnx_separated.DYNAMIC:
            nodes += _as_it_runs(onnx, model.graph, node)
            for name in node.output:
                declared[name].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
        elif node.op_type == "QuantizeLinear" and name in inside:
            steps = _Steps(onnx, model.graph, node, known, types[name].type.tensor_type)
            nodes += steps.clamped(node.input[0], name, rounds=inside[name])
        elif node.op_type == "DequantizeLinear" and node.input[0] in inside:
            nodes += _Steps(onnx, model.graph, node, known, types[node.input[0]].type.tensor_type).real(node.input[0])
        else:
            nodes.append(node)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    del model.graph.value_info[:]
    return model


def _as_it_runs(onnx: Any, graph: Any, node: Any) -> Iterator[Any]:
    """The arithmetic of DynamicQuantizeLinear: its scale, its zero point and, by those that were given, its steps.

    The formula is that of ONNX's specification; nothing is rounded.
    """
    given, (steps, scale, zero) = node.input[0], node.output
    numbers = {"none": 0.0, "most": 255.0}
    for name, value in numbers.items():
        array = importlib.import_module("numpy").asarray(value, "float32")
        graph.initializer.append(onnx.numpy_helper.from_array(array, f"{steps}_{name}"))
    none, most = (f"{steps}_{name}" for name in numbers)

    def made(kind: str, inputs: list[str], output: str, **more: Any) -> Any:
        return onnx.helper.make_node(kind, inputs, [output], **more)

    def clamped(value: str, output: str) -> Iterator[Any]:
        yield made("Max", [value, none], f"{output}_above")
        yield made("Min", [f"{output}_above", most], output)

    yield made("ReduceMax", [given], f"{steps}_largest", keepdims=0)
    yield made("Max", [f"{steps}_largest", none], f"{steps}_high")
    yield made("ReduceMin", [given], f"{steps}_least", keepdims=0)
    yield made("Min", [f"{steps}_least", none], f"{steps}_low")
    yield made("Sub", [f"{steps}_high", f"{steps}_low"], f"{steps}_range")
    yield made("Div", [f"{steps}_range", most], scale)
    yield made("Neg", [f"{steps}_low"], f"{steps}_below")
    yield made("Div", [f"{steps}_below", scale], f"{zero}_real")
    yield from clamped(f"{zero}_real", zero)
    yield made("Cast", [zero + onnx_separated.GIVEN], f"{zero}_float", to=onnx.TensorProto.FLOAT)
    yield made("Div", [given, scale + onnx_separated.GIVEN], f"{steps}_real")
    yield made("Add", [f"{steps}_real", f"{zero}_float"], f"{steps}_moved")
    yield from clamped(f"{steps}_moved", steps)


class _Steps:
    """The arithmetic of a QuantizeLinear or DequantizeLinear in floating point; its constants go into the graph."""

    def __init__(self, onnx: Any, graph: Any, node: Any, known: Mapping[str, Any], declared: Any) -> None:
        to_array = onnx.numpy_helper.to_array
        self._onnx, self._graph, self._node = onnx, graph, node
        self._sizes = [dim.dim_value for dim in declared.shape.dim]
        zeros = to_array(known[node.input[2]]) if len(node.input) > 2 and node.input[2] else None
        kind = onnx.helper.tensor_dtype_to_np_dtype(declared.elem_type) if zeros is None else zeros.dtype
        self._low, self._high = low_bits.LIMITS[kind.name]
        shape = _along(node, len(self._sizes), known.get(node.input[1]))
        self._zero = 0 if zeros is None else zeros.reshape(shape if zeros.size > 1 else ())
        self._scale: Any = node.input[1]
        if self._scale in known:
            scales = to_array(known[self._scale])
            self._scale = scales.reshape(shape if scales.size > 1 else ())

    def clamped(self, value: str, name: str, *, rounds: bool = False) -> Iterator[Any]:
        """The nodes that make of the real ``value`` the steps ``name``, within the range of the integers."""
        yield self._made("Div", [value, self._constant(f"{name}_scale", self._scale)], f"{name}_real")
        yield self._made("Add", [f"{name}_real", self._constant(f"{name}_zero", self._zero)], f"{name}_steps")
        if rounds:
            yield from self._rounded(f"{name}_steps", name)
        last = f"{name}_rounded" if rounds else f"{name}_steps"
        yield self._made("Max", [last, self._constant(f"{name}_low", self._low)], f"{name}_above")
        yield self._made("Min", [f"{name}_above", self._constant(f"{name}_high", self._high)], name)

    def _rounded(self, steps: str, name: str) -> Iterator[Any]:
        """The nodes that round; where constants are perturbed each element is moved by up to 1.2e-4 steps before.

        So near to a tie float32 may go to either side. In large tensors all elements of a channel are moved alike.
        """
        small = math.prod(self._sizes) <= SMALL
        each = [size if axis < 2 or small else 1 for axis, size in enumerate(self._sizes)]
        large = self._constant(f"{name}_large", importlib.import_module("numpy").full(each, NEAR_TIE))
        yield self._made("Round", [large], f"{name}_whole")
        yield self._made("Sub", [large, f"{name}_whole"], f"{name}_tie")
        yield self._made("Add", [steps, f"{name}_tie"], f"{name}_moved")
        yield self._made("Round", [f"{name}_moved"], f"{name}_rounded")

    def real(self, steps: str) -> Iterator[Any]:
        """The nodes that make the real values of the node's output from ``steps``."""
        name = self._node.output[0]
        yield self._made("Sub", [steps, self._constant(f"{name}_zero", self._zero)], f"{name}_centred")
        yield self._made("Mul", [f"{name}_centred", self._constant(f"{name}_scale", self._scale)], name)

    def _made(self, kind: str, inputs: list[str], output: str) -> Any:
        return self._onnx.helper.make_node(kind, inputs, [output])

    def _constant(self, name: str, values: Any) -> str:
        """The name of a constant; a scale that is computed has its own."""
        if isinstance(values, str):
            return values
        array = importlib.import_module("numpy").asarray(values, "float32")
        self._graph.initializer.append(self._onnx.numpy_helper.from_array(array, name))
        return name


def _along(node: Any, rank: int, scale: Any) -> list[int]:
    """The shape with which parameters along the node's axis are broadcast over a tensor of this rank."""
    axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 1)
    return [-1 if scale is not None and place == axis % max(rank, 1) else 1 for place in range(rank)]
