"""TFLite's w8 leaves small kernels, biases and norms in floating point: they are compared with the file, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, the_row, write_file
from tests.planted_tflite import plant
from tests.project import Project

# A convolution with a norm to fold, a matrix that is large enough to be quantised, a norm whose scale and bias the
# small matrix behind it takes in, and another small one. With "alike" as an argument there are two more inputs, which
# get the same values, so that the layers are not put together.
MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h
rng = np.random.default_rng(11)
alike = sys.argv[2] == "alike"
known = {"w": rng.normal(0, 0.3, (8, 3, 3, 3)), "b": rng.normal(0, 0.5, 8), "s": rng.uniform(0.5, 2, 8),
         "t": rng.normal(size=8), "m": rng.normal(size=8), "v": rng.uniform(0.5, 2, 8),
         "k": rng.normal(0, 0.1, (512, 16)), "l": rng.normal(size=16), "g": rng.uniform(0.5, 2, 16),
         "h": rng.normal(size=16), "e": rng.normal(0, 0.3, (16, 6)), "f": rng.normal(size=6),
         "o": rng.normal(0, 0.5, (6, 4)), "u": rng.normal(size=4)}
nodes = [h.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
         h.make_node("BatchNormalization", ["c", "s", "t", "m", "v"], ["n"]), h.make_node("Relu", ["n"], ["r"]),
         h.make_node("Flatten", ["r"], ["q"]), h.make_node("Gemm", ["q", "k", "l"], ["a"]),
         *([h.make_node("Add", ["a", "z0"], ["z"]), h.make_node("Add", ["z", "z1"], ["i"])] if alike else []),
         h.make_node("LayerNormalization", ["i" if alike else "a", "g", "h"], ["j"], epsilon=1e-3),
         h.make_node("Gemm", ["j", "e", "f"], ["d"]), h.make_node("Relu", ["d"], ["p"]),
         h.make_node("Gemm", ["p", "o", "u"], ["y"])]
tensors = [onnx.numpy_helper.from_array(values.astype("float32"), name) for name, values in known.items()]
value = lambda name, shape: h.make_tensor_value_info(name, 1, [1, *shape])
given = [value("x", [3, 8, 8]), *([value("z0", [16]), value("z1", [16])] if alike else [])]
graph = h.make_graph(nodes, "g", given, [value("y", [4])], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""
# What is repeated over an image: TFLite adds the bias, repeated too, behind the product with ones that repeats it. With
# an output of computed integers the layers are not put together, which would show that nothing is missing.
REPEATED = """
import sys
import numpy as np, onnx
from onnx import helper as h
rng = np.random.default_rng(3)
known = {"w": rng.normal(0, 0.3, (8, 3, 3, 3)), "b": rng.normal(0, 0.5, 8), "p": rng.normal(0, 0.5, (8, 8, 1, 1)),
         "q": rng.normal(0, 0.5, 8), "k": rng.normal(0, 0.1, (16, 16, 3, 3)), "l": rng.normal(size=16)}
nodes = [h.make_node("Conv", ["x", "w", "b"], ["a"], pads=[1, 1, 1, 1]), h.make_node("GlobalAveragePool", ["a"], ["g"]),
         h.make_node("Conv", ["g", "p", "q"], ["c"]), h.make_node("Expand", ["c", "size"], ["e"]),
         h.make_node("Concat", ["a", "e"], ["d"], axis=1), h.make_node("Conv", ["d", "k", "l"], ["y"]),
         h.make_node("ArgMax", ["y"], ["i"], axis=1, keepdims=0), h.make_node("Add", ["i", "two"], ["z"])]
