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
layers, gain, bias, kind = int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]), sys.argv[5]
weights = [(gain * rng.standard_normal((16, 16)) / 4).astype(np.float32) for _ in range(layers)]
nodes, last = [], "x"
for i in range(layers):
    nodes.append(h.make_node("Gemm", [last, f"w{i}", f"b{i}"], [f"m{i}"], f"gemm{i}"))
    nodes.append(h.make_node("Sin", [f"m{i}"], [f"s{i}"]))
    if i == 1:
        nodes.append(h.make_node("Add", ["s0", "s1"], ["sum"], "residual"))
    last = "sum" if i == 1 else f"s{i}"
    if i == 1 and kind == "hidden":  # a block beside, of which no number shows anything
        nodes += [h.make_node("MatMul", ["sum", "w0"], ["p"]), h.make_node("Mul", ["p", "tiny"], ["f"]),
                  h.make_node("Add", ["sum", "f"], ["both"], "hidden")]
        last = "both"
if kind == "many":  # branches, more than are left out one after the other
    nodes += [h.make_node("Concat", [last] * 401, ["c"], axis=1),
              h.make_node("Slice", ["c", "first", "end", "one"], ["k"])]
    last = "k"
if kind == "sign":  # something that a rounding may decide, and that changes nothing
    nodes += [h.make_node("Sign", [last], ["t"]), h.make_node("Abs", ["t"], ["o"]),
              h.make_node("Mul", [last, "o"], ["a"])]
    last = "a"
nodes.append(h.make_node("Identity", [last], ["y"]))
value = lambda name: h.make_tensor_value_info(name, 1, ["n", 16])
outputs = [value("y")]
if kind == "chosen":
    nodes.append(h.make_node("ArgMax", [last], ["z"], axis=1))
    outputs.append(h.make_tensor_value_info("z", 7, ["n", 1]))
known = {f"w{i}": values for i, values in enumerate(weights)} | {"tiny": np.float32(1e-8)}
known |= {f"b{i}": (bias * rng.standard_normal(16)).astype(np.float32) for i in range(layers)}
known |= {name: np.array([place]) for name, place in (("first", 0), ("end", 16), ("one", 1))}
read = {name for node in nodes for name in node.input}
tensors = [n.from_array(np.asarray(values), name) for name, values in known.items() if name in read]
graph = h.make_graph(nodes, "g", [value("x")], outputs, tensors)
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
    project: Project, python: Path, *arguments: str, layers: int = 8, gain: float = 6, bias: float = 1, kind: str = ""
) -> Mapping[str, Any]:
    """The row of a chain of ``layers`` in bfloat16, whose biases are of the size of ``bias``."""
    path = write_file(project, python, MAKE, "chain.onnx", layers, gain, bias, kind)
    return the_row(project.run(f"--bench-onnx={path}", *BF16, *arguments))


def test_a_model_whose_roundings_add_up_is_judged_by_its_layers(chain: Project, tools_python: Path) -> None:
    row = row_of(chain, tools_python)
    numbers = row["numbers"]
    assert row["status"] == "supported", row["reason"]
    assert SETTLED in row["flags"] and numbers["whole_by"] == "layers in place"
    assert numbers["E"] > numbers["tolerance_E"] and 0 < numbers["needed"] <= 1, "needed is that of the worst layer"
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
    row = row_of(chain, tools_python, "--bench-option=fakec.fault=leaves-out", kind="sign")
    assert (row["status"], row["unverified"]) == ("unverified", "ill-conditioned")
    assert "layers were not judged: a rounding may decide what Sign gives" in row["flags"]
    assert row_of(chain, tools_python, kind="sign")["status"] == "supported"


def test_a_block_that_no_layer_shows_is_not_proven(chain: Project, tools_python: Path) -> None:
    row = row_of(chain, tools_python, kind="hidden")
    assert (row["status"], row["unverified"]) == ("unverified", "not sensitive"), row["reason"]
    assert "would not notice residual branch zeroed at hidden, input 2" in row["reason"]
    shown = row_of(chain, tools_python)["numbers"]["mutants"]
    branches = [row["killed"] for name, row in shown.items() if name.startswith("residual branch zeroed at residual, ")]
    assert branches == [True], "of both the one that is noticed least"
    assert shown["input ignored at x, input 1"]["killed"]


@pytest.mark.parametrize("kind", ["", "chosen"])
def test_a_mistake_that_the_outputs_excuse_is_noticed_in_a_layer(chain: Project, tools_python: Path, kind: str) -> None:
    row = row_of(
        chain, tools_python, "--bench-option=fakec.fault=drops-biases", layers=4, gain=2.5, bias=0.03, kind=kind
    )
    if kind:  # the class that was chosen is no layer, so that nothing is judged so
        assert row["status"] != "mismatch" and "layers were not judged: an output is no floating point" in row["flags"]
        return
    assert row["numbers"]["outputs"][0]["status"] == "agree", "by the outputs alone it would be supported"
    assert row["status"] == "mismatch" and row["numbers"]["layers_wrong"] > 0
    assert row["reason"].startswith("within the model a layer is wrong: layer s"), row["reason"]


def test_more_branches_than_can_be_left_out_prove_nothing(chain: Project, tools_python: Path) -> None:
    row = row_of(chain, tools_python, kind="many")
    assert (row["status"], row["unverified"]) == ("unverified", "ill-conditioned"), row["reason"]
    said = "mutants of the layers could not be run: 404 branches, which are more than 400"
    assert said in row["flags"], row["flags"]
