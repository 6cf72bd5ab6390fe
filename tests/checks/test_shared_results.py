"""TFLite: a matrix whose result several layers read, each of which adds its bias; and numbers of attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, the_row, write_file
from tests.planted_tflite import plant
from tests.project import Project

# What a matrix gives with its bias is read by two others, or by another one and a sum; at last a LayerNormalization.
MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h
kind = sys.argv[2]
rng = np.random.default_rng(4)
known = {"e": rng.normal(0, 0.3, (10, 24)), "eb": rng.normal(0, 1, 24), "q": rng.normal(0, 0.2, (24, 24)),
         "qb": rng.normal(0, 0.5, 24), "r": rng.normal(0, 0.2, (24, 24)), "rb": rng.normal(0, 0.5, 24),
         "g": rng.uniform(0.5, 2, 24), "gb": rng.normal(size=24), "h": rng.normal(0, 0.3, (24, 5)),
         "hb": rng.normal(size=5)}
nodes = [h.make_node("MatMul", ["x", "e"], ["em"]), h.make_node("Add", ["em", "eb"], ["t"]),
         h.make_node("MatMul", ["t", "q"], ["qm"]), h.make_node("Add", ["qm", "qb"], ["qa"]),
         h.make_node("Tanh", ["qa"], ["qt"])]
if kind == "two":
    nodes += [h.make_node("MatMul", ["t", "r"], ["rm"]), h.make_node("Add", ["rm", "rb"], ["ra"]),
              h.make_node("Sigmoid", ["ra"], ["rs"]), h.make_node("Mul", ["qt", "rs"], ["s"])]
else:
    nodes += [h.make_node("Add", ["t", "qt"], ["s"])]
if kind == "norm":
    nodes += [h.make_node("LayerNormalization", ["s", "g", "gb"], ["n"], epsilon=1e-3)]
nodes += [h.make_node("MatMul", ["n" if kind == "norm" else "s", "h"], ["hm"]), h.make_node("Add", ["hm", "hb"], ["y"])]
read = {name for node in nodes for name in node.input}
tensors = [onnx.numpy_helper.from_array(v.astype("float32"), name) for name, v in known.items() if name in read]
graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", 1, [1, 14, 10])],
                     [h.make_tensor_value_info("y", 1, [1, 14, 5])], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""
# A converter that forgets, in the sum that reads the matrix as well, what the matrix adds.
FORGOTTEN = """
    for index in node.inputs:
        tensor = graph.tensors[index]
        values = model.buffers[tensor.buffer].data
        if values is not None and numpy.prod(tensor.shape) == 24:
            model.buffers[tensor.buffer].data = numpy.full(len(values), tensor.quantization.zeroPoint[0], "int8").view(
                "uint8"
            )
            changed += 1
"""


def run(project: Project, kind: str, precision: str, body: str = "") -> Mapping[str, Any]:
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), MAKE, "net.onnx", kind)
    name = plant(project, "ADD", body) if body else "tflite"
    return the_row(project.run(f"--compilers={name}", f"--precisions={precision}", f"--bench-onnx={path}", "-k", "own"))


@pytest.mark.parametrize("kind", ["two", "sum", "norm"])
def test_every_reader_of_a_matrix_may_add_its_bias(project: Project, kind: str) -> None:
    row = run(project, kind, "w8a8")
    assert row["status"] == "supported", row["reason"]
    assert row["numbers"]["whole_E"] < 1e-6


@pytest.mark.parametrize("kind", ["two", "sum", "norm"])
def test_what_was_added_is_taken_from_biases_as_it_is_once_it_is_rounded_itself(project: Project, kind: str) -> None:
    """Of "norm" the epsilon is rounded to float16, too, and put into the attribute of the file."""
    row = run(project, kind, "w16")
    assert row["status"] == "supported", row["reason"]
    assert row["placement"]["rounded_as"] == "as the artefact has them"
    assert row["numbers"]["needed"] < 0.5, row["numbers"]


def test_a_reader_that_adds_nothing_is_a_mismatch(project: Project) -> None:
    row = run(project, "sum", "w8a8", FORGOTTEN)
    assert row["status"] == "mismatch", row
    assert row["reason"].startswith("converter: "), row["reason"]
