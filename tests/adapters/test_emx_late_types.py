"""What C compilers say of types that they lack is one refusal, whatever line of the message has the type's name."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_plugin.adapters.compilers.emx import LATE_TYPE
from tests.adapters.real import answered, written

SEQUENCE = """
<ir_version: 8, opset_import: ["": 17]> g (seq(float[2]) s) => (int64 n) { n = SequenceLength(s) }
"""

UNKNOWN = """model.c:12:15: error: unknown type name '_BitInt'
   12 | static inline _BitInt(4) half(void) {
"""
BEFORE_CONSTANT = """model.c: In function 'node_1':
model.c:51:22: error: expected declaration specifiers or '...' before numeric constant
   51 | static const _BitInt(4) w[2] = {
      |                      ^
"""
AMONG_OTHERS = """model.c:59:43: error: expected declaration specifiers or '...' before numeric constant
   59 | void model(const _Float16 x[restrict 7], const _BitInt(2) w[restrict 7], _Float16 y[restrict 7]) {
"""
OTHER = """model.c:51:22: error: expected ';' before numeric constant
   51 | int x 4
model.c:60:1: warning: _BitInt is new
"""


@pytest.mark.parametrize(
    ("said", "type_"), [(UNKNOWN, "_BitInt"), (BEFORE_CONSTANT, "_BitInt"), (AMONG_OTHERS, "_BitInt"), (OTHER, None)]
)
def test_a_type_that_the_c_compiler_lacks_is_found(said: str, type_: str | None) -> None:
    found = LATE_TYPE.search(said)
    assert (found and found[1]) == type_


def test_what_is_compiled_and_cannot_be_called_is_refused_at_the_run(tmp_path: Path) -> None:
    model = written(SEQUENCE, tmp_path / "model.onnx")
    answer = answered("emx", model, {}, [("n", "int64", ())], tmp_path)
    assert answer.symptom == "unsupported" and answer.compile["switches"]["c_compiler"]
    assert answer.error.endswith("the C parameter 'const float s[EMX_SEQUENCE_MAX_LEN][2]' cannot be handed over")
