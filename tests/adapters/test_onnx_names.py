"""A graph that has no order of use says which tensor is missing, or that it has a cycle."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.docs.fences import ROOT

SCRIPT = """
import sys
from onnx import helper as h
from bench_plugin.adapters.onnx_tools.shared.onnx_names import sort_nodes
name, second = sys.argv[1:]
node = h.make_node("Add", ["x", second], ["y"], name=name)
later = h.make_node("Relu", ["y"], ["z"])
graph = h.make_graph([later, node], "g", [h.make_tensor_value_info("x", 1, [2])], [])
try:
    sort_nodes(graph)
except RuntimeError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("name", "second", "said"),
    [
        ("sum", "gone", "Add 'sum' reads gone, which nothing makes"),
        ("", "gone", "Add 'y' reads gone, which nothing makes"),
        ("", "z", "the graph has a cycle through Relu 'z'"),
    ],
)
def test_a_graph_without_an_order_says_why(tools_python: Path, name: str, second: str, said: str) -> None:
    done = subprocess.run(
        [str(tools_python), "-c", SCRIPT, name, second], text=True, capture_output=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, said + "\n"), done.stderr
