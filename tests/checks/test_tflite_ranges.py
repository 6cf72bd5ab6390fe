"""TFLite's int8 ranges against the calibration: those that tensors share, and those of every kind of result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, the_row, write_file
from tests.planted_tflite import plant
from tests.project import Project

# A sum that an average pool and a max pool read: TFLite gives it the range of the averages, which cuts it.
# Two branches of which one goes through a max pool with padding: what is left out below changes no maximum.
BRANCHES = """
import sys
import numpy as np, onnx
from onnx import helper as h
rng = np.random.default_rng(5)
known = {"w": rng.normal(0, 0.4, (6, 3, 3, 3)), "v": rng.normal(0, 0.3, 6), "k": rng.normal(0, 0.2, (6, 6, 3, 3)),
         "b": rng.normal(0, 0.3, 6), "l": rng.normal(0, 0.4, (4, 6, 1, 1)), "e": rng.normal(0, 0.3, 4),
         "m": rng.normal(0, 0.4, (4, 12, 1, 1)), "wide": rng.normal(0, 1, (6, 6, 3, 3))}
pool = {"kernel_shape": [3, 3], "strides": [1, 1], "pads": [1, 1, 1, 1]}
front = [h.make_node("Conv", ["x", "w", "v"], ["a"], pads=[1, 1, 1, 1]), h.make_node("Relu", ["a"], ["r"])]
nodes = {"averages": [
             h.make_node("Conv", ["r", "k", "b"], ["c"], pads=[1, 1, 1, 1]), h.make_node("Relu", ["c"], ["d"]),
             h.make_node("Add", ["r", "d"], ["s"]),
             h.make_node("AveragePool", ["s"], ["p"], count_include_pad=1, **pool),
             h.make_node("Conv", ["p", "l", "e"], ["y"]),
             h.make_node("MaxPool", ["s"], ["q"], kernel_shape=[2, 2], strides=[2, 2]),
             h.make_node("Conv", ["q", "l", "e"], ["z"])],
         "maxima": [
             h.make_node("Conv", ["r", "k", "b"], ["c"], pads=[1, 1, 1, 1]),
             h.make_node("MaxPool", ["c"], ["q"], **pool),
             h.make_node("Concat", ["q", "r"], ["j"], axis=1), h.make_node("Conv", ["j", "m", "e"], ["y"])],
         "both": [
             h.make_node("Conv", ["r", "wide", "b"], ["n"], pads=[1, 1, 1, 1]),
             h.make_node("MaxPool", ["n"], ["o"], kernel_shape=[5, 5], pads=[2, 2, 2, 2]),
             h.make_node("Concat", ["o", "r"], ["j"], axis=1), h.make_node("Conv", ["j", "m", "e"], ["y"]),
             h.make_node("Conv", ["r", "k", "b"], ["c"], pads=[1, 1, 1, 1]), h.make_node("Relu", ["c"], ["d"]),
             h.make_node("Add", ["r", "d"], ["s"]),
             h.make_node("AveragePool", ["s"], ["p"], count_include_pad=1, kernel_shape=[2, 2], pads=[0, 0, 1, 1]),
             h.make_node("Conv", ["p", "l", "e"], ["z"])],
         "floats": [
             h.make_node("Conv", ["r", "k", "b"], ["c"], pads=[1, 1, 1, 1]), h.make_node("Elu", ["c"], ["q"]),
             h.make_node("Concat", ["q", "r"], ["j"], axis=1), h.make_node("Conv", ["j", "m", "e"], ["y"])]}
nodes = [*front, *nodes[sys.argv[2]]]
read, made = {name for node in nodes for name in node.input}, {name for node in nodes for name in node.output}
tensors = [onnx.numpy_helper.from_array(x.astype("float32"), name) for name, x in known.items() if name in read]
value = lambda name, size: h.make_tensor_value_info(name, 1, size)
ends = [value(name, None) for name in "yz" if name in made]
graph = h.make_graph(nodes, "g", [value("x", ["batch", 3, 8, 8])], ends, tensors)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
onnx.save(onnx.shape_inference.infer_shapes(model), sys.argv[1])
"""
# Rows of numbers: a LeakyRelu, a product of matrices and a Relu, which the layer in front computes.
ROWS = """
import sys
import numpy as np, onnx
from onnx import helper as h
rng = np.random.default_rng(2)
known = {"w": rng.normal(0, 0.4, (12, 16)), "v": rng.normal(0, 0.4, (16, 6))}
nodes = [h.make_node("LeakyRelu", ["x"], ["a"], alpha=0.3), h.make_node("MatMul", ["a", "w"], ["m"]),
         h.make_node("Relu", ["m"], ["r"]), h.make_node("MatMul", ["r", "v"], ["y"])]
