"""OpenVINO's int8: transposed convolutions, what moves values and what runs in floating point are read back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.adapters.compilers import openvino
from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, compiles, write_file
from tests.project import Project

SCRIPT = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper
rng = np.random.default_rng(0)
known = {"w": rng.normal(0, 0.5, (8, 3, 3, 3)), "v": rng.normal(0, 0.3, 8), "whole": rng.normal(0, 0.3, (8, 8, 3, 3)),
         "parts": rng.normal(0, 0.4, (8, 4, 3, 3)), "b": rng.normal(0, 0.3, 8), "half": np.array(0.5),
         "depthwise": rng.normal(0, 0.4, (8, 1, 3, 3)), "grouped": rng.normal(0, 0.4, (8, 4, 3, 3)),
         "slopes": rng.uniform(0.1, 0.4, (8, 1, 1)), "scales": np.array([1, 1, 1.5, 2])}
if len(sys.argv) > 4:
    known[{"PRelu": "slopes"}.get(sys.argv[2], sys.argv[2])][0] *= 1.05
options = {"strides": [2, 1], "pads": [1, 0, 0, 1], "output_padding": [1, 0]}
where = {"coordinate_transformation_mode": sys.argv[3]} if sys.argv[3] else {}
whole = {"sizes": [1, 8, 9, 11], "from": [1, 5], "to": [5, 0], "along": [2, 3], "by": [2, -1],
         "one": [1, 8, 1, 6], "more": [1, 8, 3, 6]}
NODES = {
    "depthwise": [h.make_node("Conv", ["a", "depthwise"], ["k"], group=8)],
    "grouped": [h.make_node("Conv", ["a", "grouped"], ["k"], group=2)],
    "ConvolutionBackpropData": [h.make_node("ConvTranspose", ["a", "whole", "b"], ["k"], **options)],
    "GroupConvolutionBackpropData": [h.make_node("ConvTranspose", ["a", "parts", "b"], ["k"], group=2, **options)],
    "sized": [h.make_node("ConvTranspose", ["a", "whole", "b"], ["k"], strides=[2, 2], output_shape=[13, 13])],
    "linear": [h.make_node("Resize", ["a", "", "scales"], ["k"], mode="linear", **where)],
    "nearest": [h.make_node("Resize", ["a", "", "scales"], ["k"], mode="nearest", nearest_mode="floor", **where)],
    "cubic": [h.make_node("Resize", ["a", "", "", "sizes"], ["k"], mode="cubic", cubic_coeff_a=-0.5, **where)],
    "PRelu": [h.make_node("PRelu", ["a", "slopes"], ["k"])],
    "Expand": [h.make_node("Resize", ["a", "", "", "one"], ["p"], mode="linear"),
               h.make_node("Expand", ["p", "more"], ["k"])],
    "Slice": [h.make_node("Slice", ["a", "from", "to", "along", "by"], ["k"])],
    "DepthToSpace": [h.make_node("DepthToSpace", ["a"], ["k"], blocksize=2, mode=sys.argv[3])],
    "SpaceToDepth": [h.make_node("SpaceToDepth", ["a"], ["k"], blocksize=2)],
    **{one: [h.make_node(one, ["a"], ["k"])] for one in ("Sin", "Ceil", "Neg")},
}
front = h.make_node("Conv", ["x", "w", "v"], ["a"], pads=[1, 1, 1, 1])
nodes = [front, *NODES[sys.argv[2]], h.make_node("Add", ["k", "half"], ["y"])]
read = {name for node in nodes for name in node.input}
tensors = [numpy_helper.from_array(v.astype("float32"), name) for name, v in known.items() if name in read]
tensors += [numpy_helper.from_array(np.array(v), name) for name, v in whole.items() if name in read]
value = lambda name, size: h.make_tensor_value_info(name, 1, size)
graph = h.make_graph(nodes, "g", [value("x", ["batch", 3, 6, 6])], [value("y", None)], tensors)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
onnx.save(onnx.shape_inference.infer_shapes(model), sys.argv[1])
"""


def quantised(project: Project, operator: str, mode: str = "", compiler: str = "openvino") -> Mapping[str, Any]:
    """The row of OpenVINO's own w8a8 of a convolution, this operator and a sum."""
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), SCRIPT, "net.onnx", operator, mode)
    finished = project.run(f"--compilers={compiler}", "--precisions=w8a8", f"--bench-onnx={path}")
    [row] = [row for row in finished.rows if row["kind"] == "cell" and "own" in row["nodeid"]]
    return row


@pytest.mark.parametrize(
    ("operator", "mode"),
    [
        ("depthwise", ""),
        ("grouped", ""),
        ("ConvolutionBackpropData", ""),
        ("GroupConvolutionBackpropData", ""),
        ("linear", "align_corners"),
        ("linear", "pytorch_half_pixel"),
        ("nearest", "asymmetric"),
        ("cubic", "half_pixel"),
        ("PRelu", ""),
        ("Expand", ""),
        ("Slice", ""),
        ("DepthToSpace", "DCR"),
        ("DepthToSpace", "CRD"),
        ("SpaceToDepth", ""),
        *((one, "") for one in ("Sin", "Ceil", "Neg")),
    ],
)
def test_an_operator_is_read_back(project: Project, operator: str, mode: str) -> None:
    row = quantised(project, operator, mode)
    assert row["status"] == "supported", row["reason"]
    assert not [flag for flag in row["flags"] if "approximation" in flag or "not read back" in flag], row["flags"]
    assert row["numbers"]["whole_E"] < 0.01, "a few sums next to a tie go to the other side"
    assert row["numbers"]["converter"]["constants"] >= (2 if operator in ("depthwise", "grouped") else 1)
    if operator == "GroupConvolutionBackpropData":
        assert "50% of the nodes in the type that was asked for" in row["flags"]


def test_a_transposed_convolution_of_a_size_that_is_asked_for_is_named(project: Project) -> None:
    row = quantised(project, "sized")
    assert any("not read back" in flag and "a size that is asked for" in flag for flag in row["flags"]), row["flags"]
    assert "by approximation" in row["flags"] and row["status"] == "supported", row["reason"]


@pytest.mark.parametrize(
    ("operator", "said"),
    [
        ("depthwise", r"weight of GroupConvolution up to 6\.\d+ steps from depthwise of"),
        ("grouped", r"weight of GroupConvolution up to 6\.\d+ steps from grouped of"),
        ("PRelu", r"slope of PRelu in floating point up to [345]\.\d+ % of its largest value from slopes of"),
    ],
)
def test_a_wrong_constant_is_a_mismatch(project: Project, operator: str, said: str) -> None:
    python = Toolchains().ensure("onnxruntime")
    write_file(project, python, SCRIPT, "wrong.onnx", operator, "", "wrong")
    source = Path(openvino.__file__).read_text("utf-8").replace('"name": "openvino"', '"name": "planted"')
    read = 'core.read_model(call.files["model.onnx"])'
    assert source.count(read) == 1, "the place where the file is read"
    source = source.replace(read, f"core.read_model({str(project.folder / 'wrong.onnx')!r})")
    compiles(project, project.write("planted.py", source))
    row = quantised(project, operator, compiler="planted")
    assert row["status"] == "mismatch", row["reason"]
    assert re.match(f"converter: {said}", row["reason"]), row["reason"]
