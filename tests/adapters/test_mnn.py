"""MNN: what it is asked to do with weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.adapters.real import answered, written

# The weights lie between two numbers of float16.
MODEL = """
<ir_version: 8, opset_import: ["": 17]> g (float[1,2] x) => (float[1,1] y) <float[2,1] w = {0.1000366, 0.1000366}>
{ y = MatMul(x, w) }
"""


@pytest.mark.parametrize(("graph", "asked"), [("original", True), ("w16", False)])
def test_weights_that_come_rounded_are_not_rounded_again(tmp_path: Path, graph: str, asked: bool) -> None:
    model = written(MODEL, tmp_path / "model.onnx")
    x = np.ones((1, 2), np.float32)
    answer = answered("mnn", model, {"x": x}, [("y", "float32", (1, 1))], tmp_path, precision="w16", graph=graph)
    assert ("--fp16" in answer.compile["switches"]["converter"]) is asked, answer.error
    off = abs(answer.outputs["out0"][2][0][0] - 2 * 0.1000366)
    assert (off > 1e-5) == asked
