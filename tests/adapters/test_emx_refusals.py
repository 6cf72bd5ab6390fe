"""What emx says with one type of exception: that it does not implement something, or that the file is wrong."""

from __future__ import annotations

import re

import pytest

from bench_plugin.inventory.adapters import BUILT_IN
from bench_plugin.inventory.declaration_literal import read_literal

WHERE = "(during infer_shapes for node_index=0, op_type=Max, name=<unnamed>, op_class=MultiInputBinaryOp)"


def refused(exception: str, message: str) -> bool:
    """Whether the declaration counts this as not implemented, by the rule of bench_plugin/agent/server.py."""
    path = BUILT_IN / "compilers/emx.py"
    rows = read_literal(path, path.read_bytes())["unsupported"]
    mine = [row for row in rows if row["exception"] == exception and row["operation"] == "compile"]
    assert mine, f"emx declares nothing about {exception}"
    return any(re.search(row["pattern"], message) for row in mine)


@pytest.mark.parametrize(
    "message",
    ["Unsupported op Attention (while lowering node_index=0)", "Max does not support dtype bool",
     "Upsample scales initializer must be bfloat16/float16/float32/float64", "WordConvEmbedding must have 4 inputs"],
)  # fmt: skip
def test_what_it_does_not_implement_is_a_refusal(message: str) -> None:
    assert refused("UnsupportedOpError", message)


@pytest.mark.parametrize("wanted", ["(2, 1), got (2, 0)", "(1,), got (0,)"])
def test_that_a_right_file_has_a_wrong_shape_is_an_error(wanted: str) -> None:
    assert not refused("UnsupportedOpError", f"Max output shape must be {wanted} {WHERE}")


def test_a_shape_that_depends_on_data_is_a_refusal_and_any_other_objection_to_one_is_not() -> None:
    assert refused("ShapeInferenceError", "Compress output shape must be non-negative")
    assert not refused("ShapeInferenceError", "MatMul output shape must be (1, 2, 4), got (0, 2, 4)")
