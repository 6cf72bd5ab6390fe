"""TFLite's w16: the weights that it rounded are read back from its file and compared with those of the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, write_file
from tests.planted_tflite import plant
from tests.project import Project

# With a bias, or with one that a normalisation, a difference or a product moves: the converter writes what the file
# does not have. It makes a Softplus of constants of its own. What is divided by a constant and multiplied by it later
# has it under one name, or under two.
MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper
rng = np.random.default_rng(7)
known = {"w": rng.normal(0, 0.3, (8, 3, 3, 3)), "b": rng.normal(0, 0.3, 8), "m": rng.normal(0, 0.3, (32, 10)),
         "c": rng.normal(0, 0.3, 10), "scale": rng.uniform(0.5, 2, 8), "shift": rng.normal(0, 0.3, 8),
         "mean": rng.normal(0, 0.3, 8), "variance": rng.uniform(0.5, 2, 8), "k": rng.uniform(0.3, 3, (1, 10)),
         "two": np.array(2.0), "half": np.array(0.47)}
known["w"][0, 0, 0] = [3e-5, -2e-6, 0]
known = {name: values.astype("float32") for name, values in known.items()} | {"size": np.array([1, -1])}
between = {"normalised": [h.make_node("BatchNormalization", ["a", "scale", "shift", "mean", "variance"], ["n"])],
           "moved": [h.make_node("Sub", ["a", "two"], ["o"]), h.make_node("Mul", ["o", "half"], ["n"])]}
both = [h.make_node("Sigmoid", ["z"], ["g"]), h.make_node("Div", ["g", "k"], ["d"]), h.make_node("Tanh", ["d"], ["t"]),
        h.make_node("Mul", ["t", "k2" if "two" in sys.argv[2] else "k"], ["y"])]
ends = {"divided": [h.make_node("Tanh", ["z"], ["t"]), h.make_node("Div", ["t", "k"], ["y"])], "both": both}
ends |= dict.fromkeys(["plain", "normalised", "moved", "curved"], [h.make_node("Identity", ["z"], ["y"])])
curve = "Softplus" if sys.argv[2] == "curved" else "Sigmoid"
nodes = [h.make_node("Conv", ["x", "w", "b"], ["a"]), *between.get(sys.argv[2], []),
         h.make_node(curve, ["n" if sys.argv[2] in between else "a"], ["s"]),
         h.make_node("MaxPool", ["s"], ["p"], kernel_shape=[2, 2], strides=[3, 3]),
         h.make_node("Reshape", ["p", "size"], ["r"]), h.make_node("Gemm", ["r", "m", "c"], ["z"]),
         *ends[sys.argv[2].partition(" ")[0]]]
known["k2"] = known["k"]
used = {name for node in nodes for name in node.input}
tensors = [numpy_helper.from_array(values, name) for name, values in known.items() if name in used]
graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", 1, [1, 3, 8, 8])],
                     [h.make_tensor_value_info("y", 1, [1, 10])], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""
# A sum in front of a matrix, which the converter takes into the bias behind it, by the weights before their rounding.
TAKEN = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper
rng = np.random.default_rng(7)
known = {"w": rng.normal(0, 0.3, (12, 16)), "b": rng.normal(0, 0.3, 16), "s": rng.normal(0, 1, 16),
         "m": rng.normal(0, 0.3, (16, 10)), "c": rng.normal(0, 0.3, 10)}
nodes = [h.make_node("Gemm", ["x", "w", "b"], ["a"]), h.make_node("Relu", ["a"], ["r"]),
         h.make_node("Add", ["r", "s"], ["e"]), h.make_node("Gemm", ["e", "m", "c"], ["y"])]
tensors = [numpy_helper.from_array(values.astype("float32"), name) for name, values in known.items()]
graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", 1, [1, 12])],
                     [h.make_tensor_value_info("y", 1, [1, 10])], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""
# A converter that multiplies by the divisor: it writes the divisor where its reciprocal stands.
MULTIPLY = """
    tensor = graph.tensors[node.inputs[0]]
    values = numpy.frombuffer(bytes(model.buffers[tensor.buffer].data), "float16")
    if list(tensor.shape) == [1, 10]:
        model.buffers[tensor.buffer].data = list((numpy.float16(1) / values).tobytes())
        changed += 1
