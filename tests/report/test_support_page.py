"""The support page as a pure function of rows."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.domain.errors import UsageError
from bench_plugin.report.formats import html as page
from bench_plugin.report.formats import markdown, restructured
from bench_plugin.report.grids.published import published_grid
from bench_plugin.report.grids.support import Grid, build_grid
from bench_plugin.report.pages.registry import build_pages, read_pages
from bench_plugin.report.pages.support import main_table, support_data, support_page

TITLES = {
    "frameworks": {
        "mxnet": {"title": "MXNet", "version": "1.9.1"},
        "pytorch": {"title": "PyTorch", "version": "2.13.0"},
    },
    "models": {"resnet50": "ResNet50", "vgg16": "VGG16"},
}


def row(check: str, model: str, framework: str, status: str, **more: Any) -> dict[str, Any]:
    cell = {"check": check, "model": model, "framework": framework, "exporter": f"{framework}2onnx", "opset": 17}
    if check == "import":
        cell |= {"importer_framework": framework, "importer": f"onnx2{framework}"}
    key = f"{check}{model}{framework}"
    return {"schema": 1, "kind": "cell", "key": key, "cell": cell, "check": check, "status": status, **more}


def rows() -> list[dict[str, Any]]:
    return [
        {"kind": "header", "titles": TITLES, "command": ["pytest", "suites"], "commit": "abc", "machine": {"cpus": 2}},
        {"kind": "plan", "count": 6, "total": 6},
        row("export", "resnet50", "pytorch", "supported", numbers={"E": 1e-6, "tolerance_E": 8e-5}, converted=True),
        row(
            "import",
            "resnet50",
            "pytorch",
            "mismatch",
            stage="compare",
            symptom="mismatch",
            converted=True,
            numbers={"E": 2.1},
            reason="out0 is off by 2.1\nsecond line",
            expected={"reason": "its bug <17>"},
        ),
        row("export", "vgg16", "pytorch", "ERROR", stage="export", symptom="crash", reason="killed by SIGSEGV"),
        row("import", "vgg16", "pytorch", "unverified", reason="export failed: crash"),
        row(
            "export",
            "resnet50",
            "mxnet",
            "supported",
            numbers={"E": 3e-7},
            flags=["invalid: bad | attribute"],
            converted=True,
        ),
        row("import", "resnet50", "mxnet", "supported", numbers={"E": 5e-7}, converted=True),
        {
            "kind": "declared",
            "cell": {"check": "export", "model": "vgg16", "framework": "mxnet"},
            "status": "Not provided",
            "reason": "no such model",
        },
    ]


def texts(grid: Grid) -> list[list[str]]:
    return [[cell.text for cell in line] for line in main_table(grid).rows]


def test_the_grid_joins_export_and_import_and_shows_the_worst_error() -> None:
    grid = build_grid(rows())
    assert main_table(grid).heads == ("model", "MXNet 1.9.1", "PyTorch 2.13.0")
    assert texts(grid)[0] == ["ResNet50", "supported / supported * (5.0e-07)", "supported / mismatch † (2.1e+00)"]
    assert texts(grid)[1][1:] == ["Not provided / not run", "ERROR / unverified"]


def test_a_later_row_of_the_same_cell_replaces_the_earlier() -> None:
    again = row("import", "resnet50", "pytorch", "supported", numbers={"E": 1e-7}, converted=True)
    assert texts(build_grid([*rows(), again]))[0][2].startswith("supported / supported")


def test_a_narrowed_run_says_partial() -> None:
    told = [{"kind": "plan", "count": 6, "total": 42} if line["kind"] == "plan" else line for line in rows()]
    assert build_grid(told).partial == "partial: 6 of 42 cells"
    assert build_grid(rows()).partial == ""


def test_every_failure_is_listed_with_its_first_useful_line_and_known_cause() -> None:
    text = markdown.render(support_page(build_grid(rows())))
    assert "| out0 is off by 2.1 | its bug &lt;17> |" in text
    assert "killed by SIGSEGV" in text
    assert "second line" not in text


def test_the_funnel_counts_how_many_got_past_each_stage() -> None:
    funnel = dict(build_grid(rows()).funnel)
    assert (funnel["selected"], funnel["export"], funnel["run"], funnel["compare"], funnel["supported"]) == (
        6,
        4,
        4,
        3,
        3,
    )


def test_the_page_shows_2021_and_now() -> None:
    assert published_grid().cell("deeplabv3", "mxnet") == "ERROR / unverified"
    assert published_grid().versions["pytorch"] == "1.8.1+cu111"
    assert published_grid().cell("densenet201", "pytorch") == "supported / unsupported"
    assert published_grid().source.startswith("ONNX conversion support grid as published")
    text = markdown.render(support_page(build_grid(rows())))
    assert "supported / unsupported → supported / mismatch" in text


def test_every_format_is_written_and_can_be_read_back(tmp_path: Path) -> None:
    [support] = build_pages(rows())
    paths = {path.suffix: path for path in support.write(tmp_path)}
    assert set(paths) == {".md", ".rst", ".html", ".csv", ".json"}
    lines = list(csv.DictReader(io.StringIO(paths[".csv"].read_text())))
    assert len(lines) == 7 and [line["error"] for line in lines].count("2.1") == 1
    assert json.loads(paths[".json"].read_text())["funnel"]["supported"] == 3
    assert ".. list-table::" in paths[".rst"].read_text()
    assert "<table>" in paths[".html"].read_text()


def test_text_from_outside_is_escaped_in_every_format() -> None:
    document = support_page(build_grid(rows()))
    assert "its bug &lt;17&gt;" in page.render(document)
    assert "\\_" in restructured.render(document) or "_" not in restructured.render(document)
    assert "<script" not in page.render(document)
    assert json.dumps(support_data(build_grid(rows()))).count("its bug <17>") == 1


def test_a_missing_results_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nothing\.jsonl"):
        read_pages(tmp_path / "nothing.jsonl")


def test_the_kill_rate_of_mutants_is_published(tmp_path: Path) -> None:
    table = {"bias dropped": {"killed": True, "ratio": 900.0}, "gelu": {"killed": False, "ratio": 0.4}}
    more = [row("export", "vgg16", "mxnet", "supported", numbers={"E": 1e-7, "mutants": table})]
    page = build_pages([*rows(), *more])[0].write(tmp_path, name="own", formats=["md"])
    text = page[0].read_text()
    assert page == [tmp_path / "own.md"]
    assert "| export vgg16 mxnet mxnet2onnx | 1 of 2 | gelu: 0.4 tolerances off | gelu |" in text
