"""The mutation of the inputs of ONNX graphs: one of several is replaced by zeros of its own shape and type."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = r"""
import json, sys
sys.path.insert(0, sys.argv[1])
import numpy as np, onnx
from onnx import helper as h, numpy_helper as nh
from bench_plugin.adapters.onnx_tools.mutation import onnx_branches, onnx_editing, onnx_mutants

rng = np.random.default_rng(0)
FLOAT, INT64, STRING, BOOL = 1, 7, 8, 9
W = rng.standard_normal((4, 4)).astype("float32")
X, Y = (rng.standard_normal((3, 4)).astype("float32") for _ in range(2))


def value(name, kind=FLOAT, shape=("n", 4)):
    return h.make_tensor_value_info(name, kind, list(shape))


def built(nodes, inputs, weights=None, outputs=None):
    tensors = [nh.from_array(np.asarray(values), name) for name, values in {"w": W, **(weights or {})}.items()]
    graph = h.make_graph(nodes, "g", inputs, outputs or [value("out")], tensors)
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return onnx_editing.Graph(onnx, model, "")


def summed(*names):
    return [h.make_node("MatMul", [names[0], "w"], ["m"]), h.make_node("Sum", ["m", *names[1:]], ["out"])]


def masked():
    # Where the mask is true, the product counts; the identifiers choose rows of a table.
    nodes = [
        h.make_node("Gather", ["table", "ids"], ["rows"], axis=0), h.make_node("MatMul", ["rows", "w"], ["m"]),
        h.make_node("Where", ["mask", "m", "rows"], ["out"]),
    ]
    values = [value("ids", INT64, ["n"]), value("mask", BOOL)]
    return built(nodes, values, {"table": rng.standard_normal((5, 4)).astype("float32")})


def reshaped():
    # As zeros a target is the shape that there is already; how often the tile lies there is not to be zero.
    nodes = [h.make_node("Reshape", ["x", "shape"], ["r"]), h.make_node("MatMul", ["r", "w"], ["m"]),
             h.make_node("Tile", ["y", "times"], ["t"]), h.make_node("Add", ["m", "t"], ["out"])]
    values = [value("shape", INT64, [2]), value("times", INT64, [2])]
    values += [value("x", shape=[1, 4]), value("y", shape=[1, 4])]
    return built(nodes, values, outputs=[value("out", shape=["k", 4])])


def counted():
    # How often the second output holds the input x; zero times it is empty.
    nodes = [*summed("x", "y"), h.make_node("Tile", ["x", "times"], ["many"])]
    values = [value("x", shape=[1, 4]), value("y", shape=[1, 4]), value("times", INT64, [2])]
    return built(nodes, values, outputs=[value("out", shape=[1, 4]), value("many", shape=["k", "l"])])


def grown():
    # With a factor of zero there is no size to resize to.
    nodes = [h.make_node("Resize", ["x", "", "factors"], ["r"], mode="nearest"),
             h.make_node("Add", ["r", "y"], ["out"])]
    return built(nodes, [value("x", shape=[1, 4]), value("y", shape=[1, 4]), value("factors", shape=[2])],
                 outputs=[value("out", shape=["k", "l"])])


def body(nodes, inputs, outputs):
    return h.make_graph(nodes, "body", inputs, [h.make_tensor_value_info(*one, None) for one in outputs])


def strange():
    # An operator that ONNX does not have, of ONNX Runtime.
    nodes = [h.make_node("QuickGelu", ["x"], ["g"], domain="com.microsoft"), *summed("g", "y")]
    tensors = [nh.from_array(W, "w")]
    graph = h.make_graph(nodes, "g", [value("x"), value("y")], [value("out")], tensors)
    opsets = [h.make_opsetid("", 17), h.make_opsetid("com.microsoft", 1)]
    return onnx_editing.Graph(onnx, h.make_model(graph, opset_imports=opsets, ir_version=8), "")


def attention():
    # What the mask does not let through gets -10,000, which goes into no weight where it is added to every score.
    nodes = [
        h.make_node("MatMul", ["x", "w"], ["scores"]), h.make_node("Where", ["mask", "none", "much"], ["bias"]),
        h.make_node("Add", ["scores", "bias"], ["s"]), h.make_node("Softmax", ["s"], ["p"], axis=-1),
        h.make_node("MatMul", ["p", "w"], ["out"]),
    ]
    weights = {"none": np.float32(0), "much": np.float32(-1e4)}
    return built(nodes, [value("x", shape=[1, 4]), value("mask", BOOL, [1, 4])], weights, [value("out", shape=[1, 4])])


