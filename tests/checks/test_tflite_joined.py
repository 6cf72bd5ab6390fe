"""TFLite's int8: numbers that a Concat joins with others are rounded to their step, and compared with the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, the_row, write_file
from tests.planted_tflite import plant
from tests.project import Project

# A class token beside patches whose range is wide: rounded to their step it changes the outputs by some per cent.
MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h
rng = np.random.default_rng(6)
known = {"e": rng.normal(0, 3, (8, 16)), "cls": rng.normal(0, 1, (1, 1, 16)), "g": rng.uniform(0.5, 2, 16),
         "gb": rng.normal(size=16), "h": rng.normal(0, 0.3, (16, 5)), "hb": rng.normal(size=5)}
nodes = [h.make_node("MatMul", ["x", "e"], ["p"]), h.make_node("Concat", ["cls", "p"], ["j"], axis=1),
         h.make_node("LayerNormalization", ["j", "g", "gb"], ["n"], epsilon=1e-5),
         h.make_node("MatMul", ["n", "h"], ["m"]), h.make_node("Add", ["m", "hb"], ["y"])]
tensors = [onnx.numpy_helper.from_array(v.astype("float32"), name) for name, v in known.items()]
graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", 1, [1, 6, 8])],
                     [h.make_tensor_value_info("y", 1, [1, 7, 5])], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""
OTHER = """
    for index in node.inputs:
        tensor = graph.tensors[index]
        values = model.buffers[tensor.buffer].data
        if values is not None and numpy.prod(tensor.shape) == 16:
            moved = numpy.asarray(values).view("int8").copy()
            moved[3] += 2
            model.buffers[tensor.buffer].data = moved.view("uint8")
            changed += 1
"""


def run(project: Project, body: str = "") -> Mapping[str, Any]:
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), MAKE, "net.onnx")
    name = plant(project, "CONCATENATION", body) if body else "tflite"
    return the_row(project.run(f"--compilers={name}", "--precisions=w8a8", f"--bench-onnx={path}", "-k", "own"))


def test_a_token_that_is_rounded_to_a_wide_range_is_put_back(project: Project) -> None:
    row = run(project)
    assert row["status"] == "supported", row["reason"]
    assert row["numbers"]["whole_E"] < 1e-6 and not [flag for flag in row["flags"] if "counterpart" in flag]


def test_a_token_that_is_another_one_is_a_mismatch(project: Project) -> None:
    row = run(project, OTHER)
    assert row["status"] == "mismatch", row
    assert row["reason"].startswith("converter: part of CONCATENATION up to "), row["reason"]
    assert "steps from cls of the file" in row["reason"]
