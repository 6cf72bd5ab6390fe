"""How many contractions ran in integers, as the graphs of onnxruntime and OpenVINO say, and those that these hide."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.adapters.real import answered, written

# One product between quantisations, and one that has none.
HALF = """
<ir_version: 8, opset_import: ["": 17]> g (float[8,64] x) => (float[8,64] y)
<int8[64,64] w = {%s}, float s = {0.05}, uint8 z = {128}, int8 n = {0}, float[64,64] v = {%s}> {
    q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) e = DequantizeLinear(w, s, n) m = MatMul(d, e)
    r = QuantizeLinear(m, s, z) t = DequantizeLinear(r, s, z) y = MatMul(t, v)
}
"""


def test_half_of_the_products_are_of_integers(tmp_path: Path) -> None:
    text = HALF % (", ".join(str(n % 7 - 3) for n in range(4096)), ", ".join(str(n % 5 / 8) for n in range(4096)))
    model = written(text, tmp_path / "model.onnx")
    x = np.linspace(-1, 1, 512, dtype=np.float32).reshape(8, 64)
    outputs = [("y", "float32", (8, 64))]
    answer = answered("onnxruntime", model, {"x": x}, outputs, tmp_path / "made", precision="w8a8", graph="qdq")
    placement = answer.compile.get("placement", {})
    assert (placement.get("integer_share"), answer.compile.get("integer")) == (0.5, "partly"), (answer.error, placement)
    assert {part: sum(found.values()) for part, found in placement["contractions"].items()} == {
        "integer": 1,
        "float": 1,
    }


# A product between quantisations, and two in the branches of an If, which stay in floating point.
BRANCHES = """
<ir_version: 8, opset_import: ["": 17]> g (float[8,64] x, bool c) => (float[8,64] y)
<int8[64,64] w = {%s}, float s = {0.05}, uint8 z = {128}, int8 n = {0}, float[64,64] v = {%s}> {
    q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) e = DequantizeLinear(w, s, n) m = MatMul(d, e)
    r = QuantizeLinear(m, s, z) t = DequantizeLinear(r, s, z)
    y = If (c) <then_branch = a () => (float[8,64] o) { o = MatMul(t, v) },
                else_branch = b () => (float[8,64] p) { i = MatMul(t, v) p = Tanh(i) }>
}
"""
# Two products of an attention, which OpenVINO computes with the softmax between them in one layer.
ATTENTION = """
<ir_version: 8, opset_import: ["": 17]> g (float[1,2,8,16] q, float[1,2,16,8] k, float[1,2,8,16] v)
    => (float[1,2,8,16] y) { m = MatMul(q, k) s = Softmax <axis = -1> (m) y = MatMul(s, v) }
"""


@pytest.mark.parametrize("compiler", ["onnxruntime", "openvino"])
def test_products_in_branches_count(tmp_path: Path, compiler: str) -> None:
    text = BRANCHES % (", ".join(str(n % 7 - 3) for n in range(4096)), ", ".join(str(n % 5 / 8) for n in range(4096)))
    model = written(text, tmp_path / "model.onnx")
    given = {"x": np.linspace(-1, 1, 512, dtype=np.float32).reshape(8, 64), "c": np.array(True)}
    outputs = [("y", "float32", (8, 64))]
    answer = answered(compiler, model, given, outputs, tmp_path / "made", precision="w8a8", graph="qdq")
    counts = answer.compile.get("placement", {}).get("contractions", {})
    assert {part: sum(found.values()) for part, found in counts.items()} == {"integer": 1, "float": 2}, answer.error
    assert answer.compile["integer"] == "partly"


def test_products_in_a_larger_layer_count(tmp_path: Path) -> None:
    model = written(ATTENTION, tmp_path / "model.onnx")
    rng = np.random.default_rng(3)
    shapes = {"q": (1, 2, 8, 16), "k": (1, 2, 16, 8), "v": (1, 2, 8, 16)}
    given = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    answer = answered("openvino", model, given, [("y", "float32", (1, 2, 8, 16))], tmp_path / "made")
    counts = answer.compile.get("placement", {}).get("contractions", {})
    assert sum(counts["float"].values()) == 2 and not counts["integer"], (answer.error, counts)


# Activations of 16 bits, which OpenVINO holds in float32, and weights of 8, which it widens in the kernel.
WIDE = """
<ir_version: 10, opset_import: ["": 21]> g (float[8,64] x) => (float[8,64] y)
<int8[64,64] w = {%s}, float s = {0.001}, uint16 z = {32768}, int8 n = {0}, float t = {0.05}> {
    q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) e = DequantizeLinear(w, t, n) y = MatMul(d, e)
}
"""


def test_weights_of_integers_make_no_product_of_integers(tmp_path: Path) -> None:
    model = written(WIDE % ", ".join(str(n % 7 - 3) for n in range(4096)), tmp_path / "model.onnx")
    x = np.linspace(-1, 1, 512, dtype=np.float32).reshape(8, 64)
    outputs = [("y", "float32", (8, 64))]
    answer = answered("openvino", model, {"x": x}, outputs, tmp_path / "made", precision="w8a8", graph="qdq")
    placement = answer.compile.get("placement", {})
    assert placement.get("integer_share") == 0, (answer.error, placement)
    assert answer.compile["integer"] == "simulated"
