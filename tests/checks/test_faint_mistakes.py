"""A tool that makes a mistake smaller than its tolerance: real compilers, and files in which float32 shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, write_file
from tests.project import Project

# A normalisation in front of its layer, so that none is folded: with an epsilon, without one, and with zero.
MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper
rng = np.random.default_rng(5)
epsilon = {} if sys.argv[2] == "left out" else {"epsilon": float(sys.argv[2])}
known = {"scale": rng.uniform(0.5, 2, 8), "shift": rng.normal(0, 0.3, 8), "mean": rng.normal(0, 0.3, 8),
         "variance": rng.uniform(0.4, 1, 8), "w": rng.normal(0, 0.3, (6, 8, 3, 3))}
nodes = [h.make_node("Sigmoid", ["x"], ["s"]),
         h.make_node("BatchNormalization", ["s", "scale", "shift", "mean", "variance"], ["n"], **epsilon),
         h.make_node("Relu", ["n"], ["r"]), h.make_node("Conv", ["r", "w"], ["y"])]
tensors = [numpy_helper.from_array(values.astype("float32"), name) for name, values in known.items()]
graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", 1, [1, 8, 6, 6])],
                     [h.make_tensor_value_info("y", 1, [1, 6, 4, 4])], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""


def run(project: Project, epsilon: str, compiler: str) -> Mapping[str, Any]:
    """The row of fp32 of this compiler for a file whose normalisation has this epsilon."""
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), MAKE, "net.onnx", epsilon)
    finished = project.run(f"--compilers={compiler}", "--precisions=fp32", f"--bench-onnx={path}")
    (row,) = [row for row in finished.rows if row["kind"] == "cell"]
    return row


def test_the_epsilon_that_mnn_takes_for_one_that_is_left_out_is_a_mismatch(project: Project) -> None:
    row = run(project, "left out", "mnn")
    assert row["numbers"]["needed"] <= 1, "by size it is within the tolerance"
    assert row["status"] == "mismatch", row["numbers"]
    assert "that of the mistake 'batchnorm eps 1e-10' at 1 nodes" in row["reason"]


@pytest.mark.parametrize("epsilon", ["left out", "1e-5", "0"])
def test_a_right_tool_is_supported_and_would_be_noticed(project: Project, epsilon: str) -> None:
    row = run(project, epsilon, "onnxruntime")
    assert row["status"] == "supported", row["reason"]
    tiny = row["numbers"]["mutants"].get("batchnorm eps 1e-10", {"killed": True})
    assert tiny["killed"] and ("ratio" in tiny) is (epsilon != "0")


def test_with_the_epsilon_written_out_mnn_is_right(project: Project) -> None:
    row = run(project, "1e-5", "mnn")
    assert row["status"] == "supported", row["reason"]
