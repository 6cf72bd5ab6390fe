"""OpenVINO's int8: transposed convolutions, what moves values and what runs in floating point are read back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.adapters.compilers import openvino
from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, compiles, the_row, write_file
from tests.project import Project

SCRIPT = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper
rng = np.random.default_rng(0)
known = {"w": rng.normal(0, 0.5, (8, 3, 3, 3)), "v": rng.normal(0, 0.3, 8), "whole": rng.normal(0, 0.3, (8, 8, 3, 3)),
         "parts": rng.normal(0, 0.4, (8, 4, 3, 3)), "b": rng.normal(0, 0.3, 8), "half": np.array(0.5),
         "depthwise": rng.normal(0, 0.4, (8, 1, 3, 3)), "grouped": rng.normal(0, 0.4, (8, 4, 3, 3)),
         "slopes": rng.uniform(0.1, 0.4, (8, 1, 1)), "scales": np.array([1, 1, 1.5, 2]),
         "gain": rng.uniform(0.5, 2, 8), "mean": rng.normal(size=8), "variance": rng.uniform(0.5, 2, 8)}
fault = sys.argv[3] if len(sys.argv) > 3 else ""
if fault in known:
    known[fault][0] *= 1.05
alignment = "align_corners" if fault == "alignment" else "half_pixel"
if fault == "no bias":
    known["v"] *= 0
options = {"strides": [2, 1], "pads": [1, 0, 0, 1], "output_padding": [1, 0]}
whole = {"sizes": [1, 8, 9, 11], "from": [1, 5], "to": [5, 0], "end": [2**63 - 1] * 2, "along": [2, 3], "by": [2, -1],
         "ends": [0, 0, 1, 2, 0, 0, 2, 0], "times": [1, 1, 2, 1], "first": [1], "third": 3, "one": [1, 8, 1, 6],
         "more": [1, 8, 3, 6], "two": [2]}
linear = {"mode": "linear", "coordinate_transformation_mode": "align_corners"}
nearest = {"mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"}
# Of each group the operators stand side by side behind one convolution, and each has an output.
GROUPS = {
    "convolutions": [("Conv", ["depthwise"], {"group": 8}), ("Conv", ["grouped"], {"group": 2}),
                     ("ConvTranspose", ["whole", "b"], options),
                     ("ConvTranspose", ["parts", "b"], {"group": 2, **options})],
    "channels": [("Conv", ["depthwise"], {"group": 8})],
    "resizing": [("Resize", ["", "scales"], linear), ("Resize", ["", "scales"], nearest),
                 ("Resize", ["", "scales"], {**linear, "coordinate_transformation_mode": "pytorch_half_pixel"}),
                 ("Resize", ["", "", "sizes"], {"mode": "cubic", "cubic_coeff_a": -0.5})],
    "choices": [("Resize", ["", "scales"], {**linear, "coordinate_transformation_mode": alignment})],
    "moves": [("DepthToSpace", [], {"blocksize": 2, "mode": "DCR"}),
              ("DepthToSpace", [], {"blocksize": 2, "mode": "CRD"}), ("SpaceToDepth", [], {"blocksize": 2}),
              ("Slice", ["from", "to", "along", "by"], {}), ("Slice", ["from", "end", "along"], {})],
    "functions": [("Sin", [], {}), ("Ceil", [], {}), ("Neg", [], {}), ("PRelu", ["slopes"], {})],
    "curves": [("Elu", [], {"alpha": 0.7}), ("Selu", [], {}), ("Selu", [], {"alpha": 1.2, "gamma": 0.9}),
               ("HardSigmoid", [], {"alpha": 0.3, "beta": 0.4}), ("Softplus", [], {}), ("Mish", [], {}),
               ("LogSoftmax", [], {"axis": 1}), ("ReduceL1", ["first"], {}),
               ("Softsign", [], {}), ("Round", [], {}), ("CumSum", ["third"], {"reverse": 1}),
               ("LRN", [], {"size": 3})],
    "padding": [("Pad", ["ends", "half"], {}), ("Pad", ["ends"], {"mode": "edge"}),
                ("Pad", ["ends"], {"mode": "reflect"}), ("Tile", ["times"], {})],
    "gelus": [("Gelu", [], {}), ("Gelu", [], {"approximate": "tanh"})],
    "reduced": [("ReduceMin", [], {"axes": [2, 3]}), ("ReduceMax", [], {"axes": [1]}),
                ("ReduceL2", [], {"axes": [1, 2], "keepdims": 0}), ("ReduceProd", [], {"axes": [3]})],
    "last": [("BatchNormalization", ["gain", "b", "mean", "variance"], {})],
    "axes": [("ReduceL1", [], {"axes": [1]})],  # which OpenVINO does not read (docs/findings)
    "sized": [("ConvTranspose", ["whole", "b"], {"strides": [2, 2], "output_shape": [13, 13]})],
}
nodes = [h.make_node("Conv", ["x", "w", "v"], ["a"], pads=[1, 1, 1, 1])]
for place, (kind, more, said) in enumerate(GROUPS[sys.argv[2]]):
    nodes.append(h.make_node(kind, ["a", *more], [f"k{place}"], **said))
    nodes.append(h.make_node("Add", [f"k{place}", "half"], [f"y{place}"]))
if sys.argv[2] == "last":  # nothing is behind it
    nodes[1:] = [h.make_node("BatchNormalization", nodes[1].input, ["y0"])]
if sys.argv[2] == "resizing":
    nodes += [h.make_node("Resize", ["a", "", "", "one"], ["p"], mode="linear"),
              h.make_node("Expand", ["p", "more"], ["k"]), h.make_node("Add", ["k", "half"], ["y"])]
made = {node.output[0]: 1 for node in nodes if node.output[0][0] == "y"}
if sys.argv[2] == "choices":
    nodes += [h.make_node("ArgMax", ["y0"], ["y1"], axis=1, keepdims=0),
              h.make_node("TopK", ["y0", "two"], ["unread", "y2"], axis=1)]
    made = {"y1": 7, "y2": 7}
read = {name for node in nodes for name in node.input}
tensors = [numpy_helper.from_array(v.astype("float32"), name) for name, v in known.items() if name in read]
tensors += [numpy_helper.from_array(np.array(v), name) for name, v in whole.items() if name in read]
value = lambda name, size, kind=1: h.make_tensor_value_info(name, kind, size)
results = [value(name, None, kind) for name, kind in made.items()]
graph = h.make_graph(nodes, "g", [value("x", ["batch", 3, 6, 6])], results, tensors)
opset = {"curves": 18, "gelus": 20}.get(sys.argv[2], 17)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=8)
onnx.save(onnx.shape_inference.infer_shapes(model), sys.argv[1])
"""


