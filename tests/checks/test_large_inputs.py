"""The layers of a pre-quantised model: all inputs go through them, of large ones the first few."""

from __future__ import annotations

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, the_row, write_file
from tests.project import Project

MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper
rng = np.random.default_rng(0)
known = {"w": rng.normal(0, 0.3, (4, 3, 3, 3)), "b": rng.normal(0, 0.3, 4), "v": rng.normal(0, 0.5, (4, 5))}
nodes = [h.make_node("Conv", ["x", "w", "b"], ["a"], strides=[2, 2]), h.make_node("Relu", ["a"], ["r"]),
         h.make_node("GlobalAveragePool", ["r"], ["p"]), h.make_node("Flatten", ["p"], ["f"]),
         h.make_node("MatMul", ["f", "v"], ["y"])]
tensors = [numpy_helper.from_array(values.astype("float32"), name) for name, values in known.items()]
side = int(sys.argv[2])
value = lambda name, sizes: h.make_tensor_value_info(name, 1, ["batch", *sizes])
graph = h.make_graph(nodes, "g", [value("x", [3, side, side])], [value("y", [5])], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""


@pytest.mark.parametrize(("side", "inputs"), [(8, 16), (82, 4)])  # 3 * 82 * 82 numbers are more than 20,000
def test_the_first_few_of_large_inputs_go_through_the_layers(project: Project, side: int, inputs: int) -> None:
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), MAKE, "net.onnx", side)
    row = the_row(project.run("--compilers=onnxruntime", "--precisions=w8a8", f"--bench-onnx={path}"))
    assert row["status"] == "supported", row["reason"]
    assert row["numbers"]["layers"] > 1 and row["numbers"]["layer_inputs"] == inputs
