"""Files in floating point taken apart: a layer ends at what a contraction takes, which a tool has to store anyway."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from bench_plugin.adapters.onnx_tools.shared import onnx_names
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_taken",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Layers of files in floating point",
    "distribution": "onnx",
    "operations": [],
    "uses": ["onnx_names"],
}

FLOATS = (1, 10, 11, 16)  # ONNX's numbers for float32, float16, float64 and bfloat16
# What multiplies and adds, and by which inputs it may take a result: a tool fuses what is behind it, not in front.
TAKES = {"Conv": 1, "ConvTranspose": 1, "Gemm": 2, "MatMul": 2, "LSTM": 1, "GRU": 1, "RNN": 1}
SUMS = ("Add", "Sub", "Sum")


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx")

    def reset(self) -> None:
        """Nothing to forget."""


def ends(onnx: Any, model: Any, *, fused_sums: bool = False) -> list[str]:
    """The results that end a layer, in the order in which they are made: what contractions take, and the outputs.

    What depends on no input is none, and neither is what is no floating point. With ``fused_sums`` what is added to
    another result is none: a tool that adds in place, or as it makes a summand, never has it rounded.
    """
    graph, types = model.graph, onnx_names.types_of(onnx, model)
    depends = {value.name for value in graph.input} - {tensor.name for tensor in graph.initializer}
    made = []
    for node in graph.node:
        if depends.intersection(onnx_names.read_by(node)):
            depends.update(node.output)
            made += [name for name in node.output if types.get(name) in FLOATS]
    wanted = {name for node in graph.node for name in node.input[: TAKES.get(node.op_type, 0)]}
    if fused_sums:
        wanted -= {name for node in graph.node for name in _summands(node, depends)}
    wanted |= {value.name for value in graph.output}
    return [name for name in made if name in wanted]


def in_bfloat16(onnx: Any, model: Any, names: Sequence[str]) -> None:
    """Let the outputs ``names``, which a file has in float32, be handed over in bfloat16.

    Of an output in float32 a tool may keep digits that it rounds away between two layers.
    """
    narrow = onnx.TensorProto.BFLOAT16
    for value in model.graph.output:
        if value.name in names:
            cast = f"{value.name}_bfloat16"
            model.graph.node.append(onnx.helper.make_node("Cast", [value.name], [cast], to=narrow))
            value.name = cast
            value.type.tensor_type.elem_type = narrow


def _summands(node: Any, depends: Collection[str]) -> list[str]:
    """What a sum of several results adds; nothing where it adds a constant, as a bias."""
    varying = [name for name in node.input if name in depends]
    return varying if node.op_type in SUMS and len(varying) > 1 else []
