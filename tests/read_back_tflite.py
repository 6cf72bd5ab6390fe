"""Rows of w8a8 in TFLite, of a small file that a script writes, in both of its kernels; and what all of them show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, the_row, write_file
from tests.planted_tflite import plant
from tests.project import Project

BOTH = "tflite,tflite[builtin]"
# A convolution in front of the nodes under test, which ``NODES`` has by the script's second argument, and a sum behind
# them. ``known`` has what they read beside ``a``.
CONVOLVED = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper
rng = np.random.default_rng(0)
known = {"w": rng.normal(0, 0.5, (8, 3, 3, 3)), "v": rng.normal(0, 0.3, 8), "half": np.array(0.5)}
known = {name: values.astype("float32") for name, values in known.items()}
REST
front = h.make_node("Conv", ["x", "w", "v"], ["a"], pads=[1, 1, 1, 1])
nodes = [front, *NODES[sys.argv[2]], h.make_node("Add", ["k", "half"], ["y"])]
read = {name for node in nodes for name in node.input}
tensors = [numpy_helper.from_array(values, name) for name, values in known.items() if name in read]
value = lambda name, size: h.make_tensor_value_info(name, 1, size)
graph = h.make_graph(nodes, "g", [value("x", ["batch", 3, 6, 6])], [value("y", None)], tensors)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
onnx.save(onnx.shape_inference.infer_shapes(model), sys.argv[1])
"""


def both(project: Project, script: str, kind: str) -> list[Mapping[str, Any]]:
    """The rows of XNNPACK's and of TFLite's own kernels."""
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), script, "net.onnx", kind)
    finished = project.run(f"--compilers={BOTH}", "--precisions=w8a8", f"--bench-onnx={path}")
    rows = [row for row in finished.rows if row["kind"] == "cell"]
    assert len(rows) == 2, finished.text
    return rows


def planted(project: Project, script: str, kind: str, operator: str, body: str) -> Mapping[str, Any]:
    """The row of an artefact in which ``body`` has changed the one node of this operator."""
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), script, "net.onnx", kind)
    name = plant(project, operator, body)
    return the_row(project.run(f"--compilers={name}", "--precisions=w8a8", f"--bench-onnx={path}"))


def is_read_in_full(row: Mapping[str, Any], operator: str) -> None:
    """Assert that a right artefact with this operator was read back whole, and is the model."""
    assert row["status"] == "supported", row["reason"]
    assert operator in [one["name"].split()[0] for one in row["numbers"]["per_layer"]]
    assert not [flag for flag in row["flags"] if "approximation" in flag or "not read back" in flag], row["flags"]
    assert not [flag for flag in row["flags"] if "not proven" in flag], row["flags"]
    assert row["numbers"]["whole_E"] < 1e-6
