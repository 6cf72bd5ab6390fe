"""An LSTM that ONNX Runtime quantises as it runs is an operator of its own, and judged by approximation."""

from __future__ import annotations

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, the_row, write_file
from tests.project import Project

MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper as n
rng = np.random.default_rng(3)
known = {"w": rng.normal(0, 0.4, (1, 64, 8)), "r": rng.normal(0, 0.2, (1, 64, 16)), "m": rng.normal(0, 0.3, (16, 6))}
tensors = [n.from_array(values.astype("float32"), name) for name, values in known.items()]
tensors.append(n.from_array(np.array([0]), "front"))
nodes = [h.make_node("LSTM", ["x", "w", "r"], ["", "last"], hidden_size=16),
         h.make_node("Squeeze", ["last", "front"], ["s"]), h.make_node("MatMul", ["s", "m"], ["y"])]
ports = [h.make_tensor_value_info("x", 1, [10, 1, 8]), h.make_tensor_value_info("y", 1, [1, 6])]
graph = h.make_graph(nodes, "g", ports[:1], ports[1:], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""


def test_what_has_no_reference_of_its_own_is_judged_by_its_noise(project: Project) -> None:
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), MAKE, "net.onnx")
    row = the_row(project.run("--compilers=onnxruntime", "--precisions=w8a8-dyn", f"--bench-onnx={path}"))
    assert row["status"] == "supported", row["reason"]
    assert "by approximation" in row["flags"] and row["numbers"]["own_sqnr_db"] > 20
    assert any("no float64 reference: Node type 'DynamicQuantizeLSTM'" in flag for flag in row["flags"])
