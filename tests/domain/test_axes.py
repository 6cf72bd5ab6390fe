"""The table of axes: ids, rows, columns and repro commands as they are stored, whatever the table becomes."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest

from bench_plugin.domain.axes import AXES, MARKER_AXES, OPTIONS
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.settings import Selection, Settings
from bench_plugin.report.formats.tabular import AXES as COLUMNS
from bench_plugin.session.repro_command import repro_arguments

EXPORT = Cell(Check.EXPORT, "digits_mlp", "pytorch", "dynamo", 20)
IMPORT = Cell(Check.IMPORT, "lstm", "tensorflow", "tf2onnx", 17, "mxnet", "onnx2mx")
COMPILED = Cell(
    Check.EQUIVALENCE, "lstm", "pytorch", "torchscript", 17, compiler="onnxruntime[xnnpack]", precision="w8a8",
    target="aarch64", graph="qdq",
)  # fmt: skip
OWN = Cell(Check.EQUIVALENCE, "lstm", "pytorch", compiler="mnn", precision="w16")
GIVEN = Cell(Check.EQUIVALENCE, "lstm", "pytorch", compiler="mnn", precision="w16", graph="w16")
OPERATOR = Cell(Check.OPERATOR, "test_relu", "onnx", compiler="emx")
PRUNED = Cell(
    Check.QUALITY, "digits_cnn", "pytorch", "dynamo", 20, compiler="mnn", precision="w8a8", graph="qdq", kept=50
)
SWEPT = Cell(
    Check.TIMING, "lstm", "pytorch", "dynamo", 18, compiler="onnxruntime", target="pi", batch=8, threads=2, streams=4,
    mode="performance",
)  # fmt: skip


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (EXPORT, "digits_mlp-pytorch-dynamo-opset20"),
        (IMPORT, "lstm-tensorflow-tf2onnx-opset17-to-mxnet-onnx2mx"),
        (COMPILED, "lstm-pytorch-torchscript-opset17-onnxruntime_xnnpack_-w8a8-qdq-aarch64"),
        (OWN, "lstm-pytorch-mnn-w16-own"),
        (GIVEN, "lstm-pytorch-mnn-w16"),
        (OPERATOR, "test_relu-onnx-emx"),
        (PRUNED, "digits_cnn-pytorch-dynamo-opset20-mnn-w8a8-qdq-kept50"),
        (SWEPT, "lstm-pytorch-dynamo-opset18-onnxruntime-pi-batch8-threads2-streams4-performance"),
        (replace(SWEPT, batch=1, threads=0, streams=1, mode=""), "lstm-pytorch-dynamo-opset18-onnxruntime-pi"),
    ],
)
def test_an_id_names_the_axes_in_reading_order_and_leaves_out_what_is_usual(cell: Cell, text: str) -> None:
    assert cell.id == text


def test_a_row_has_the_axes_of_its_cell_in_the_order_of_the_table() -> None:
    assert list(COMPILED.axes().items()) == [
        ("check", "equivalence"), ("model", "lstm"), ("framework", "pytorch"), ("exporter", "torchscript"),
        ("opset", 17), ("compiler", "onnxruntime[xnnpack]"), ("precision", "w8a8"), ("target", "aarch64"),
        ("graph", "qdq"),
    ]  # fmt: skip
    assert Cell.from_axes(COMPILED.axes()) == COMPILED


def test_a_row_of_a_swept_cell_says_what_is_unusual_and_that_of_any_other_has_no_trace_of_sweeps() -> None:
    assert {name: SWEPT.axes()[name] for name in ("batch", "threads", "streams", "mode")} == {
        "batch": 8, "threads": 2, "streams": 4, "mode": "performance",
    }  # fmt: skip
    assert Cell.from_axes(SWEPT.axes()) == SWEPT
    usual = replace(SWEPT, batch=1, threads=0, streams=1, mode="")
    assert not {"batch", "threads", "streams", "mode"} & set(usual.axes())
    assert Cell.from_axes(usual.axes()) == usual


def test_a_row_of_a_pruned_model_has_its_share_and_that_of_a_whole_one_has_no_trace_of_it() -> None:
    assert PRUNED.axes()["kept"] == 50 and Cell.from_axes(PRUNED.axes()) == PRUNED
    assert "kept" not in replace(PRUNED, kept=100).axes() and "kept" not in COMPILED.axes()


def test_the_columns_of_csv_files() -> None:
    assert ",".join(COLUMNS) == (
        "check,model,framework,exporter,opset,importer_framework,importer,compiler,precision,graph,target"
    )


def test_the_table_holds_every_field_of_a_cell_and_of_a_selection() -> None:
    assert [axis.name for axis in AXES] == [field.name for field in fields(Cell)]
    others = {"profile", "onnx_files", "onnx_inputs", "include", "exclude"}
    assert {axis.plural for axis in OPTIONS} == {field.name for field in fields(Selection)} - others
    assert {"models", "opsets", "targets"} < set(MARKER_AXES) and "checks" not in MARKER_AXES


@pytest.mark.parametrize(
    ("cell", "arguments"),
    [
        (EXPORT, ["--bench-models=digits_mlp", "--bench-frameworks=pytorch", "--bench-exporters=dynamo",
                  "--bench-opsets=20"]),
        (COMPILED, ["--bench-models=lstm", "--bench-frameworks=pytorch", "--bench-exporters=torchscript",
                    "--bench-opsets=17", "--bench-compilers=onnxruntime[xnnpack]", "--bench-precisions=w8a8",
                    "--bench-targets=aarch64", "--bench-seed=3", "--bench-option=mnn.fast=yes"]),
        (OPERATOR, ["--bench-cases=test_relu", "--bench-compilers=emx"]),
        (PRUNED, ["--bench-models=digits_cnn", "--bench-frameworks=pytorch", "--bench-exporters=dynamo",
                  "--bench-opsets=20", "--bench-compilers=mnn", "--bench-precisions=w8a8", "--bench-kept=50",
                  "--bench-option=mnn.fast=yes"]),
        (SWEPT, ["--bench-models=lstm", "--bench-frameworks=pytorch", "--bench-exporters=dynamo", "--bench-opsets=18",
                 "--bench-compilers=onnxruntime", "--bench-targets=pi", "--bench-batches=8", "--bench-threads=2",
                 "--bench-streams=4", "--bench-modes=performance", "--bench-option=mnn.fast=yes"]),
    ],
)  # fmt: skip
def test_a_repro_command_selects_the_cell_by_its_axes(cell: Cell, arguments: list[str]) -> None:
    settings = Settings(Path("."), seed=3 if cell is COMPILED else 0, options={"mnn": {"fast": "yes"}})
    assert repro_arguments(cell, "test_x.py::test_x", settings) == ["test_x.py::test_x", *arguments]


def test_a_repro_command_of_a_plain_file_names_the_file() -> None:
    cell = Cell(Check.EXPORT, "mine", "onnx")
    settings = Settings(Path("."), Selection(onnx_files=(Path("/a/mine.onnx"), Path("/a/other.onnx"))))
    assert repro_arguments(cell, "t", settings) == ["t", "--bench-onnx=/a/mine.onnx"]
    given = Selection(onnx_files=settings.selection.onnx_files, onnx_inputs=(Path("/a/x.npz"), Path("/a/other.npz")))
    again = repro_arguments(cell, "t", replace(settings, selection=given))
    assert again == ["t", "--bench-onnx=/a/mine.onnx", "--bench-inputs=/a/x.npz"]
    row = {"settings": replace(settings, selection=given).of_cells()}
    assert settings.as_computed(row).selection.onnx_inputs == given.onnx_inputs
