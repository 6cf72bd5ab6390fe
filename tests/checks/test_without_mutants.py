"""A file whose mutants cannot be run: the harness does not know what the comparison would notice, and says so."""

from __future__ import annotations

from pathlib import Path

from tests.given_file import compiles, the_row, write_file
from tests.project import Project

# ONNX Runtime, which runs the mutants, has no Softsign of float64 before operator set 22.
MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper as n
weight = n.from_array(np.random.default_rng(3).standard_normal((8, 4)).astype(np.float32), "w")
nodes = [
    h.make_node("MatMul", ["x", "w"], ["m"]), h.make_node("Cast", ["m"], ["d"], to=11),
    h.make_node("Softsign", ["d"], ["s"]), h.make_node("Cast", ["s"], ["y"], to=1),
]
value = lambda name, size: h.make_tensor_value_info(name, 1, ["n", size])
graph = h.make_graph(nodes, "g", [value("x", 8)], [value("y", 4)], [weight])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""


ONE = ("-k", "equivalence and fakec]", "--precisions=fp32")


def test_a_file_whose_mutants_cannot_be_run_is_a_limit_of_the_harness(project: Project, tools_python: Path) -> None:
    compiles(project)
    path = write_file(project, tools_python, MAKE, "softsign.onnx")
    row = the_row(project.run(f"--bench-onnx={path}", "--compilers=fakec", *ONE))
    assert (row["status"], row["unverified"]) == ("unverified", "harness"), row["reason"]
    assert row["reason"].startswith("mutants could not be run: ") and "Softsign" in row["reason"]