tensors = [onnx.numpy_helper.from_array(values.astype("float32"), name) for name, values in known.items()]
value = lambda name, size: h.make_tensor_value_info(name, 1, ["batch", size])
graph = h.make_graph(nodes, "g", [value("x", 12)], [value("y", 6)], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""
# A table, of which the calibration looks up few rows; at w8 its rows are the only weights of 1,024 elements.
TABLE = """
import sys
import numpy as np, onnx
text = 'g (int64[batch,8] x) => (float[batch,12] y) { e = Gather(table, x) m = Mul(e, e) s = Add(m, e) '
text += 'r = ReduceMean <axes = [1], keepdims = 0> (s) h = MatMul(r, w) t = Tanh(h) y = MatMul(t, v) }'
model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text)
rng = np.random.default_rng(11)
known = {"table": rng.normal(0, 1, (9000, 16)), "w": rng.normal(0, 0.8, (16, 32)), "v": rng.normal(0, 0.4, (32, 12))}
known["table"][7, 3] = 6.0
model.graph.initializer.extend(onnx.numpy_helper.from_array(x.astype("float32"), name) for name, x in known.items())
onnx.save(model, sys.argv[1])
"""
# Single numbers that are rounded to the step of what they bound or pad.
NUMBERS = """
import sys
import numpy as np, onnx
from onnx import helper as h
rng = np.random.default_rng(9)
known = {"w": rng.normal(0, 0.6, (6, 3, 3, 3)), "k": rng.normal(0, 0.4, (6, 6, 1, 1)), "zero": np.array(0.0),
         "least": np.array(-0.5), "top": np.array(1.5),
         "most": np.array(0.87), "border": np.array(2.53), "low": np.array(np.finfo("float32").min)}
known = {name: values.astype("float32") for name, values in known.items()}
known["pads"] = np.array([0, 0, 1, 2, 0, 0, 2, 1])
known["mask"] = rng.random((1, 6, 6, 6)) > 0.3
between = {"MINIMUM": h.make_node("Clip", ["a", "zero", "most"], ["b"]),
           "MAXIMUM": h.make_node("Clip", ["a", "least", "top"], ["b"]),
           "PADV2": h.make_node("Pad", ["a", "pads", "border"], ["b"]),
           "SELECT": h.make_node("Where", ["mask", "a", "low"], ["b"])}[sys.argv[2]]
behind = {"SELECT": "Softmax", "MAXIMUM": "Tanh"}.get(sys.argv[2], "Relu")
nodes = [h.make_node("Conv", ["x", "w"], ["a"]), between, h.make_node(behind, ["b"], ["e"]),
         h.make_node("Conv", ["e", "k"], ["y"])]
read = {name for node in nodes for name in node.input}
tensors = [onnx.numpy_helper.from_array(values, name) for name, values in known.items() if name in read]
value = lambda name, size: h.make_tensor_value_info(name, 1, size)
graph = h.make_graph(nodes, "g", [value("x", ["batch", 3, 8, 8])], [value("y", None)], tensors)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
onnx.save(onnx.shape_inference.infer_shapes(model), sys.argv[1])
"""
# The number at an input is another one, by so many of its steps.
MOVED = """
    fixed = graph.tensors[node.inputs[{place}]]
    data = numpy.array(model.buffers[fixed.buffer].data, "uint8").view("int8")
    assert data.size == 1, data
    model.buffers[fixed.buffer].data = (data - {steps}).view("uint8")
    changed += 1
"""
# Another scale of what the node makes, and of what is only moved of it; a bias of zeros has the scale that fits.
SCALED = """
    made, codes = int(node.outputs[0]), schema.BuiltinOperator
    if {condition}:
        continue
    wanted, known = [made], set()
    while wanted:
        one = wanted.pop()
        tensor = graph.tensors[one]
        tensor.quantization.scale = numpy.array([tensor.quantization.scale[0] * {factor}], "float32")
        for user in graph.operators:
            code = model.operatorCodes[user.opcodeIndex]
            code = max(code.builtinCode, code.deprecatedBuiltinCode)
            if user.inputs[0] == one and code == codes.FULLY_CONNECTED and user.inputs[2] >= 0:
                bias = graph.tensors[user.inputs[2]].quantization
                bias.scale = (numpy.asarray(bias.scale) * {factor}).astype("float32")
            if user.inputs[0] == one and code in (codes.RESHAPE, codes.TRANSPOSE):
                wanted.append(int(user.outputs[0]))
    changed += 1
"""
FAULTS = {
    "input": ("QUANTIZE", "False"), "activation": ("LEAKY_RELU", "False"),
    "relu": ("FULLY_CONNECTED", "node.builtinOptions.fusedActivationFunction == 0"),
}  # fmt: skip


def run(
    project: Project, make: str, *arguments: str, fault: tuple[str, str] | None = None, precision: str = "w8a8"
) -> Mapping[str, Any]:
    """The row of a precision in TFLite of the file that ``make`` writes; ``fault`` changes an operator."""
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), make, "net.onnx", *arguments)
    name = plant(project, *fault) if fault else "tflite"
    return the_row(project.run(f"--compilers={name}", f"--precisions={precision}", f"--bench-onnx={path}"))


