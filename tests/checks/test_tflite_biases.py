"""TFLite's int8 with biases that are not where the file has them, through the plugin; and biases that are dropped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, the_row, write_file
from tests.planted_tflite import plant
from tests.project import Project

# What the norm adds is positive: TFLite's calibration writes the sum over the product, whose range so has both.
# A convolution without a bias whose result is read twice (as in a dense block), and two dilated ones with biases.
MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h
rng = np.random.default_rng(7)
known = {"w": rng.normal(0, 0.3, (8, 3, 3)), "s": rng.uniform(0.5, 2, 8),
         "m": rng.normal(size=8), "v": rng.uniform(0.5, 2, 8), "k": rng.normal(0, 0.2, (6, 8, 3)),
         "b": rng.normal(size=6), "l": rng.normal(0, 0.2, (5, 18, 1)), "e": rng.normal(size=5),
         "k2": rng.normal(0, 0.2, (4, 8, 3)), "b2": rng.normal(size=4)}
known["t"] = known["m"] * known["s"] / np.sqrt(known["v"] + 1e-5) + rng.uniform(0.5, 1, 8)
known = {name: values.astype("float32") for name, values in known.items()} | {"p": np.array([0, 0, 4, 0, 0, 0])}
nodes = [h.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1]),
         h.make_node("BatchNormalization", ["c", "s", "t", "m", "v"], ["n"]), h.make_node("Relu", ["n"], ["r"]),
         h.make_node("Pad", ["r", "p"], ["q"]), h.make_node("Conv", ["q", "k", "b"], ["d"], dilations=[2]),
         h.make_node("Conv", ["q", "k2", "b2"], ["g"], dilations=[2]),
         h.make_node("Concat", ["c", "d", "g"], ["j"], axis=1), h.make_node("Conv", ["j", "l", "e"], ["y"])]
tensors = [onnx.numpy_helper.from_array(values, name) for name, values in known.items()]
graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", 1, [1, 3, 32])],
                     [h.make_tensor_value_info("y", 1, [1, 5, 32])], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""
# What converters with a fault would have written of a constant: zeros, half of it, or none.
CHANGED = """
    for index in node.inputs:
        tensor = graph.tensors[index]
        values = model.buffers[tensor.buffer].data
        if values is None or numpy.prod(tensor.shape) != {size} or not numpy.any(values):
            continue
        model.buffers[tensor.buffer].data = {wrong}
        changed += 1
"""
ZEROS = 'numpy.full(len(values), tensor.quantization.zeroPoint[0], "int8").view("uint8")'
HALVED = '(numpy.asarray(values).view("int32") // 2).view("uint8")'
REMOVED = """
    if node.inputs[2] >= 0 and list(graph.tensors[node.inputs[2]].shape) == [{size}]:
        node.inputs, changed = [*node.inputs[:2], -1], changed + 1
"""
# Two inputs; the last layer is a product of matrices without a bias.
TOWERS = """
import sys
import numpy as np, onnx
from onnx import helper as h
rng = np.random.default_rng(1)
known = {"a": rng.normal(0, 0.3, (8, 16)), "b": rng.normal(0, 0.3, 16), "c": rng.normal(0, 0.3, (6, 16)),
         "d": rng.normal(0, 0.3, 16), "e": rng.normal(0, 0.3, (32, 12)), "f": rng.normal(0, 0.05, 12),
         "l": rng.normal(0, 0.3, (12, 4))}
nodes = [h.make_node("Gemm", ["x", "a", "b"], ["g"]), h.make_node("Relu", ["g"], ["r"]),
         h.make_node("Gemm", ["z", "c", "d"], ["i"]), h.make_node("Relu", ["i"], ["s"]),
         h.make_node("Concat", ["r", "s"], ["j"], axis=1), h.make_node("Gemm", ["j", "e", "f"], ["k"]),
         h.make_node("Relu", ["k"], ["t"]), h.make_node("MatMul", ["t", "l"], ["y"])]
