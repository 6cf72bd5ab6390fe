"""README.md with its table of compilers, made from the rows behind docs/equivalence.md, of the CNN on digits."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
ROWS = ROOT / "docs/rows/equivalence.jsonl.gz"
HEAD = "| | fp32 | fp16 | bf16 |"
COLUMNS = {  # title of a column -> precision and graph
    "fp32": ("fp32", None), "fp16": ("fp16", "fp16"), "bf16": ("bf16", None),
    "float16 weights, pre-converted model": ("w16", "w16"), "float16 weights, made by the tool": ("w16", None),
    "int8, pre-quantised model (QDQ)": ("w8a8", "qdq"), "int8, quantised by the tool": ("w8a8", None),
}  # fmt: skip
COMPILERS = {  # how the first cell of a line begins -> the compiler
    "ONNX Runtime": "onnxruntime", "OpenVINO": "openvino", "TFLite": "tflite", "Apache TVM": "tvm", "IREE": "iree",
    "emx-onnx-cgen": "emx", "ncnn": "ncnn", "MNN": "mnn", "tract": "tract", "ExecuTorch": "executorch",
    "TorchInductor": "inductor", "XLA": "xla", "PyTorch itself": "native",
}  # fmt: skip
OTHER_RUN = "--targets sim-fpga"  # in the first cell of the line of hls4ml, whose numbers are of another run
NOTES = {  # flags of rows -> what the table calls them
    "low-precision accumulate": "low-precision accumulate", "loose": "fast-math", "simulated": "simulated",
    "by approximation": "by approximation", "weak": "weak",
}  # fmt: skip

Place = tuple[str, str, str | None]


def page() -> str:
    """README.md with the table of today's rows."""
    with gzip.open(ROWS, "rt", encoding="utf-8") as lines:
        return with_table((ROOT / "README.md").read_text(encoding="utf-8"), map(json.loads, lines))


def with_table(text: str, rows: Iterable[Mapping[str, Any]]) -> str:
    """``text`` with every line of its table of compilers made from ``rows``; a line of another run stays.

    Raises ValueError where the columns or the compilers are not those that this module knows.
    """
    before, head, rest = text.partition(HEAD)
    table, end, after = rest.partition("\n\n")
    title, rule, *lines = (head + table).splitlines()
    if cells(title)[1:] != list(COLUMNS):
        raise ValueError(f"README.md: the table of compilers has the columns {cells(title)[1:]}, not {list(COLUMNS)}")
    measured = of_the_cnn(rows)
    names = [cells(line)[0] for line in lines]
    known = [compiler_of(name) for name in names if OTHER_RUN not in name]
    if missing := {place[0] for place in measured} ^ set(known):
        raise ValueError(f"README.md: of these compilers the table and the rows do not both speak: {sorted(missing)}")
    made = [line if OTHER_RUN in name else written(name, measured) for name, line in zip(names, lines, strict=True)]
    return before + "\n".join([title, rule, *made]) + end + after


def written(name: str, rows: Mapping[Place, Mapping[str, Any]]) -> str:
    """The line of the compiler that ``name`` begins with."""
    compiler = compiler_of(name)
    return f"| {' | '.join([name, *(said(rows.get((compiler, *at))) for at in COLUMNS.values())])} |"


def of_the_cnn(rows: Iterable[Mapping[str, Any]]) -> dict[Place, Mapping[str, Any]]:
    """The rows of the CNN by compiler, precision and graph: of XLA from TensorFlow, of the others from PyTorch."""
    found = {}
    for row in rows:
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


def compiler_of(name: str) -> str:
    """The compiler that the first cell of a line names; raises ValueError where no known name begins it."""
    for title, compiler in COMPILERS.items():
        if name.startswith(title):
            return compiler
    raise ValueError(f"README.md: the table of compilers has a line of {name!r}; known are {list(COMPILERS)}")


def cells(line: str) -> list[str]:
    """The cells of a line of a table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]
