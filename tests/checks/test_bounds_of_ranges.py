"""Ranges of a quantised graph that one number decides: a bound that is rounded away or cut off, a sum of several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, the_row, write_file
from tests.project import Project

MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper
rng = np.random.default_rng(14)
wide = rng.standard_normal((40, 32)) / 6
wide[:, 3] = 0.25  # one output whose weights are all equal: its step is 0 in MNN
known = {
    "w": rng.standard_normal((12, 8)) / 3, "w2": rng.standard_normal((12, 8)), "w3": rng.standard_normal((12, 8)) / 9,
    "b": rng.standard_normal(8) / 10, "u": rng.standard_normal((8, 4)) / 3, "wide": wide,
    "off": np.array(0.3), "small": np.array(1e-6), "low": np.array(-9.0), "high": np.array(9.0),
}
node = h.make_node
value = lambda name, sizes, kind=1: h.make_tensor_value_info(name, kind, sizes)
X, Y = [value("x", [1, 12])], [value("y", [1, 4])]
KINDS = {
    "rounded away": ([node("Gemm", ["x", "w", "b"], ["a"]), node("Mul", ["a", "a"], ["q"]),
                      node("Sub", ["q", "off"], ["s"]), node("Relu", ["s"], ["r"]),
                      node("Clip", ["r", "small", ""], ["c"]), node("Log", ["c"], ["l"]),
                      node("MatMul", ["l", "u"], ["y"])], X, Y),
    "cut off": ([node("Gemm", ["x", "w2", "b"], ["a"]), node("Clip", ["a", "low", "high"], ["c"]),
                 node("Exp", ["c"], ["y"])], X, [value("y", [1, 8])]),
    "sum": ([node("Gemm", ["x", "w", "b"], ["p"]), node("Gemm", ["x", "w2", "b"], ["q"]),
             node("Gemm", ["x", "w3", "b"], ["r"]), node("Sum", ["p", "q", "r"], ["s"]), node("Relu", ["s"], ["t"]),
             node("MatMul", ["t", "u"], ["y"])], X, Y),
    "equal weights": ([node("MatMul", ["x", "wide"], ["a"]), node("Relu", ["a"], ["y"])],
                      [value("x", [1, 40])], [value("y", [1, 32])]),
}
nodes, inputs, outputs = KINDS[sys.argv[2]]
read = {name for one in nodes for name in one.input}
tensors = [numpy_helper.from_array(np.float32(x), name) for name, x in known.items() if name in read]
graph = h.make_graph(nodes, "g", inputs, outputs, tensors)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, sys.argv[1])
"""


def row_of(project: Project, kind: str, compiler: str, precision: str) -> Mapping[str, Any]:
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), MAKE, "net.onnx", kind)
    return the_row(project.run(f"--compilers={compiler}", f"--precisions={precision}", f"--bench-onnx={path}"))


@pytest.mark.parametrize("kind", ["rounded away", "cut off", "sum"])
def test_a_range_that_one_number_decides_is_that_of_the_file(project: Project, kind: str) -> None:
    row = row_of(project, kind, "tflite", "w8a8")
    assert row["status"] == "supported", row["reason"]
    assert not [flag for flag in row["flags"] if "counterpart" in flag]


def test_weights_that_are_all_equal_have_no_step(project: Project) -> None:
    row = row_of(project, "equal weights", "mnn", "w8")
    assert row["status"] == "supported", row["reason"]
    assert not row["flags"]
