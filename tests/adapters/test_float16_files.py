"""Files that compute in float16 throughout, in tools that hold no float16."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.adapters.real import answered, written

SQUARE = """
<ir_version: 8, opset_import: ["": 17]> g (float16[1,2] x) => (float16[1,2] y) { y = Mul(x, x) }
"""
POOL = """
<ir_version: 8, opset_import: ["": 17]> g (float16[1,1,2,2] x) => (float16[1,1,1,1] y)
{ y = GlobalAveragePool(x) }
"""


def test_mnn_computes_float16_in_float32(tmp_path: Path) -> None:
    model, x = written(SQUARE, tmp_path / "model.onnx"), np.array([[0.1, 3]], np.float16)
    answer = answered("mnn", model, {"x": x}, [("y", "float16", (1, 2))], tmp_path)
    assert answer.compile["notes"] == ["MNN computes float16 in float32"], answer.error
    assert answer.outputs["out0"][2] == (x.astype(np.float32) ** 2).tolist()


def test_ncnn_says_of_which_type_a_layer_is_missing(tmp_path: Path) -> None:
    model = written(POOL, tmp_path / "model.onnx")
    x = np.ones((1, 1, 2, 2), np.float16)
    answer = answered("ncnn", model, {"x": x}, [("y", "float16", (1, 1, 1, 1))], tmp_path)
    refused = "pnnx left GlobalAveragePool of float16 in the graph, and ncnn has no layer of that name"
    assert answer.error.endswith(refused) and answer.symptom == "unsupported"
