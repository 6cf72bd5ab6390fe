"""Whether a graph's results change by leaps: a number that is a little larger chooses another element, or integer."""

from __future__ import annotations

from typing import Any

from bench_plugin.adapters.onnx_tools.shared import onnx_names
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_choices",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Choices between nearly equal numbers",
    "distribution": "onnx",
    "operations": [],
    "uses": ["onnx_names"],
}

COMPARING = ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
CHOOSING = ("ArgMax", "ArgMin", "TopK", "Hardmax", "NonMaxSuppression", "NonZero", "Unique")
ROUNDING = ("Round", "Floor", "Ceil", "Sign", "Mod", "QuantizeLinear", "DynamicQuantizeLinear")
SIZES_ALONE = ("Shape", "Size")  # of their input only


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx")

    def reset(self) -> None:
        """Nothing to forget."""


def chooses(onnx: Any, model: Any) -> bool:
    """Whether a node of the top-level graph compares, rounds or chooses among floats that depend on the inputs.

    What has no known type counts as no float.
    """
    floats = _floats(onnx, model)
    weights = {tensor.name for tensor in model.graph.initializer}
    computed = {value.name for value in model.graph.input} - weights
    for node in model.graph.node:
        taken = [name for name in node.input if name in computed]
        if not taken or node.op_type in SIZES_ALONE:
            continue
        computed.update(node.output)
        if any(name in floats for name in taken) and _leaps(node, floats):
            return True
    return False


def _leaps(node: Any, floats: set[str]) -> bool:
    if node.op_type == "Cast":
        return node.output[0] not in floats
    if node.op_type == "MaxPool":
        return len(node.output) > 1 and bool(node.output[1])
    return node.op_type in (*COMPARING, *CHOOSING, *ROUNDING)


def _floats(onnx: Any, model: Any) -> set[str]:
    kinds = onnx.TensorProto
    floats = (kinds.FLOAT, kinds.DOUBLE, kinds.FLOAT16, kinds.BFLOAT16)
    return {name for name, kind in onnx_names.types_of(onnx, model).items() if kind in floats}