def test_a_shared_range_that_leaves_out_what_the_outputs_need_is_a_mismatch(project: Project) -> None:
    row = run(project, BRANCHES, "averages")
    assert row["status"] == "mismatch", row["flags"]
    assert row["reason"].startswith("converter: the range of ADD is 0 to "), row["reason"]
    assert ", which leaves out values of the calibration (0 to " in row["reason"]
    assert row["numbers"]["converter_ranges"]["cut_E"] > 0.1


def test_a_shared_range_that_leaves_out_what_no_maximum_needs_is_right(project: Project) -> None:
    row = run(project, BRANCHES, "maxima")
    assert row["status"] == "supported", row["reason"]
    assert row["numbers"]["converter_ranges"]["cut_E"] < 1e-3, "values were cut, and the outputs are the same"
    assert not [flag for flag in row["flags"] if "range" in flag], row["flags"]


def test_a_range_that_is_shared_through_floating_point_is_right(project: Project) -> None:
    """TFLite has no Elu in integers: the Concat behind it is in floating point, and has the range of the Relu."""
    row = run(project, BRANCHES, "floats")
    assert row["status"] == "supported", row["reason"]
    assert row["numbers"]["converter_ranges"]["compared"] >= 4


def test_ranges_of_all_results_are_compared_with_the_calibration(project: Project) -> None:
    row = run(project, ROWS)
    assert row["status"] == "supported", row["reason"]
    assert row["numbers"]["converter_ranges"]["compared"] == 4, "the input, the activation and both layers"
    assert not [flag for flag in row["flags"] if "range" in flag], row["flags"]


@pytest.mark.parametrize(
    ("fault", "factor"), [("input", 0.25), ("input", 16), ("activation", 0.25), ("activation", 16), ("relu", 4)]
)
def test_a_range_that_is_not_the_calibrations_is_a_mismatch(project: Project, fault: str, factor: float) -> None:
    operator, condition = FAULTS[fault]
    row = run(project, ROWS, fault=(operator, SCALED.format(condition=condition, factor=factor)))
    assert row["status"] == "mismatch", row["flags"]
    assert f"converter: the range of {operator} is " in row["reason"], row["reason"]


@pytest.mark.parametrize("operator", ["MINIMUM", "MAXIMUM", "PADV2"])
def test_a_number_that_was_rounded_counts_as_the_files_behind_it(project: Project, operator: str) -> None:
    row = run(project, NUMBERS, operator)
    assert row["status"] == "supported", row["reason"]
    assert operator in [one["name"].split()[0] for one in row["numbers"]["per_layer"]]
    assert row["numbers"]["converter_ranges"]["worst_steps"] <= 0.51
    assert row["numbers"]["whole_E"] < 1e-6


@pytest.mark.parametrize(("operator", "place", "steps"), [("MINIMUM", 1, 3), ("PADV2", 2, 20)])
def test_a_number_that_is_not_the_files_is_a_mismatch(project: Project, operator: str, place: int, steps: int) -> None:
    row = run(project, NUMBERS, operator, fault=(operator, MOVED.format(place=place, steps=steps)))
    assert row["status"] == "mismatch", row["numbers"]
    assert f"a number of {operator} has no counterpart in the file" in row["flags"]


def test_a_range_that_a_mask_makes_has_a_flag(project: Project) -> None:
    row = run(project, NUMBERS, "SELECT")
    assert [flag for flag in row["flags"] if "-3.403e+38 to" in flag and "as a mask makes it" in flag], row


def test_of_several_ranges_that_leave_out_values_the_one_that_does_harm_is_named(project: Project) -> None:
    row = run(project, BRANCHES, "both")
    assert row["status"] == "supported", row["reason"]
    [flag] = [flag for flag in row["flags"] if "leaves out values of the calibration" in flag]
    assert flag.startswith("the range of ADD is 0 to "), "that of the convolution leaves out more, for a maximum behind"
    assert row["numbers"]["converter_ranges"]["cut_E"] > 0.03


def test_weights_alone_have_no_range_of_the_calibration(project: Project) -> None:
    row = run(project, TABLE, precision="w8")
    assert row["status"] == "supported", row["reason"]
    assert not {"by approximation", "ranges of activations were not compared with the calibration"} & {*row["flags"]}
    assert row["numbers"]["converter"]["compared"] == 1 and row["numbers"]["converter_ranges"] is None


def test_rows_of_a_table_with_another_scale_are_a_mismatch(project: Project) -> None:
    row = run(project, TABLE, fault=("GATHER", SCALED.format(condition="False", factor=2)), precision="w8")
    assert row["status"] == "mismatch", row["flags"]
