"""Models in bfloat16 whose roundings add up to anything: their layers, within the model, are judged one by one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.given_file import compiles, the_row, write_file
from tests.project import Project

# Each layer takes the sine of a large product: what is rounded before is enlarged by every layer behind it. A block in
# the middle adds what it makes to what it takes.
MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper as n
rng = np.random.default_rng(5)
layers, gain, bias = int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
weights = [(gain * rng.standard_normal((16, 16)) / 4).astype(np.float32) for _ in range(layers)]
nodes, last = [], "x"
for i in range(layers):
    nodes.append(h.make_node("Gemm", [last, f"w{i}", f"b{i}"], [f"m{i}"], f"gemm{i}"))
    nodes.append(h.make_node("Sin", [f"m{i}"], [f"s{i}"]))
    if i == 1:
        nodes.append(h.make_node("Add", ["s0", "s1"], ["all" if bias < 0 else "sum"], "residual"))
        if bias < 0:  # and a block beside, of which no number shows anything
            nodes += [h.make_node("MatMul", ["all", "w0"], ["p"]), h.make_node("Mul", ["p", "tiny"], ["f"]),
                      h.make_node("Add", ["all", "f"], ["sum"], "hidden")]
    last = "sum" if i == 1 else f"s{i}"
nodes.append(h.make_node("Identity", [last], ["y"]))
if bias > 1:  # something that a rounding may decide, and that changes nothing
    nodes[-1:] = [h.make_node("Sign", [last], ["t"]), h.make_node("Abs", ["t"], ["o"]),
                  h.make_node("Mul", [last, "o"], ["y"])]
value = lambda name: h.make_tensor_value_info(name, 1, ["n", 16])
tensors = [n.from_array(values, f"w{i}") for i, values in enumerate(weights)]
tensors += [n.from_array(np.float32(1e-8), "tiny")] * (bias < 0)
tensors += [n.from_array((bias * rng.standard_normal(16)).astype(np.float32), f"b{i}") for i in range(layers)]
graph = h.make_graph(nodes, "g", [value("x")], [value("y")], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""
SETTLED = "every layer is right in its place; end to end roundings add up"
UNJUDGED = "layers were not judged: exposing the tensors of the model changes its result"
BF16 = ("--compilers=fakec", "--precisions=bf16", "-k", "equivalence and bf16")


@pytest.fixture
def chain(project: Project) -> Project:
    """A project that compiles given files with the fake compiler, which rounds weights to bfloat16 where asked to."""
    compiles(project)
    return project


def row_of(
    project: Project, python: Path, *arguments: str, layers: int = 8, gain: float = 6, bias: float = 1
) -> Mapping[str, Any]:
    """The row of a chain of ``layers`` in bfloat16, whose biases are of the size of ``bias``."""
    path = write_file(project, python, MAKE, "chain.onnx", layers, gain, bias)
    return the_row(project.run(f"--bench-onnx={path}", *BF16, *arguments))


def test_a_model_whose_roundings_add_up_is_judged_by_its_layers(chain: Project, tools_python: Path) -> None:
    row = row_of(chain, tools_python)
    numbers = row["numbers"]
    assert row["status"] == "supported", row["reason"]
    assert SETTLED in row["flags"] and numbers["whole_by"] == "layers in place"
    assert numbers["noise_E"] > 0.2, "end to end nothing could be told"
    assert (numbers["layers"], numbers["layers_wrong"], len(numbers["per_layer"])) == (8, 0, 8)
    assert numbers["mutants"]["weights x1.01 at gemm0"]["killed"] and numbers["strength"] >= 0.5


@pytest.mark.parametrize("fault", ["leaves-out", "run-opposite"])
def test_a_layer_that_is_wrong_is_a_mismatch_where_the_whole_shows_nothing(
    chain: Project, tools_python: Path, fault: str
) -> None:
    row = row_of(chain, tools_python, f"--bench-option=fakec.fault={fault}")
    assert row["status"] == "mismatch" and row["symptom"] == "mismatch"
    assert row["reason"].startswith("within the model a layer is wrong: layer s"), row["reason"]
    assert 0 < row["numbers"]["layers_wrong"] <= 8


def test_terms_that_are_added_in_bfloat16_are_no_mistake_of_a_layer(chain: Project, tools_python: Path) -> None:
    row = row_of(chain, tools_python, "--bench-option=fakec.fault=sums-in-bf16")
    assert row["status"] == "supported", row["reason"]
    assert {SETTLED, "low-precision accumulate"} <= set(row["flags"])


def test_where_outputs_more_change_the_result_nothing_is_proven(chain: Project, tools_python: Path) -> None:
    row = row_of(chain, tools_python, "--bench-option=fakec.fault=wrong-exposed")
    assert (row["status"], row["unverified"]) == ("unverified", "ill-conditioned")
    assert UNJUDGED in row["flags"] and row["numbers"].get("whole_by") is None


def test_layers_notice_what_the_outputs_of_a_short_chain_do_not(chain: Project, tools_python: Path) -> None:
    row = row_of(chain, tools_python, layers=4, gain=2.5, bias=0.03)
    assert row["status"] == "supported", row["reason"]
    assert row["numbers"]["whole_by"] == "layers in place" and SETTLED not in row["flags"]
    blind = row_of(chain, tools_python, "--bench-option=fakec.fault=wrong-exposed", layers=4, gain=2.5, bias=0.03)
    assert blind["status"] == "supported" and UNJUDGED in blind["flags"]
    assert any(flag.startswith("weak: ") for flag in blind["flags"])
    assert 0.8 <= row["numbers"]["strength"] > blind["numbers"]["strength"]


def test_where_a_rounding_decides_something_a_layer_is_not_called_wrong(chain: Project, tools_python: Path) -> None:
    row = row_of(chain, tools_python, "--bench-option=fakec.fault=leaves-out", bias=1.5)
    assert (row["status"], row["unverified"]) == ("unverified", "ill-conditioned")
    assert "layers were not judged: a rounding may decide what Sign gives" in row["flags"]
    assert row_of(chain, tools_python, bias=1.5)["status"] == "supported"


def test_a_block_that_no_layer_shows_is_not_proven(chain: Project, tools_python: Path) -> None:
    row = row_of(chain, tools_python, bias=-1)
    assert (row["status"], row["unverified"]) == ("unverified", "not sensitive"), row["reason"]
    assert "would not notice residual branch zeroed at hidden, input 2" in row["reason"]
    shown = row_of(chain, tools_python)["numbers"]["mutants"]
    assert shown["residual branch zeroed at residual, input 1"]["killed"]
    assert shown["input ignored at x, input 1"]["killed"]
