"""Files as IR 3 had them, whose weights are graph inputs too: every graph that is made of one is a valid one."""

from __future__ import annotations

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, write_file
from tests.project import Project

MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h
rng = np.random.default_rng(0)
value = lambda name, *shape: h.make_tensor_value_info(name, 1, shape)
weights = {"w": rng.standard_normal((16, 32)), "b": rng.standard_normal(32), "v": rng.standard_normal((32, 8))}
nodes = [h.make_node("Gemm", ["x", "w", "b"], ["h"]), h.make_node("Relu", ["h"], ["r"])]
nodes.append(h.make_node("MatMul", ["r", "v"], ["y"]))
graph = h.make_graph(
    nodes, "g", [value("x", 1, 16), *(value(name, *w.shape) for name, w in weights.items())], [value("y", 1, 8)],
    [onnx.numpy_helper.from_array(w.astype(np.float32), name) for name, w in weights.items()])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=int(sys.argv[2])), sys.argv[1])
"""


@pytest.mark.parametrize(
    ("ir", "compiler", "precisions"),
    [(7, "onnxruntime", {"fp32", "w16", "w8a8", "w8a8-dyn"}), (3, "iree", {"fp32", "fp16", "w8a8"})],
)
def test_weights_that_are_inputs_too(project: Project, ir: int, compiler: str, precisions: set[str]) -> None:
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), MAKE, "old.onnx", ir)
    finished = project.run(f"--compilers={compiler}", f"--bench-onnx={path}")
    rows = {row["cell"]["precision"]: row for row in finished.rows if row["kind"] == "cell"}
    assert set(rows) == precisions, finished.text
    assert {row["status"] for row in rows.values()} == {"supported"}, finished.text
