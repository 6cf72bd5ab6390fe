"""Ranges that OpenVINO's quantiser takes from elsewhere are recognised in its graph."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field

import pytest

from bench_plugin.adapters.readback import openvino_layers
from bench_plugin.reach.environments.toolchains import Toolchains
from tests.docs.fences import ROOT


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


BFLOAT16 = """
import numpy as np
import openvino as ov
from openvino import opset13
from bench_plugin.adapters.readback.openvino_layers import constant
values = np.array([[-0.0278, 2.0625], [0.5, -3.0]], np.float32)
for kind in (ov.Type.bf16, ov.Type.f16, ov.Type.f32):
    made = opset13.constant(values, kind)
    print(kind.get_type_name(), constant(made.output(0)).round(4).tolist())
"""


def test_a_constant_of_bfloat16_is_read_as_such() -> None:
    """OpenVINO gives its bits as an array of float16."""
    done = subprocess.run(
        [str(Toolchains().ensure("openvino")), "-c", BFLOAT16], text=True, capture_output=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "bf16 [[-0.0278, 2.0625], [0.5, -3.0]]", "f16 [[-0.0278, 2.0625], [0.5, -3.0]]",
        "f32 [[-0.0278, 2.0625], [0.5, -3.0]]",
    ]  # fmt: skip
