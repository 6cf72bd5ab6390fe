"""How many contractions ran in integers, as onnxruntime's and OpenVINO's own graphs say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.adapters.real import answered, written

# One product between quantisations, and one that has none.
HALF = """
<ir_version: 8, opset_import: ["": 17]> g (float[1,4] x) => (float[1,2] y)
<int8[4,4] w = {%s}, float s = {0.05}, uint8 z = {128}, int8 n = {0}, float[4,2] v = {%s}> {
    q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) e = DequantizeLinear(w, s, n) m = MatMul(d, e)
    r = QuantizeLinear(m, s, z) t = DequantizeLinear(r, s, z) y = MatMul(t, v)
}
"""


@pytest.mark.parametrize("adapter", ["onnxruntime", "openvino"])
def test_half_of_the_products_are_of_integers(tmp_path: Path, adapter: str) -> None:
    text = HALF % (", ".join(str(n % 7 - 3) for n in range(16)), ", ".join(str(n / 8) for n in range(8)))
    model = written(text, tmp_path / "model.onnx")
    x = np.linspace(-1, 1, 4, dtype=np.float32).reshape(1, 4)
    outputs = [("y", "float32", (1, 2))]
    answer = answered(adapter, model, {"x": x}, outputs, tmp_path / "made", precision="w8a8", graph="qdq")
    placement = answer.compile["placement"]
    assert (placement["integer_share"], answer.compile["integer"]) == (0.5, "partly"), (answer.error, placement)
    assert {part: sum(found.values()) for part, found in placement["contractions"].items()} == {
        "integer": 1,
        "float": 1,
    }
