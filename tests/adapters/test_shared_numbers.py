"""Numbers that are no data, and that a product reads too: the quantiser must not quantise the bound of a Clip."""

from __future__ import annotations

from pathlib import Path

from tests.given_file import compiles, the_row, write_file
from tests.project import Project

MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper as n
rng = np.random.default_rng(2)
known = {"w": rng.standard_normal((8, 16)) / 3, "v": rng.standard_normal((16, 4)) / 4, "none": 0.0, "most": 31.0,
         "table": rng.standard_normal(32)}
scaled = [h.make_node("MatMul", ["x", "w"], ["m"]), h.make_node("Sigmoid", ["m"], ["s"])]
clipped = [h.make_node("Mul", ["s", "most"], ["a"]), h.make_node("Floor", ["a"], ["f"]),
           h.make_node("Clip", ["f", "none", "most"], ["c"]), h.make_node("Cast", ["c"], ["i"], to=7),
           h.make_node("Gather", ["table", "i"], ["e"]), h.make_node("Reshape", ["e", "row"], ["d"])]
nodes = [*scaled, *clipped, h.make_node("MatMul", ["d", "v"], ["y"])]
used = {name for node in nodes for name in node.input}
tensors = [n.from_array(np.asarray(values, "float32"), name) for name, values in known.items() if name in used]
tensors.append(n.from_array(np.array([1, 16]), "row"))
value = lambda name, size: h.make_tensor_value_info(name, 1, [1, size])
graph = h.make_graph(nodes, "g", [value("x", 8)], [value("y", 4)], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""


def test_a_bound_that_a_product_reads_too_is_not_quantised(project: Project, tools_python: Path) -> None:
    compiles(project)
    path = write_file(project, tools_python, MAKE, "net.onnx")
    row = the_row(project.run(f"--bench-onnx={path}", "--compilers=fakec", "--precisions=w8a8", "-k", "qdq"))
    assert row["status"] == "supported", row["reason"]
    assert row["numbers"]["layers"] > 1
