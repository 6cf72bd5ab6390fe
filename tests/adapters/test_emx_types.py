"""Types in the C that emx writes: those that gcc 12 lacks are computed with, others are refused by name."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.adapters.c_code.c_library import library
from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.c.zig import CompilerFailed
from bench_plugin.agent.wire import Array
from tests.adapters.real import FEW_BITS, Answer, answered, written

SEQUENCE = """
<ir_version: 8, opset_import: ["": 17]> g (seq(bfloat16[2]) s) => (int64 n) { n = SequenceLength(s) }
"""
CAST = '<ir_version: 10, opset_import: ["": 25]> g (%s[%d] x) => (%s[%d] y) { y = Cast <to = %d> (x) }'


def test_what_is_compiled_and_cannot_be_called_is_refused_at_the_run(tmp_path: Path) -> None:
    model = written(SEQUENCE, tmp_path / "model.onnx")
    answer = answered("emx", model, {}, [("n", "int64", ())], tmp_path)
    assert answer.symptom == "unsupported" and answer.compile["switches"]["c_compiler"]
    assert answer.error.endswith("the C parameter 'const __bf16 s[EMX_SEQUENCE_MAX_LEN][2]' cannot be handed over")


def cast(folder: Path, source: str, onnx: str, dtype: str, code: int, numbers: bytes, width: int) -> Answer:
    """What emx makes of a Cast of ``numbers``, ``width`` bytes each, to the type ``dtype`` with ONNX's ``code``."""
    n = len(numbers) // width
    model = written(CAST % (source, n, onnx, n, code), folder / "model.onnx")
    names = {"float": "float32", "double": "float64"}
    values = {"x": {"d": names.get(source, source), "s": [n], "o": 0}}
    raw = Array("uint8", (len(numbers),), numbers)
    return answered("emx", model, {}, [("y", dtype, (n,))], folder / "made", values=values, blobs=[raw])


@pytest.mark.parametrize(
    ("dtype", "code", "given", "found"),
    [
        ("int4", 22, [-8.0, -1.0, 0.0, 7.0], "080f0007"),
        ("uint4", 21, [0.0, 1.0, 8.0, 15.0], "0001080f"),
        ("int2", 26, [-2.0, -1.0, 0.0, 1.0], "02030001"),
        ("uint2", 25, [0.0, 1.0, 2.0, 3.0], "00010203"),
    ],
)
def test_integers_of_few_bits_come_out_as_codes_without_other_bits(
    tmp_path: Path, dtype: str, code: int, given: list[float], found: str
) -> None:
    answer = cast(tmp_path, "float", dtype, dtype, code, struct.pack("<4f", *given), 4)
    assert answer.run["values"] == [{"d": dtype, "s": [4], "o": 0}], answer.error
    assert bytes(answer.outputs["value:0"][2]).hex() == found
    assert answer.compile["switches"]["c_compiler"].startswith("zig cc ")


@pytest.mark.parametrize(
    ("dtype", "data", "found"),
    [
        *FEW_BITS,
        ("bfloat16", "803f40c0807f0100", [1.0, -3.0, float("inf"), 2.0**-133]),
    ],
)
def test_types_that_gcc_lacks_go_in(tmp_path: Path, dtype: str, data: str, found: list[float]) -> None:
    numbers = bytes.fromhex(data)
    answer = cast(tmp_path, dtype, "float", "float32", 1, numbers, len(numbers) // 4)
    assert answer.outputs["out0"][2] == found, answer.error


# By hand: ties to even downwards and upwards, just beyond a tie, overflow, the least number, what is no number.
FLOATS = [
    (1 + 2**-8, "803f"), (1 + 3 * 2**-8, "823f"), (1 + 2**-8 + 2**-23, "813f"), ((2 - 2**-23) * 2**127, "807f"),
    (2**-133, "0100"), (float("nan"), "c07f"), (float("-inf"), "80ff"),
]  # fmt: skip
# Those that are ties as float32 and are none, or that float32 does not reach.
DOUBLES = [
    (1 + 2**-8 + 2**-40, "813f"), (1 + 3 * 2**-8 - 2**-40, "813f"), (-(1 + 2**-8 + 2**-40), "81bf"), (1e300, "807f"),
    (1e-300, "0000"), (2**-134 + 2**-160, "0100"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "dtype", "rows"), [("float", np.float32, FLOATS), ("double", np.float64, FLOATS + DOUBLES)]
)
def test_numbers_are_rounded_once_to_bfloat16(
    tmp_path: Path, source: str, dtype: type[np.floating[Any]], rows: list[tuple[float, str]]
) -> None:
    numbers = np.array([x for x, _ in rows], dtype=dtype)
    answer = cast(tmp_path, source, "bfloat16", "bfloat16", 16, numbers.tobytes(), numbers.itemsize)
    assert answer.run["values"] == [{"d": "bfloat16", "s": [len(rows)], "o": 0}], answer.error
    assert bytes(answer.outputs["value:0"][2]).hex() == "".join(found for _, found in rows)


@pytest.mark.parametrize(
    ("said", "error", "message"),
    [
        ("model.c:1:1: error: unknown type name '_Float16'", Unsupported, "gcc does not take _Float16: model.c:1:1"),
        ("model.c:1:7: error: expected ';'", CompilerFailed, "gcc ended with status 1: model.c:1:7: error: expected"),
    ],
)
def test_what_gcc_refuses_is_told(tmp_path: Path, said: str, error: type[Exception], message: str) -> None:
    (tmp_path / "model.c").write_text("_Float16 x;\n")
    gcc = tmp_path / "gcc"
    gcc.write_text(f'#!/bin/sh\necho "{said}" >&2\nexit 1\n')
    gcc.chmod(0o755)
    with pytest.raises(error, match=re.escape(message)):
        library(str(tmp_path), "model.c", ["-O2"], ["-lm"], str(gcc))