tensors = [onnx.numpy_helper.from_array(values.astype("float32"), name) for name, values in known.items()]
tensors += [onnx.numpy_helper.from_array(np.array(x), name) for name, x in {"size": [1, 8, 8, 8], "two": 2}.items()]
value = lambda name, shape: h.make_tensor_value_info(name, 1, [1, *shape])
made = [value("y", [16, 6, 6]), h.make_tensor_value_info("z", 7, [1, 6, 6])]
graph = h.make_graph(nodes, "g", [value("x", [3, 8, 8])], made, tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""
# What a converter with a fault would have written of one constant of this shape.
CHANGED = """
    for index in node.inputs:
        tensor = graph.tensors[index]
        buffer = model.buffers[tensor.buffer] if index >= 0 else None
        if buffer is None or buffer.data is None or [int(size) for size in tensor.shape] != {shape}:
            continue
        values = numpy.asarray(buffer.data, "uint8").view("float32").reshape({shape}).copy()
        {change}
        buffer.data, changed = values.astype("float32").reshape(-1).view("uint8"), changed + 1
"""
FAULTS = {
    "weights x 1.01": ("CONV_2D", [8, 3, 3, 3], "values = values * 1.01", "weight of CONV_2D in floating point up to"),
    "bias x 0.9": ("CONV_2D", [8], "values = values * 0.9", "bias of CONV_2D in floating point up to"),
    "bias dropped": (
        "CONV_2D",
        [8],
        "values = values * 0",
        "bias of CONV_2D in floating point is zeros in place of t of",
    ),
    "last bias x 0.9": ("FULLY_CONNECTED", [4], "values = values * 0.9", "bias of FULLY_CONNECTED in floating point"),
    "channels swapped": ("CONV_2D", [8, 3, 3, 3], "values[[1, 2]] = values[[2, 1]]", "but are not the model: E "),
    "epsilon x 100": ("ADD", [], "values = values * 100", "but are not the model: E "),
}
# What a converter may do that is not known: a factor goes from one matrix through the Relu into the next one.
MOVED = """
    for place, factor in {(4, 6): {1: 0.5}, (6, 16): {1: 2.0, 2: 2.0}}.get(
        tuple(graph.tensors[node.inputs[1]].shape), {}
    ).items():
        buffer = model.buffers[graph.tensors[node.inputs[place]].buffer]
        values = numpy.asarray(buffer.data, "uint8").view("float32") * numpy.float32(factor)
        buffer.data, changed = values.view("uint8"), 1
"""


def run(
    project: Project, fault: tuple[str, str] | None = None, inputs: str = "one", script: str = MAKE
) -> Mapping[str, Any]:
    """The row of w8 in TFLite; a ``fault`` is the operator and the source of what changes a node of it."""
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), script, "net.onnx", inputs)
    name = plant(project, *fault) if fault else "tflite"
    options: list[str] = []
    if inputs == "alike":
        rng = np.random.default_rng(5)
        same = rng.normal(size=(8, 1, 16)).astype("float32")
        images = rng.normal(size=(8, 1, 3, 8, 8)).astype("float32")
        np.savez(project.folder / "given.npz", x=images, z0=same, z1=same)
        options = ["--bench-inputs=given.npz"]
    return the_row(project.run(f"--compilers={name}", "--precisions=w8", f"--bench-onnx={path}", *options))


def changed(fault: str) -> tuple[str, str]:
    """The operator of a fault, and the source that makes it."""
    operator, shape, change, _ = FAULTS[fault]
    return operator, CHANGED.format(shape=shape, change=change)


def test_what_is_right_is_compared_in_full_and_proven_as_a_whole(project: Project) -> None:
    row = run(project)
    assert row["status"] == "supported", row["reason"]
    numbers, said = row["numbers"], row["numbers"]["converter_floats"]
    assert numbers["converter"]["compared"] == numbers["converter"]["constants"] == 1
    assert said["constants"] - 1 <= said["compared"] >= 8, "all but the bias of zero that the norm does not need"
    assert said["worst_millionths"] <= 0.501, said
    assert numbers["whole_E"] <= 4e-6 and numbers["strength"] == 1.0
    assert not [flag for flag in row["flags"] if not flag.startswith("shim")]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_constant_is_a_mismatch(project: Project, fault: str) -> None:
    row = run(project, changed(fault))
    assert row["status"] == "mismatch" and FAULTS[fault][3] in row["reason"], row


def test_what_is_like_no_constant_of_the_file_is_right_where_the_whole_is(project: Project) -> None:
    row = run(project, ("FULLY_CONNECTED", MOVED))
    assert row["status"] == "supported", row["reason"]
    said = row["numbers"]["converter_floats"]
    assert said["compared"] <= said["constants"] - 3 and row["numbers"]["whole_E"] <= 4e-6


def test_where_the_whole_is_not_known_one_that_is_like_the_files_is_a_mismatch(project: Project) -> None:
    row = run(project, changed("bias x 0.9"), "alike")
    assert row["status"] == "mismatch" and FAULTS["bias x 0.9"][3] in row["reason"], row


def test_where_the_whole_is_not_known_one_that_is_like_none_leaves_it_to_the_noise(project: Project) -> None:
    row = run(project, changed("epsilon x 100"), "alike")
    flag = "constants in floating point have no counterpart in the file"
    assert "by approximation" in row["flags"] and [one for one in row["flags"] if one.endswith(flag)], row


def test_where_the_whole_is_not_known_a_right_result_stays_right(project: Project) -> None:
    row = run(project, inputs="alike")
    assert row["status"] == "supported" and row["numbers"]["converter_floats"]["worst_millionths"] <= 0.501, row


def test_a_bias_that_is_added_behind_what_repeats_a_result_is_found(project: Project) -> None:
    row = run(project, script=REPEATED)
    assert row["status"] == "supported", row["reason"]
    assert row["numbers"]["converter"]["constants"] == row["numbers"]["converter"]["compared"] == 1


def test_such_a_bias_that_is_wrong_is_a_mismatch(project: Project) -> None:
    wrong = CHANGED.format(shape=[1, 8, 8, 8], change="values = values * 0.9")
    row = run(project, ("ADD", wrong), script=REPEATED)
    assert row["status"] == "mismatch" and "bias of ADD in floating point up to 11" in row["reason"], row["reason"]
