"""The emulation of precisions: integers that float32 may round to either side, and sums in a narrow type."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.docs.fences import ROOT

# 255 and 0 set the range, so that the scale is 1; two values lie beside and in the middle of two integers.
SCRIPT = """
import json, sys
import numpy as np, onnx
from bench_plugin.adapters.onnx_tools.onnx_emulate import Adapter
from bench_plugin.agent.arrays import from_numpy, to_numpy
from bench_plugin.agent.contract import EmulateCall, Place
from onnx import helper as h

below, above = np.nextafter(np.float32(111.5), np.float32(0)), np.nextafter(np.float32(110.5), np.float32(200))
x = np.array([[0, 255, below, above, 111.4999, 110.501]], "float32")
if sys.argv[1] in ("nan", "constant"):
    x = np.array([[0, 255, np.nan, 1, 2, 3]] if sys.argv[1] == "nan" else [[0] * 6], "float32")
nodes = [h.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
         h.make_node("DequantizeLinear", ["q", "s", "z"], ["y"])]
value = lambda name: h.make_tensor_value_info(name, 1, [1, 6])
if sys.argv[1] == "static":
    nodes = [h.make_node("Relu", ["x"], ["y"])]
if sys.argv[1] == "lost":  # large numbers are added and taken away again; the last value is off by 0.01 after that
    nodes = [h.make_node("Add", ["x", "far"], ["a"]), h.make_node("Sub", ["a", "far"], ["b"])] + nodes
    nodes[2].input[0] = "b"
    x[0, 2:] = [111.49, 110.51, 111.47, 20.01]
if sys.argv[1] == "overflow":  # 255 * 300 is infinite in float16, and no index
    nodes = [h.make_node("Mul", ["x", "times"], ["m"]), h.make_node("Div", ["m", "times"], ["d"]),
             h.make_node("Cast", ["d"], ["i"], to=7), h.make_node("Gather", ["table", "i"], ["y"])]
    x = x.round()
if sys.argv[1] == "inputs":  # 1.003 is 1 in bfloat16, and 1.0029 in float16
    nodes = [h.make_node("Sub", ["x", "one"], ["y"])]
    x = np.array([[1.003] * 6], "float32")
if sys.argv[1] == "integers":
    nodes = [h.make_node("Cast", ["x"], ["i"], to=6), h.make_node("Expand", ["i", "shape"], ["many"]),
             h.make_node("ReduceSum", ["many"], ["s"], keepdims=1), h.make_node("Cast", ["s"], ["y"], to=1)]
graph = h.make_graph(nodes, "g", [value("x")], [value("y")],
                     [onnx.numpy_helper.from_array(np.array([40, 6]), "shape"),
                      onnx.numpy_helper.from_array(np.array([0, 0] + [2**16] * 3 + [2**18], "float32"), "far"),
                      onnx.numpy_helper.from_array(np.array(300, "float32"), "times"),
                      onnx.numpy_helper.from_array(np.array(1, "float32"), "one"),
                      onnx.numpy_helper.from_array(np.arange(256, dtype="float32"), "table")])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), "model.onnx")
