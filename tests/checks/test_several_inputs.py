"""Artefacts of models with several inputs: their layers are put together, and their ranges are compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, the_row, write_file
from tests.planted_tflite import plant
from tests.project import Project

MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h
rng = np.random.default_rng(5)
known = {"w": rng.normal(0, 0.3, (6, 8)), "b": rng.normal(0, 0.3, 8), "v": rng.normal(0, 0.3, (8, 5))}
nodes = [h.make_node(sys.argv[2], ["x", "m"], ["d"]), h.make_node("Gemm", ["d", "w", "b"], ["a"]),
         h.make_node("Relu", ["a"], ["r"]), h.make_node("MatMul", ["r", "v"], ["y"])]
tensors = [onnx.numpy_helper.from_array(np.asarray(values, "float32"), name) for name, values in known.items()]
graph = h.make_graph(nodes, "g", [h.make_tensor_value_info(name, 1, [1, 6]) for name in ("x", "m")],
                     [h.make_tensor_value_info("y", 1, [1, 5])], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""
# What a converter that subtracts the first input from the second one would have written.
SWAP = """
    node.inputs = node.inputs[::-1]
    changed += 1
"""


def run(project: Project, compiler: str, operator: str = "Sub", *options: str) -> Mapping[str, Any]:
    """The row of w8a8 in this compiler, where the ``operator`` takes both inputs."""
    path = write_file(project, Toolchains().ensure("onnxruntime"), MAKE, "net.onnx", operator)
    return the_row(
        project.run(f"--compilers={compiler}", "--precisions=w8a8", f"--bench-onnx={path}", "-k", "own", *options)
    )


@pytest.mark.parametrize("compiler", ["tflite", "openvino"])
def test_layers_of_several_inputs_are_put_together(project: Project, compiler: str) -> None:
    project.write("test_models.py", EQUIVALENCE)
    row = run(project, compiler)
    assert row["status"] == "supported", row["reason"]
    assert row["numbers"]["whole_E"] < 1e-6 and row["numbers"]["converter_ranges"]["compared"] >= 4
    assert not [flag for flag in row["flags"] if "not proven" in flag or "were not compared" in flag]


def test_inputs_in_another_order_are_a_mismatch(project: Project) -> None:
    row = run(project, plant(project, "SUB", SWAP))
    assert row["status"] == "mismatch", row
    assert row["reason"].startswith("converter: the range of ") and "that of the calibration" in row["reason"]


def test_of_inputs_with_the_same_values_it_is_not_known_which_is_which(project: Project) -> None:
    project.write("test_models.py", EQUIVALENCE)
    same = np.random.default_rng(3).normal(size=(8, 1, 6)).astype("float32")
    np.savez(project.folder / "same.npz", x=same, m=same)
    row = run(project, "tflite", "Add", "--bench-inputs=same.npz")
    assert row["status"] == "supported", row["reason"]
    unknown = "its inputs x and m have the same values"
    assert f"whether the layers are the whole model was not proven: {unknown}" in row["flags"]
    assert f"ranges of activations were not compared with the calibration: {unknown}" in row["flags"]
