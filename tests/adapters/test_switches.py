"""Switches that trade accuracy for speed are exact, as the tools themselves say, and rows hold them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.adapters.real import answered, written

MODEL = """
<ir_version: 8, opset_import: ["": 17]> g (float[2,3] x) => (float[2,2] y)
<float[3,2] w = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}> { y = MatMul(x, w) }
"""
EXACT = {
    "onnxruntime": {
        "session.qdq_matmulnbits_accuracy_level": "0",
        "mlas.qnbit.force_fp32": "1",
    },
    "openvino": {
        "INFERENCE_PRECISION_HINT": "f32",
        "EXECUTION_MODE_HINT": "ACCURACY",
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0,
        "KEY_CACHE_PRECISION": "f32",
        "VALUE_CACHE_PRECISION": "f32",
    },
    "iree": {
        "iree-llvmcpu-skip-intermediate-roundings": "false",
        "iree-llvmcpu-reassociate-fp-reductions": "false",
        "iree-llvmcpu-use-fast-min-max-ops": "false",
        "iree-opt-numeric-precision-reduction": "false",
    },
    "ncnn": {
        "use_fp16_packed": False,
        "use_fp16_storage": False,
        "use_fp16_arithmetic": False,
        "use_bf16_storage": False,
        "use_winograd_convolution": True,
        "use_sgemm_convolution": True,
        "use_packing_layout": True,
    },
    "mnn": {"precision": "high", "memory": "normal"},
    "emx": {"fp32_accumulation_strategy": "simple", "replicate_ort_bugs": False},
}


@pytest.mark.parametrize("adapter", EXACT)
def test_what_a_tool_says_of_its_switches_is_exact(tmp_path: Path, adapter: str) -> None:
    model = written(MODEL, tmp_path / "model.onnx")
    answer = answered(adapter, model, {"x": np.ones((2, 3), np.float32)}, [("y", "float32", (2, 2))], tmp_path / "made")
    assert answer.outputs["out0"][2] == [[9.0, 12.0], [9.0, 12.0]], answer.error
    said = answer.compile["switches"]
    assert {name: said.get(name, "is missing") for name in EXACT[adapter]} == EXACT[adapter]
    assert answer.compile.get("placement", {}).get("threads") == (1 if adapter in ("emx", "tract") else None)


def test_tvm_is_told_not_to_use_fast_arithmetic(tmp_path: Path) -> None:
    model = written(MODEL, tmp_path / "model.onnx")
    answer = answered("tvm", model, {"x": np.ones((2, 3), np.float32)}, [("y", "float32", (2, 2))], tmp_path / "made")
    assert answer.outputs["out0"][2] == [[9.0, 12.0], [9.0, 12.0]], answer.error
    target = answer.compile["switches"]["target"]
    assert all(f'"fast-math{name}":false' in target for name in ("", "-contract", "-reassoc", "-nnan"))
    assert answer.compile["placement"]["integer_share"] == 0.0


# Weights of 8 bits in front of a product: onnxruntime makes MatMulNBits of it, which rounds activations to int8 unless
# it is told not to.
WEIGHT_ONLY = """
<ir_version: 10, opset_import: ["": 21]> g (float[1,32] x) => (float[1,16] y)
<int8[32,16] w = {%s}, float[2,16] s = {%s}, int8[2,16] z = {%s}> {
    d = DequantizeLinear<axis = 0, block_size = 16>(w, s, z) y = MatMul(x, d)
}
"""


def test_activations_are_not_rounded_where_only_weights_are_quantised(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    w, s = rng.integers(-128, 128, (32, 16)), (rng.random((2, 16)) + 0.5).astype(np.float32)
    text = WEIGHT_ONLY % (
        ", ".join(map(str, w.reshape(-1))),
        ", ".join(map(str, s.reshape(-1).tolist())),
        ", ".join(["0"] * 32),
    )
    x = rng.standard_normal((1, 32)).astype(np.float32)
    exact = x.astype(np.float64) @ (w * np.repeat(s.astype(np.float64), 16, axis=0))
    model = written(text, tmp_path / "model.onnx")
    answer = answered("onnxruntime", model, {"x": x}, [("y", "float32", (1, 16))], tmp_path / "made")
    assert answer.outputs, answer.error
    assert np.abs(np.array(answer.outputs["out0"][2]) - exact).max() < 1e-5 * np.abs(exact).max()


# The same without zero points, and with a scale for each channel: session.x64quantprecision would make it unusable.
WITHOUT_ZERO_POINTS = """
<ir_version: 10, opset_import: ["": 21]> g (float[1,2] x) => (float[1,2] y)
<int8[2,2] w = {100, 2, 3, 4}, float[2] s = {1.0, 10.0}> { d = DequantizeLinear<axis = 1>(w, s) y = MatMul(x, d) }
"""


def test_weight_only_files_run_without_the_switch_against_saturation(tmp_path: Path) -> None:
    model, x = written(WITHOUT_ZERO_POINTS, tmp_path / "model.onnx"), np.ones((1, 2), np.float32)
    ports = [("y", "float32", (1, 2))]
    how = {"precision": "w8", "graph": "weights"}
    answer = answered("onnxruntime", model, {"x": x}, ports, tmp_path / "made", **how)
    assert answer.outputs["out0"][2] == [[103.0, 60.0]], answer.error
    assert "session.x64quantprecision" not in answer.compile["switches"]
    assert answer.compile["placement"]["carriers"] == {"int8": 1} and answer.compile["placement"]["emulated"] == "no"


def test_quantised_files_have_the_switch_against_saturation(tmp_path: Path) -> None:
    model, x = written(MODEL, tmp_path / "model.onnx"), np.ones((2, 3), np.float32)
    ports = [("y", "float32", (2, 2))]
    how = {"precision": "w8a8", "graph": "qdq"}
    answer = answered("onnxruntime", model, {"x": x}, ports, tmp_path / "made", **how)
    assert answer.compile["switches"]["session.x64quantprecision"] == "1", answer.error


# Two layers of one weight that is far from zero: session.x64quantprecision makes a second one of it for each
# layer by one name, no session comes about.
SHARED = """
<ir_version: 8, opset_import: ["": 13]> g (float[1,2] x) => (float[1,2] y)
<float s = {0.5}, uint8 z = {128}, int8[2,2] w = {1, 2, 3, -120}, float ws = {0.01}, int8 wz = {0}> {
    v = DequantizeLinear(w, ws, wz)
    a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) c = MatMul(b, v)
    d = QuantizeLinear(c, s, z) e = DequantizeLinear(d, s, z) f = MatMul(e, v)
    h = QuantizeLinear(f, s, z) y = DequantizeLinear(h, s, z)
}
"""


# A constant first factor with a zero point for each row: with session.x64quantprecision the session comes about and
# does not run.
FIRST_FACTOR = """
<ir_version: 8, opset_import: ["": 13]> g (float[1,2,3] x) => (float[1,2,3] y)
<float s = {0.5}, uint8 z = {128}, int8[1,2,2] w = {1, 2, 3, -128}, float[2] ws = {0.5, 1.0}, int8[2] wz = {0, 0}> {
    v = DequantizeLinear<axis = 1>(w, ws, wz)
    a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) c = MatMul(v, b)
    h = QuantizeLinear(c, s, z) y = DequantizeLinear(h, s, z)
}
"""


def test_a_constant_first_factor_runs_without_the_switch_that_fails_on_it(tmp_path: Path) -> None:
    model, x = written(FIRST_FACTOR, tmp_path / "model.onnx"), np.array([[[1, 2, 3], [0, -1, 0]]], np.float32)
    how = {"precision": "w8a8", "graph": "qdq"}
    answer = answered("onnxruntime", model, {"x": x}, [("y", "float32", (1, 2, 3))], tmp_path / "made", **how)
    assert answer.outputs["out0"][2] == [[[0.5, 0.0, 1.5], [3.0, 63.5, 9.0]]], answer.error
    assert "session.x64quantprecision" not in answer.compile["switches"]


# Zeros of the size 1 are no input of this file, with the switch and without it.
OF_TWO_ROWS = """
<ir_version: 8, opset_import: ["": 13]> g (float[N,2] x) => (float[M,2] y)
<int64[2] two = {2, 2}, float s = {0.5}, uint8 z = {128}, int8[2,2] w = {1, 2, 3, -128}, float ws = {0.5},
 int8 wz = {0}> {
    r = Reshape(x, two)
    v = DequantizeLinear(w, ws, wz) a = QuantizeLinear(r, s, z) b = DequantizeLinear(a, s, z) c = MatMul(b, v)
    h = QuantizeLinear(c, s, z) y = DequantizeLinear(h, s, z)
}
"""


def test_a_file_that_takes_no_zeros_keeps_the_switch_against_saturation(tmp_path: Path) -> None:
    model, x = written(OF_TWO_ROWS, tmp_path / "model.onnx"), np.eye(2, dtype=np.float32)
    how = {"precision": "w8a8", "graph": "qdq"}
    answer = answered("onnxruntime", model, {"x": x}, [("y", "float32", (2, 2))], tmp_path / "made", **how)
    assert answer.outputs["out0"][2] == [[0.5, 1.0], [1.5, -64.0]], answer.error
    assert answer.compile["switches"]["session.x64quantprecision"] == "1"


def test_a_weight_of_two_layers_runs_without_the_switch_that_fails_on_it(tmp_path: Path) -> None:
    model, x = written(SHARED, tmp_path / "model.onnx"), np.full((1, 2), 10, np.float32)
    how = {"precision": "w8a8", "graph": "qdq"}
    answer = answered("onnxruntime", model, {"x": x}, [("y", "float32", (1, 2))], tmp_path / "made", **how)
    assert answer.outputs["out0"][2] == [[-0.5, 14.5]], answer.error
    assert "session.x64quantprecision" not in answer.compile["switches"]
    assert answer.compile["switches"]["session.set_denormal_as_zero"] == "0"