place = Place(".", {"model.onnx": "model.onnx"}, {"in:x": from_numpy(x)}, lambda stage: None)
sums = "fp16" if sys.argv[1] == "integers" else ""
reply = Adapter().emulate(EmulateCall(samples=1, batched=True, sums=sums).at(place))
found = {name: to_numpy(values).ravel().tolist() for name, values in reply.arrays.items()}
print(json.dumps(found | ({"missing": reply.meta["missing"]} if reply.meta.get("missing") else {})))
"""


def emulated(python: Path, folder: Path, kind: str) -> dict[str, Any]:
    done = subprocess.run(
        [str(python), "-c", SCRIPT, kind], cwd=folder, text=True, capture_output=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


# Of "lost" a value of the tensor is 0.01 off, so what is 0.008 beside the middle may be on either side, but not 0.03.
@pytest.mark.parametrize(("kind", "last"), [("dynamic", 111), ("lost", 20)])
def test_what_float32_may_put_on_either_side_of_the_middle_of_two_integers_is_rounded_to_both(
    tools_python: Path, tmp_path: Path, kind: str, last: int
) -> None:
    found = emulated(tools_python, tmp_path, kind)
    assert found["fp32:out0"] == [0, 255, 111, 111, 111, last]
    assert found["fp32-up:out0"] == [0, 255, 112, 111, 111, last]
    assert found["fp32-down:out0"] == [0, 255, 111, 110, 111, last]


def test_an_emulation_that_cannot_be_computed_does_not_take_the_others_with_it(
    tools_python: Path, tmp_path: Path
) -> None:
    found = emulated(tools_python, tmp_path, "overflow")
    assert list(found.pop("missing")) == ["fp16"]
    assert list(found) == ["fp32:out0", "tf32:out0", "w16:out0", "wbf16:out0", "bf16:out0"]


@pytest.mark.parametrize(("kind", "integers"), [("nan", [0, 255, 0, 1, 2, 3]), ("constant", [0] * 6)])
def test_dynamic_quantisation_of_nan_and_of_zeros_is_that_of_onnxruntime(
    tools_python: Path, tmp_path: Path, kind: str, integers: list[int]
) -> None:
    assert emulated(tools_python, tmp_path, kind)["fp32:out0"] == integers


def test_a_file_without_such_integers_is_emulated_by_its_precisions_alone(tools_python: Path, tmp_path: Path) -> None:
    assert {name.split(":")[0] for name in emulated(tools_python, tmp_path, "static")} == {
        "fp32", "tf32", "w16", "fp16", "wbf16", "bf16",
    }  # fmt: skip


def test_inputs_are_rounded_where_results_are(tools_python: Path, tmp_path: Path) -> None:
    found = emulated(tools_python, tmp_path, "inputs")
    assert found["bf16:out0"] == [0.0] * 6
    assert found["fp16:out0"] == pytest.approx([3 / 1024] * 6), "3 steps of float16 above 1"
    for kept in ("fp32", "w16", "wbf16", "tf32"):
        assert found[f"{kept}:out0"] == pytest.approx([0.003] * 6, rel=1e-4), "only weights are rounded, or operands"


def test_sums_of_integers_are_exact_in_any_type(tools_python: Path, tmp_path: Path) -> None:
    found = emulated(tools_python, tmp_path, "integers")
    # 40 times 255 + 2 * 111 + 2 * 110, which is 27880 and is rounded as it is cast; in every other draw it is not
    draws = ["fp16-sums:out0", *(f"fp16-sums-{draw}:out0" for draw in range(1, 8))]
    assert found == {name: [27880.0 if draw % 2 else 27872.0] for draw, name in enumerate(draws)}


# A node that sums, and what adding its terms one by one in a type gives, each sum rounded.
SUMS = """
import json, sys
import numpy as np, onnx
from bench_plugin.adapters.onnx_tools.onnx_emulate import Adapter
from bench_plugin.agent.arrays import from_numpy, to_numpy
from bench_plugin.agent.contract import EmulateCall, Place
from onnx import helper as h

kind, precision = sys.argv[1:]
rng = np.random.default_rng(5)
half = lambda values: values.astype({"fp16": "float16", "fp32": "float32"}[precision]).astype("float64")
rows, terms, outputs = 24, 288, 40
a, w = half(rng.standard_normal((rows, terms))), half(rng.standard_normal((terms, outputs)) / 17 + 0.02)
many = half(rng.standard_normal((rows, outputs, terms)) + 0.1)  # of what sums its input alone
if kind.startswith("sorted"):  # their sums go a long way down, and up again
    kind, a, w = kind.split()[1], half(np.abs(a)), np.sort(w - 0.02, axis=0)
if kind.startswith("alike"):  # what their sums lose has one sign
    kind, level = kind.split()[1], rng.uniform(0.3, 0.4, (rows, outputs, 1))
    many = half(level + 0.003 * rng.standard_normal(many.shape))
weights, said, axes = None, {}, None
if kind in ("Gemm", "MatMul", "Einsum"):
    x, weights, shape = a, w.T if kind == "Gemm" else w, [1, outputs]
    said = {"Gemm": {"transB": 1}, "MatMul": {}, "Einsum": {"equation": "nk,ko->no"}}[kind]
elif kind == "Conv":  # 3 x 3 with 32 channels over an image of its own size
    x, weights, shape = a.reshape(rows, 32, 3, 3), w.T.reshape(outputs, 32, 3, 3), [1, outputs, 1, 1]
elif kind in ("GlobalAveragePool", "AveragePool"):
    x, shape = many.reshape(rows, outputs, 16, 18), [1, outputs, 1, 1]
    said = {"kernel_shape": [16, 18]} if kind == "AveragePool" else {}
elif kind == "InstanceNormalization":
    x, shape = many, [1, outputs, terms]
elif kind in ("Softmax", "LogSoftmax"):
    x, shape, said = many, [1, outputs, terms], {"axis": 2}
else:
    x, shape, axes, said = many, [1, outputs], np.array([2]), {"keepdims": 0}
given = many if weights is None else a[:, None, :] * w.T
if kind in ("Softmax", "LogSoftmax"):
    given = np.exp(many - many.max(2, keepdims=True))
if kind in ("ReduceL1", "ReduceL2", "ReduceSumSquare"):
    given = np.abs(many) if kind == "ReduceL1" else many**2
