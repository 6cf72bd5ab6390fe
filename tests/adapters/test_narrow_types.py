"""Types that numpy lacks: handed to backends by their bits, and the table of docs/compilers.md."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.agent.packs import blobs_of
from bench_plugin.agent.wire import Array
from bench_plugin.inventory.adapters import BUILT_IN
from bench_plugin.inventory.declaration_literal import read_literal
from tests.adapters.real import FEW_BITS, ROOT, answered, written

PAGE = ROOT / "docs" / "compilers.md"
ROW = re.compile(r"^\| `(\w+)` \| ([^|]*) \| ([^|]*) \| [^|]* \|$", re.MULTILINE)
TABLE = "## Types that numpy lacks"


def declarations() -> Mapping[str, Any]:
    """What the built-in compilers that run operator cases declare, by name."""
    found = [read_literal(path, path.read_bytes()) for path in sorted((BUILT_IN / "compilers").glob("*.py"))
             if path.name != "__init__.py"]  # fmt: skip
    return {row["name"]: row for row in found if row.get("operators")}


def test_the_table_of_types_is_what_the_adapters_declare() -> None:
    section = PAGE.read_text("utf-8").partition(TABLE)[2].partition("\n## ")[0]
    told = {name: (set(re.findall(r"`(\w+)`", types)), set(re.findall(r"`(\w+)`", values)))
            for name, types, values in ROW.findall(section)}  # fmt: skip
    declared = {}
    for name, row in declarations().items():
        values = {kind for kind in row.get("values", ()) if kind in ("sequence", "optional", "str")}
        declared[name] = (set(row.get("values", ())) - values, values)
    assert told == declared


@pytest.mark.parametrize(
    ("dtype", "onnx", "shape", "data"),
    [
        ("bfloat16", "bfloat16", (3,), "803f00c00000"),
        ("float8_e4m3fn", "float8e4m3fn", (2, 2), "3840c07e"),
        ("float8_e5m2", "float8e5m2", (0, 2), ""),
    ],
)
def test_bits_go_into_onnxruntime_and_come_out(
    tmp_path: Path, dtype: str, onnx: str, shape: tuple[int, ...], data: str
) -> None:
    sizes = ",".join(map(str, shape))
    text = (
        f'<ir_version: 10, opset_import: ["": 21]> g ({onnx}[{sizes}] x) => ({onnx}[{sizes}] y) {{ y = Identity(x) }}'
    )
    model = written(text, tmp_path / "model.onnx")
    raw = Array("uint8", (len(data) // 2,), bytes.fromhex(data))
    values = {"x": {"d": dtype, "s": list(shape), "o": 0}}
    answer = answered("onnxruntime", model, {}, [("y", dtype, shape)], tmp_path / "made", values=values, blobs=[raw])
    assert answer.run["values"] == [{"d": dtype, "s": list(shape), "o": 0}], answer.error
    assert bytes(answer.outputs["value:0"][2]).hex() == data


@pytest.mark.parametrize("backend", ["emx", "iree", "tvm"])
def test_codes_of_eight_bits_go_into_a_compiler_and_come_out(tmp_path: Path, backend: str) -> None:
    text = """<ir_version: 10, opset_import: ["": 21]> g (float8e4m3fn[2] x, float8e4m3fn[2] z) => (float8e4m3fn[4] y)
    { y = Concat<axis = 0>(x, z) }"""
    model = written(text, tmp_path / "model.onnx")
    values = {name: {"d": "float8_e4m3fn", "s": [2], "o": at} for at, name in enumerate("xz")}
    raw = [Array("uint8", (2,), bytes.fromhex(data)) for data in ("3840", "c07e")]
    outputs = [("y", "float8_e4m3fn", (4,))]
    answer = answered(backend, model, {}, outputs, tmp_path / "made", values=values, blobs=raw)
    assert answer.run["values"] == [{"d": "float8_e4m3fn", "s": [4], "o": 0}], answer.error
    assert bytes(answer.outputs["value:0"][2]).hex() == "3840c07e"


@pytest.mark.parametrize(
    ("onnx", "dtype", "data", "found"),
    [
        ("float8e4m3fn", "float8_e4m3fn", "3840", [1.0, 2.0]),
        ("bfloat16", "bfloat16", "803f40c0", [1.0, -3.0]),
        ("int4", "int4", "07fd", [7.0, -3.0]),
        ("uint4", "uint4", "0f01", [15.0, 1.0]),
    ],
)
def test_mnn_gets_types_that_its_interface_has_not_as_wider_ones(
    tmp_path: Path, onnx: str, dtype: str, data: str, found: list[float]
) -> None:
    model = written(
        f'<ir_version: 10, opset_import: ["": 21]> g ({onnx}[2] x) => (float[2] y) {{ y = Cast <to = 1> (x) }}',
        tmp_path / "model.onnx",
    )
    raw = Array("uint8", (len(data) // 2,), bytes.fromhex(data))
    values = {"x": {"d": dtype, "s": [2], "o": 0}}
    answer = answered("mnn", model, {}, [("y", "float32", (2,))], tmp_path / "made", values=values, blobs=[raw])
    assert answer.outputs["out0"][2] == found, answer.error


@pytest.mark.parametrize(("dtype", "data", "found"), FEW_BITS)
def test_tvm_reads_a_byte_for_each_number_of_few_bits(
    tmp_path: Path, dtype: str, data: str, found: list[float]
) -> None:
    model = written(
        f'<ir_version: 13, opset_import: ["": 25]> g ({dtype}[4] x) => (float[4] y) {{ y = Cast <to = 1> (x) }}',
        tmp_path / "model.onnx",
    )
    values = {"x": {"d": dtype, "s": [4], "o": 0}}
    raw = [Array("uint8", (4,), bytes.fromhex(data))]
    answer = answered("tvm", model, {}, [("y", "float32", (4,))], tmp_path / "made", values=values, blobs=raw)
    assert answer.outputs["out0"][2] == found, answer.error


def test_tflite_gets_integers_of_four_bits_as_wider_ones(tmp_path: Path) -> None:
    model = written(
        '<ir_version: 10, opset_import: ["": 21]> g (int4[4] x) => (float[4] y) { y = Cast <to = 1> (x) }',
        tmp_path / "model.onnx",
    )
    values = {"x": {"d": "int4", "s": [4], "o": 0}}
    raw = [Array("uint8", (4,), bytes.fromhex("080f0007"))]
    answer = answered("tflite", model, {}, [("y", "float32", (4,))], tmp_path / "made", values=values, blobs=raw)
    assert answer.outputs["out0"][2] == [-8.0, -1.0, 0.0, 7.0], answer.error


def test_a_sequence_is_refused_where_a_file_has_tensors_alone(tmp_path: Path) -> None:
    text = '<ir_version: 10, opset_import: ["": 17]> g (seq(float[2]) x) => (seq(float[2]) y) { y = Identity(x) }'
    (described,), blobs = blobs_of([[np.zeros(2, np.float32)]])
    answer = answered(
        "tflite", written(text, tmp_path / "model.onnx"), {}, [("y", "", ())], tmp_path / "made",
        values={"x": described}, blobs=list(blobs.values()),
    )  # fmt: skip
    assert (answer.symptom, answer.error.partition(": ")[2]) == (
        "unsupported", "the input x is no tensor, and a TFLite file has tensors alone",
    )  # fmt: skip


def test_two_numbers_of_four_bits_share_a_byte(tmp_path: Path) -> None:
    text = """<ir_version: 10, opset_import: ["": 21]> g (int4[3] x) => (float[3] y)
    <float s = {1.0}> { y = DequantizeLinear(x, s) }"""
    model = written(text, tmp_path / "model.onnx")
    values = {"x": {"d": "int4", "s": [3], "o": 0}}
    raw = Array("uint8", (3,), bytes([1, 0xFF, 7]))  # 1, -1, 7: a byte each, as ml_dtypes has them
    answer = answered("onnxruntime", model, {}, [("y", "float32", (3,))], tmp_path / "made", values=values, blobs=[raw])
    assert answer.outputs["out0"][2] == [1.0, -1.0, 7.0], answer.error
