"""Grids as pure functions of rows: what is joined, what is counted, and that no red item hides behind a green place."""

from __future__ import annotations

from typing import Any

import pytest

from bench_plugin.checks.equivalence.narrow import SETTLED
from bench_plugin.domain.precision import PRECISIONS
from bench_plugin.report.blocks import Table
from bench_plugin.report.entries import entry, heading
from bench_plugin.report.formats import markdown
from bench_plugin.report.grids import compiled, operators, properties, support
from bench_plugin.report.pages import compiled as compiled_page
from bench_plugin.report.pages import operators as operators_page
from bench_plugin.report.pages import properties as properties_page
from bench_plugin.report.pages import support as support_page
from bench_plugin.report.pages.registry import build_pages
from bench_plugin.report.statuses import FAILED
from bench_plugin.report.summary import known_failures, totals_table
from tests.report.made import Row, declared, equivalence, export, generated, header, imported, plan

PROGRESS = {"result": "failed", "expected": {"reason": "it was known"}}


def texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def place(*rows: Row) -> tuple[str, str]:
    """Text and status of the only place of the support grid."""
    [[_, cell]] = support_page.main_table(support.build_grid([header(), *rows])).rows
    return cell.text, cell.status


def test_a_place_joins_the_worst_export_and_the_worst_import() -> None:
    rows = [export(), imported(), imported(importer="onnx2pytorch", status="unsupported", result="xfailed")]
    assert place(*rows) == ("supported / unsupported 1 of 2 pairs", "unsupported")
    assert place(*reversed(rows)) == place(*rows), "the order of the rows has no say"


def test_a_second_exporter_that_fails_is_seen() -> None:
    rows = [export(), imported(), export(exporter="torchscript", status="ERROR"), imported(exporter="torchscript")]
    assert place(*rows) == ("ERROR / supported 1 of 2 pairs", "ERROR")


@pytest.mark.parametrize("status", FAILED)
@pytest.mark.parametrize("which", range(4))
def test_a_red_item_is_never_behind_a_green_place(status: str, which: int) -> None:
    rows = [export(), imported(), imported(importer="onnx2pytorch"), export(exporter="torchscript")]
    rows[which] |= {"status": status, "result": "failed"}
    assert place(*rows)[1] == status
    rows[which] |= {"status": "supported", **PROGRESS}
    text, colour = place(*rows)
    assert colour in ("progress", "not run") and "!" in text


def test_what_was_only_declared_shows_where_nothing_was_computed() -> None:
    axes = {"check": "import", "model": "lstm", "framework": "pytorch", "exporter": "dynamo", "opset": 17}
    missing = declared(axes | {"importer": "onnx2tf", "importer_framework": "tensorflow"}, "Not provided")
    assert place(export(), imported(), missing) == ("supported / supported 1 of 2 pairs", "supported")
    assert place(export(), missing)[0] == "supported / Not provided"


def test_the_largest_error_of_all_that_is_joined_is_shown() -> None:
    rows = [export(numbers={"E": 1e-7}), imported(numbers={"E": 2e-7}), imported(importer="b", numbers={"E": 3e-7})]
    assert place(*rows)[0] == "supported / supported (3.0e-07) 2 of 2 pairs"


def test_the_lines_of_compiled_models_are_in_the_order_of_the_table_of_precisions() -> None:
    rows = [equivalence(precision) for precision in reversed(PRECISIONS)]
    grid = compiled.build_grid([header(), *rows])
    assert [line.precision for line in grid.lines] == list(PRECISIONS)


def test_two_opsets_of_a_model_share_a_place_and_the_worse_is_shown() -> None:
    rows = [equivalence(opset=18, status="mismatch"), equivalence(opset=17)]
    grid = compiled.build_grid([header(), *rows])
    assert texts(compiled_page.main_table(grid)) == [["LSTM", "pytorch (dynamo)", "fp32", "mismatch"]]


def test_quality_shows_accuracy_on_the_terminal_and_nothing_else_when_nothing_else_ran() -> None:
    numbers = {"accuracy": 0.975, "drop": {"top1": 0.005}}
    [page] = build_pages([header(), equivalence(check="quality", numbers=numbers)])
    [(title, table)] = page.grids
    assert title.startswith("Quality")
    assert texts(table)[0][3] == "97.5% (-0.5%)"
    [page] = build_pages([header(), equivalence(check="quality", status="ERROR", numbers={"accuracy": None})])
    assert texts(page.grids[0][1])[0][3] == "ERROR"


def test_generated_graphs_are_counted_by_compiler_and_named_where_they_fail() -> None:
    rows = [generated("Relu", "onnxruntime"),
            generated("Tanh", "onnxruntime", "mismatch", tried=7, flags=["out of time"]),
            generated("Relu", "iree", "ERROR", result="xfailed")]  # fmt: skip
    grid = properties.build_grid([header(), *rows])
    summary = properties_page.summary_table(grid)
    assert summary.heads == (
        "compiler", "operators", "supported", "mismatch", "ERROR", "few agree", "graphs tried", "agreed", "out of time",
    )  # fmt: skip
    assert texts(summary) == [
        ["IREE 3.11", "1", "", "", "1", "", "10", "", ""],
        ["ONNX Runtime 1.31", "2", "1", "1", "", "", "17", "", "1"],
    ]  # fmt: skip
    assert texts(properties_page.unsupported_table(grid)) == [
        ["Relu", "ERROR (10 tried)", "supported (10 tried)"], ["Tanh", "not run", "mismatch (7 tried, out of time)"],
    ]  # fmt: skip


