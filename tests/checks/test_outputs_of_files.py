"""Files whose outputs are truth values, lengths of groups, or of a shape that the inputs decide; and recurrent ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, the_row, write_file
from tests.project import Project

MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper
rng = np.random.default_rng(1)
known = {
    "w": rng.normal(0, 0.5, (6, 12)), "v": rng.normal(0, 0.3, 12), "u": rng.normal(0, 0.5, (12, 4)),
    "gates": rng.normal(0, 0.4, (1, 16, 6)), "turns": rng.normal(0, 0.4, (1, 16, 4)),
    "mask": np.array([-1e4, *np.zeros(11)]), "sizes": np.array([1.0] * 8 + [0.005] * 4),
    "zero": np.array(0.0), "groups": np.array([0, 1, 12]),
}
front = [h.make_node("Gemm", ["x", "w", "v"], ["a"])]
value = lambda name, sizes, kind=1: h.make_tensor_value_info(name, kind, sizes)
KINDS = {
    "truth values": ([*front, h.make_node("Relu", ["a"], ["r"]), h.make_node("MatMul", ["r", "u"], ["y"]),
                      h.make_node("Greater", ["y", "zero"], ["same"])],
                     [value("x", ["batch", 6])], [value("y", ["batch", 4]), value("same", ["batch", 4], 9)]),
    "groups": ([h.make_node("MatMul", ["x", "w"], ["a"]), h.make_node("Reshape", ["a", "groups"], ["g"]),
                h.make_node("ReduceL2", ["g"], ["y"], axes=[2], keepdims=0)],
               [value("x", ["batch", 6])], [value("y", ["batch", 1])]),
    "masked": ([*front, h.make_node("Add", ["a", "mask"], ["m"]), h.make_node("Softmax", ["m"], ["y"])],
               [value("x", ["batch", 6])], [value("y", ["batch", 12])]),
    "boxes and scores": ([*front, h.make_node("Mul", ["a", "sizes"], ["y"])],
                         [value("x", ["batch", 6])], [value("y", ["batch", 12])]),
    "places": ([*front, h.make_node("Greater", ["a", "zero"], ["p"]), h.make_node("NonZero", ["p"], ["y"])],
               [value("x", [1, 6])], [value("a", [1, 12]), value("y", [2, "n"], 7)]),
    "recurrent": ([h.make_node("LSTM", ["x", "gates", "turns"], ["s", "y"], hidden_size=4)],
                  [value("x", [5, "batch", 6])], [value("y", [1, "batch", 4])]),
}
nodes, inputs, outputs = KINDS[sys.argv[2]]
read = {name for node in nodes for name in node.input}
known = {name: x if x.dtype.kind == "i" else x.astype("float32") for name, x in known.items() if name in read}
tensors = [numpy_helper.from_array(x, name) for name, x in known.items()]
graph = h.make_graph(nodes, "g", inputs, outputs, tensors)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, sys.argv[1])
"""


def row_of(project: Project, kind: str, compiler: str = "onnxruntime", precision: str = "fp32") -> Mapping[str, Any]:
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), MAKE, "net.onnx", kind)
    return the_row(project.run(f"--compilers={compiler}", f"--precisions={precision}", f"--bench-onnx={path}"))


def test_truth_values_of_a_quantised_model_are_compared(project: Project) -> None:
    row = row_of(project, "truth values", precision="w8a8")
    assert row["status"] == "supported", row["reason"]
    assert not [flag for flag in row["flags"] if "the quantised model itself" in flag]


def test_channels_that_may_be_swapped_are_no_mistake(project: Project) -> None:
    row = row_of(project, "groups")
    assert row["status"] == "supported", row["reason"]
    assert "channels swapped" not in row["numbers"]["mutants_missed"]
    assert "channels swapped at MatMul a" in row["numbers"]["mutants_unchanged"]


def test_an_output_whose_shape_the_inputs_decide_is_a_limit_of_the_harness(project: Project) -> None:
    row = row_of(project, "places")
    assert (row["status"], row["unverified"]) == ("unverified", "harness"), row
    assert "has the shape" in row["reason"] and "which cannot be compared" in row["reason"]


def test_a_right_model_that_its_quantisation_has_made_useless_has_a_flag(project: Project) -> None:
    row = row_of(project, "masked", precision="w8a8")
    assert row["status"] == "supported", row["reason"]
    [flag] = [flag for flag in row["flags"] if flag.startswith("the quantised model itself is ")]
    assert flag == "the quantised model itself is E 1.1 from the unrounded one, whose mean would be 1"
    assert row["numbers"]["approximation"]["E"] > 1


def test_a_part_of_an_output_that_quantisation_has_made_useless_has_a_flag(project: Project) -> None:
    """One step serves boxes and scores that are 200 times smaller: of the scores nothing is left."""
    row = row_of(project, "boxes and scores", precision="w8a8")
    assert row["status"] == "supported", row["reason"]
    [flag] = [flag for flag in row["flags"] if flag.startswith("the quantised model itself is ")]
    assert "from the unrounded one in elements 8 to 11 of axis -1, which are " in flag
    assert flag.endswith(" times smaller, whose mean would be 1")
    assert row["numbers"]["approximation"]["E"] > 0.5


def test_a_recurrent_layer_of_any_batch_runs_in_tract(project: Project) -> None:
    row = row_of(project, "recurrent", "tract")
    assert row["status"] == "supported", row["reason"]
