"""What a page says of the runs that it was made from: its first line, and "Made with"."""

from __future__ import annotations

from typing import Any

from bench_plugin.report.blocks import Block, Heading, Paragraph, Table
from bench_plugin.report.entries import entry, header_of, heading, in_order, partial
from bench_plugin.report.parts import how_models_were_made, made_with, run_line
from tests.report.made import Row, equivalence, header, plan

SECOND = {
    "run": "20261122-010203-aaaaaa", "started": "2026-11-22T01:02:03Z", "commit": "def456", "command": ["pytest", "-q"],
    "machine": {"cpu": "Other CPU", "architecture": "aarch64"},
    "versions": {"iree": {"iree-base": "3.12", "numpy": "2"}},
}  # fmt: skip


def facts(blocks: list[Block]) -> tuple[tuple[str, ...], Row]:
    table = next(block for block in blocks if isinstance(block, Table))
    return table.heads, {row[0].text: row[1].text for row in table.rows}


def test_one_run_is_said_with_its_date_commit_and_machine() -> None:
    [line] = run_line(header_of([header(known_failures="fff999")]))
    assert line == Paragraph(
        "Run 20261121-204952-1a2b3c of 2026-11-21 20:49:52 UTC, commit abc123, on Some CPU. "
        "The known failures are those of commit fff999."
    )
    [line] = run_line(header_of([header(run="", started=None, commit=None, machine={})]))
    assert line == Paragraph("Run of an unknown date, commit none, on an unknown machine.")
    assert list(run_line({})) == []


def test_of_two_runs_the_first_line_has_both_commits_machines_and_sets_of_known_failures() -> None:
    rows = [header(**SECOND, known_failures="fff999"), header(known_failures="eee888")]
    [line] = run_line(header_of(rows))
    assert line == Paragraph(
        "2 runs of 2026-11-21 20:49:52 UTC to 2026-11-22 01:02:03 UTC, commits abc123, def456, on Some CPU; Other CPU, "
        "aarch64. The known failures are those of commits eee888, fff999."
    )
    [line] = run_line(header_of([header(started=None), header(**SECOND)]))
    assert isinstance(line, Paragraph) and line.text.startswith("2 runs of 2026-11-22 01:02:03 UTC, ")


def test_what_a_run_was_made_with_is_a_table_of_what_is_known() -> None:
    blocks = list(made_with(header_of([header(seeds={"weights": 0, "inputs": 7})])))
    assert blocks[0] == Heading("Made with")
    assert facts(blocks) == (("", "this run"), {
        "run": "20261121-204952-1a2b3c", "started": "2026-11-21T20:49:52Z", "commit": "abc123",
        "command": "pytest suites", "machine": "cpu Some CPU, cpus 2", "seeds": "weights 0, inputs 7",
        "bench_plugin": "0.1.0", "Python": "3.11.7",
    })  # fmt: skip
    bare = {"kind": "header", "run": "r", "command": ["x"]}
    assert facts(list(made_with(header_of([bare]))))[1] == {"run": "r", "commit": "none", "command": "x"}
    assert list(made_with({})) == [Heading("Made with"), Paragraph("The results file has no header.")]


def test_what_two_runs_were_made_with_names_the_facts_of_each() -> None:
    blocks = list(made_with(header_of([header(), header(**SECOND)])))
    heads, found = facts(blocks)
    assert heads == ("", "these runs")
    assert found["run"] == "20261121-204952-1a2b3c; 20261122-010203-aaaaaa"
    assert found["started"] == "2026-11-21T20:49:52Z; 2026-11-22T01:02:03Z"
    assert (found["commit"], found["command"]) == ("abc123; def456", "pytest suites; pytest -q")
    assert found["machine"] == "cpu Some CPU, cpus 2; cpu Other CPU, architecture aarch64"
    [*_, locks] = blocks
    assert isinstance(locks, Table) and locks.heads == ("toolchain", "locked versions")
    assert [[cell.text for cell in row] for row in locks.rows] == [["iree", "iree-base 3.11 and 3.12, numpy 2"]]


def test_versions_of_what_took_part_replace_those_of_all_toolchains() -> None:
    used = [entry(equivalence(versions=versions)) for versions in ({"onnx": "1.23", "iree": "3.11"}, {"onnx": "1.23"})]
    blocks = list(made_with(header_of([header()]), used))
    assert facts(blocks)[1]["versions"] == "iree 3.11, onnx 1.23" and len(blocks) == 2


def test_models_are_seeded_trained_or_given() -> None:
    def made(model: str, framework: str, **more: Any) -> Row:
        row = equivalence("fp32", **more)
        return row | {"cell": row["cell"] | {"model": model, "framework": framework}}

    training = {"training": {"epochs": 2}}
    rows = [
        made("lstm", "pytorch", numbers=training), made("lstm", "mxnet", numbers=training),
        made("net", "pytorch", numbers=training), made("a.onnx", "onnx"), made("b.onnx", "onnx"),
    ]  # fmt: skip
    blocks = how_models_were_made([entry(row) for row in rows], {"lstm": "LSTM"})
    assert blocks == [
        Heading("How the models were made"),
        Paragraph("Trained on their dataset, and so an example of what quantisation costs: LSTM (pytorch, mxnet), net "
                  "(pytorch)."),
        Paragraph("ONNX files are used with the weights that they hold: a.onnx, b.onnx."),
    ]  # fmt: skip
    seeded = how_models_were_made([entry(made("lstm", "pytorch"))], {})
    assert len(seeded) == 2 and isinstance(seeded[1], Paragraph) and seeded[1].text.startswith("Weights are not")
    assert how_models_were_made([], {}) == []


def test_a_tool_is_called_by_its_title_version_and_backend() -> None:
    titles: Row = {"tvm": {"title": "TVM", "version": "0.20"}, "emx": {"version": "1.4"}, "xla": {"title": "XLA"}}
    titles |= {"onnxruntime": {"title": "ONNX Runtime", "version": "1.31", "backends": ["xnnpack"]}}
    assert [heading(name, titles) for name in ("tvm", "emx", "xla", "onnxruntime[xnnpack]", "other")] == [
        "TVM 0.20", "emx 1.4", "XLA", "ONNX Runtime 1.31 [xnnpack]", "other",
    ]  # fmt: skip


def test_cells_are_in_the_order_of_their_axes_numbers_by_size() -> None:
    cells: list[Row] = [
        {"model": "b"}, {"model": "a", "opset": 17}, {"model": "a", "opset": 9}, {"model": "a"},
        {"model": "a", "opset": 17, "compiler": "iree"},
    ]  # fmt: skip
    assert sorted(cells, key=in_order) == [cells[2], cells[1], cells[4], cells[3], cells[0]]


def test_a_page_is_partial_where_rows_of_planned_cells_are_missing() -> None:
    def said(*plans: Row) -> str:
        return partial([equivalence(), *plans])

    assert said() == said(plan(1, 1)) == said({"kind": "plan", "count": 0}) == ""
    assert said(plan(1, 2)) == "partial: 1 of 2 cells"
    export = {"kind": "plan", "count": 3, "totals": {"export": 3}}
    assert said(export, export | {"count": 2, "totals": {"export": 2, "quality": 4}}) == "partial: 1 of 7 cells"