def chosen():
    # Both branches read the input y of the graph from outside.
    then = body([h.make_node("Mul", ["x", "y"], ["t"])], [], [("t", FLOAT)])
    other = body([h.make_node("Mul", ["y", "y"], ["e"])], [], [("e", FLOAT)])
    nodes = [
        h.make_node("ReduceMax", ["x"], ["top"], keepdims=0), h.make_node("Greater", ["top", "never"], ["large"]),
        h.make_node("If", ["large"], ["c"], then_branch=then, else_branch=other),
        h.make_node("Add", ["c", "x"], ["out"]),
    ]
    return built(nodes, [value("x"), value("y")], {"never": np.float32(1e9)})


def looped():
    # Two turns, each of which adds the input y of the graph.
    given = [h.make_tensor_value_info("turn", INT64, []), h.make_tensor_value_info("go", BOOL, []),
             h.make_tensor_value_info("state", FLOAT, None)]
    nodes = [h.make_node("Add", ["state", "y"], ["next"]), h.make_node("Identity", ["go"], ["on"])]
    turns = body(nodes, given, [("on", BOOL), ("next", FLOAT)])
    return built([h.make_node("Loop", ["two", "", "x"], ["out"], body=turns)], [value("x"), value("y")],
                 {"two": np.array(2)})


def texts():
    nodes = [
        h.make_node("LabelEncoder", ["word"], ["code"], domain="ai.onnx.ml", keys_strings=["a", "b"],
                    values_floats=[1.0, 2.0], default_float=5.0),
        h.make_node("Mul", ["x", "code"], ["out"]),
    ]
    tensors = [value("x"), value("word", STRING, ["n", 1])]
    graph = h.make_graph(nodes, "g", tensors, [value("out")])
    opsets = [h.make_opsetid("", 17), h.make_opsetid("ai.onnx.ml", 2)]
    return onnx_editing.Graph(onnx, h.make_model(graph, opset_imports=opsets, ir_version=8), "")


def report(graph, batched=True, **given):
    before = graph.model.SerializeToString()
    kept = {name: values.copy() for name, values in given.items()}
    model = onnx_mutants.Mutable(graph, given, batched)
    site, results, without = model.mutant("input ignored")
    said = {"site": site, "without": without, "undone": graph.model.SerializeToString() == before}
    said["undone"] &= all((given[name] == values).all() for name, values in kept.items())
    if results is not None:
        said["effect"] = onnx_mutants._effect(results, model.original)
        said["result"] = np.asarray(results["out0"], "float64").tolist()
    return said


