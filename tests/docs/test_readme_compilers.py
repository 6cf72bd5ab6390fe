"""The table of compilers in README.md, which `python docs/write_reference` makes from the rows behind the pages."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import Any

import pytest

from tests.docs.fences import ROOT


def module() -> Any:
    """The module of docs that makes the table."""
    spec = importlib.util.spec_from_file_location("compilers_table", ROOT / "docs/write_reference/compilers_table.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


made = module()
TITLES = " | ".join(made.COLUMNS)
README = f"""Before.

| | {TITLES} |
|---|---|---|---|---|---|---|---|
| ONNX Runtime 1.31.1 | stale | – | – | – | – | – | – |
| hls4ml (`--targets sim-fpga`) | of another run | – | – | – | – | – | – |
| XLA 2.21.0, from TensorFlow | stale | – | – | – | – | – | – |

| another | table |
"""


def row(compiler: str, precision: str, *, graph: str | None = None, **said: Any) -> Mapping[str, Any]:
    """A row of the CNN on digits of PyTorch, supported with E = 1.23e-7, and what is ``said`` of it or its cell."""
    cell = {"check": "equivalence", "model": "digits_cnn", "framework": "pytorch", "target": "local"}
    cell |= {"compiler": compiler, "precision": precision, "graph": graph}
    cell |= {key: said.pop(key) for key in [*said] if key in cell}
    numbers = {"E": 1.23e-7, "approximation": {"sqnr_db": 42.4}}
    return {"kind": "cell", "cell": cell, "status": "supported", "numbers": numbers, "flags": [], **said}


def lines(*rows: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """The lines of the table that is made from ``rows``, by the first cell and the titles of the columns."""
    text = made.with_table(README, [{"kind": "run"}, *rows])
    table = text.removeprefix("Before.\n\n").removesuffix("\n\n| another | table |\n").splitlines()
    titles = made.cells(table[0])[1:]
    return {name: dict(zip(titles, values, strict=True)) for name, *values in map(made.cells, table[2:])}


XLA = row("xla", "fp32", framework="tensorflow")


def test_each_column_has_its_precision_and_graph() -> None:
    places = list(made.COLUMNS.values())
    rows = [
        row("onnxruntime", precision, graph=graph, numbers={"E": 10.0**-at, "approximation": {"sqnr_db": at}})
        for at, (precision, graph) in enumerate(places, 1)
    ]
    assert list(lines(XLA, *rows)["ONNX Runtime 1.31.1"].values()) == [
        "supported (1.0e-01)", "supported (1.0e-02)", "supported (1.0e-03)", "supported (1.0e-04)",
        "supported (1.0e-05)", "supported (6 dB)", "supported (7 dB)",
    ]  # fmt: skip


def test_a_line_of_another_run_and_the_text_around_the_table_stay() -> None:
    text = made.with_table(README, [XLA, row("onnxruntime", "fp32")])
    assert text == README.replace("stale", "supported (1.2e-07)")


def test_a_cell_without_a_row_is_not_offered() -> None:
    said = lines(XLA, row("onnxruntime", "bf16"))["ONNX Runtime 1.31.1"]
    assert said["fp32"] == "–" and said["bf16"] == "supported (1.2e-07)"


def test_a_cell_that_is_not_supported_says_its_status_alone() -> None:
    rows = [row("onnxruntime", "fp32", status="mismatch")]
    assert lines(XLA, *rows)["ONNX Runtime 1.31.1"]["fp32"] == "**mismatch**"


def test_what_limits_a_verdict_is_said() -> None:
    rows = [row("onnxruntime", "fp16", graph="fp16", flags=["weak: 3 of 6", "low-precision accumulate", "not twice"])]
    shown = lines(XLA, *rows)["ONNX Runtime 1.31.1"]["fp16"]
    assert shown == "supported (1.2e-07), low-precision accumulate, weak"


@pytest.mark.parametrize(
    "other",
    [
        {"check": "quality"}, {"model": "vgg16"}, {"framework": "tensorflow"}, {"target": "sim"}, {"kind": "detail"}
    ],
    ids=str,
)  # fmt: skip
def test_rows_of_other_checks_models_frameworks_and_targets_do_not_count(other: Mapping[str, str]) -> None:
    rows = [row("onnxruntime", "bf16"), row("onnxruntime", "fp32", **other)]
    assert lines(XLA, *rows)["ONNX Runtime 1.31.1"]["fp32"] == "–"


def test_xla_is_that_of_tensorflow() -> None:
    rows = [XLA, row("xla", "fp32", status="ERROR"), row("onnxruntime", "fp32")]
    assert lines(*rows)["XLA 2.21.0, from TensorFlow"]["fp32"] == "supported (1.2e-07)"


@pytest.mark.parametrize("rows", [[XLA], [XLA, row("onnxruntime", "fp32"), row("mnn", "fp32")]], ids=len)
def test_a_compiler_that_only_one_side_has_is_an_error(rows: list[Mapping[str, Any]]) -> None:
    missing = "mnn" if len(rows) == 3 else "onnxruntime"
    with pytest.raises(ValueError, match=rf"do not both speak: \['{missing}'\]"):
        lines(*rows)


def test_a_line_of_an_unknown_compiler_is_an_error() -> None:
    with pytest.raises(ValueError, match="has a line of 'Glow'"):
        made.with_table(README.replace("XLA 2.21.0, from TensorFlow", "Glow"), [])


def test_another_column_is_an_error() -> None:
    with pytest.raises(ValueError, match="has the columns"):
        made.with_table(README.replace("| bf16 |", "| bf16 | int4 |"), [])
