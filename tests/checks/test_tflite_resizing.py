"""TFLite's int8: images that are resized are read back, and another way to place their pixels is a mismatch."""

from __future__ import annotations

import pytest

from tests.project import Project
from tests.read_back_tflite import CONVOLVED, both, is_read_in_full, planted

# Sizes of which no factor is whole. What is joined with something larger takes its range from that, as must the image.
REST = """
known["size"] = np.array([1, 8, 9, 13], "int64")
known["seven"] = np.array(7, "float32")

def resized(mode, transformation, nearest):
    return [
        h.make_node("Resize", ["a", "", "", "size"], ["k"], mode=mode, coordinate_transformation_mode=transformation,
                    nearest_mode=nearest)
    ]

def joined(nodes):
    nodes[0].output[0] = "n"
    return [*nodes, h.make_node("Mul", ["n", "seven"], ["m"]), h.make_node("Concat", ["n", "m"], ["k"], axis=1)]

NODES = {
    "nearest": resized("nearest", "asymmetric", "floor"),
    "nearest joined": joined(resized("nearest", "asymmetric", "floor")),
    "nearest corners": resized("nearest", "align_corners", "round_prefer_ceil"),
    "linear": resized("linear", "half_pixel", "floor"),
    "linear joined": joined(resized("linear", "half_pixel", "floor")),
    "linear corners": resized("linear", "align_corners", "floor"),
    "linear asymmetric": resized("linear", "asymmetric", "floor"),
}
"""
SCRIPT = CONVOLVED.replace("REST", REST)
NEAREST, LINEAR = "RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR"


@pytest.mark.parametrize("kind", ["nearest", "nearest joined", "nearest corners"])
def test_the_nearest_pixels_are_read_back(project: Project, kind: str) -> None:
    for row in both(project, SCRIPT, kind):
        is_read_in_full(row, NEAREST)


@pytest.mark.parametrize("kind", ["linear", "linear joined", "linear corners", "linear asymmetric"])
def test_the_weights_of_mixed_pixels_are_those_of_the_kernel(project: Project, kind: str) -> None:
    for row in both(project, SCRIPT, kind):
        is_read_in_full(row, LINEAR)
        [layer] = [one for one in row["numbers"]["per_layer"] if one.get("exception") == "coarse interpolation"]
        assert layer["within"] == 1.0 and layer["largest_steps"] <= 0.501


@pytest.mark.parametrize(("kind", "operator"), [("nearest", NEAREST), ("linear asymmetric", LINEAR)])
def test_aligned_corners_in_the_artefact_are_a_mismatch(project: Project, kind: str, operator: str) -> None:
    row = planted(project, SCRIPT, kind, operator, "node.builtinOptions.alignCorners = True\nchanged += 1")
    assert row["status"] == "mismatch", row
    assert "by approximation" not in row["flags"]