IDS, MASK = np.array([1, 2, 4]), np.array([[True, False, True, True]] * 3)
two = [value("x"), value("y")]
single = {"x": X[:, None], "y": Y[:, None]}
times_zero = [h.make_node("Mul", ["y", "none"], ["z"]), *summed("x", "z")]
print(json.dumps({
    "second": report(built(summed("x", "y"), two), x=X, y=1e-3 * Y),
    "first": report(built(summed("x", "y"), two), x=1e-3 * X, y=Y),
    "one": report(built(summed("x"), [value("x")]), x=X),
    "a weight": report(built(summed("x", "b"), [value("x"), value("b", shape=[4])], {"b": W[0]}), x=X),
    "zeros": report(built(summed("x", "y"), two), x=X, y=0 * Y),
    "hidden": report(built(summed("x", "y"), two), x=X, y=1e-9 * Y),
    "no reference": report(strange(), x=X, y=1e-30 * Y),
    "full": report(attention(), False, x=X[:, None], mask=np.ones((3, 1, 4), bool)),
    "partly": report(attention(), False, x=X[:, None], mask=np.array([[[True, True, False, False]]] * 3)),
    "times zero": report(built(times_zero, two, {"none": np.float32(0)}), x=X, y=Y),
    "unused": report(built(summed("x", "z"), [value("x"), value("y"), value("z")]), x=X, y=Y, z=Y),
    "identifiers": report(masked(), ids=IDS, mask=MASK),
    "no mask": report(masked(), ids=IDS, mask=MASK & False),
    "texts": report(texts(), x=X, word=np.array([["a"], ["b"], ["a"]])),
    "if": report(chosen(), x=X, y=1e-3 * Y), "loop": report(looped(), x=X, y=1e-3 * Y),
    "shapes": report(reshaped(), False, shape=np.array([[1, 4]] * 3), times=np.array([[1, 1]] * 3), **single),
    "counts": report(counted(), False, times=np.array([[2, 1]] * 3), **single),
    "sizes": report(grown(), False, factors=np.float32([[1, 1]] * 3), **single),
}))
"""


@cache
def found(python: Path) -> dict[str, Any]:
    done = subprocess.run([str(python), "-c", SCRIPT, str(ROOT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {**result, "said": done.stdout}


CASES = (
    "second", "first", "one", "a weight", "zeros", "hidden", "no reference", "full", "partly", "times zero", "unused",
    "identifiers", "no mask", "texts", "if", "loop", "shapes", "counts", "sizes",
)  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_graph_and_its_inputs_stay_as_they_are(tools_python: Path, case: str) -> None:
    assert found(tools_python)[case]["undone"]


def test_of_two_inputs_the_one_with_the_smallest_effect_is_ignored(tools_python: Path) -> None:
    everything = found(tools_python)
    assert everything["second"]["site"] == "y" and 1e-5 < everything["second"]["effect"] < 1e-2
    assert everything["first"]["site"] == "x" and 1e-5 < everything["first"]["effect"] < 1e-2
    assert everything["second"]["without"] == everything["first"]["without"] == []


@pytest.mark.parametrize("case", ["one", "a weight"])
def test_the_only_input_of_a_graph_is_not_ignored(tools_python: Path, case: str) -> None:
    assert found(tools_python)[case] == {"site": "", "without": [], "undone": True}


@pytest.mark.parametrize("case", ["zeros", "times zero"])
def test_an_input_without_any_effect_is_named(tools_python: Path, case: str) -> None:
    row = found(tools_python)[case]
    assert (row["site"], row["without"]) == ("x", ["y"]) and row["effect"] == 1


def test_an_input_that_float32_cannot_see_still_counts(tools_python: Path) -> None:
    row = found(tools_python)["hidden"]
    assert (row["site"], row["without"], row["effect"]) == ("y", [], 0)


def test_an_input_of_which_float64_can_say_nothing_counts(tools_python: Path) -> None:
    row = found(tools_python)["no reference"]
    assert (row["site"], row["without"], row["effect"]) == ("y", [], 0)


def test_a_mask_that_changes_nothing_but_rounding_has_no_effect(tools_python: Path) -> None:
    full, partly = (found(tools_python)[case] for case in ("full", "partly"))
    assert (full["site"], full["without"]) == ("x", ["mask"])
    assert partly["without"] == [] and partly["effect"] > 0.01


def test_an_input_that_nothing_reads_is_none(tools_python: Path) -> None:
    row = found(tools_python)["unused"]
    assert row["without"] == [] and row["site"] == "z"


def test_identifiers_and_booleans_are_zeros_of_their_own_type(tools_python: Path) -> None:
    assert found(tools_python)["identifiers"]["site"] in ("ids", "mask")
    assert found(tools_python)["identifiers"]["effect"] > 0.1
    dead = found(tools_python)["no mask"]
    assert (dead["site"], dead["without"]) == ("ids", ["mask"])
    assert dead["result"][0] == dead["result"][1] == dead["result"][2], "every identifier is the first one"


def test_texts_are_empty(tools_python: Path) -> None:
    assert found(tools_python)["texts"]["site"] and found(tools_python)["texts"]["effect"] >= 1


@pytest.mark.parametrize("case", ["if", "loop"])
def test_an_input_that_a_body_alone_reads_counts(tools_python: Path, case: str) -> None:
    row = found(tools_python)[case]
    assert row["site"] == "y" and 1e-8 < row["effect"] < 1e-2


@pytest.mark.parametrize("case", ["shapes", "counts", "sizes"])
def test_what_gives_shapes_or_does_not_fit_as_zeros_is_left_out(tools_python: Path, case: str) -> None:
    row = found(tools_python)[case]
    assert row["site"] == "y" and row["without"] == []
    said = {
        "shapes": "input ignored at times does not run", "counts": "input ignored at times gives another shape",
        "sizes": "input ignored at factors does not run",
    }  # fmt: skip
    assert said[case] in found(tools_python)["said"]
