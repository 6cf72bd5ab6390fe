"""TFLite's int8: factors that are constants, in front of a product of matrices or behind a layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, the_row, write_file
from tests.planted_tflite import plant
from tests.project import Project

MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h
rng = np.random.default_rng(5)
known = {"k": rng.normal(0, 0.4, (8, 8)), "w": rng.normal(0, 0.3, (6, 5))}
nodes = [h.make_node("MatMul", ["k", "x"], ["a"]), h.make_node("Relu", ["a"], ["r"]),
         h.make_node("MatMul", ["r", "w"], ["y"])]
tensors = [onnx.numpy_helper.from_array(values.astype("float32"), name) for name, values in known.items()]
graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", 1, [1, 8, 6])],
                     [h.make_tensor_value_info("y", 1, [1, 8, 5])], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""
# What a converter that writes a wrong scale would have written.
PLANT = """
    first = graph.tensors[node.inputs[0]]
    if model.buffers[first.buffer].data is not None:
        first.quantization.scale = [one * 1.01 for one in first.quantization.scale]
        changed += 1
"""
# A single number behind a layer, which the converter multiplies into the layer.
BEHIND = """
import sys
import numpy as np, onnx
from onnx import helper as h
rng = np.random.default_rng(5)
known = {"w": rng.normal(0, 0.3, (6, 8)), "b": rng.normal(0, 0.3, 8), "k": 0.99, "v": rng.normal(0, 0.3, (8, 5))}
nodes = [h.make_node("Gemm", ["x", "w", "b"], ["a"]), h.make_node("Mul", ["a", "k"], ["m"]),
         h.make_node("Tanh", ["m"], ["r"]), h.make_node("MatMul", ["r", "v"], ["y"])]
tensors = [onnx.numpy_helper.from_array(np.asarray(values, "float32"), name) for name, values in known.items()]
graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", 1, [1, 6])],
                     [h.make_tensor_value_info("y", 1, [1, 5])], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""
# What a converter that leaves the number out would have written: the layer as the file has it.
LEAVE_OUT = """
    if len(node.inputs) > 2 and node.inputs[2] >= 0:
        for index in [*node.inputs[1:3], node.outputs[0]]:
            own = graph.tensors[index].quantization
            own.scale = [one / 0.99 for one in own.scale]
        changed += 1
"""


def run(project: Project, body: str = "", source: str = MAKE, operator: str = "BATCH_MATMUL") -> Mapping[str, Any]:
    """The row of w8a8 in TFLite, where ``body`` is the source of what changes a product in the artefact."""
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), source, "net.onnx")
    name = plant(project, operator, body) if body else "tflite"
    return the_row(project.run(f"--compilers={name}", "--precisions=w8a8", f"--bench-onnx={path}"))


def test_a_constant_factor_in_front_is_compared_with_the_file(project: Project) -> None:
    row = run(project)
    assert row["status"] == "supported", row["reason"]
    assert row["numbers"]["converter"]["constants"] == row["numbers"]["converter"]["compared"] >= 2


def test_a_wrong_scale_of_the_factor_in_front_is_a_mismatch(project: Project) -> None:
    row = run(project, PLANT)
    assert row["status"] == "mismatch", row
    assert "converter: weight of BATCH_MATMUL up to " in row["reason"]


def test_a_number_behind_a_layer_is_multiplied_into_it(project: Project) -> None:
    row = run(project, source=BEHIND)
    assert row["status"] == "supported", row["reason"]
    assert row["numbers"]["converter"]["worst_steps"] < 0.501 and row["numbers"]["whole_E"] < 1e-6


def test_a_number_behind_a_layer_that_was_left_out_is_a_mismatch(project: Project) -> None:
    row = run(project, LEAVE_OUT, BEHIND, "FULLY_CONNECTED")
    assert row["status"] == "mismatch", row
    assert "the layers are right one by one, but are not the model: E " in row["reason"]
