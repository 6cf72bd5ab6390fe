"""Quantised graphs: the integers that are added to others, and which of them a tool rounds that adds in place."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from bench_plugin.adapters.onnx_tools.separated import onnx_separated
from bench_plugin.adapters.onnx_tools.shared import onnx_names
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_summands",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Sums in QDQ graphs",
    "distribution": "onnx",
    "operations": [],
    "uses": ["onnx_names", "onnx_separated"],
}


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx")

    def reset(self) -> None:
        """Nothing to forget."""


def summands(graph: Any) -> dict[str, bool]:
    """The integers of activations that are added to others, and whether each is rounded by a tool that adds in place.

    Such a tool computes a convolution into the place of the other summand and leaves out the rounding of its result;
    of two convolutions that are added the first one is computed so. OpenVINO is one (its originalLayersNames show it).
    """
    sums = _Sums(graph)
    return {node.output[0]: not sums.is_fused(node) for node in onnx_separated.activations(graph) if sums.of(node)}


def rounded_inside(model: Any, names: Collection[str], inside: Mapping[str, bool]) -> list[str]:
    """Of the results ``names`` of separated layers those that depend on a rounding ``inside`` of their layer."""
    changed = {name for name, rounds in inside.items() if rounds}
    for node in model.graph.node:
        if not changed.isdisjoint(onnx_names.read_by(node)):
            changed.update(node.output)
    return [name for name in names if name in changed]


class _Sums:
    """The sums of two tensors that depend on the inputs of a quantised graph, whose nodes are in order."""

    def __init__(self, graph: Any) -> None:
        self._readers: dict[str, list[Any]] = {}
        self._makers: dict[str, Any] = {}
        varying = {value.name for value in graph.input} - {tensor.name for tensor in graph.initializer}
        for node in graph.node:
            for name in onnx_names.read_by(node):
                self._readers.setdefault(name, []).append(node)
            for name in node.output:
                self._makers[name] = node
            if not varying.isdisjoint(onnx_names.read_by(node)):
                varying.update(node.output)
        self._varying = varying

    def of(self, quantised: Any) -> list[Any]:
        """The sums that take what a QuantizeLinear gives."""
        real = [one.output[0] for one in self._reading(quantised.output[0], "DequantizeLinear")]
        return [
            one for name in real for one in self._reading(name, "Add")
            if self._varying.issuperset(one.input) and len({*one.input}) == 2
        ]  # fmt: skip

    def is_fused(self, quantised: Any) -> bool:
        """Whether a QuantizeLinear lies between a convolution and the sum that is computed with it."""
        if not self._is_convolution(quantised):
            return False
        [behind] = self.of(quantised)
        first, *_ = integers = [self._makers[name].input[0] for name in behind.input if self._is_real(name)]
        others = [self._makers[one] for one in integers if one != quantised.output[0]]
        both = any(self._is_convolution(other) for other in others)
        return first == quantised.output[0] or not both

    def _is_convolution(self, node: Any) -> bool:
        """Whether a QuantizeLinear gives the result of a convolution to one sum alone."""
        readers = self._readers.get(node.output[0], [])
        alone = len(readers) == len(self.of(node)) == len(self._readers[readers[0].output[0]]) == 1
        return alone and self._made_by(node.input[0], "Conv")

    def _is_real(self, name: str) -> bool:
        """Whether a tensor is the real values of integers that a QuantizeLinear gives."""
        return self._made_by(name, "DequantizeLinear") and self._made_by(self._makers[name].input[0], "QuantizeLinear")

    def _made_by(self, name: str, kind: str) -> bool:
        return name in self._makers and self._makers[name].op_type == kind

    def _reading(self, name: str, kind: str) -> list[Any]:
        return [node for node in self._readers.get(name, []) if node.op_type == kind]