tensors = [onnx.numpy_helper.from_array(values.astype("float32"), name) for name, values in known.items()]
value = lambda name, size: h.make_tensor_value_info(name, 1, [1, size])
graph = h.make_graph(nodes, "g", [value("x", 8), value("z", 6)], [value("y", 4)], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""
# A product of matrices, a bias and learned positions: TFLite adds the sum of both.
POSITIONS = """
import sys
import numpy as np, onnx
from onnx import helper as h
rng = np.random.default_rng(3)
known = {"a": rng.normal(0, 0.3, (8, 12)), "b": rng.normal(0, 0.5, 12), "p": rng.normal(size=(5, 12)),
         "l": rng.normal(0, 0.3, (12, 4))}
known = {name: values.astype("float32") for name, values in known.items()}
known |= {"0": np.array([0]), "5 12": np.array([5, 12])}
nodes = [h.make_node("MatMul", ["x", "a"], ["m"]), h.make_node("Add", ["m", "b"], ["n"]),
         h.make_node("Shape", ["x"], ["s"]), h.make_node("Gather", ["s", "0"], ["c"]),
         h.make_node("Concat", ["c", "5 12"], ["e"], axis=0), h.make_node("Expand", ["p", "e"], ["o"]),
         h.make_node("Add", ["o", "n"], ["q"]), h.make_node("Relu", ["q"], ["t"]),
         h.make_node("MatMul", ["t", "l"], ["y"])]
tensors = [onnx.numpy_helper.from_array(values, name) for name, values in known.items()]
value = lambda name, size: h.make_tensor_value_info(name, 1, [1, 5, size])
graph = h.make_graph(nodes, "g", [value("x", 8)], [value("y", 4)], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""


def run(project: Project, fault: tuple[str, str] | None = None, make: str = MAKE) -> Mapping[str, Any]:
    """The row of w8a8 in TFLite; a ``fault`` is the operator and the source of what changes a node of it."""
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), make, "net.onnx")
    name = plant(project, *fault) if fault else "tflite"
    return the_row(project.run(f"--compilers={name}", "--precisions=w8a8", f"--bench-onnx={path}"))


def changed(size: int, wrong: str = ZEROS) -> str:
    """The source that makes a constant of so many elements ``wrong``."""
    return CHANGED.format(size=size, wrong=wrong)


def test_zeros_where_the_file_has_no_bias_or_where_it_is_added_later(project: Project) -> None:
    row = run(project)
    assert row["status"] == "supported", row["reason"]
    assert row["numbers"]["truth"].startswith("layers read back"), row["numbers"]["truth"]
    said = row["numbers"]["converter"]
    assert said["compared"] == said["constants"] and said["worst_steps"] <= 0.501
    assert row["numbers"]["converter_ranges"]["compared"] >= 3
    assert not [flag for flag in row["flags"] if not flag.startswith("shim")]


DROPPED = {
    "bias of a convolution": ("CONV_2D", 5, "converter: bias of CONV_2D up to "),
    "bias of a dilated convolution": ("ADD", 6, "converter: bias of ADD up to "),
    "shift of a norm": (
        "ADD",
        8,
        "that of the calibration",
    ),  # zeros are like no constant of the file: the ranges show it
}


@pytest.mark.parametrize("dropped", DROPPED)
def test_what_was_dropped_is_a_mismatch(project: Project, dropped: str) -> None:
    operator, size, reason = DROPPED[dropped]
    row = run(project, (operator, changed(size)))
    assert row["status"] == "mismatch" and reason in row["reason"], row["reason"]


def test_a_layer_without_a_bias_is_right_where_the_file_has_none(project: Project) -> None:
    row = run(project, make=TOWERS)
    assert row["status"] == "supported", row["reason"]
    said = row["numbers"]["converter"]
    assert (said["compared"], said["constants"]) == (8, 8), "four weights and as many biases"


def test_a_layer_without_a_bias_is_a_mismatch_where_the_file_has_one(project: Project) -> None:
    row = run(project, ("FULLY_CONNECTED", REMOVED.format(size=12)), TOWERS)
    assert row["status"] == "mismatch" and "converter: bias of FULLY_CONNECTED up to " in row["reason"], row["reason"]


def test_a_constant_may_be_the_sum_of_two_of_the_file(project: Project) -> None:
    row = run(project, make=POSITIONS)
    assert row["status"] == "supported", row["reason"]
    said = row["numbers"]["converter"]
    assert said["compared"] == said["constants"] and said["worst_steps"] <= 0.501


def test_a_wrong_sum_of_two_constants_is_a_mismatch(project: Project) -> None:
    row = run(project, ("ADD", changed(60)), POSITIONS)
    assert row["status"] == "mismatch", row["reason"]


def test_a_bias_that_is_like_no_constant_of_the_file_is_compared_with_that_of_its_layer(project: Project) -> None:
    row = run(project, ("FULLY_CONNECTED", changed(12, HALVED)), TOWERS)
    assert row["status"] == "mismatch" and "converter: bias of FULLY_CONNECTED up to " in row["reason"], row["reason"]
