"""TFLite's int8: results whose scale an operator fixes get another scale behind it, and are one whole nevertheless."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, the_row, write_file
from tests.project import Project

# What the operator gives is joined with its square, which has a scale of its own: both get that of the joined tensor.
# The product is read by a difference alone, whose range the calibration writes over that of the product.
MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper
rng = np.random.default_rng(0)
known = {"a": rng.normal(0, 0.6, (6, 10)), "b": rng.normal(0, 0.3, 10), "e": rng.normal(0, 0.5, (30, 4)),
         "f": rng.normal(0, 0.3, 4), "two": np.array(2.0)}
known = {name: values.astype("float32") for name, values in known.items()} | {"axis": np.array([1])}
one = numpy_helper.from_array(np.array([1], "float32"))
nodes = [h.make_node("Gemm", ["x", "a", "b"], ["g"]), h.make_node(sys.argv[2], ["g"], ["t"]),
         h.make_node("Shape", ["t"], ["s"]), h.make_node("ConstantOfShape", ["s"], ["ones"], value=one),
         h.make_node("Mul", ["t", "two"], ["d"]), h.make_node("Mul", ["d", "t"], ["q"]),
         h.make_node("Sub", ["q", "ones"], ["r"]),
         *(h.make_node("Unsqueeze", [name, "axis"], [name + "1"]) for name in ("ones", "t", "r")),
         h.make_node("Concat", ["ones1", "t1", "r1"], ["j"], axis=1), h.make_node("Flatten", ["j"], ["k"]),
         h.make_node("Gemm", ["k", "e", "f"], ["y"])]
tensors = [numpy_helper.from_array(values, name) for name, values in known.items()]
value = lambda name, size: h.make_tensor_value_info(name, 1, ["batch", size])
graph = h.make_graph(nodes, "g", [value("x", 6)], [value("y", 4)], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""


def run(project: Project, operator: str) -> Mapping[str, Any]:
    """The row of w8a8 in TFLite."""
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), MAKE, "net.onnx", operator)
    return the_row(project.run("--compilers=tflite", "--precisions=w8a8", f"--bench-onnx={path}"))


@pytest.mark.parametrize("operator", ["Tanh", "Softmax"])
def test_they_are_proven_as_a_whole_and_their_ranges_are_compared(project: Project, operator: str) -> None:
    row = run(project, operator)
    assert row["status"] == "supported", row["reason"]
    numbers = row["numbers"]
    assert numbers["converter"]["compared"] == numbers["converter"]["constants"] >= 5
    assert numbers["whole_E"] <= 2e-2 and numbers["converter_ranges"]["compared"] >= 3
    assert not [flag for flag in row["flags"] if not flag.startswith("shim")]
