"""TFLite's int8: what moves or clips values is read back whole, so that another way to move them is a mismatch."""

from __future__ import annotations

import pytest

from tests.project import Project
from tests.read_back_tflite import CONVOLVED, both, is_read_in_full, planted

REST = """
known["pads"] = np.array([0, 0, 1, 2, 0, 0, 2, 1], "int64")
known["counts"] = np.array([1, 1, 2, 3], "int64")
known["other"] = rng.normal(0, 1, (1, 8, 6, 6)).astype("float32")
known["mask"] = rng.random((1, 8, 6, 6)) > 0.5
NODES = {
    "DEPTH_TO_SPACE": [h.make_node("DepthToSpace", ["a"], ["k"], blocksize=2)],
    "SPACE_TO_DEPTH": [h.make_node("SpaceToDepth", ["a"], ["k"], blocksize=2)],
    "MIRROR_PAD": [h.make_node("Pad", ["a", "pads"], ["k"], mode="reflect")],
    "TILE": [h.make_node("Tile", ["a", "counts"], ["k"])],
    "RELU_0_TO_1": [h.make_node("HardSigmoid", ["a"], ["k"], alpha=0.25)],
    "MUL": [h.make_node("HardSigmoid", ["a"], ["s"], alpha=1 / 6), h.make_node("Mul", ["a", "s"], ["k"])],
    "SELECT": [h.make_node("Where", ["mask", "a", "other"], ["k"])],
    "SIN": [*(h.make_node(one, ["a"], [one]) for one in ("Sin", "Cos", "Sign", "Floor", "Ceil", "Round")),
            h.make_node("Sum", ["Sin", "Cos", "Sign", "Floor", "Ceil", "Round"], ["k"])],
}
"""
SCRIPT = CONVOLVED.replace("REST", REST)
SYMMETRIC = "node.builtinOptions.mode = 1\nchanged += 1"
EXCHANGED = "node.inputs = [node.inputs[0], node.inputs[2], node.inputs[1]]\nchanged += 1"


@pytest.mark.parametrize(
    "operator", ["DEPTH_TO_SPACE", "SPACE_TO_DEPTH", "MIRROR_PAD", "TILE", "RELU_0_TO_1", "SELECT"]
)
def test_a_move_is_read_back(project: Project, operator: str) -> None:
    for row in both(project, SCRIPT, operator):
        is_read_in_full(row, operator)


def test_what_runs_in_floating_point_between_integers_is_read_back(project: Project) -> None:
    for row in both(project, SCRIPT, "SIN"):
        is_read_in_full(row, "SIN")
        read = {one["name"].split()[0] for one in row["numbers"]["per_layer"]}
        assert {"SIN", "COS", "SIGN", "FLOOR", "CEIL", "ROUND", "ADD_N"} <= read


def test_a_gate_is_read_back_with_what_its_kernels_round_twice(project: Project) -> None:
    for row in both(project, SCRIPT, "MUL"):
        is_read_in_full(row, "MUL")
        exceptions = {one["name"].split()[0]: one.get("exception", "") for one in row["numbers"]["per_layer"]}
        assert exceptions["RELU_0_TO_1"] == "double rounding"
        assert exceptions["MUL"] == ("double rounding" if "builtin" in str(row["cell"]) else "")


@pytest.mark.parametrize(("operator", "body"), [("MIRROR_PAD", SYMMETRIC), ("SELECT", EXCHANGED)])
def test_another_move_in_the_artefact_is_a_mismatch(project: Project, operator: str, body: str) -> None:
    row = planted(project, SCRIPT, operator, operator, body)
    assert row["status"] == "mismatch", row
    assert "by approximation" not in row["flags"]
