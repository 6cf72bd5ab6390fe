"""Constants that were read back are found in the file with what the file does to each channel multiplied in."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.docs.fences import ROOT

# In the toolchain's own interpreter: a contraction as exporters write it, and the weights as a converter writes them.
SCRIPT = """
import json, sys
import numpy as np, onnx
from bench_plugin.adapters.onnx_tools.matching.onnx_matching import Adapter
from bench_plugin.agent.arrays import from_numpy
from bench_plugin.agent.contract import MatchCall, Place
from onnx import TensorProto, helper, numpy_helper

behind, off, dropped, operator, front = json.loads(sys.argv[1])
draw = np.random.default_rng(5)
shape, axis = {"Conv": ((4, 3, 3, 3), 0), "ConvTranspose": ((3, 4, 3, 3), 1), "Gemm": ((3, 4), 1),
               "transposed": ((4, 3), 0)}[operator]
weights, bias = draw.normal(size=shape).astype("float32"), draw.normal(size=4).astype("float32")
scale, shift = draw.uniform(0.5, 2, 4).astype("float32"), draw.normal(size=4).astype("float32")
mean, variance = draw.normal(size=4).astype("float32"), draw.uniform(0.5, 2, 4).astype("float32")
constants = {"w": weights, "b": bias}
known = {"transB": 1} if operator == "transposed" else {}
first, inner, nodes = "x", np.ones(3), []
factor, summand = np.ones(4), bias.astype("float64")
if front:
    named = dict(zip(["f-s", "f-t", "f-m", "f-v"], (each[:3] for each in (scale, shift, mean, variance))))
    own = {"BatchNormalization": list(named), "Selu": []}.get(front, ["f-s", "f-t"])
    constants |= named
    if front == "Mul":
        nodes = [helper.make_node("Mul", ["x", "f-s"], ["o"]), helper.make_node("Add", ["f-t", "o"], ["n"])]
    elif front != "factor":
        nodes = [helper.make_node(front, ["x", *own], ["n"])]
    first, inner, moved = "n", scale[:3], shift[:3]
    if front == "BatchNormalization":
        inner = scale[:3] / np.sqrt(variance[:3].astype("float64") + 1e-5)
        moved = moved - mean[:3] * inner
    if front == "factor":  # in front of a convolution with padding
        constants["f-s"] = scale[:3].reshape(1, 3, 1, 1)
        nodes, moved = [helper.make_node("Mul", ["x", "f-s"], ["n"])], np.zeros(3)
    if front == "Selu":
        inner, moved = np.full(3, 1.0507009873554805), np.zeros(3)
    summand = summand + (0 if front == "factor" else np.moveaxis(weights, axis, 0) @ moved)
padded = {"pads": [1, 1, 1, 1]} if front == "factor" else {}
nodes.append(helper.make_node("Gemm" if known else operator, [first, "w", "b"], ["c"], **known, **padded))
last = "c"
for number, kind in enumerate(behind):
    name = f"{kind}{number}"
    if kind == "BatchNormalization":
        constants |= {f"{name}-s": scale, f"{name}-t": shift, f"{name}-m": mean, f"{name}-v": variance}
        names = [f"{name}-s", f"{name}-t", f"{name}-m", f"{name}-v"]
        f = scale / np.sqrt(variance.astype("float64") + 1e-5)
        factor, summand = factor * f, (summand - mean) * f + shift
    elif kind in ("Mul", "Add"):
        constants[f"{name}-k"] = (scale if kind == "Mul" else shift).reshape(1, 4, *[1] * (len(shape) - 2))
        names = [f"{name}-k"]
        factor, summand = (factor * scale, summand * scale) if kind == "Mul" else (factor, summand + shift)
    elif kind in ("Div", "Sub"):
        constants[f"{name}-k"] = np.float32(1.02 if kind == "Div" else 0.3).reshape(1)
        names = [f"{name}-k"]
        k = float(constants[f"{name}-k"][0])
        factor, summand = (factor / k, summand / k) if kind == "Div" else (factor, summand - k)
    else:
        names = []
    nodes.append(helper.make_node(kind, [last, *names], [name]))
    last = name