def quantised(project: Project, group: str, compiler: str = "openvino") -> Mapping[str, Any]:
    """The row of OpenVINO's own w8a8 of a convolution and the operators of this group behind it."""
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), SCRIPT, "net.onnx", group)
    finished = project.run(f"--compilers={compiler}", "--precisions=w8a8", f"--bench-onnx={path}", "-k", "own")
    return the_row(finished)


@pytest.mark.parametrize(
    ("group", "constants"),
    [
        ("convolutions", 3),
        ("resizing", 1),
        ("moves", 1),
        ("functions", 1),
        ("choices", 1),
        ("curves", 1),
        ("padding", 1),
        ("gelus", 1),
        ("reduced", 1),
    ],
)
def test_operators_are_read_back(project: Project, group: str, constants: int) -> None:
    row = quantised(project, group)
    assert row["status"] == "supported", row["reason"]
    assert not [flag for flag in row["flags"] if "approximation" in flag or "not read back" in flag], row["flags"]
    assert row["numbers"]["whole_E"] < 0.01, "a few sums next to a tie go to the other side"
    assert row["numbers"]["converter"]["constants"] >= constants


def test_an_artefact_that_rounds_otherwise_once_it_is_exposed_is_the_same(project: Project) -> None:
    """OpenVINO fuses the norm, unless what is in front of it is an output, too: the last bits of float32 differ."""
    row = quantised(project, "last")
    assert row["status"] == "supported" and "by approximation" not in row["flags"], row["flags"]
    assert row["numbers"]["whole_E"] < 1e-6


def test_each_channel_of_an_input_has_a_range_that_is_compared(project: Project) -> None:
    """NNCF gives the channels of an input that only a depthwise convolution reads ranges of their own."""
    row = quantised(project, "channels")
    assert row["status"] == "supported", row["reason"]
    assert row["numbers"]["converter_ranges"]["compared"] == 1 + 8, "the model's input, and eight channels"


def test_another_shape_is_a_mismatch_whatever_the_layers_are(project: Project) -> None:
    row = quantised(project, "axes")
    assert row["status"] == "mismatch" and row["reason"].endswith("shape [16, 1, 1, 1], expected [16, 1, 6, 6]"), row


def test_a_transposed_convolution_of_a_size_that_is_asked_for_is_named(project: Project) -> None:
    row = quantised(project, "sized")
    assert any("not read back" in flag and "a size that is asked for" in flag for flag in row["flags"]), row["flags"]
    assert "by approximation" in row["flags"] and row["status"] == "supported", row["reason"]


@pytest.mark.parametrize(
    ("group", "fault", "said"),
    [
        ("convolutions", "depthwise", r"converter: weight of GroupConvolution up to 6\.\d+ steps from depthwise of"),
        ("convolutions", "grouped", r"converter: weight of GroupConvolution up to 6\.\d+ steps from grouped of"),
        (
            "functions",
            "slopes",
            r"converter: slope of PRelu in floating point up to [345]\.\d+ % of its largest value from slopes of",
        ),
        ("choices", "alignment", "the layers are right one by one, but are not the model: E "),
        ("choices", "no bias", "the layers are right one by one, but are not the model: E "),
    ],
)
def test_what_is_wrong_is_a_mismatch(project: Project, group: str, fault: str, said: str) -> None:
    python = Toolchains().ensure("onnxruntime")
    write_file(project, python, SCRIPT, "wrong.onnx", group, fault)
    source = Path(openvino.__file__).read_text("utf-8").replace('"name": "openvino"', '"name": "planted"')
    read = 'core.read_model(call.files["model.onnx"])'
    assert source.count(read) == 1, "the place where the file is read"
    source = source.replace(read, f"core.read_model({str(project.folder / 'wrong.onnx')!r})")
    compiles(project, project.write("planted.py", source))
    row = quantised(project, group, compiler="planted")
    assert row["status"] == "mismatch", row["reason"]
    assert re.match(said, row["reason"]), row["reason"]
