"""OpenVINO's int8: what it adds in place stays inside the layers, which are then those of the artefact itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, the_row, write_file
from tests.project import Project

# Blocks as those of MobileNetV2: the sums of two of them stand behind each other, so that a sum is a summand, too.
SCRIPT = """
import sys
import numpy as np, onnx
from onnx import helper as h
rng = np.random.default_rng(4)
nodes, known, last = [], {}, "x"
def conv(source, name, outputs, inputs, size=1, group=1, relu=True):
    known[name + "w"] = rng.normal(0, (2 / (inputs * size * size)) ** 0.5, (outputs, inputs, size, size))
    known[name + "b"] = rng.normal(0, 0.2, outputs)
    nodes.append(h.make_node("Conv", [source, name + "w", name + "b"], [name], pads=[size // 2] * 4, group=group))
    if relu:
        nodes.append(h.make_node("Clip", [name, "zero", "six"], [name + "r"]))
    return name + "r" if relu else name
known |= {"zero": np.array(0.0), "six": np.array(6.0)}
last = conv("x", "stem", 8, 3, 3)
last = conv(last, "first", 8, 8, relu=False)
for block in [f"b{place}_" for place in range(int(sys.argv[2]))]:
    wide = conv(conv(last, block + "0", 32, 8), block + "1", 32, 1, 3, 32)
    nodes.append(h.make_node("Add", [last, conv(wide, block + "2", 8, 32, relu=False)], [block]))
    last = block
known |= {"v": rng.normal(0, 0.3, (8, 5)), "vb": rng.normal(size=5)}
nodes += [h.make_node("GlobalAveragePool", [last], ["p"]), h.make_node("Flatten", ["p"], ["f"]),
          h.make_node("Gemm", ["f", "v", "vb"], ["y"])]
tensors = [onnx.numpy_helper.from_array(values.astype("float32"), name) for name, values in known.items()]
ports = [h.make_tensor_value_info("x", 1, ["n", 3, 16, 16]), h.make_tensor_value_info("y", 1, ["n", 5])]
model = h.make_model(h.make_graph(nodes, "g", ports[:1], ports[1:], tensors), ir_version=8,
                     opset_imports=[h.make_opsetid("", 17)])
onnx.save(onnx.shape_inference.infer_shapes(model), sys.argv[1])
"""


# Blocks as those of ResNet50: of two convolutions that are added the first one comes before the other or after it.
TWO_CONVOLUTIONS = """
import sys
import numpy as np, onnx
from onnx import helper as h
rng = np.random.default_rng(4)
nodes, known, last = [], {}, "x"
def conv(source, name, outputs, inputs, size=1, relu=True):
    known[name + "w"] = rng.normal(0, (2 / (inputs * size * size)) ** 0.5, (outputs, inputs, size, size))
    known[name + "b"] = rng.normal(0, 0.2, outputs)
    nodes.append(h.make_node("Conv", [source, name + "w", name + "b"], [name], pads=[size // 2] * 4))
    if relu:
        nodes.append(h.make_node("Relu", [name], [name + "r"]))
    return name + "r" if relu else name
last = conv("x", "stem", 8, 3, 3)
for block in ["b0_", "b1_", "b2_"]:
    main = conv(conv(conv(last, block + "0", 8, 8), block + "1", 8, 8, 3), block + "2", 8, 8, relu=False)
    beside = conv(last, block + "3", 8, 8, relu=False)
    nodes.append(h.make_node("Add", [main, beside] if sys.argv[2] == "main" else [beside, main], [block]))
    nodes.append(h.make_node("Relu", [block], [block + "r"]))
    last = block + "r"
known |= {"v": rng.normal(0, 0.3, (8, 5)), "vb": rng.normal(size=5)}
nodes += [h.make_node("GlobalAveragePool", [last], ["p"]), h.make_node("Flatten", ["p"], ["f"]),
          h.make_node("Gemm", ["f", "v", "vb"], ["y"])]
tensors = [onnx.numpy_helper.from_array(values.astype("float32"), name) for name, values in known.items()]
ports = [h.make_tensor_value_info("x", 1, ["n", 3, 16, 16]), h.make_tensor_value_info("y", 1, ["n", 5])]
model = h.make_model(h.make_graph(nodes, "g", ports[:1], ports[1:], tensors), ir_version=8,
                     opset_imports=[h.make_opsetid("", 17)])
onnx.save(onnx.shape_inference.infer_shapes(model), sys.argv[1])
"""


@pytest.mark.parametrize("first", ["main", "beside"])
def test_of_two_convolutions_the_first_one_is_computed_with_the_sum(project: Project, first: str) -> None:
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), TWO_CONVOLUTIONS, "net.onnx", first)
    row = the_row(project.run("--compilers=openvino", "--precisions=w8a8", f"--bench-onnx={path}", "-k", "own"))
    assert row["status"] == "supported", row["reason"]
    assert not [flag for flag in row["flags"] if "sums as they are" in flag or "by approximation" in flag]
    assert row["numbers"]["inside"] == 6 and row["numbers"]["worst_steps"] <= 0.51


@pytest.fixture
def row(project: Project) -> Mapping[str, Any]:
    """The row of OpenVINO's own w8a8 of these blocks."""
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), SCRIPT, "net.onnx", 3)
    return the_row(project.run("--compilers=openvino", "--precisions=w8a8", f"--bench-onnx={path}", "-k", "own"))


def test_layers_that_are_added_in_place_are_judged_where_they_are(row: Mapping[str, Any]) -> None:
    assert row["status"] == "supported", row["reason"]
    assert (
        "by approximation" not in row["flags"]
        and "exposing the tensors of the model changes its result" not in row["flags"]
    )
    numbers = row["numbers"]
    assert numbers["inside"] == 6, "two summands of three sums"
    assert numbers["worst_steps"] <= 0.51, "one of each two is rounded, the other one is cut off alone"
    assert numbers["whole_E"] < 1e-6
