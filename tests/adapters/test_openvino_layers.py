"""Ranges that OpenVINO's quantiser takes from elsewhere are recognised in its graph."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from bench_plugin.adapters.readback import openvino_layers


@dataclass
class Node:
    """A node of OpenVINO with one output, as far as the function asks."""

    kind: str
    readers: list[Node] = field(default_factory=list)

    def get_type_name(self) -> str:
        return self.kind

    def output(self, _index: int) -> Node:
        return self

    def outputs(self) -> list[Node]:
        return [self]

    def get_target_inputs(self) -> list[Node]:
        return self.readers

    def get_node(self) -> Node:
        return self


@pytest.mark.parametrize(
    ("readers", "joined"),
    [
        ([Node("MatMul")], False),
        ([Node("Concat")], True),
        ([Node("MatMul"), Node("Concat")], True),
        ([Node("Reshape", [Node("Transpose", [Node("Concat")])])], True),
        ([Node("Reshape", [Node("MatMul", [Node("Concat")])])], False),
        ([Node("ReduceMax", [Node("Broadcast", [Node("Concat")])])], True),
        ([Node("MaxPool", [Node("Pad", [Node("Tile", [Node("Concat")])])])], True),
    ],
)
def test_what_is_joined_shares_the_range_of_what_it_is_joined_with(readers: list[Node], joined: bool) -> None:
    assert openvino_layers._joined(Node("FakeQuantize", readers)) is joined
