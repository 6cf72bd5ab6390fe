"""The float64 evaluator's own operators do what ONNX Runtime's do."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("call", ["compare_operators.py", "compare_operators.py 40", "compare_recurrent.py"])
def test_operators_agree_with_onnx_runtime(call: str) -> None:
    name, *block = call.split()  # of a convolution's columns, so many elements at once
    script = Path(__file__).with_name(name)
    command = [str(Toolchains().ensure("onnxruntime")), str(script), *block]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " compared, 0 differ" in done.stdout


def test_no_operator_rounds_to_float32() -> None:
    script = Path(__file__).with_name("compare_widths.py")
    command = [str(Toolchains().ensure("onnxruntime")), str(script)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " operators, 0 wrong, [] missing" in done.stdout


ZEROS = r"""
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np, onnx
from onnx import helper as h
from bench_plugin.adapters.onnx_tools import onnx_float64
from bench_plugin.agent.arrays import from_numpy, to_numpy
from bench_plugin.agent.contract import EvaluateCall, Place

nodes = [h.make_node("Shape", ["x"], ["s"]), h.make_node("ConstantOfShape", ["s"], ["zeros"]),
         h.make_node("Add", ["x", "zeros"], ["y"])]
value = lambda name: h.make_tensor_value_info(name, 1, ["n", 3])
graph = h.make_graph(nodes, "g", [value("x")], [value("y")])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[2])
x = np.arange(6, dtype="float32").reshape(2, 3)
place = Place("", {"model.onnx": sys.argv[2]}, {"in:x": from_numpy(x)}, lambda stage: None)
call = EvaluateCall(batched=True, ragged=False, perturb=None, samples=2).at(place)
y = to_numpy(onnx_float64.Adapter().evaluate(call).arrays["out0"])
print(y.dtype, (y == x).all())
"""


def test_zeros_of_a_shape_are_of_float64_too_where_their_type_is_the_default(tmp_path: Path) -> None:
    command = [str(Toolchains().ensure("onnxruntime")), "-c", ZEROS, str(ROOT), str(tmp_path / "zeros.onnx")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout == "float64 True\n", done.stderr


SINGLE = r"""
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np, onnx
from onnx import helper as h
from bench_plugin.adapters.onnx_tools import onnx_float64
from bench_plugin.agent.arrays import from_numpy
from bench_plugin.agent.contract import EvaluateCall, Place

nodes = [h.make_node("LabelEncoder", ["x"], ["single"], domain="ai.onnx.ml", keys_floats=[1.0], values_floats=[0.1]),
         h.make_node("Cast", ["single"], ["y"], to=11)]
value = lambda name, kind: h.make_tensor_value_info(name, kind, ["n", 3])
graph = h.make_graph(nodes, "g", [value("x", 1)], [value("y", 11)])
opsets = [h.make_opsetid("", 17), h.make_opsetid("ai.onnx.ml", 3)]
onnx.save(h.make_model(graph, opset_imports=opsets, ir_version=8), sys.argv[2])
place = Place("", {"model.onnx": sys.argv[2]}, {"in:x": from_numpy(np.ones((2, 3), "float32"))}, lambda stage: None)
onnx_float64.Adapter().evaluate(EvaluateCall(batched=True, samples=2).at(place))
"""


def test_a_result_that_is_still_float32_is_refused_also_between_the_layers(tmp_path: Path) -> None:
    command = [str(Toolchains().ensure("onnxruntime")), "-c", SINGLE, str(ROOT), str(tmp_path / "single.onnx")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert "1 results are still float32 after promotion, the first is 'single'" in done.stderr, done.stdout


ZERO_POINTS = r"""
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np, onnx, onnx.reference
from onnx import helper as h
from bench_plugin.adapters.onnx_tools import onnx_operators

def result(operator, given):
    arrays = {name: np.array(value, "uint8") for name, value in given.items()}
    values = [h.make_tensor_value_info(name, 2, array.shape) for name, array in arrays.items()]
    node = h.make_node(operator, [name if name in arrays else "" for name in ("a", "b", "za", "zb")], ["y"])
    graph = h.make_graph([node], "g", values, [h.make_tensor_value_info("y", 6, None)])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 10)], ir_version=8)
    evaluator = onnx.reference.ReferenceEvaluator(model, new_ops=onnx_operators.fast_operators(onnx))
    return evaluator.run(None, arrays)[0].tolist()

print(result("MatMulInteger", {"a": [[1, 2, 3], [4, 5, 6]], "b": [[1, 0], [0, 1], [1, 1]], "za": [1, 4]}))
print(result("ConvInteger", {"a": [[[1, 2, 3]]], "b": [[[1, 3]], [[2, 5]]], "za": 1, "zb": [1, 2]}))
"""


def test_each_row_and_each_channel_has_its_zero_point() -> None:
    command = [str(Toolchains().ensure("onnxruntime")), "-c", ZERO_POINTS, str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    rows = "[[2, 3], [2, 3]]"  # of [[0, 1, 2], [0, 1, 2]]
    channels = "[[[2, 4], [3, 6]]]"  # [0, 1, 2] with the kernels [0, 2] and [0, 3]
    assert done.stdout == f"{rows}\n{channels}\n", done.stderr


WEIGHTS = r"""
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np, onnx
from onnx import helper as h
from bench_plugin.adapters.onnx_tools import onnx_float64, onnx_operators
from bench_plugin.agent.arrays import from_numpy, to_numpy
from bench_plugin.agent.contract import EvaluateCall, Place

rng = np.random.default_rng(0)
weights = {"w": rng.integers(-127, 128, (3, 4)).astype("int8"), "s": rng.random(4).astype("float32"),
           "z": rng.integers(-9, 9, 4).astype("int8"), "one": np.float32(0.5), "none": np.int8(1)}
nodes = [h.make_node("DequantizeLinear", ["w", "s", "z"], ["real"], axis=1),
         h.make_node("MatMul", ["x", "real"], ["p"]), h.make_node("QuantizeLinear", ["p", "one", "none"], ["q"]),
         h.make_node("DequantizeLinear", ["q", "one", "none"], ["y"])]
value = lambda name, size: h.make_tensor_value_info(name, 1, ["n", size])
graph = h.make_graph(nodes, "g", [value("x", 3)], [value("y", 4)],
                     [onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items()])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[2])
counted = []
def counting(onnx):
    found = fast(onnx)
    for one in found:
        if one.__name__ == "DequantizeLinear":
            one.plain = one._run
            one._run = lambda self, *given, **options: counted.append(1) or self.plain(*given, **options)
    return found
fast, onnx_operators.fast_operators = onnx_operators.fast_operators, counting
x = rng.standard_normal((5, 3)).astype("float32")
place = Place("", {"model.onnx": sys.argv[2]}, {"in:x": from_numpy(x[:, None])}, lambda stage: None)
y = to_numpy(onnx_float64.Adapter().evaluate(EvaluateCall(batched=False).at(place)).arrays["out0"])[:, 0]
real = (weights["w"].astype("f8") - weights["z"]) * weights["s"].astype("f8")
p = x.astype("f8") @ real
print(np.array_equal(y, (np.clip(np.rint(p / 0.5) + 1, -128, 127) - 1) * 0.5), len(counted))
"""


def test_stored_weights_are_dequantised_once_and_activations_for_every_sample(tmp_path: Path) -> None:
    command = [str(Toolchains().ensure("onnxruntime")), "-c", WEIGHTS, str(ROOT), str(tmp_path / "weights.onnx")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout == "True 6\n", done.stdout + done.stderr