shapes = {"x": [1, 3, *[8] * (len(shape) - 2)], last: None}
ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
given = [numpy_helper.from_array(values, name) for name, values in constants.items()]
graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], given)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "model.onnx")

step = 0.01
written = weights * factor.reshape([-1 if place == axis else 1 for place in range(len(shape))])
written = np.moveaxis(written, axis, 0) * inner.reshape(1, 3, *[1] * (len(shape) - 2))
written = np.moveaxis(written, 1, -1)  # channels last
found = {"w8": written + off * step, "b8": np.zeros(4) if dropped else summand}
arrays = {}
for name, values in found.items():
    arrays[f"fix:const:{name}"] = from_numpy(np.ascontiguousarray(values))
    arrays[f"fix:step:{name}"] = from_numpy(np.array([step]))
call = MatchCall(names=tuple(found), weights={"b8": "w8"})
reply = Adapter().match(call.at(Place(".", {"model.onnx": "model.onnx"}, arrays, lambda stage: None)))
rebuilt = {one.name: numpy_helper.to_array(one) for one in onnx.load(reply.files["rebuilt.onnx"]).graph.initializer}
print(json.dumps([reply.meta["matches"], float(abs(rebuilt["w"] - weights).max())]))
"""
CHAINS = [
    ["BatchNormalization", "Relu"],
    ["Mul", "Add", "Relu"],
    ["Add", "Mul"],
    ["Mul", "BatchNormalization"],
    ["Div", "Relu"],
    ["Sub", "Div"],
]


def matched(
    tools_python: Path,
    folder: Path,
    behind: list[str],
    off: float = 0.0,
    dropped: bool = False,
    operator: str = "Conv",
    front: str = "",
) -> Any:
    """The rows of weight and bias, and how far the rebuilt weights are from the file's."""
    done = subprocess.run(
        [str(tools_python), "-c", SCRIPT, json.dumps([behind, off, dropped, operator, front])], cwd=folder, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("behind", CHAINS, ids=" ".join)
def test_what_scales_and_shifts_channels_is_multiplied_in(
    tools_python: Path, tmp_path: Path, behind: list[str]
) -> None:
    (weight, bias), off = matched(tools_python, tmp_path, behind)
    assert weight["tensor"] == "w" and weight["folded"] and weight["steps"] < 1e-3
    assert bias["folded"] and bias["steps"] < 1e-3
    assert off < 1e-6, "the rebuilt file has the weights before anything was multiplied in"


@pytest.mark.parametrize("operator", ["ConvTranspose", "Gemm", "transposed"])
def test_it_is_multiplied_into_weights_of_every_contraction(tools_python: Path, tmp_path: Path, operator: str) -> None:
    (weight, bias), off = matched(tools_python, tmp_path, ["BatchNormalization", "Relu"], operator=operator)
    assert weight["tensor"] == "w" and weight["folded"] and weight["steps"] < 1e-3
    assert bias["folded"] and bias["steps"] < 1e-3 and off < 1e-6


@pytest.mark.parametrize("behind", [[], ["BatchNormalization"]], ids=["alone", "behind too"])
def test_a_convolution_with_padding_takes_in_what_scales_its_input(
    tools_python: Path, tmp_path: Path, behind: list[str]
) -> None:
    (weight, bias), off = matched(tools_python, tmp_path, behind, front="factor")
    assert weight["tensor"] == "w" and weight["steps"] < 1e-3 and bias["steps"] < 1e-3
    assert off < 1e-6, "the rebuilt file has the weights before anything was multiplied in"


@pytest.mark.parametrize("behind", [[], ["BatchNormalization"]], ids=["alone", "behind too"])
@pytest.mark.parametrize("front", ["BatchNormalization", "LayerNormalization", "Mul", "Selu"])
@pytest.mark.parametrize("operator", ["Gemm", "transposed"])
def test_a_matrix_takes_in_what_is_in_front_of_it(
    tools_python: Path, tmp_path: Path, operator: str, front: str, behind: list[str]
) -> None:
    (weight, bias), off = matched(tools_python, tmp_path, [*behind, "Relu"], operator=operator, front=front)
    assert weight["tensor"] == "w" and weight["folded"] and weight["steps"] < 1e-3
    assert bias["folded"] == (front != "Selu" or bool(behind)), "a Selu in front adds nothing"
    assert bias["steps"] < 1e-3 and off < 1e-6


def test_a_weight_that_is_off_is_off_by_so_many_steps(tools_python: Path, tmp_path: Path) -> None:
    (weight, _), _ = matched(tools_python, tmp_path, ["Mul", "Add"], off=1.5)
    assert weight["tensor"] == "w" and weight["steps"] == pytest.approx(1.5, abs=0.01)


def test_what_stands_behind_an_activation_is_not_multiplied_in(tools_python: Path, tmp_path: Path) -> None:
    (weight, bias), _ = matched(tools_python, tmp_path, ["Relu", "Mul"])
    assert not weight["folded"] and not bias["folded"]


def test_a_bias_that_was_dropped_is_compared_with_the_one_of_the_file(tools_python: Path, tmp_path: Path) -> None:
    (_, bias), _ = matched(tools_python, tmp_path, ["Mul", "Add"], dropped=True)
    assert bias["tensor"] and bias["steps"] > 1


# A symmetric matrix with a step for each column, which an artefact has as [columns, rows] and as [rows, columns].
SYMMETRIC = """
import json
import numpy as np, onnx
from bench_plugin.adapters.onnx_tools.matching.onnx_matching import Adapter
from bench_plugin.agent.arrays import from_numpy
from bench_plugin.agent.contract import MatchCall, Place
from onnx import TensorProto, helper, numpy_helper

angle = 2 * np.pi * np.outer(np.arange(8), np.arange(8)) / 8
matrix = (np.cos(angle) + np.diag(np.arange(8.0))).astype("float32")
found = {}
for way, names in {"right": ["x", "m"], "left": ["m", "x"]}.items():
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [8, 8]) for name in "xy"]
    node = helper.make_node("MatMul", names, ["y"])
    graph = helper.make_graph([node], "g", ports[:1], ports[1:], [numpy_helper.from_array(matrix, "m")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "model.onnx")
    axis = 0 if way == "right" else 1
    step = abs(matrix).max(axis=axis, keepdims=True).astype("float64") / 3
    rounded = np.rint(matrix / step) * step
    for layout in ("as written", "transposed"):
        values, steps = (rounded, step) if layout == "as written" else (rounded.T, step.T)
        arrays = {"fix:const:w": from_numpy(np.ascontiguousarray(values)), "fix:step:w": from_numpy(steps.copy())}
        place = Place(".", {"model.onnx": "model.onnx"}, arrays, lambda stage: None)
        reply = Adapter().match(MatchCall(names=("w",), weights={}).at(place))
        [rebuilt] = onnx.load(reply.files["rebuilt.onnx"]).graph.initializer
        found[f"{way}, {layout}"] = float(abs(numpy_helper.to_array(rebuilt) - rounded).max())
        assert abs(rounded - rounded.T).max() > 0.1
print(json.dumps(found))
"""


def test_the_steps_of_a_symmetric_matrix_say_in_which_order_it_was_written(tools_python: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [str(tools_python), "-c", SYMMETRIC], cwd=tmp_path, text=True, capture_output=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found) == 4 and max(found.values()) < 1e-6, found


# A product with a bias, behind which learned positions are added; the artefact has the sum of both.
SUM = """
import json
import numpy as np, onnx
from bench_plugin.adapters.onnx_tools.matching.onnx_matching import Adapter
from bench_plugin.agent.arrays import from_numpy
from bench_plugin.agent.contract import MatchCall, Place
from onnx import TensorProto, helper, numpy_helper

draw = np.random.default_rng(5)
known = {name: draw.normal(size=size).astype("float32") for name, size in {"w": (8, 6), "b": 6, "p": (5, 6)}.items()}
nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["g"], beta=0.5), helper.make_node("Add", ["p", "g"], ["y"])]
ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [5, size]) for name, size in {"x": 8, "y": 6}.items()]
given = [numpy_helper.from_array(values, name) for name, values in known.items()]
graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], given)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "model.onnx")
total = known["p"] + 0.5 * known["b"].astype("float64")
arrays = {"fix:const:s": from_numpy(total + 0.004), "fix:step:s": from_numpy(np.array([0.01]))}
call = MatchCall(names=("s",), weights={})
reply = Adapter().match(call.at(Place(".", {"model.onnx": "model.onnx"}, arrays, lambda stage: None)))
rebuilt = {one.name: numpy_helper.to_array(one) for one in onnx.load(reply.files["rebuilt.onnx"]).graph.initializer}
[row] = reply.meta["matches"]
print(json.dumps([row["tensor"], row["steps"], float(abs(rebuilt["p"] - known["p"]).max())]))
"""


def test_of_a_sum_the_rebuilt_file_gets_what_is_left_without_the_others(tools_python: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [str(tools_python), "-c", SUM], cwd=tmp_path, env=environment, text=True, capture_output=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    name, steps, off = json.loads(done.stdout)
    assert name == "p" and steps == pytest.approx(0.4, abs=1e-3) and off == pytest.approx(0.004, abs=1e-5)


# Alpha and beta of a Gemm; and a matrix under two names, as exporters write a module that is used twice.
ALPHA = """
import json, sys
import numpy as np, onnx
from bench_plugin.adapters.onnx_tools.matching.onnx_matching import Adapter
from bench_plugin.agent.arrays import from_numpy
from bench_plugin.agent.contract import MatchCall, Place
from onnx import TensorProto, helper, numpy_helper

draw = np.random.default_rng(5)
known = {name: draw.normal(size=size).astype("float32") for name, size in {"w": (8, 8), "b": 8}.items()}
nodes = [helper.make_node("Identity", ["w"], ["v"]),
         helper.make_node("Gemm", ["x", "w", "b"], ["g"], alpha=0.9, beta=0.5),
         helper.make_node("Relu", ["g"], ["r"]), helper.make_node("MatMul", ["r", "v"], ["y"])]
ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [5, 8]) for name in ("x", "y")]
given = [numpy_helper.from_array(values, name) for name, values in known.items()]
graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], given)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "model.onnx")
w, b = known["w"].astype("float64"), known["b"].astype("float64")
alpha = float(np.float32(0.9))
found = {"first": w * alpha + 0.003, "bias": b * 0.5} if sys.argv[1] == "apart" else {}
found["second"] = w + 0.004
arrays = {f"fix:const:{name}": from_numpy(values) for name, values in found.items()}
arrays |= {f"fix:step:{name}": from_numpy(np.array([0.01])) for name in found}
call = MatchCall(names=tuple(found), weights={"bias": "first"} if "bias" in found else {})
reply = Adapter().match(call.at(Place(".", {"model.onnx": "model.onnx"}, arrays, lambda stage: None)))
rebuilt = {one.name: numpy_helper.to_array(one) for one in onnx.load(reply.files["rebuilt.onnx"]).graph.initializer}
off = {name: float((rebuilt[name] - known["w"]).mean()) for name in ("w", "v")}
print(json.dumps([{row["name"]: row["steps"] for row in reply.meta["matches"]}, off]))
"""


def twice(tools_python: Path, folder: Path, scene: str) -> Any:
    """By how many steps each constant is off, and by how much the rebuilt file moves the matrix under both names."""
    done = subprocess.run(
        [str(tools_python), "-c", ALPHA, scene], cwd=folder, text=True, capture_output=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_alpha_and_beta_are_multiplied_in_and_the_nearest_product_counts(tools_python: Path, tmp_path: Path) -> None:
    steps, off = twice(tools_python, tmp_path, "apart")
    assert steps["first"] == pytest.approx(0.3, abs=1e-3) and steps["second"] == pytest.approx(0.4, abs=1e-3)
    assert steps["bias"] < 1e-3
    assert sorted(off.values()) == [pytest.approx(0.003 / 0.9, abs=1e-5), pytest.approx(0.004, abs=1e-5)]


def test_what_was_read_back_once_replaces_a_constant_under_all_its_names(tools_python: Path, tmp_path: Path) -> None:
    _, off = twice(tools_python, tmp_path, "shared")
    assert off == {"w": pytest.approx(0.004, abs=1e-5), "v": pytest.approx(0.004, abs=1e-5)}


# What graphs compute from constants alone, or from the shape of an input whose first size is not known.
COMPUTED = """
import json
import numpy as np, onnx
from bench_plugin.adapters.onnx_tools.matching.onnx_matching import Adapter
from bench_plugin.agent.arrays import from_numpy
from bench_plugin.agent.contract import MatchCall, Place
from onnx import TensorProto, helper, numpy_helper

scale = np.linspace(0.8, 1.2, 10).astype("float32")
one = numpy_helper.from_array(np.array([1], "float32"))
known = {"s": scale, "w": np.random.default_rng(3).normal(size=(6, 10)).astype("float32"),
         "start": np.float32(1), "end": np.float32(6), "by": np.float32(0.5)}
nodes = [helper.make_node("Mul", ["x", "s"], ["p"]), helper.make_node("Shape", ["p"], ["h"]),
         helper.make_node("ConstantOfShape", ["h"], ["ones"], value=one), helper.make_node("Sub", ["p", "ones"], ["q"]),
         helper.make_node("Range", ["start", "end", "by"], ["r"]), helper.make_node("Mul", ["q", "r"], ["u"]),
         helper.make_node("Transpose", ["w"], ["t"]), helper.make_node("MatMul", ["u", "t"], ["y"])]
shapes = {"x": ["batch", 10], "y": ["batch", 6]}
ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
given = [numpy_helper.from_array(values, name) for name, values in known.items()]
graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], given)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "model.onnx")
found = {"ones": np.ones((1, 10)), "range": np.arange(1, 6, 0.5), "matrix": known["w"].astype("float64") + 0.004}
arrays = {f"fix:const:{name}": from_numpy(values) for name, values in found.items()}
arrays |= {f"fix:step:{name}": from_numpy(np.array([0.01])) for name in found}
call = MatchCall(names=tuple(found), weights={})
reply = Adapter().match(call.at(Place(".", {"model.onnx": "model.onnx"}, arrays, lambda stage: None)))
rebuilt = {one.name: numpy_helper.to_array(one) for one in onnx.load(reply.files["rebuilt.onnx"]).graph.initializer}
off = abs(rebuilt["t"] - found["matrix"].T).max()
print(json.dumps([[[row["tensor"], row["steps"]] for row in reply.meta["matches"]], float(off)]))
"""


def test_what_the_graph_computes_from_constants_are_constants_of_the_file(tools_python: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [str(tools_python), "-c", COMPUTED], cwd=tmp_path, text=True, capture_output=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (ones, counted, matrix), off = json.loads(done.stdout)
    assert ones == ["ones", 0.0], "not the scale, which has as many elements"
    assert counted[0] == "r" and counted[1] < 1e-3
    assert matrix[0] == "t" and abs(matrix[1] - 0.4) < 1e-3 and off < 1e-6, "the rebuilt file has what was read back"


# Three layers with nothing between them: a converter moves what the first two add into the last one.
CHAIN = """
import json, sys
import numpy as np, onnx
from bench_plugin.adapters.onnx_tools.matching.onnx_matching import Adapter
from bench_plugin.agent.arrays import from_numpy
from bench_plugin.agent.contract import MatchCall, Place
from onnx import TensorProto, helper, numpy_helper

kind, scene = sys.argv[1:]
draw = np.random.default_rng(5)
sizes, known, nodes, last = [5, 6, 7, 8], {}, [], "x"
for number in range(3):
    window = [3, 3] if number == 0 and kind in ("Conv", "padded") else [1, 1] if kind in ("Conv", "padded") else []
    if kind == "padded" and number == 2:
        window = [3, 3]
    shape = [sizes[number], sizes[number + 1]] if not window else [sizes[number + 1], sizes[number], *window]
    known[f"w{number}"], known[f"b{number}"] = draw.normal(size=shape), draw.normal(size=sizes[number + 1])
    pads = {"pads": [1] * 4} if len(window) and window[0] == 3 else {}
    names = [last, f"w{number}", f"b{number}"]
    if kind == "MatMul":
        nodes.append(helper.make_node("MatMul", names[:2], [f"m{number}"]))
        nodes.append(helper.make_node("Add", [names[2], f"m{number}"], [f"y{number}"]))
    else:
        nodes.append(helper.make_node("Gemm" if kind == "Gemm" else "Conv", names, [f"y{number}"], **pads))
    last = f"y{number}"
if scene == "read twice":
    nodes.append(helper.make_node("Relu", ["y1"], ["z"]))
rank = 4 if kind in ("Conv", "padded") else 2
shapes = {"x": [1, 5, *[8] * (rank - 2)], "y2": None}
ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
given = [numpy_helper.from_array(values.astype("float32"), name) for name, values in known.items()]
graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], given)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "model.onnx")

matrices = [np.moveaxis(known[f"w{number}"], 0, -1) if rank == 4 else known[f"w{number}"] for number in range(3)]
summed = [values.sum(axis=(1, 2)) if values.ndim == 4 else values for values in matrices]
moved = (known["b0"] @ summed[1] + known["b1"]) @ summed[2] + known["b2"]
biases = [np.zeros(6), np.zeros(7), known["b2"] if scene == "dropped" else moved]
found = {}
for number in range(3):
    found |= {f"W{number}": known[f"w{number}"], f"B{number}": biases[number]}
arrays = {f"fix:const:{name}": from_numpy(np.ascontiguousarray(values)) for name, values in found.items()}
arrays |= {f"fix:step:{name}": from_numpy(np.array([1e-4])) for name in found}
call = MatchCall(names=tuple(found), weights={f"B{number}": f"W{number}" for number in range(3)})
reply = Adapter().match(call.at(Place(".", {"model.onnx": "model.onnx"}, arrays, lambda stage: None)))
rows = {row["name"]: row["steps"] for row in reply.meta["matches"] if row["name"].startswith("B")}
print(json.dumps([rows, sorted(reply.arrays)]))
"""


def chained(tools_python: Path, folder: Path, kind: str, scene: str) -> Any:
    """By how many steps the biases of three layers are off, and the constants of the file that there are for them."""
    done = subprocess.run(
        [str(tools_python), "-c", CHAIN, kind, scene], cwd=folder, text=True, capture_output=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("kind", ["Gemm", "MatMul", "Conv"])
def test_a_layer_may_add_what_those_right_in_front_of_it_do_not(tools_python: Path, tmp_path: Path, kind: str) -> None:
    rows, arrays = chained(tools_python, tmp_path, kind, "moved")
    assert max(rows.values()) < 0.1, rows
    assert "file:B2" in arrays and "file:B0" not in arrays and "file:B1" not in arrays


@pytest.mark.parametrize(("kind", "scene"), [
    ("Gemm", "dropped"), ("MatMul", "dropped"), ("Conv", "dropped"), ("padded", "moved"), ("Gemm", "read twice"),
])  # fmt: skip
def test_zeros_are_no_bias_where_no_layer_behind_adds_it(
    tools_python: Path, tmp_path: Path, kind: str, scene: str
) -> None:
    rows, _ = chained(tools_python, tmp_path, kind, scene)
    assert max(rows["B0"], rows["B1"]) > 100, rows