"""
# What a converter that writes one weight of the last layer wrongly would have written.
PLANT = """
    tensor = graph.tensors[node.inputs[0]]
    values = numpy.frombuffer(bytes(model.buffers[tensor.buffer].data), "float16").copy()
    if values.size == 320:
        values[7] *= numpy.float16(FACTOR)
        model.buffers[tensor.buffer].data = list(values.tobytes())
        changed += 1
"""


def run(project: Project, kind: str = "plain", body: str = "", source: str = MAKE) -> Mapping[str, Any]:
    """The row of w16 in TFLite, where ``body`` is the source of what changes a constant in its file."""
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), source, "net.onnx", kind)
    name = plant(project, "DEQUANTIZE", body) if body else "tflite"
    finished = project.run(f"--compilers={name}", "--precisions=w16", f"--bench-onnx={path}")
    (row,) = [row for row in finished.rows if row["kind"] == "cell"]
    return row


def test_the_weights_of_the_artefact_are_what_the_run_is_compared_with(project: Project) -> None:
    row = run(project)
    assert row["status"] == "supported", row["reason"]
    assert row["placement"]["rounded_as"] == "as the artefact has them"
    converter = row["numbers"]["converter"]
    assert converter["constants"] == converter["compared"] == 4
    assert 0.3 < converter["worst_steps"] <= 0.501 and row["numbers"]["needed"] <= 1


@pytest.mark.parametrize("factor", [1.002, 0.9])
def test_a_weight_that_is_not_the_nearest_one_is_a_mismatch(project: Project, factor: float) -> None:
    row = run(project, body=PLANT.replace("FACTOR", str(factor)))
    assert row["status"] == "mismatch", row
    assert "converter: weight of FULLY_CONNECTED" in row["reason"] and "from m of the file" in row["reason"]


@pytest.mark.parametrize("kind", ["normalised", "moved"])
def test_a_sum_of_the_tool_is_put_into_the_file_without_what_was_added(project: Project, kind: str) -> None:
    row = run(project, kind)
    assert row["status"] == "supported", row["reason"]
    assert row["placement"]["rounded_as"] == "as the artefact has them"
    assert row["numbers"]["converter"]["compared"] == 4 and row["numbers"]["needed"] <= 1


def test_a_sum_that_went_through_the_weights_is_put_back_as_it_was_before_their_rounding(project: Project) -> None:
    row = run(project, source=TAKEN)
    assert row["status"] == "supported", row["reason"]
    assert row["placement"]["rounded_as"] == "as the artefact has them"
    assert row["numbers"]["converter"]["compared"] == 4, "the sum is none of them"


def test_where_a_constant_is_the_tools_own_the_ways_of_rounding_are_tried(project: Project) -> None:
    row = run(project, "curved")
    assert row["status"] == "supported", row["reason"]
    assert row["placement"]["rounded_as"] != "as the artefact has them"
    assert any("weights of the artefact cannot be put into the file" in flag for flag in row["flags"]), row["flags"]


def test_a_divisor_whose_reciprocal_is_stored_is_one_over_it(project: Project) -> None:
    row = run(project, "divided")
    assert row["status"] == "supported", row["reason"]
    assert row["placement"]["rounded_as"] == "as the artefact has them"
    assert row["numbers"]["needed"] <= 1 and row["numbers"]["approximation"]["sqnr_db"] > 60


@pytest.mark.parametrize("kind", ["both", "both under two names"])
def test_a_constant_that_is_divisor_and_factor_is_stored_twice(project: Project, kind: str) -> None:
    row = run(project, kind)
    assert row["status"] == "supported", row["reason"]
    assert row["placement"]["rounded_as"] == "as the artefact has them"
    assert row["numbers"]["converter"]["compared"] == 6, "w, b, m, c, k and one over k"


def test_an_artefact_that_multiplies_by_the_divisor_is_a_mismatch(project: Project) -> None:
    row = run(project, "divided", MULTIPLY)
    assert row["status"] == "mismatch", row
