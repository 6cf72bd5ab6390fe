"""Which tensors of a .tflite file have one range, and which ranges are those of the calibration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from bench_plugin.adapters.readback import tflite_kernels
from bench_plugin.adapters.readback.tflite_layers import Reader
from bench_plugin.agent.toolkit.rebuilding import Layers


@dataclass
class Node:
    """A node of a file."""

    operator: str
    inputs: list[int]
    outputs: list[int]


@dataclass
class File:
    """A file of int8 tensors, and of some in ``floats``, as far as the functions ask.

    ``scales`` are those of tensors that do not have 0.5.
    """

    operators: list[Node]
    scales: dict[int, float] = field(default_factory=dict)
    floats: frozenset[int] = frozenset()
    plain: bool = True

    @property
    def graph(self) -> File:
        return self

    def operator(self, node: Node) -> str:
        return node.operator

    def type(self, index: int) -> str:
        return "FLOAT32" if index in self.floats else "INT8"

    def quantisation(self, index: int) -> tuple[list[float], list[int], int]:
        return [self.scales.get(index, 0.5)], [0], 0


@pytest.fixture(autouse=True)
def no_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """What kernels compute is not looked at."""
    monkeypatch.setattr(tflite_kernels, "as_computed", lambda _reader, _node: None)


def made(
    operators: list[Node], scales: dict[int, float] | None = None, floats: frozenset[int] = frozenset()
) -> dict[int, tuple[bool, bool]]:
    """Whether the result of each node is calibrated, and whether it is shared, by its tensor."""
    layers, file = Layers(), File(operators, scales or {}, floats)
    tensors = {one for node in operators for one in (*node.inputs, *node.outputs)}
    given: Any = file
    reader = Reader(given, layers, {tensor: tensor for tensor in tensors if tensor < CONSTANT})
    for node in operators:
        if node.outputs[0] not in floats:
            reader._made(node, node.operator, node.outputs[0], "value")
    return {row.output: (row.calibrated, row.shared) for row in layers.results}


CONSTANT = 100  # tensors from here on are constants
OWN, SHARED, FIXED = (True, False), (True, True), (False, True)


@pytest.mark.parametrize(
    "operator",
    ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "ADD", "MUL", "MEAN", "QUANTIZE", "LEAKY_RELU", "HARD_SWISH"],
)
def test_most_operators_have_a_range_of_their_own(operator: str) -> None:
    assert made([Node(operator, [0, CONSTANT], [1])]) == {1: OWN}


@pytest.mark.parametrize("operator", ["SOFTMAX", "LOGISTIC", "TANH"])
def test_some_have_the_range_that_their_kernels_ask_for(operator: str) -> None:
    chain = [Node("CONV_2D", [0, CONSTANT], [1]), Node(operator, [1], [2]), Node("RESHAPE", [2, CONSTANT], [3])]
    assert made(chain, {1: 0.25}) == {1: OWN, 2: FIXED, 3: FIXED}


@pytest.mark.parametrize("operator", ["LOGISTIC", "TANH"])
def test_a_range_that_a_kernel_asks_for_is_that_of_its_result_in_floating_point_too(operator: str) -> None:
    """The converter gives that range to what LOGISTIC gives, also where the node itself stays in floating point."""
    nodes = [
        Node("CONV_2D", [0, CONSTANT], [1]), Node("DEQUANTIZE", [1], [2]), Node(operator, [2], [3]),
        Node("QUANTIZE", [3], [4]), Node("RESHAPE", [4, CONSTANT], [5]), Node("QUANTIZE", [5], [6]),
    ]  # fmt: skip
    scales = {1: 0.25, 6: 0.125}
    assert made(nodes, scales, frozenset({2, 3})) == {1: OWN, 4: FIXED, 5: FIXED, 6: OWN}
    assert made([Node("QUANTIZE", [0], [1])], {}, frozenset({0})) == {1: OWN}


@pytest.mark.parametrize("operator", ["PAD", "PADV2", "MAX_POOL_2D", "AVERAGE_POOL_2D", "RESHAPE", "STRIDED_SLICE"])
def test_what_is_moved_and_then_joined_shares_the_range_of_what_it_is_joined_with(operator: str) -> None:
    nodes = [
        Node("CONV_2D", [0, CONSTANT], [1]), Node("CONV_2D", [0, CONSTANT], [2]), Node(operator, [1, CONSTANT], [3]),
        Node("MAX_POOL_2D", [3], [4]), Node("CONCATENATION", [4, 2], [5]), Node("CONV_2D", [5, CONSTANT], [6]),
    ]  # fmt: skip
    assert made(nodes, {6: 0.25}) == {1: SHARED, 2: SHARED, 3: SHARED, 4: SHARED, 5: SHARED, 6: OWN}


def test_nodes_that_compute_share_nothing_and_neither_do_other_scales() -> None:
    assert made([Node("CONV_2D", [0, CONSTANT], [1]), Node("CONV_2D", [1, CONSTANT], [2])]) == {1: OWN, 2: OWN}
    nodes = [Node("CONV_2D", [0, CONSTANT], [1]), Node("RESIZE_BILINEAR", [1, CONSTANT], [2])]
    assert made(nodes)[1] == SHARED and made(nodes, {2: 0.25})[1] == OWN
