"""TFLite's w8 rounds inputs as it runs: XNNPACK's arithmetic in float32 decides what lies near a tie."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, the_row, write_file
from tests.planted_tflite import plant
from tests.project import Project

# Half a million numbers to round, of which some lie within an ulp of float32 of a tie; a pointwise convolution has a
# scale for each pixel, a matrix product one for each row.
MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper
rng = np.random.default_rng(0)
known = {"w": rng.normal(0, 0.05, (48, 512, 1, 1)), "b": rng.normal(0, 0.1, 48), "m": rng.normal(0, 0.1, (48, 32))}
nodes = [h.make_node("Conv", ["x", "w", "b"], ["c"]), h.make_node("Relu", ["c"], ["r"]),
         h.make_node("GlobalMaxPool", ["r"], ["p"]), h.make_node("Flatten", ["p"], ["f"]),
         h.make_node("MatMul", ["f", "m"], ["y"])]
tensors = [numpy_helper.from_array(values.astype("float32"), name) for name, values in known.items()]
graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", 1, [1, 512, 16, 16])],
                     [h.make_tensor_value_info("y", 1, [1, 32])], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""
# What a converter with another scale for one channel would have written.
SCALED = """
    scale = model.subgraphs[0].tensors[node.inputs[1]].quantization.scale
    scale[3] *= 1.01
    changed += 1
"""


# A layer that our own quantisation leaves in floating point.
RECURRENT = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper
rng = np.random.default_rng(0)
known = {"w": (1, 64, 16), "r": (1, 64, 16), "b": (1, 128), "h": (1, 1, 16), "c": (1, 1, 16), "v": (16, 5)}
tensors = [numpy_helper.from_array(rng.normal(0, 0.5, size).astype("float32"), name) for name, size in known.items()]
nodes = [h.make_node("LSTM", ["x", "w", "r", "b", "", "h", "c"], ["all", "last"], hidden_size=16),
         h.make_node("MatMul", ["last", "v"], ["y"])]
ports = [h.make_tensor_value_info("x", 1, [7, 1, 16])], [h.make_tensor_value_info("y", 1, [1, 1, 5])]
graph = h.make_graph(nodes, "g", *ports, tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""


def run(project: Project, compiler: str, script: str = MAKE) -> Mapping[str, Any]:
    """The row of w8 of this compiler."""
    path = write_file(project, Toolchains().ensure("onnxruntime"), script, "net.onnx")
    return the_row(project.run(f"--compilers={compiler}", "--precisions=w8", f"--bench-onnx={path}"))


def test_a_layer_that_rounds_its_inputs_is_known_to_float32(project: Project) -> None:
    project.write("test_models.py", EQUIVALENCE)
    row = run(project, "tflite")
    assert row["status"] == "supported", row["reason"]
    layers = {one["name"].split()[0]: one["E"] for one in row["numbers"]["per_layer"] if one.get("E") is not None}
    assert {"CONV_2D", "FULLY_CONNECTED"} <= set(layers)
    assert max(layers.values()) < 5e-7, "a number on the other side of a tie is 3e-5 and more"


@pytest.mark.parametrize("operator", ["CONV_2D"])
def test_a_wrong_scale_of_one_channel_is_a_mismatch(project: Project, operator: str) -> None:
    row = run(project, plant(project, operator, SCALED))
    assert row["status"] == "mismatch" and "converter: weight of CONV_2D" in row["reason"], row


def test_our_own_quantisation_rounds_recurrent_layers_as_the_tool_does(project: Project) -> None:
    project.write("test_models.py", EQUIVALENCE)
    row = run(project, "tflite", RECURRENT)
    assert "by approximation" in row["flags"], row
    assert row["status"] == "supported", row["reason"]
    assert abs(row["numbers"]["short_of_own_db"]) < 3, "the same weights are rounded on both sides"
