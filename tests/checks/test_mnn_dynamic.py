"""MNN's files take other sizes of symbolic dimensions than those of the first run, which a second size shows."""

from __future__ import annotations

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, the_row, write_file
from tests.project import Project

MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper
rng = np.random.default_rng(7)
known = {"w": rng.normal(0, 0.3, (4, 3, 3, 3)).astype("float32"), "m": rng.normal(0, 0.3, (4, 5)).astype("float32")}
nodes = [h.make_node("Conv", ["x", "w"], ["a"]), h.make_node("Tanh", ["a"], ["t"]),
         h.make_node("GlobalAveragePool", ["t"], ["p"]), h.make_node("Flatten", ["p"], ["f"]),
         h.make_node("MatMul", ["f", "m"], ["y"])]
tensors = [numpy_helper.from_array(values, name) for name, values in known.items()]
graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", 1, ["batch", 3, 8, 8])],
                     [h.make_tensor_value_info("y", 1, ["batch", 5])], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""


def test_a_dynamic_batch_is_kept(project: Project) -> None:
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), MAKE, "net.onnx")
    row = the_row(project.run("--compilers=mnn", "--precisions=fp32", f"--bench-onnx={path}"))
    assert row["status"] == "supported", row["reason"]
    assert row["numbers"]["dynamic"] == "preserved"
