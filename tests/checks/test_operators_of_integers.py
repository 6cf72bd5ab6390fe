"""A file whose layers are QLinearConv and its like: each layer's reference takes the integers that the tool had."""

from __future__ import annotations

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, the_row, write_file
from tests.project import Project

# A convolution of integers, then one of which the mean is quantised again.
MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper
rng = np.random.default_rng(7)
known = {"w": rng.integers(-60, 60, (6, 3, 3, 3)).astype("int8"),
         "v": rng.integers(-60, 60, (8, 6, 3, 3)).astype("int8"),
         "n": np.int8(0), "ws": np.float32(0.004), "xs": np.float32(0.03), "cs": np.float32(0.02),
         "ds": np.float32(0.03), "ms": np.float32(0.008), "z": np.uint8(128)}
conv = lambda x, xs, w, ys, y: h.make_node("QLinearConv", [x, xs, "z", w, "ws", "n", ys, "z"], [y])
nodes = [h.make_node("QuantizeLinear", ["x", "xs", "z"], ["q"]), conv("q", "xs", "w", "cs", "c"),
         conv("c", "cs", "v", "ds", "d"), h.make_node("DequantizeLinear", ["d", "ds", "z"], ["e"]),
         h.make_node("GlobalAveragePool", ["e"], ["m"]), h.make_node("QuantizeLinear", ["m", "ms", "z"], ["mq"]),
         h.make_node("DequantizeLinear", ["mq", "ms", "z"], ["y"])]
tensors = [numpy_helper.from_array(np.asarray(values), name) for name, values in known.items()]
graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", 1, [1, 3, 10, 10])],
                     [h.make_tensor_value_info("y", 1, [1, 8, 1, 1])], tensors)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, sys.argv[1])
"""


@pytest.mark.parametrize("compiler", ["onnxruntime", "tract"])
def test_layers_of_operators_of_integers_are_judged(project: Project, compiler: str) -> None:
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), MAKE, "net.onnx")
    row = the_row(project.run(f"--compilers={compiler}", "--precisions=w8a8", f"--bench-onnx={path}", "-k", "qdq"))
    assert row["status"] == "supported", row["reason"]
    assert row["numbers"]["worst_steps"] <= 0.51


def test_a_file_of_integers_has_no_dynamic_quantisation(project: Project) -> None:
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), MAKE, "net.onnx")
    row = the_row(project.run("--compilers=onnxruntime", "--precisions=w8a8-dyn", f"--bench-onnx={path}"))
    assert row["status"] == "unverified"
    assert "onnxruntime's quantiser finds nothing in this file that it quantises" in row["reason"]


# Nothing that NNCF quantises.
NOTHING = """
import sys, onnx
from onnx import helper as h
ports = [h.make_tensor_value_info(name, 1, [1, 16]) for name in "xy"]
graph = h.make_graph([h.make_node("Tanh", ["x"], ["y"])], "g", ports[:1], ports[1:])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""


def test_what_nncf_leaves_as_it_is_was_not_quantised(project: Project) -> None:
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), NOTHING, "net.onnx")
    finished = project.run("--compilers=openvino", "--precisions=w8a8", f"--bench-onnx={path}", "-k", "own")
    row = the_row(finished)
    assert row["status"] == "unsupported", row["reason"]
    assert row["reason"] == "NNCF finds nothing in this model that it quantises"


# A product whose weights alone are integers, by channel and in an opset that onnx's evaluator does not know them in.
WEIGHTS = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper
rng = np.random.default_rng(7)
known = {"w": rng.integers(-120, 120, (32, 12)).astype("int8"), "n": np.zeros(12, "int8"),
         "s": rng.uniform(0.002, 0.004, 12).astype("float32")}
nodes = [h.make_node("DequantizeLinear", ["w", "s", "n"], ["v"], axis=1), h.make_node("MatMul", ["x", "v"], ["m"]),
         h.make_node("Tanh", ["m"], ["y"])]
tensors = [numpy_helper.from_array(values, name) for name, values in known.items()]
graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", 1, [1, 32])],
                     [h.make_tensor_value_info("y", 1, [1, 12])], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8), sys.argv[1])
"""


def test_weights_of_integers_are_rounded_as_what_they_stand_for(project: Project) -> None:
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), WEIGHTS, "net.onnx")
    row = the_row(project.run("--compilers=mnn", "--precisions=w16", f"--bench-onnx={path}", "-k", "own"))
    assert row["status"] == "supported", row["reason"]
    assert row["placement"]["rounded_as"] == "as the artefact has them"


# What a Tanh saturates at is from -1 to 1, whose zero point lies between 127 and 128: float32 decides the side.
SYMMETRIC = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper
rng = np.random.default_rng(7)
known = {"f": np.float32(40), "w": rng.normal(0, 1, (64, 12)).astype("float32"),
         "v": rng.normal(0, 1, (64, 64)).astype("float32")}
nodes = [h.make_node("MatMul", ["x", "v"], ["a"]), h.make_node("Mul", ["a", "f"], ["b"]),
         h.make_node("Tanh", ["b"], ["t"]), h.make_node("DynamicQuantizeLinear", ["t"], ["q", "s", "z"]),
         h.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]), h.make_node("MatMul", ["d", "w"], ["y"])]
tensors = [numpy_helper.from_array(np.asarray(values), name) for name, values in known.items()]
graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", 1, [1, 64])],
                     [h.make_tensor_value_info("y", 1, [1, 12])], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8), sys.argv[1])
"""


def test_a_zero_point_between_two_integers_is_noise(project: Project) -> None:
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), SYMMETRIC, "net.onnx")
    row = the_row(project.run("--compilers=onnxruntime", "--precisions=fp32", f"--bench-onnx={path}"))
    assert row["status"] != "mismatch", row["reason"]
    assert row["numbers"]["noise_E"] > 1e-5