exact, summed = given.sum(2), np.zeros((rows, outputs))
ulp = {"fp16": 2.0**-10, "fp32": 2.0**-23}[precision]  # what roundings by chance would make of the sum
drawn = 0.2123 * ulp * np.sqrt(terms * (exact**2 / 3 + (given**2).sum(2) / 6))
for k in range(terms):
    summed = half(summed + given[:, :, k])
if kind in ("GlobalAveragePool", "AveragePool", "ReduceMean"):
    exact, summed = exact / terms, half(summed / terms)
if kind == "ReduceL2":
    exact, summed = np.sqrt(exact), half(np.sqrt(summed))
total = np.log(np.abs(summed))
if kind in ("Softmax", "LogSoftmax"):
    exact, summed = given / exact[:, :, None], half(given / summed[:, :, None])
if kind == "LogSoftmax":
    exact, summed = np.log(exact), half(np.log(given) - total[:, :, None])
if kind == "InstanceNormalization":
    exact = (given - given.mean(2, keepdims=True)) / np.sqrt(given.var(2, keepdims=True) + 1e-5)
    centred, squares = given - half(summed / terms)[:, :, None], np.zeros((rows, outputs))
    for k in range(terms):
        squares = half(squares + centred[:, :, k] ** 2)
    summed = centred / np.sqrt(half(squares / terms) + 1e-5)[:, :, None]
fixed = {name: values for name, values in (("w", weights), ("axes", axes)) if values is not None}
if kind == "InstanceNormalization":
    fixed = {"scale": np.ones(outputs), "bias": np.zeros(outputs)}
fixed = {name: values if name == "axes" else np.ascontiguousarray(values, "float32") for name, values in fixed.items()}
value = lambda name, dims: h.make_tensor_value_info(name, 1, ["n", *dims[1:]])
graph = h.make_graph([h.make_node(kind, ["x", *fixed], ["y"], **said)], "g", [value("x", x.shape)], [value("y", shape)],
                     [onnx.numpy_helper.from_array(values, name) for name, values in fixed.items()])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=8), "model.onnx")
arrays = {"in:x": from_numpy(np.ascontiguousarray(x, "float32"))}
place = Place(".", {"model.onnx": "model.onnx"}, arrays, lambda stage: None)
reply = Adapter().emulate(EmulateCall(samples=rows, batched=True, sums=precision).at(place))
found = {name: to_numpy(values).reshape(exact.shape) for name, values in reply.arrays.items()}
spread = lambda values: float(np.sqrt(((values - exact) ** 2).mean()))
chance = float(np.sqrt((drawn**2).mean()))
said = {"real": spread(summed), "chance": chance}
print(json.dumps({**said, **{name: spread(values) for name, values in found.items()}}))
"""


def summed_one_by_one(tools_python: Path, folder: Path, kind: str, precision: str) -> dict[str, float]:
    """How far sums are off: real ones, what chance would make of a plain sum, and those that are emulated."""
    done = subprocess.run(
        [str(tools_python), "-c", SUMS, kind, precision], cwd=folder, text=True, capture_output=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_terms_that_are_alike_lose_seven_times_what_chance_would(tools_python: Path, tmp_path: Path) -> None:
    alike = summed_one_by_one(tools_python, tmp_path, "alike ReduceSum", "fp16")
    assert 7 < alike["real"] / alike["chance"] < 8
    others = summed_one_by_one(tools_python, tmp_path, "ReduceSum", "fp16")
    assert others["real"] == pytest.approx(others["chance"], rel=0.1)


@pytest.mark.parametrize("precision", ["fp16", "fp32"])
@pytest.mark.parametrize(
    "kind",
    [
        "Gemm",
        "MatMul",
        "sorted Gemm",
        "sorted MatMul",
        "Conv",
        "Einsum",
        "ReduceSum",
        "ReduceMean",
        "GlobalAveragePool",
        "AveragePool",
        "ReduceL1",
        "ReduceL2",
        "ReduceSumSquare",
        "Softmax",
        "LogSoftmax",
        "InstanceNormalization",
        "alike ReduceSum",
        "alike ReduceL1",
        "alike ReduceL2",
        "alike ReduceMean",
        "alike GlobalAveragePool",
        "alike AveragePool",
        "alike Softmax",
        "alike LogSoftmax",
    ],
)
def test_sums_one_by_one_are_as_far_off_as_real_ones(
    tools_python: Path, tmp_path: Path, kind: str, precision: str
) -> None:
    found = summed_one_by_one(tools_python, tmp_path, kind, precision)
    assert set(found) == {"real", "chance", f"{precision}-sums:out0"}
    near = 0.25 if kind == "InstanceNormalization" else 0.15  # its means and variances are rounded themselves, too
    assert found[f"{precision}-sums:out0"] == pytest.approx(found["real"], rel=near)
