"""A file whose only output joins boxes in pixels and scores: wrong scores are a mismatch, in a narrow type, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.given_file import COMPILER, compiles, the_row, write_file
from tests.project import Project

# Four numbers of some hundred pixels and six scores from 0 to 1, in one tensor.
MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h
rng = np.random.default_rng(5)
weights = {"a": rng.standard_normal((8, 4)) * 200, "b": rng.standard_normal(4) * 200,
           "c": rng.standard_normal((8, 6)), "d": rng.standard_normal(6)}
nodes = [h.make_node("Gemm", ["x", "a", "b"], ["boxes"]), h.make_node("Gemm", ["x", "c", "d"], ["logits"]),
         h.make_node("Sigmoid", ["logits"], ["scores"]), h.make_node("Concat", ["boxes", "scores"], ["y"], axis=1)]
value = lambda name, size: h.make_tensor_value_info(name, 1, ["n", size])
tensors = [onnx.numpy_helper.from_array(values.astype("float32"), name) for name, values in weights.items()]
graph = h.make_graph(nodes, "g", [value("x", 8)], [value("y", 10)], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""


@pytest.mark.parametrize("fault", ["none", "run-opposite"])
def test_wrong_scores_beside_boxes_are_a_mismatch(project: Project, tools_python: Path, fault: str) -> None:
    text = COMPILER.read_text()
    assert text.count("return -y\n") == 1
    compiles(
        project,
        project.write("compiler.py", text.replace("return -y\n", "return np.where((y > 0) & (y < 1), 1 - y, y)\n")),
    )
    path = write_file(project, tools_python, MAKE, "joined.onnx")
    options = (f"--bench-onnx={path}", "--compilers=fakec", "--precisions=bf16", f"--bench-option=fakec.fault={fault}")
    row = the_row(project.run(*options, "-k", "fakec-bf16"))
    (output,) = row["numbers"]["outputs"]
    assert output["parts"][0]["elements"].startswith("elements 4 to 9 of axis -1")
    if fault == "none":
        assert row["status"] == "supported", row["reason"]
        assert row["numbers"]["needed"] <= 1
    else:
        assert row["status"] == "mismatch"
        assert "elements 4 to 9 of axis -1, which are" in row["reason"]
        assert output["E"] < output["tolerance_E"], "the whole alone does not show it"
