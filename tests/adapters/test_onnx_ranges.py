"""The ranges of integers that a file is given: the size of the table that they index, 0 and 1 for a mask."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.docs.fences import ROOT

SCRIPT = """
import json, sys
import onnx
from bench_plugin.adapters.onnx_tools.onnx_ranges import of_integers, of_masks

model = onnx.parser.parse_model(sys.argv[1])
find = of_masks if model.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT else of_integers
print(json.dumps(find(onnx, model, {value.name for value in model.graph.input})))
"""
HEAD = '<ir_version: 8, opset_import: ["": 17]> g (int64[2] i) => (float[2] y) <float one = {1.0}, float two = {2.0}'
TWO = HEAD.replace("int64[2] i", "int64[2] i, int64[2] j")
FLOAT = HEAD.replace("int64", "float") + ", float far = {-10000.0}"


@pytest.mark.parametrize(
    ("body", "ranges"),
    [
        (HEAD + "> { f = Cast<to = 1>(i) y = Sub(one, f) }", {"i": {"high": 2}}),
        (HEAD + "> { o = Constant<value = float {1.0}>() f = Cast<to = 1>(i) y = Sub(o, f) }", {"i": {"high": 2}}),
        (HEAD + "> { b = Cast<to = 9>(i) y = Cast<to = 1>(b) }", {"i": {"high": 2}}),
        (HEAD + "> { f = Cast<to = 1>(i) y = Sub(two, f) }", {}),
        (HEAD + "> { f = Cast<to = 1>(i) y = Sub(f, one) }", {}),
        (HEAD + ", float[5] t = {1, 2, 3, 4, 5}> { g = Gather(t, i) f = Cast<to = 1>(i) s = Sub(one, f) "
         "y = Add(g, s) }",
         {"i": {"high": 5}}),
        (HEAD + ", float[5] t = {1, 2, 3, 4, 5}, float[3] u = {1, 2, 3}, int64 k = {1}> { c = Gather(i, k) "
         "d = Gather(u, c) e = Gather(t, i) y = Add(d, e) }",
         {"i": {"high": 3}}),
        (HEAD + ", float[9] t = {1, 2, 3, 4, 5, 6, 7, 8, 9}, int64[2] o = {0, 5}> { a = Add(i, o) y = Gather(t, a) }",
         {"i": {"high": 4}}),
        (TWO + ", float[7] t = {1, 2, 3, 4, 5, 6, 7}> { c = Concat<axis = 0>(i, j) y = Gather(t, c) }",
         {"i": {"high": 7}, "j": {"high": 7}}),
        (TWO + ", float[7] t = {1, 2, 3, 4, 5, 6, 7}, bool[2] b = {1, 0}> { c = Where(b, i, j) y = Gather(t, c) }",
         {"i": {"high": 7}, "j": {"high": 7}}),
        (HEAD + ", float[3] t = {1, 2, 3}, int64[2] o = {0, 5}> { a = Add(o, i) y = Gather(t, a) }", {}),
        (FLOAT + "> { s = Sub(one, i) y = Mul(s, far) }", {"i": {"high": 2}}),
        (FLOAT + "> { u = Identity(i) s = Sub(one, u) v = Identity(s) y = Mul(far, v) }", {"i": {"high": 2}}),
        (FLOAT + "> { s = Sub(one, i) y = Mul(s, two) }", {}),
        (FLOAT + "> { s = Sub(two, i) y = Mul(s, far) }", {}),
        (FLOAT + "> { s = Sub(one, i) y = Mul(s, s) }", {}),
    ],
)  # fmt: skip
def test_a_mask_is_0_or_1_unless_it_indexes_a_table(
    tools_python: Path, body: str, ranges: dict[str, dict[str, int]]
) -> None:
    done = subprocess.run(
        [str(tools_python), "-c", SCRIPT, body], text=True, capture_output=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ranges
