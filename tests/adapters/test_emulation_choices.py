"""Emulated sums of files that choose between nearly equal numbers: what one draw leaves as it is changes in another."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.docs.fences import ROOT

SCRIPT = """
import json, sys
import numpy as np, onnx
from bench_plugin.adapters.onnx_tools.onnx_emulate import Adapter
from bench_plugin.adapters.onnx_tools.onnx_choices import chooses
from bench_plugin.agent.arrays import from_numpy, to_numpy
from bench_plugin.agent.contract import EmulateCall, Place

text = "<ir_version: 8, opset_import: ['': 17]> g (float[4, 64] x) => " + sys.argv[1]
text = text.replace("'", chr(34))
model = onnx.parser.parse_model(text)
generator = np.random.default_rng(0)
w = generator.standard_normal((64, 40)).astype("float32")
w[:, 1:] = w[:, :1] + 1e-3 * w[:, 1:]  # the products are nearly equal
model.graph.initializer.append(onnx.numpy_helper.from_array(w, "w"))
onnx.checker.check_model(model)
onnx.save(model, "model.onnx")
place = Place(".", {"model.onnx": "model.onnx"}, {"in:x": from_numpy(generator.random((4, 64), "float32"))},
              lambda stage: None)
reply = Adapter().emulate(EmulateCall(samples=4, batched=True, sums="fp16").at(place))
found = {name: to_numpy(values).ravel().tolist() for name, values in reply.arrays.items()}
print(json.dumps({"chooses": chooses(onnx, model), "found": found}))
"""
PRODUCT = "m = MatMul(x, w)"


def emulated(python: Path, folder: Path, graph: str) -> dict[str, Any]:
    done = subprocess.run(
        [str(python), "-c", SCRIPT, graph], cwd=folder, text=True, capture_output=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_the_draws_choose_other_elements(tools_python: Path, tmp_path: Path) -> None:
    graph = f"(int64[4] y) {{ {PRODUCT} y = ArgMin<axis = 1, keepdims = 0>(m) }}"
    found = emulated(tools_python, tmp_path, graph)["found"]
    assert list(found) == ["fp16-sums:out0", *(f"fp16-sums-{draw}:out0" for draw in range(1, 8))]
    assert len({tuple(values) for values in found.values()}) > 4


@pytest.mark.parametrize(
    "body",
    [
        "(float[4, 40] y) { MATMUL r = Round(m) y = Mul(r, m) }",
        "(float[4, 40] y) { MATMUL z = Constant<value_float = 0.0>() b = Greater(m, z) y = Where(b, m, z) }",
        "(int64[4, 40] y) { MATMUL y = Cast<to = 7>(m) }",
        "(float[4, 1] y, int64[4, 1] i) { MATMUL k = Constant<value_ints = [1]>() y, i = TopK(m, k) }",
    ],
)
def test_what_depends_by_leaps_on_its_numbers_chooses(tools_python: Path, tmp_path: Path, body: str) -> None:
    found = emulated(tools_python, tmp_path, body.replace("MATMUL", PRODUCT))
    assert found["chooses"] and len(found["found"]) in (8, 16)


@pytest.mark.parametrize(
    "body",
    [
        "(float[4, 40] y) { MATMUL y = Relu(m) }",
        "(float[4, 40] y) { s = Shape(x) e = Constant<value_ints = [0, 0]>() b = Greater(s, e) c = Cast<to = 1>(b) "
        "r = ReduceMax<keepdims = 0>(c) MATMUL y = Mul(m, r) }",  # sizes, no numbers
        "(float[4, 40] y) { f = Floor(w) y = MatMul(x, f) }",  # a constant
        "(float[4, 40] y) { MATMUL a = Abs(m) y = Sqrt(a) }",
    ],
)
def test_one_draw_is_enough_for_what_changes_smoothly(tools_python: Path, tmp_path: Path, body: str) -> None:
    found = emulated(tools_python, tmp_path, body.replace("MATMUL", PRODUCT))
    assert not found["chooses"] and list(found["found"]) == ["fp16-sums:out0"]
