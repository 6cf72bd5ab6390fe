"""How many contractions ran in integers, as onnxruntime's own graph says."""

from __future__ import annotations

from pathlib import Path

import numpy as np

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
