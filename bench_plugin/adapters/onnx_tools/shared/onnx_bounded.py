"""Relu and Clip that onnxruntime's quantiser leaves out, although the range that it quantises to does not replace them.

The quantiser removes a Relu or a Clip behind a quantised layer and gives the layer the range of its result. That is
the same function where everything that reads the result reads it quantised, and where the range lies within the
bounds. It is not where a branch of an If reads the result, which the quantiser does not see, and for a Clip whose
lower bound is above 0, because every range is widened until it holds 0.
"""

from __future__ import annotations

from typing import Any

from bench_plugin.adapters.onnx_tools.shared import onnx_names
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_bounded",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Bounds of quantised results",
    "distribution": "onnx",
    "operations": [],
    "uses": ["onnx_names"],
}

BOUNDING = frozenset({"Relu", "Clip"})


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def lost(onnx: Any, source: Any, quantised: Any) -> set[str]:
    """The results of those Relu and Clip of a model that its quantised graph lacks, and that bound other values."""
    makers = {name: node for node in quantised.graph.node for name in node.output}
    readers = _readers(quantised.graph)
    found = set()
    for node in source.graph.node:
        if node.op_type not in BOUNDING:
            continue
        unrounded = _before_rounding(makers, node.output[0])
        if unrounded in makers and _same(makers[unrounded], node):
            continue
        lower, upper = _bounds(onnx, source.graph, node)
        if unrounded not in makers or not all(
            reader is not None and reader.op_type == "QuantizeLinear"
            and _within(onnx, quantised.graph, reader, lower, upper)
            for reader in readers.get(unrounded, [])
        ):  # fmt: skip
            found.add(node.output[0])
    return found


def makes(node: Any, results: set[str]) -> bool:
    """Whether a node is a Relu or a Clip that makes one of the results."""
    return node.op_type in BOUNDING and node.output[0] in results


def _same(one: Any, other: Any) -> bool:
    """Whether two nodes bound in the same way; the quantiser keeps the bounds of a Clip under their names."""
    return (one.op_type, one.input[1:], list(one.attribute)) == (other.op_type, other.input[1:], list(other.attribute))


def _before_rounding(makers: dict[str, Any], name: str) -> str:
    """The name of what is quantised to give a result; the result itself where it is not dequantised."""
    maker = makers.get(name)
    if maker is None or maker.op_type != "DequantizeLinear":
        return name
    quantise = makers.get(maker.input[0])
    return str(quantise.input[0]) if quantise is not None else name


def _readers(graph: Any) -> dict[str, list[Any]]:
    """The nodes that read each name, those of branches and bodies as the node that holds them; None for an output."""
    found: dict[str, list[Any]] = {value.name: [None] for value in graph.output}
    for node in graph.node:
        for name in onnx_names.read_by(node):
            found.setdefault(name, []).append(node)
    return found


def _bounds(onnx: Any, graph: Any, node: Any) -> tuple[float, float]:
    """The least and the greatest value of the node's result; NaN for a bound that is computed."""
    if node.op_type == "Relu":
        return 0.0, float("inf")
    given = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
    bounds = []
    for index, name, nothing in ((1, "min", float("-inf")), (2, "max", float("inf"))):
        if name in given:  # before opset 11
            bounds.append(float(given[name]))
        elif len(node.input) > index and node.input[index]:
            bounds.append(_constant(onnx, graph, node.input[index]))
        else:
            bounds.append(nothing)
    return bounds[0], bounds[1]


def _constant(onnx: Any, graph: Any, name: str) -> float:
    """The value of a weight or a Constant of one element; NaN where it is neither."""
    tensors = [tensor for tensor in graph.initializer if tensor.name == name]
    for node in graph.node:
        if node.op_type == "Constant" and name in node.output:
            tensors += [one.t for one in node.attribute if one.name == "value"]
    return float(onnx.numpy_helper.to_array(tensors[0]).item()) if tensors else float("nan")


def _within(onnx: Any, graph: Any, quantise: Any, lower: float, upper: float) -> bool:
    """Whether all that a QuantizeLinear can give lies within the bounds, but for half a step."""
    import numpy as np

    values = {tensor.name: tensor for tensor in graph.initializer}
    if not all(name in values for name in quantise.input[1:]) or len(quantise.input) < 3:
        return False
    scale, zero = (onnx.numpy_helper.to_array(values[name]).astype(np.float64) for name in quantise.input[1:3])
    limits = np.iinfo(onnx.numpy_helper.to_array(values[quantise.input[2]]).dtype)
    half = float(np.max(scale)) / 2
    lowest, highest = float(np.min(scale * (limits.min - zero))), float(np.max(scale * (limits.max - zero)))
    return lowest >= lower - half and highest <= upper + half
