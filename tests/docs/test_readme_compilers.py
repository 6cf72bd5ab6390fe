"""The table of compilers in README.md says what the rows behind docs/equivalence.md say of the CNN on digits."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.docs.fences import ROOT
from tests.docs.test_readme_boards import cells

HEAD = "| | fp32 | fp16 | bf16 |"
COLUMNS = {
    "fp32": ("fp32", None), "fp16": ("fp16", "fp16"), "bf16": ("bf16", None),
    "float16 weights, pre-converted model": ("w16", "w16"), "float16 weights, made by the tool": ("w16", None),
    "int8, pre-quantised model (QDQ)": ("w8a8", "qdq"), "int8, quantised by the tool": ("w8a8", None),
}  # fmt: skip
COMPILERS = {
    "ONNX Runtime": "onnxruntime", "OpenVINO": "openvino", "TFLite": "tflite", "Apache TVM": "tvm", "IREE": "iree",
    "emx-onnx-cgen": "emx", "ncnn": "ncnn", "MNN": "mnn", "tract": "tract", "ExecuTorch": "executorch",
    "TorchInductor": "inductor", "XLA": "xla", "PyTorch itself": "native",
}  # fmt: skip
NOTES = {  # flags of rows -> what the table calls them
    "low-precision accumulate": "low-precision accumulate", "loose": "fast-math", "simulated": "simulated",
    "by approximation": "by approximation", "weak": "weak",
}  # fmt: skip
FPGA = "--targets sim-fpga"  # the row of hls4ml, which is of another run


def rows() -> dict[tuple[str, ...], Mapping[str, Any]]:
    """The rows of the CNN by compiler, precision and graph, of XLA from TensorFlow and of the others from PyTorch."""
    found = {}
    with gzip.open(ROOT / "docs/rows/equivalence.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            cell = row.get("cell", {})
            framework = "tensorflow" if cell.get("compiler") == "xla" else "pytorch"
            wanted = {"check": "equivalence", "model": "digits_cnn", "framework": framework, "target": "local"}
            if row["kind"] == "cell" and wanted.items() <= cell.items():
                found[cell["compiler"], cell["precision"], cell.get("graph")] = row
    return found


def said(row: Mapping[str, Any] | None) -> str:
    """What the table says of a row: the verdict, E or the signal to noise, and what it is marked with."""
    if row is None:
        return "–"
    if row["status"] != "supported":
        return f"**{row['status']}**"
    numbers, flags = row["numbers"], [flag.partition(":")[0] for flag in row["flags"]]
    level = f"{numbers['approximation']['sqnr_db']:.0f} dB" if row["cell"]["precision"] == "w8a8" else ""
    marks = [note for flag, note in NOTES.items() if flag in flags]
    return ", ".join([f"supported ({level or format(numbers['E'], '.1e')})", *marks])


def table() -> list[tuple[str, dict[str, str]]]:
    """The rows of the table: the first cell, and the others by the titles of their columns."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = text[text.index(HEAD) :].partition("\n\n")[0].splitlines()
    titles = cells(lines[0])[1:]
    return [(cells(line)[0], dict(zip(titles, cells(line)[1:], strict=True))) for line in lines[2:]]


TABLE = [(name, row) for name, row in table() if FPGA not in name]


def test_it_has_every_compiler_and_column() -> None:
    assert [next(key for key in COMPILERS if name.startswith(key)) for name, _ in TABLE] == list(COMPILERS)
    assert all(list(row) == list(COLUMNS) for _, row in TABLE)
    assert {compiler for compiler, _, _ in rows()} == set(COMPILERS.values())


@pytest.mark.parametrize(("name", "row"), TABLE, ids=lambda value: str(value)[:12])
def test_a_line_is_that_of_the_rows(name: str, row: Mapping[str, str]) -> None:
    compiler = next(known for title, known in COMPILERS.items() if name.startswith(title))
    measured = rows()
    assert dict(row) == {title: said(measured.get((compiler, *column))) for title, column in COLUMNS.items()}