def test_a_cell_says_of_how_many_generated_graphs_its_verdict_speaks() -> None:
    part = {"tried": 18, "refused": 16, "agreed": 1, "first": {"refused": "pads are not implemented", "agreed": ""}}
    rows = [generated("Pad", "ncnn", numbers=part),
            generated("Relu", "ncnn", numbers={"tried": 18, "agreed": 9}),
            generated("Abs", "ncnn", numbers={"tried": 18, "agreed": 18}),
            generated("Tanh", "ncnn", "mismatch", numbers={"tried": 18, "agreed": 2})]  # fmt: skip
    grid = properties.build_grid([header(), *rows])
    assert texts(properties_page.operators_table(grid)) == [
        ["Abs", "supported (18)"], ["Pad", "supported (1 of 18, few agree)"],
        ["Relu", "supported (9 of 18)"], ["Tanh", "mismatch (2 of 18)"],
    ]  # fmt: skip
    assert texts(properties_page.summary_table(grid)) == [["ncnn", "4", "3", "1", "1", "72", "30", ""]]
    assert texts(properties_page.few_table(grid.entries)) == [
        ["Pad", "1", "18", "16", "", "", "pads are not implemented"],
    ]  # fmt: skip


@pytest.mark.parametrize("grids", [operators, properties])
def test_what_was_declared_for_boards_beside_the_host_is_no_cell(grids: Any) -> None:
    here = generated("Relu", "iree")
    if grids is operators:
        numbers = {"operators": ["Relu"], "opset": 14, "converted": None}
        here |= {"cell": {**here["cell"], "check": "operator"}, "check": "operator", "numbers": numbers}
    there = declared({**here["cell"], "target": "aarch64"}, "unsupported", "on the host alone")
    for rows in ([here, there], [there, here]):
        [found] = grids.build_grid([header(), *rows]).entries
        assert found.status == "supported"
    [alone] = grids.build_grid([header(), there]).entries
    assert alone.status == "unsupported"


def test_a_page_of_a_compiler_has_its_signatures_and_no_others() -> None:
    def seen(operator: str) -> dict[str, Any]:
        return {"stage": "run", "symptom": "crash", "operators": [operator], "message": f"bad {operator}"}

    rows = [generated(name, compiler, "ERROR", numbers={"tried": 3, "found": [seen(name)]})
            for name, compiler in (("Relu", "iree"), ("Tanh", "tvm"))]  # fmt: skip
    [page] = build_pages([header(), *rows])
    assert set(page.details) == {"iree", "tvm"}
    text = markdown.render(page.details["iree"])
    assert "bad Relu" in text and "Relu in iree" in text and "Tanh" not in text
    assert "bad Relu" not in markdown.render(page.document)


def test_a_backend_has_a_heading_of_its_own() -> None:
    titles = header()["titles"]["compilers"]
    assert heading("onnxruntime[xnnpack]", titles) == "ONNX Runtime 1.31 [xnnpack]"
    assert heading("onnxruntime", titles) == "ONNX Runtime 1.31"
    assert heading("command[emx]", titles | {"command[emx]": {"title": "emx", "version": ""}}) == "emx"
    assert heading("own", titles) == "own"


def test_an_operator_with_a_case_that_made_progress_is_not_green() -> None:
    axes = {"check": "operator", "model": "test_relu", "framework": "onnx", "compiler": "iree"}
    numbers = {"operators": ["Relu"], "opset": 14, "converted": None}
    row = {**generated("Relu", "iree"), "cell": axes, "check": "operator", "numbers": numbers}
    grid = operators.build_grid([header(), row | PROGRESS])
    assert operators_page._operators(grid, grid.operators).rows[0][3].status == "progress"


def test_the_summary_counts_every_kind_of_check_by_what_pytest_said() -> None:
    other = {"check": "weighing", "model": "lstm", "framework": "pytorch"}
    rows = [export(result="passed"), export("vgg16", status="ERROR", result="xfailed"), imported(status="mismatch"),
            generated("Relu", "iree", "unverified"), declared(other, "unsupported")]  # fmt: skip
    pages = build_pages([header(), plan(4, 4), *rows])
    assert texts(totals_table(pages)) == [
        ["export", "2", "1", "", "1", "", ""], ["import", "1", "", "1", "", "", ""],
        ["property", "1", "", "", "", "1", ""], ["weighing", "1", "", "", "", "", "1"],
    ]  # fmt: skip
    assert known_failures(pages) == 1


@pytest.mark.parametrize(
    ("status", "expected", "result"),
    [("supported", None, "passed"), ("supported", {"reason": "x"}, "failed"), ("ERROR", {"reason": "x"}, "xfailed"),
     ("ERROR", None, "failed"), ("unverified", None, "skipped")],
)  # fmt: skip
def test_rows_of_older_versions_say_what_pytest_said(status: str, expected: object, result: str) -> None:
    assert entry(export(status=status, expected=expected)).result == result


def test_a_line_says_who_rounded_and_the_legend_explains_what_is_there() -> None:
    rows = [equivalence("w8a8"), equivalence("fp32", flags=["loose"])]
    rows[0]["cell"]["graph"] = "qdq"
    rows += [equivalence("w8a8"), equivalence("fp16")]
    grid = compiled.build_grid([header(), *rows])
    assert [line.text for line in grid.lines] == ["fp32", "fp16", "w8a8 (by the tool)", "w8a8 (qdq)"]
    shown = [mark for mark, _ in compiled_page._marks(grid)]
    assert shown == ["(by the tool)", "(qdq), (w16) …", "fast-math"]


def test_a_cell_that_its_layers_settle_says_so_beside_an_error_beyond_its_tolerance() -> None:
    grid = compiled.build_grid([header(), equivalence("fp16", flags=[SETTLED])])
    assert texts(compiled_page.main_table(grid))[0][-1] == "supported by layers"
    assert [mark for mark, _ in compiled_page._marks(grid)] == ["by layers"]
