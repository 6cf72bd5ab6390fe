"""What a verdict on a quantised model says nothing of stands in its row."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench_plugin.checks.equivalence.own_noise import OTHERWISE
from bench_plugin.compare.table import DEFAULTS
from tests.checks.test_strength import DEAD, FAINT
from tests.checks.test_strength import MAKE as BLOCK
from tests.given_file import COMPILER, compiles, the_row, write_file
from tests.project import Project

# A norm behind an input, which no layer takes in; its variances are so large that another epsilon changes few integers.
MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h
rng = np.random.default_rng(0)
shapes = {"s": 8, "b": 8, "m": 8, "w": (8, 16), "c": 16, "v": (16, 4), "d": 4}
weights = {name: rng.standard_normal(shape) / 3 for name, shape in shapes.items()}
weights["variance"] = np.full(8, 2.0)
nodes = [
    h.make_node("BatchNormalization", ["x", "s", "b", "m", "variance"], ["n"], epsilon=1e-3, name="norm"),
    h.make_node("Relu", ["n"], ["r"]), h.make_node("Gemm", ["r", "w", "c"], ["g"]), h.make_node("Relu", ["g"], ["t"]),
    h.make_node("Gemm", ["t", "v", "d"], ["y"]),
]
value = lambda name, size: h.make_tensor_value_info(name, 1, ["n", size])
tensors = [onnx.numpy_helper.from_array(values.astype("float32"), name) for name, values in weights.items()]
graph = h.make_graph(nodes, "g", [value("x", 8)], [value("y", 4)], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""


def test_the_epsilon_of_a_norm_of_its_own_that_the_rule_of_layers_lets_pass_is_named(
    project: Project, tools_python: Path
) -> None:
    compiles(project)
    write_file(project, tools_python, MAKE, "norm.onnx")
    finished = project.run(
        "--bench-onnx=norm.onnx", "--compilers=fakec", "--precisions=w8a8", "-k", "equivalence and qdq"
    )
    row = the_row(finished)
    numbers, name = row["numbers"], "batchnorm eps 1e-5 at norm"
    assert row["status"] == "supported", finished.text
    assert numbers["mutants"][name]["kind"] == "detail" and numbers["mutants"][name]["killed"] is False
    noticed = numbers["mutants"][name]["noticeable"]
    assert name in numbers["mutants_missed" if noticed else "mutants_not_noticeable"]
    assert numbers["mutants_applicable"] == len(numbers["mutants"]) - (not noticed)


def by_tool(
    project: Project, python: Path, scale: float, fault: str = "none", precision: str = "w8a8"
) -> Mapping[str, Any]:
    """The row of a compiler that quantises the two layers of a file itself and leaves out the block between them."""
    compiles(project, COMPILER.parent / "quantising_compiler.py")
    write_file(project, python, BLOCK, "block.onnx", scale, "float32")
    options = ("--compilers=fakeq", f"--precisions={precision}", f"--bench-option=fakeq.fault={fault}")
    return the_row(project.run("--bench-onnx=block.onnx", *options))


def test_layers_that_are_right_are_not_the_model_where_a_block_is_missing(project: Project, tools_python: Path) -> None:
    row = by_tool(project, tools_python, 0.5)
    assert row["status"] == "mismatch" and row["numbers"]["whole_E"] > 0.05, row
    assert "the layers are right one by one, but are not the model" in row["reason"]


def test_what_no_input_exercises_is_named_where_a_tool_quantised_the_file_itself(
    project: Project, tools_python: Path
) -> None:
    row = by_tool(project, tools_python, DEAD)
    assert row["status"] == "supported", row["reason"]
    assert row["numbers"]["layers"] > 0 and "by approximation" not in row["flags"]
    assert "not exercised by these inputs: residual branch zeroed at Add residual" in row["flags"]


def test_a_block_that_the_comparison_of_the_whole_would_not_miss_proves_nothing(
    project: Project, tools_python: Path
) -> None:
    row = by_tool(project, tools_python, FAINT)
    assert row["numbers"]["whole_E"] <= DEFAULTS.converter_whole and "by approximation" not in row["flags"], row
    assert (row["status"], row["unverified"]) == ("unverified", "not sensitive"), row["reason"]
    assert "residual branch zeroed at Add residual" in row["reason"]


def test_layers_that_round_their_inputs_are_put_together_without_that_rounding(
    project: Project, tools_python: Path
) -> None:
    row = by_tool(project, tools_python, FAINT, precision="w8")
    assert row["status"] == "mismatch" and row["numbers"]["layers"] == 2, row
    assert "the layers are right one by one, but are not the model: E 1.08e-03" in row["reason"], row["reason"]


def test_by_approximation_layers_that_were_read_back_do_not_speak_for_the_others(
    project: Project, tools_python: Path
) -> None:
    row = by_tool(project, tools_python, FAINT, "one-layer")  # the block that is missing adds less than integers lose
    assert row["numbers"]["layers"] == 3 and "by approximation" in row["flags"], row
    assert (row["status"], row["unverified"]) == ("unverified", "not sensitive"), row["reason"]
    assert "residual branch zeroed" in row["reason"]


def test_where_only_the_run_is_by_approximation_the_reason_says_that_the_layers_are_the_model(
    project: Project, tools_python: Path
) -> None:
    row = by_tool(project, tools_python, FAINT, "hidden")
    assert row["numbers"]["whole_E"] <= DEFAULTS.converter_whole and "by approximation" in row["flags"], row
    assert (row["status"], row["unverified"]) == ("unverified", "not sensitive"), row["reason"]
    assert row["reason"].endswith(f"; {OTHERWISE}"), row["reason"]
