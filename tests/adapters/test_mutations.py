"""The mutations of ONNX graphs: what each changes, where it applies, and that it is undone."""

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
from bench_plugin.adapters.onnx_tools.mutation import onnx_branches, onnx_editing, onnx_mutants, onnx_mutations

rng = np.random.default_rng(0)


def graph(nodes, weights, inputs, outputs):
    tensors = [nh.from_array(np.asarray(values), name) for name, values in weights.items()]
    made = h.make_graph(nodes, "g", inputs, outputs, tensors)
    model = h.make_model(made, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return onnx_editing.Graph(onnx, model, "")


def single(name, size, kind=1):
    return h.make_tensor_value_info(name, kind, ["n", size])


def weight(*shape, scale=1.0):
    return (scale * rng.standard_normal(shape)).astype("float32")


def residual(first=0.5, second=0.5):
    nodes = [
        h.make_node("LayerNormalization", ["x", "g", "b"], ["n"]),
        h.make_node("MatMul", ["n", "w1"], ["m1"]), h.make_node("Mul", ["m1", "s1"], ["f1"]),
        h.make_node("Add", ["x", "f1"], ["r1"], name="first"), h.make_node("MatMul", ["r1", "w2"], ["m2"]),
        h.make_node("Mul", ["m2", "s2"], ["f2"]), h.make_node("Add", ["f2", "r1"], ["r2"], name="second"),
        h.make_node("Add", ["r2", "bias"], ["t"]), h.make_node("Gemm", ["t", "w3", "b3"], ["y"], name="last"),
    ]
    weights = {"g": weight(8), "b": weight(8), "w1": weight(8, 8), "w2": weight(8, 8), "w3": weight(8, 3),
               "b3": weight(3), "bias": weight(8), "s1": np.full(8, first, "float32"),
               "s2": np.full(8, second, "float32")}
    return graph(nodes, weights, [single("x", 8)], [single("y", 3)])


def written_gelu():
    # The sum inside a GELU that is written out is no block; the one around a pooling without weights is.
    nodes = [
        h.make_node("MatMul", ["x", "w1"], ["h"]), h.make_node("Pow", ["h", "three"], ["p"]),
        h.make_node("Mul", ["p", "c"], ["scaled"]), h.make_node("Transpose", ["scaled"], ["turned"], perm=[1, 0]),
        h.make_node("Transpose", ["turned"], ["back"], perm=[1, 0]), h.make_node("Reshape", ["back", "shape"], ["q"]),
        h.make_node("Add", ["h", "q"], ["inner"], name="inner"),
        h.make_node("Tanh", ["inner"], ["t"]), h.make_node("Mul", ["h", "t"], ["g"]),
        h.make_node("ReduceMean", ["g"], ["mean"], axes=[1]), h.make_node("Add", ["g", "mean"], ["r"], name="pooled"),
        h.make_node("Gemm", ["r", "w3"], ["y"], name="last"),
    ]
    weights = {"w1": weight(8, 8), "w3": weight(8, 3), "three": np.array([3.0], "float32"),
               "c": np.array([0.044715], "float32"), "shape": np.array([-1, 8])}
    return graph(nodes, weights, [single("x", 8)], [single("y", 3)])


def projected(scale=0.5):
    # A block whose shortcut has a layer of its own, then two branches that are joined.
    constant = nh.from_array(weight(1, 2), "constant")
    nodes = [
        h.make_node("Constant", [], ["c"], value=constant),
        h.make_node("MatMul", ["x", "w1"], ["m1"]), h.make_node("Mul", ["m1", "s"], ["f1"]),
        h.make_node("MatMul", ["x", "w2"], ["p"]), h.make_node("Add", ["f1", "p"], ["r"], name="block"),
        h.make_node("Relu", ["r"], ["left"]), h.make_node("Tanh", ["r"], ["right"]),
        h.make_node("Concat", ["left", "c", "right"], ["j"], axis=1, name="joined"),
        h.make_node("Gemm", ["j", "w3"], ["y"], name="last"),
    ]
    weights = {"w1": weight(8, 8), "w2": weight(8, 8), "s": np.full(8, scale, "float32"),
               "w3": weight(18, 3)}
    return graph(nodes, weights, [single("x", 8)], [single("y", 3)])


def broken():
    # Without its first block the result is not a number; the second one is a usual one.
    nodes = [
        h.make_node("Abs", ["x"], ["a"]), h.make_node("Neg", ["a"], ["n"]), h.make_node("Mul", ["a", "s"], ["f"]),
        h.make_node("Add", ["n", "f"], ["p"], name="first"), h.make_node("Sqrt", ["p"], ["q"]),
        h.make_node("MatMul", ["q", "w"], ["m"]), h.make_node("Add", ["q", "m"], ["y"], name="second"),
    ]
    return graph(nodes, {"s": np.full(8, 2, "float32"), "w": weight(8, 8)}, [single("x", 8)], [single("y", 8)])


def ties(values):
    nodes = [h.make_node("MatMul", ["x", "w"], ["m"]), h.make_node("ArgMax", ["m"], ["y"], axis=1, keepdims=0)]
    labels = h.make_tensor_value_info("y", 7, ["n"])
    return graph(nodes, {"w": np.asarray(values, "float32")}, [single("x", 2)], [labels])


def written_norm(epsilon):
    nodes = [
        h.make_node("Mul", ["x", "x"], ["q"]), h.make_node("ReduceMean", ["q"], ["v"], axes=[1]),
        h.make_node("Add", ["v", "e"], ["p"]), h.make_node("Sqrt", ["p"], ["s"]), h.make_node("Div", ["x", "s"], ["y"]),
    ]
    return graph(nodes, {"e": np.array([epsilon], "float32")}, [single("x", 8)], [single("y", 8)])


def sizes():
    nodes = [
        h.make_node("Shape", ["x"], ["s"]), h.make_node("Gather", ["s", "one"], ["k"]),
        h.make_node("Mul", ["k", "one"], ["m"]), h.make_node("Add", ["k", "m"], ["twice"], name="of sizes"),
        h.make_node("Concat", ["k", "m"], ["both"], axis=0),
        h.make_node("Concat", ["rest", "twice"], ["target"], axis=0), h.make_node("Concat", ["x", "x"], ["w"], axis=1),
        h.make_node("Sub", ["k", "k"], ["none"]), h.make_node("Slice", ["b", "none", "one"], ["head"]),
        h.make_node("Slice", ["b", "one", "k"], ["tail"]), h.make_node("Concat", ["head", "tail"], ["bias"], axis=0),
        h.make_node("Reshape", ["w", "target"], ["r"]), h.make_node("Gemm", ["r", "v", "bias"], ["p"]),
        h.make_node("Tanh", ["p"], ["t"]), h.make_node("Gemm", ["t", "u"], ["f"]),
        h.make_node("Add", ["p", "f"], ["y"], name="of values"),
    ]
    weights = {"one": np.array([1]), "rest": np.array([-1]), "v": weight(16, 3), "b": weight(3), "u": weight(3, 3)}
    return graph(nodes, weights, [single("x", 8)], [single("y", 3)])


def lstm():
    nodes = [h.make_node("Reshape", ["x", "shape"], ["q"]),
             h.make_node("LSTM", ["q", "W", "R"], ["Y"], hidden_size=4), h.make_node("Reshape", ["Y", "flat"], ["y"])]
    weights = {"W": weight(1, 16, 4), "R": weight(1, 16, 4), "shape": np.array([2, -1, 4]), "flat": np.array([-1, 8])}
    return graph(nodes, weights, [single("x", 8)], [single("y", 8)])


def normalised(factor):
    # The scales of the first two layers are lost in a norm; what the third one adds has a factor.
    nodes = [
        h.make_node("MatMul", ["x", "w1"], ["m1"], name="before"), h.make_node("Relu", ["m1"], ["r"]),
        h.make_node("MatMul", ["r", "w2"], ["m2"], name="before the norm"),
        h.make_node("LayerNormalization", ["m2", "g"], ["n"], epsilon=1e-7),
        h.make_node("MatMul", ["x", "w3"], ["m3"], name="beside"), h.make_node("Mul", ["m3", "factor"], ["f"]),
        h.make_node("Sum", ["n", "f"], ["y"]),
    ]
    weights = {"w1": weight(8, 8), "w2": weight(8, 8), "w3": weight(8, 8), "g": np.ones(8, "float32"),
               "factor": np.array(factor, "float32")}
    return graph(nodes, weights, [single("x", 8)], [single("y", 8)])


def resized():
    # Of three images that are made larger one is faint and one has a single pixel.
    nodes = [
        h.make_node("Reshape", ["x", "image"], ["q"]), h.make_node("Mul", ["q", "small"], ["f"]),
        h.make_node("Resize", ["f", "", "twice"], ["r1"], mode="linear", name="faint"),
        h.make_node("ReduceMean", ["q"], ["m"], axes=[2, 3]),
        h.make_node("Resize", ["m", "", "eight"], ["r2"], mode="linear", name="single pixel"),
        h.make_node("Resize", ["q", "", "twice"], ["r3"], mode="linear", name="plain"),
        h.make_node("Sum", ["r1", "r2", "r3"], ["t"]), h.make_node("Reshape", ["t", "flat"], ["y"]),
    ]
    weights = {"image": np.array([-1, 1, 4, 4]), "flat": np.array([-1, 64]), "small": np.array(0.01, "float32"),
               "twice": np.array([1, 1, 2, 2], "float32"), "eight": np.array([1, 1, 8, 8], "float32")}
    return graph(nodes, weights, [single("x", 16)], [single("y", 64)])


def head(scores=0.05):
    # Three channels of boxes and three of scores, the first two of which are the same.
    w = weight(8, 6)
    w[:, 3:] *= scores
    w[:, 4] = w[:, 3]
    return graph([h.make_node("Gemm", ["x", "w"], ["y"], name="head")], {"w": w}, [single("x", 8)], [single("y", 6)])


def chosen(limit, loop=False):
    # An If that takes its first branch where the sum of all inputs is above a limit.
    def branch(kind):
        made = h.make_node(kind, ["r"], ["made"])
        return h.make_graph([made], kind, [], [h.make_tensor_value_info("made", 1, ["n", 8])])

    nodes = [
        h.make_node("MatMul", ["x", "w"], ["r"]), h.make_node("ReduceSum", ["x"], ["s"], keepdims=0),
        h.make_node("Greater", ["s", "limit"], ["c"]),
    ]
    choice = h.make_node("If", ["c"], ["y"], name="choice", then_branch=branch("Relu"), else_branch=branch("Tanh"))
    if not loop:
        nodes.append(choice)
    else:  # in the body of a Loop of one step
        scalar, tensor = (h.make_tensor_value_info(name, kind, shape) for name, kind, shape in
                          (("step", 7, []), ("before", 1, ["n", 8])))
        bools = [h.make_tensor_value_info(name, 9, []) for name in ("go", "goes")]
        after = h.make_tensor_value_info("y", 1, ["n", 8])
        body = h.make_graph([h.make_node("Identity", ["go"], ["goes"]), choice], "body", [scalar, bools[0], tensor],
                            [bools[1], after])
        nodes.append(h.make_node("Loop", ["once", "", "r"], ["z"], name="loop", body=body))
    weights = {"w": weight(8, 8), "limit": np.array(limit, "float32"), **({"once": np.array(1)} if loop else {})}
    return graph(nodes, weights, [single("x", 8)], [single("z" if loop else "y", 8)])


def trees(kind, greater=False):
    # Three trees of one split each, of whole numbers, so that some are equal to a threshold; the second has no effect.
    leaves = [1.0, 2.0, 0.0, 0.0, 4.0, 8.0]
    if kind == "TreeEnsemble":
        said = dict(
            tree_roots=[0, 1, 2], nodes_featureids=[0, 1, 2], n_targets=1, post_transform=0, aggregate_function=1,
            nodes_modes=h.make_tensor("m", 2, [3], [2, 3, 2] if greater else [0, 1, 0]),
            nodes_splits=h.make_tensor("s", 1, [3], [0.0, 0.0, 1.0]),
            nodes_truenodeids=[0, 2, 4], nodes_falsenodeids=[1, 3, 5], nodes_trueleafs=[1, 1, 1],
            nodes_falseleafs=[1, 1, 1], leaf_targetids=[0] * 6, leaf_weights=h.make_tensor("w", 1, [6], leaves),
        )
    else:
        modes = ("BRANCH_GTE", "BRANCH_GT", "BRANCH_GTE") if greater else ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_LEQ")
        prefix = {"TreeEnsembleRegressor": "target", "TreeEnsembleClassifier": "class"}[kind]
        said = {
            "nodes_treeids": [0] * 3 + [1] * 3 + [2] * 3, "nodes_nodeids": [0, 1, 2] * 3,
            "nodes_featureids": [0, 0, 0, 1, 0, 0, 2, 0, 0], "nodes_values": [0.0] * 6 + [1.0, 0.0, 0.0],
            "nodes_modes": [one for mode in modes for one in (mode, "LEAF", "LEAF")],
            "nodes_truenodeids": [1, 0, 0] * 3, "nodes_falsenodeids": [2, 0, 0] * 3,
            f"{prefix}_treeids": [0, 0, 1, 1, 2, 2],
            f"{prefix}_nodeids": [1, 2] * 3, f"{prefix}_ids": [0] * 6, f"{prefix}_weights": leaves,
        }
        said |= {"n_targets": 1} if prefix == "target" else {"classlabels_int64s": [0, 1], "class_ids": [0, 1] * 3}
    outputs = ["label", "y"] if kind == "TreeEnsembleClassifier" else ["y"]
    whole = h.make_node("Round", ["x"], ["r"])
    nodes = [whole, h.make_node(kind, ["r"], outputs, domain="ai.onnx.ml", name="trees", **said)]
    made = h.make_graph(nodes, "g", [single("x", 8)], [single("y", None)])
    opsets = [h.make_opsetid("", 17), h.make_opsetid("ai.onnx.ml", 5 if kind == "TreeEnsemble" else 3)]
    return onnx_editing.Graph(onnx, h.make_model(made, opset_imports=opsets, ir_version=9), "")


def report(made, size):
    x = {"x": np.random.default_rng(1).standard_normal((3, size)).astype("float32")}
    before = made.model.SerializeToString()
    model = onnx_mutants.Mutable(made, x, True)
    original = model.original
    found = {}
    for name in (*onnx_mutations.MUTANTS, "input ignored"):
        site, results, without = model.mutant(name)
        said = {"site": site, "undone": made.model.SerializeToString() == before}
        said |= {"without": without} if without else {}
        if results is not None:
            said["effect"] = onnx_mutants._effect(results, original)
            said["first"] = np.asarray(results["out0"]).ravel()[:3].tolist()
        found[name] = said
    branches = [f"{node.output[0]} {index}" for node, index in onnx_branches._parallel_branches(made)]
    blocks = [node.name for node, _ in onnx_branches._residual_blocks(made)]
    first = np.asarray(original["out0"]).ravel()[:3].tolist()
    return {"mutants": found, "branches": branches, "blocks": blocks, "original": first}


cases = {
    "residual": (residual(), 8), "faint": (residual(0.5, 1e-3), 8), "hidden": (residual(1e-9, 1e-9), 8),
    "dead": (residual(0.0, 0.0), 8), "ties": (ties([[1, 1, 0], [0, 0, 0]]), 2), "no ties": (ties([[1, 2], [3, 4]]), 2),
    "written": (written_norm(1e-5), 8), "large epsilon": (written_norm(1e-2), 8), "lstm": (lstm(), 8),
    "sizes": (sizes(), 8), "projected": (projected(), 8), "faint shortcut": (projected(1e-6), 8),
    "one dead": (residual(0.0, 0.5), 8), "dead branch": (projected(0.0), 8), "broken": (broken(), 8),
    "normalised": (normalised(1.0), 8), "normalised and hidden": (normalised(1e-9), 8),
    "normalised alone": (normalised(0.0), 8), "gelu": (written_gelu(), 8), "resized": (resized(), 16),
    "never": (chosen(-1e3), 8), "always": (chosen(1e3), 8),
    "in a loop": (chosen(-1e3, True), 8),
    "head": (head(), 8), "boxes": (head(20.0), 8),
    **{f"{kind}{more}": (trees(kind, bool(more)), 8) for more in ("", " >=")
       for kind in ("TreeEnsemble", "TreeEnsembleRegressor", "TreeEnsembleClassifier")},
}
print(json.dumps({name: report(*case) for name, case in cases.items()}))
"""


@cache
def found(python: Path) -> dict[str, Any]:
    done = subprocess.run([str(python), "-c", SCRIPT, str(ROOT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


CASES = (
    "residual", "faint", "hidden", "dead", "ties", "no ties", "written", "large epsilon", "lstm", "sizes", "projected",
    "TreeEnsemble", "TreeEnsembleRegressor", "TreeEnsembleClassifier",
)  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_every_mutation_is_undone(tools_python: Path, case: str) -> None:
    assert all(row["undone"] for row in found(tools_python)[case]["mutants"].values())


def test_a_residual_block_is_left_out_and_the_faintest_one_counts(tools_python: Path) -> None:
    everything = found(tools_python)
    assert everything["residual"]["mutants"]["residual branch zeroed"]["effect"] > 0.05
    faint = everything["faint"]["mutants"]["residual branch zeroed"]
    assert faint["site"] == "Add second" and 1e-5 < faint["effect"] < 1e-2
    assert everything["lstm"]["mutants"]["residual branch zeroed"] == {"site": "", "undone": True}


def test_of_several_resizes_the_faintest_one_that_has_an_alignment_counts(tools_python: Path) -> None:
    row = found(tools_python)["resized"]["mutants"]["resize alignment"]
    assert row["site"] == "Resize faint" and 1e-4 < row["effect"] < 1e-2 and row["undone"] and "without" not in row


def test_a_block_is_more_than_a_function_of_single_elements(tools_python: Path) -> None:
    everything = found(tools_python)
    assert everything["gelu"]["blocks"] == ["pooled"]
    assert everything["residual"]["blocks"] == ["first", "second"]


def test_a_block_that_float32_cannot_see_still_changes_the_function(tools_python: Path) -> None:
    hidden = found(tools_python)["hidden"]["mutants"]["residual branch zeroed"]
    assert hidden["effect"] < 1e-7 and hidden["site"]


def test_a_block_that_adds_nothing_at_all_is_unchanged(tools_python: Path) -> None:
    dead = found(tools_python)["dead"]["mutants"]["residual branch zeroed"]
    assert dead == {"site": "", "undone": True, "without": ["Add first", "Add second"]}


def test_a_branch_without_any_effect_is_named_also_where_another_one_has_one(tools_python: Path) -> None:
    block = found(tools_python)["one dead"]["mutants"]["residual branch zeroed"]
    assert (block["site"], block["without"]) == ("Add second", ["Add first"]) and block["effect"] > 0.05
    branch = found(tools_python)["dead branch"]["mutants"]["parallel branch zeroed"]
    assert branch["without"] == ["Add block, input 0"] and branch["effect"] > 0.01


def test_what_gives_no_numbers_without_a_branch_is_no_faint_one(tools_python: Path) -> None:
    row = found(tools_python)["broken"]["mutants"]["parallel branch zeroed"]
    assert row["site"] == "Add first, input 0" and 0.1 < row["effect"] < 10
    assert found(tools_python)["broken"]["mutants"]["residual branch zeroed"]["site"] == "Add second"


def test_each_of_two_branches_is_left_out_and_the_faintest_one_counts(tools_python: Path) -> None:
    everything = found(tools_python)
    assert everything["projected"]["mutants"]["parallel branch zeroed"]["effect"] > 0.01
    faint = everything["faint shortcut"]["mutants"]["parallel branch zeroed"]
    assert faint["site"] == "Add block, input 0" and 1e-8 < faint["effect"] < 1e-4
    assert everything["projected"]["mutants"]["residual branch zeroed"] == {"site": "", "undone": True}


@pytest.mark.parametrize("case", ["residual", "lstm", "written"])
def test_a_sum_with_a_shortcut_or_with_a_weight_has_no_parallel_branch(tools_python: Path, case: str) -> None:
    row = found(tools_python)[case]["mutants"]["parallel branch zeroed"]
    assert row == {"site": "", "undone": True}


def test_branches_are_of_floats_and_made_from_the_values_of_inputs(tools_python: Path) -> None:
    assert found(tools_python)["sizes"]["branches"] == ["w 0", "w 1"]
    assert found(tools_python)["projected"]["branches"] == ["r 0", "r 1", "j 0", "j 2"]


def test_a_sum_of_sizes_without_which_nothing_runs_is_no_block(tools_python: Path) -> None:
    row = found(tools_python)["sizes"]["mutants"]["residual branch zeroed"]
    assert row["site"] == "Add of values" and row["effect"] > 0.05


def test_epsilons_of_norms_are_found_as_nodes_and_as_constants(tools_python: Path) -> None:
    everything = found(tools_python)
    assert everything["residual"]["mutants"]["layernorm eps 1e-3"]["site"] == "1 nodes"
    assert everything["residual"]["mutants"]["layernorm eps 1e-3"]["effect"] > 1e-6
    assert everything["written"]["mutants"]["layernorm eps 1e-3"]["site"] == "1 constants"
    assert everything["large epsilon"]["mutants"]["layernorm eps 1e-3"]["site"] == ""
    for name in ("residual", "written"):
        tiny = everything[name]["mutants"]["layernorm eps 1e-10"]
        assert tiny["site"] == ("1 nodes" if name == "residual" else "1 constants") and tiny["effect"] > 1e-8


@pytest.mark.parametrize("name", ["bias in float16", "last layer in float16"])
def test_float16_in_one_place_has_the_effect_of_its_rounding(tools_python: Path, name: str) -> None:
    effect = found(tools_python)["residual"]["mutants"][name]["effect"]
    assert 1e-6 < effect < 1e-3


def test_the_last_of_equal_largest_elements_is_another_one(tools_python: Path) -> None:
    everything = found(tools_python)
    assert everything["ties"]["mutants"]["argmax ties"]["first"] != everything["ties"]["original"]
    without = everything["no ties"]["mutants"]["argmax ties"]
    assert without["without"] == ["ArgMax y"] and "effect" not in without


@pytest.mark.parametrize("splits", ["", " >="])
@pytest.mark.parametrize("kind", ["TreeEnsemble", "TreeEnsembleRegressor", "TreeEnsembleClassifier"])
def test_of_trees_one_is_left_out_and_splits_are_turned_at_equality(tools_python: Path, kind: str, splits: str) -> None:
    mutants = found(tools_python)[kind + splits]["mutants"]
    # The tree in the middle has leaves of 0 alone: without it nothing changes, and the next one is left out.
    assert mutants["tree left out"]["site"] == f"tree 2 of {kind} trees" and mutants["tree left out"]["effect"] > 0.1
    assert mutants["tree < or <="]["site"] == "1 nodes" and mutants["tree < or <="]["effect"] > 0.1
    assert "effect" not in found(tools_python)["residual"]["mutants"]["tree left out"]


def test_recurrent_layers_are_layers(tools_python: Path) -> None:
    mutants = found(tools_python)["lstm"]["mutants"]
    for name in ("weights x 1.01", "channel zeroed", "channels swapped", "classes swapped"):
        assert mutants[name]["site"].startswith("LSTM") and mutants[name]["effect"] > 0, name


def test_a_branch_of_an_if_is_replaced_and_one_that_no_input_takes_is_named(tools_python: Path) -> None:
    everything = {
        name: found(tools_python)[name]["mutants"]["branch of If replaced"] for name in ("never", "always", "in a loop")
    }
    assert everything["never"]["without"] == everything["in a loop"]["without"] == ["If choice, else_branch"]
    assert everything["never"]["site"] == "If choice, then_branch" and everything["never"]["effect"] > 0.1
    assert everything["always"]["without"] == ["If choice, then_branch"]
    assert everything["always"]["site"] == "If choice, else_branch" and everything["always"]["effect"] > 0.1
    assert all(row["undone"] for row in everything.values())
    assert "effect" not in found(tools_python)["residual"]["mutants"]["branch of If replaced"]


def test_the_neighbours_whose_weights_differ_least_are_the_classes_that_are_swapped(tools_python: Path) -> None:
    everything = found(tools_python)
    scores, boxes = (everything[name]["mutants"]["classes swapped"] for name in ("head", "boxes"))
    assert scores["site"] == "Gemm head, channels 4 and 5" and 1e-3 < scores["effect"] < 0.2, (
        "not the two that are alike"
    )
    assert boxes["site"] in ("Gemm head, channels 0 and 1", "Gemm head, channels 1 and 2")
    assert scores["undone"] and boxes["undone"]


def test_a_layer_whose_scale_is_lost_in_a_norm_is_not_the_one_that_is_scaled(tools_python: Path) -> None:
    everything = {name: case["mutants"]["weights x 1.01"] for name, case in found(tools_python).items()}
    assert everything["normalised"]["site"] == "MatMul beside" and everything["normalised"]["effect"] > 1e-3
    # What hardly counts is no layer without a scale: nobody would notice a mistake in it, and the verdict says so.
    hidden = everything["normalised and hidden"]
    assert hidden["site"] == "MatMul beside" and 0 <= hidden["effect"] < 1e-7
    alone = everything["normalised alone"]
    assert "effect" not in alone and alone["without"] == ["MatMul beside"]
