"""Which constants of a user's file a tool rounds at w16 is read from its outputs; a mistake beside is none of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bench_plugin.checks.equivalence import check, stored
from bench_plugin.compare.table import DEFAULTS
from bench_plugin.compare.verdict import MISMATCH, UNVERIFIED, Comparison
from tests.given_file import compiles, the_row, write_file
from tests.project import Project

# Two layers with a slope and a divisor between them. The fake compiler rounds by the ends of the names.
MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h
rng = np.random.default_rng(4)
size = int(sys.argv[2])
shapes = {"a_half": (8, 6), "b_single": (6,), "c_single": (6, size), "e_half": (size,)}
weights = {name: rng.standard_normal(shape) for name, shape in shapes.items()}
weights["d_inverse"] = np.array([7.3])
nodes = [h.make_node("Gemm", ["x", "a_half", "b_single"], ["g"]), h.make_node("Elu", ["g"], ["s"], "slope", alpha=0.7),
         h.make_node("Div", ["s", "d_inverse"], ["q"]), h.make_node("MatMul", ["q", "c_single"], ["p"]),
         h.make_node("Add", ["p", "e_half"], ["y"])]
value = lambda name, size: h.make_tensor_value_info(name, 1, ["n", size])
tensors = [onnx.numpy_helper.from_array(values.astype("float32"), name) for name, values in weights.items()]
graph = h.make_graph(nodes, "g", [value("x", 8)], [value("y", size)], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""
# Two layers whose weights float16 holds with two digits or less, so that what both change together is more than what
# the rounding of the layer behind them would change. The fake compiler leaves that as it is.
TOGETHER = """
import sys
import numpy as np, onnx
from onnx import helper as h
rng = np.random.default_rng(0)
weights = {"a_half": 4e-7 * rng.standard_normal((8, 6)), "b_half": 4e-7 * rng.standard_normal((6, 5)),
           "c_single": np.diag(rng.standard_normal(5) + 2), "k_single": np.array(1000.0)}
nodes, last = [], "x"
for number, (kind, name) in enumerate([("MatMul", "a_half"), *[("Mul", "k_single")] * 2,
                                       ("MatMul", "b_half"), *[("Mul", "k_single")] * 2, ("MatMul", "c_single")]):
    nodes.append(h.make_node(kind, [last, name], [f"t{number}"]))
    last = f"t{number}"
nodes[-1].output[0] = "y"
value = lambda name, size: h.make_tensor_value_info(name, 1, ["n", size])
tensors = [onnx.numpy_helper.from_array(values.astype("float32"), name) for name, values in weights.items()]
graph = h.make_graph(nodes, "g", [value("x", 8)], [value("y", 5)], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""


def run(project: Project, python: Path, fault: str, size: int = 5, make: str = MAKE) -> Mapping[str, Any]:
    compiles(project)
    path = write_file(project, python, make, "some.onnx", size)
    options = (f"--bench-onnx={path}", "--compilers=fakec", f"--bench-option=fakec.fault={fault}")
    return the_row(project.run(*options, "-k", "w16 and own", "--precisions=w16"))


def test_the_constants_that_a_tool_rounds_are_read_from_its_outputs(project: Project, tools_python: Path) -> None:
    row = run(project, tools_python, "rounds-some")
    assert row["status"] == "supported", row["reason"]
    said = row["placement"]["rounded_as"]
    assert said == "4 of 6 constants, not b_single, c_single; as 1/d_inverse"
    assert row["numbers"]["truth"] == "file with float16 weights in float64"


def test_constants_are_chosen_again_by_what_the_first_choice_gives(project: Project, tools_python: Path) -> None:
    row = run(project, tools_python, "rounds-some", make=TOGETHER)
    assert row["status"] == "supported", row["reason"]
    assert row["placement"]["rounded_as"] == "2 of 3 constants, not c_single"


def test_a_mistake_is_no_rounding(project: Project, tools_python: Path) -> None:
    row = run(project, tools_python, "rounds-some-wrong")
    assert row["status"] == "mismatch" and row["placement"]["rounded_as"] == "as written", row["reason"]


def test_what_is_as_near_as_a_rounding_and_is_none_that_is_known_proves_nothing(
    project: Project, tools_python: Path
) -> None:
    row = run(project, tools_python, "rounds-some-apart")
    assert (row["status"], row["unverified"]) == ("unverified", "no reference"), row["reason"]
    known = (
        r"no way of rounding that is known gives this result, which is (\d\.\d+|1) times as far from the unrounded file"
    )
    found = re.match(known + " as rounded weights are: out0: E ", row["reason"])
    assert found and float(found[1]) <= DEFAULTS.unknown_rounding, row["reason"]


def test_a_tool_that_rounds_no_weight_is_wrong(project: Project, tools_python: Path) -> None:
    row = run(project, tools_python, "none")
    assert row["status"] == "mismatch" and row["placement"]["rounded_as"] == "as written", row["reason"]
    assert row["reason"].startswith("no weight is rounded: out0: E ")


def test_a_single_number_for_each_input_is_enough(project: Project, tools_python: Path) -> None:
    row = run(project, tools_python, "rounds-some", size=1)
    assert row["status"] == "supported", row["reason"]


@pytest.mark.parametrize(
    ("near", "flag", "status"),
    [
        (1.4, "", UNVERIFIED),
        (1.6, "", MISMATCH),
        (9.0, f"1 of 9 {stored.UNPLACED}", UNVERIFIED),  # the tool has rounded a number that it computed
        (11.0, f"1 of 9 {stored.UNPLACED}", MISMATCH),
    ],
)
def test_weights_that_the_tool_computed_may_round_further(near: float, flag: str, status: str) -> None:
    wrong = Comparison(MISMATCH, "out0: E 3e-3")
    judge = SimpleNamespace(table=DEFAULTS, compare=lambda *_: wrong)  # it is not the unrounded file either
    model, log = SimpleNamespace(detections=False), SimpleNamespace(flags=[flag])
    run = cast(Any, SimpleNamespace(judge=judge, model=model, log=log))
    nothing = cast(Any, None)
    assert check._settled(run, nothing, nothing, wrong, near).status == status
