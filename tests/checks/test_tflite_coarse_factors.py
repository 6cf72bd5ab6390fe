"""TFLite's int8: what kernels with a coarse factor or with two roundings give is right, and nothing else is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, the_row, write_file
from tests.planted_tflite import plant
from tests.project import Project

# The scale of a Tanh is fixed, so that it gets another one (QUANTIZE) where it is joined with something larger; and
# what a LeakyRelu makes of negative numbers needs a smaller range than they do.
MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper
rng = np.random.default_rng(0)
known = {"a": rng.normal(0, 0.9, (6, 24)), "b": rng.normal(-2.0, 0.5, 24), "e": rng.normal(0, 0.5, (48, 4))}
joined = [h.make_node("Tanh", ["g"], ["t"]), h.make_node("Concat", ["g", "t"], ["k"], axis=1)]
leaky = [h.make_node("LeakyRelu", ["g"], ["t"], alpha=0.3), h.make_node("Concat", ["t", "t"], ["k"], axis=1)]
if sys.argv[2] == "DEFAULT":
    leaky[0] = h.make_node("LeakyRelu", ["g"], ["t"])
if sys.argv[2] in ("PRELU", "SLOPES"):
    known["slope"] = np.array([0.3]) if sys.argv[2] == "PRELU" else rng.uniform(0.1, 0.4, 24)
    leaky[0] = h.make_node("PRelu", ["g", "slope"], ["t"])
nodes = [h.make_node("Gemm", ["x", "a", "b"], ["g"]), *(joined if sys.argv[2] == "QUANTIZE" else leaky),
         h.make_node("MatMul", ["k", "e"], ["y"])]
tensors = [numpy_helper.from_array(values.astype("float32"), name) for name, values in known.items()]
value = lambda name, size: h.make_tensor_value_info(name, 1, ["batch", size])
graph = h.make_graph(nodes, "g", [value("x", 6)], [value("y", 4)], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""
# What a converter that writes another slope would have written.
WRONG = """
    node.builtinOptions.alpha *= FACTOR
    changed += 1
"""


# The same of a PRelu, whose slopes are a constant: the scale of a single one, the integers of several.
SLOPES = """
    tensor = graph.tensors[node.inputs[1]]
    values = numpy.frombuffer(bytes(model.buffers[tensor.buffer].data), "int8")
    assert values.size == SIZE
    tensor.quantization.scale = [float(tensor.quantization.scale[0]) * 1.05]
    changed += 1
"""


def run(project: Project, operator: str, body: str = "", compiler: str = "tflite", node: str = "") -> Mapping[str, Any]:
    """The row of w8a8 in TFLite, where ``body`` is the source of what changes the node in the artefact."""
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), MAKE, "net.onnx", operator)
    name = plant(project, node or operator, body) if body else compiler
    return the_row(project.run(f"--compilers={name}", "--precisions=w8a8", f"--bench-onnx={path}"))


@pytest.mark.parametrize("operator", ["QUANTIZE", "LEAKY_RELU"])
def test_what_the_coarse_factor_gives_is_right(project: Project, operator: str) -> None:
    row = run(project, operator)
    assert row["status"] == "supported", row["reason"]
    layers = [one for one in row["numbers"]["per_layer"] if one.get("exception") == "factor of 8 bits"]
    assert [one["name"].split()[0] for one in layers] == [operator]
    assert layers[0]["within"] == 1.0 and layers[0]["largest_steps"] <= 0.51
    assert row["numbers"]["whole_E"] < 1e-3


@pytest.mark.parametrize("factor", [1.2, 1.01])
def test_a_wrong_slope_in_the_artefact_is_a_mismatch(project: Project, factor: float) -> None:
    row = run(project, "LEAKY_RELU", WRONG.replace("FACTOR", str(factor)))
    assert row["status"] == "mismatch", row
    assert "the slope of LEAKY_RELU is none of the file" in row["reason"], row["reason"]


@pytest.mark.parametrize("operator", ["DEFAULT", "PRELU", "SLOPES"])
def test_slopes_that_are_the_file_s_are_right(project: Project, operator: str) -> None:
    row = run(project, operator)
    assert row["status"] == "supported", row["reason"]
    assert row["numbers"]["whole_E"] < 1e-5


@pytest.mark.parametrize(("operator", "size", "of"), [("PRELU", 1, "the range"), ("SLOPES", 24, "weight of PRELU")])
def test_slopes_of_a_prelu_that_are_not_the_file_s_are_a_mismatch(
    project: Project, operator: str, size: int, of: str
) -> None:
    row = run(project, operator, SLOPES.replace("SIZE", str(size)), node="PRELU")
    assert row["status"] == "mismatch", row
    assert f"converter: {of}" in row["reason"], row["reason"]


@pytest.mark.parametrize("operator", ["QUANTIZE", "LEAKY_RELU"])
def test_tflite_s_own_kernels_round_twice(project: Project, operator: str) -> None:
    row = run(project, operator, compiler="tflite[builtin]")
    assert row["status"] == "supported", row["reason"]
    layers = [one for one in row["numbers"]["per_layer"] if one.get("exception") == "double rounding"]
    assert [one["name"].split()[0] for one in layers] == [operator]
    assert layers[0]["within"] == 1.0 and layers[0]["largest_steps"] <= 0.51
