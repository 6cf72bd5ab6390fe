"""Mistakes made on purpose in a real graph go through the whole verdict: at least 95 % of them are mismatches."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.project import Project

MAKE = """
import numpy as np
import onnx
from onnx import helper, numpy_helper

rng = np.random.default_rng(0)
weights = []

def weight(name, *shape, scale=1.0):
    weights.append(numpy_helper.from_array((scale * rng.standard_normal(shape)).astype("float32"), name))
    return name

def norm(x, y, channels):
    ones = numpy_helper.from_array(1 + 0.1 * rng.random(channels).astype("float32"), y + "_s")
    variance = numpy_helper.from_array(0.02 + 0.02 * rng.random(channels).astype("float32"), y + "_v")
    weights.extend([ones, variance])
    shift, mean = weight(y + "_b", channels, scale=0.1), weight(y + "_m", channels, scale=0.1)
    return helper.make_node("BatchNormalization", [x, y + "_s", shift, mean, y + "_v"], [y])

first = ["x", weight("w1", 8, 3, 3, 3, scale=0.1), weight("b1", 8)]
nodes = [
    helper.make_node("Conv", first, ["c1"], auto_pad="SAME_UPPER", strides=[2, 2]),
    norm("c1", "n1", 8),
    helper.make_node("Relu", ["n1"], ["g1"]),
    helper.make_node("AveragePool", ["g1"], ["p1"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]),
    helper.make_node("Conv", ["p1", weight("w2", 8, 8, 3, 3, scale=0.2), weight("b2", 8)], ["c2"], pads=[1, 1, 1, 1]),
    helper.make_node("Relu", ["c2"], ["r2"]),
    helper.make_node("Resize", ["r2", "", "scales"], ["u2"], mode="linear"),
    helper.make_node("Conv", ["u2", weight("w3", 8, 8, 1, 1, scale=0.3), weight("b3", 8)], ["c3"]),
    helper.make_node("GlobalAveragePool", ["c3"], ["f3"]),
    helper.make_node("Gelu", ["f3"], ["g3"]),
    helper.make_node("Flatten", ["g3"], ["f"]),
    helper.make_node("Gemm", ["f", weight("w4", 8, 5), weight("b4", 5)], ["y"]),
]
weights.append(numpy_helper.from_array(np.array([1, 1, 2, 2], dtype="float32"), "scales"))
x = helper.make_tensor_value_info("x", 1, ["n", 3, 16, 16])
y = helper.make_tensor_value_info("y", 1, ["n", 5])
graph = helper.make_graph(nodes, "net", [x], [y], weights)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), "net.onnx")
"""
APPLICABLE = {
    "batchnorm eps 1e-3", "batchnorm eps 1e-10", "bias dropped", "channel zeroed", "channels swapped",
    "classes swapped", "weights x 1.01",
    "count_include_pad", "same upper or lower", "gelu erf or tanh", "resize alignment", "nhwc read as nchw",
    "mean output", "rows permuted", "bias in float16", "last layer in float16",
}  # fmt: skip


def test_the_verdict_catches_mutants_and_passes_the_original(project: Project, tools_python: Path) -> None:
    project.write("make.py", MAKE)
    subprocess.run([str(tools_python), "make.py"], cwd=project.folder, check=True)
    row = project.run("--bench-onnx=net.onnx", "-k", "export").cells("export")["net"]
    assert (row["status"], row["reason"]) == ("supported", "")
    assert row["numbers"]["E"] < row["numbers"]["tolerance_E"] / 3
    mutants = row["numbers"]["mutants"]
    assert set(mutants) == APPLICABLE
    killed = [name for name, found in mutants.items() if found["killed"]]
    assert len(killed) >= 0.95 * len(mutants), set(mutants) - set(killed)


def test_a_model_that_cannot_show_an_error_proves_nothing(project: Project, tools_python: Path) -> None:
    dead = MAKE.replace('weight("w4", 8, 5)', 'weight("w4", 8, 5, scale=1e-9)')
    project.write("make.py", dead)
    subprocess.run([str(tools_python), "make.py"], cwd=project.folder, check=True)
    row = project.run("--bench-onnx=net.onnx", "-k", "export").cells("export")["net"]
    assert row["status"] == "unverified"
