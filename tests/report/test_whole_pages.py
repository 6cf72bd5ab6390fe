"""Whole pages of hand-made rows, compared literally with the files of ``expected``, which were read by a person.

Where a page changes on purpose, ``python -m tests.report.test_whole_pages`` writes them again: read the difference.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest

from bench_plugin.report.blocks import Heading, Paragraph, Table
from bench_plugin.report.earlier import EarlierRuns, beside
from bench_plugin.report.formats.terminal import lines, painted
from bench_plugin.report.pages.registry import build_pages, read_pages
from bench_plugin.report.summary import totals_table
from tests.report.made import plan
from tests.report.scenes import SCENES

EXPECTED = Path(__file__).parent / "expected"
IN_EVERY_FORMAT = ("equivalence", "other-checks")  # the others are not compared as reStructuredText
NOTE = "line 7 was cut and is left out"


def coloured(title: str, table: Table) -> str:
    """A table as a terminal of 100 columns shows it, with the names of the colours."""
    drawn = [painted(line, coloured=True).replace("\x1b[0m", "}") for line in lines(table, 100)]
    text = "\n".join([title, *drawn])
    for code, name in (("32", "green"), ("31", "red"), ("33", "yellow"), ("36", "cyan")):
        text = text.replace(f"\x1b[{code}m", "{" + name + " ")
    return text + "\n"


def files(name: str) -> dict[str, str]:
    """Everything that a page writes and shows, by the names of files; style sheets left out."""
    [page] = build_pages(SCENES[name](), (NOTE,), EarlierRuns())
    with tempfile.TemporaryDirectory() as folder:
        page.write(Path(folder))
        found = {path.name: path.read_text("utf-8") for path in sorted(Path(folder).iterdir())}
    for one, text in found.items():
        if one.endswith(".html"):
            head, _, rest = text.partition("<style>")
            found[one] = head + rest.partition("</style>")[2]
    found = {one: text for one, text in found.items() if not one.endswith(".rst") or name in IN_EVERY_FORMAT}
    tables = [*page.grids, ("totals", totals_table([page]))]
    return found | {f"{name}.txt": "\n".join(coloured(title, table) for title, table in tables)}


def test_tables_say_how_many_columns_their_rows_are_about() -> None:
    pages = [page for make in SCENES.values() for page in build_pages(make())]
    documents = [one for page in pages for one in (page.document, *page.details.values())]
    keys = {table.heads[: table.keys] for one in documents for table in one.blocks if isinstance(table, Table)}
    assert {heads for heads in keys if len(heads) > 1} == {
        ("model", "precision"), ("model", "source", "precision"), ("cases", "status"), ("compiler", "precision"),
        ("model", "precision"), ("model", "source", "precision"), ("cases", "status"),
        ("target", "model", "source", "precision"), ("target", "model", "source", "precision", "compiler"),
        ("layer", "signature"), ("stack", "kind", "layers"), ("model", "precision", "compiler", "board"),
        ("compiler", "precision", "batch", "threads", "streams", "mode"), ("cell", "series"), ("cell", "meter"),
    }  # fmt: skip


def test_a_results_file_gives_its_pages_with_what_its_reader_remarks(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in SCENES["other-checks"]()) + '{"cut')
    [page] = read_pages(path)
    assert page.remarks == ("", "results.jsonl: line 6 is incomplete or corrupt and was ignored")
    assert build_pages(SCENES["other-checks"]()[1:])[0].document.blocks[-1] == Paragraph(
        "The results file has no header."
    )
    [page] = build_pages([plan(1, 9) | {"kind": "plan"}, *SCENES["other-checks"]()])
    assert page.document.blocks[2] == Paragraph("partial: 3 of 9 cells")


def test_a_results_file_gives_the_scores_of_the_runs_in_its_history(tmp_path: Path) -> None:
    rows = [row | {"hash": "all"} if row["kind"] == "plan" else row for row in SCENES["onnx-operators"]()]
    for path in (tmp_path / "results.jsonl", tmp_path / "history/earlier.jsonl"):
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    [page] = read_pages(tmp_path / "results.jsonl")
    assert "Scores over time" in page.document.headings
    blocks = list(page.document.blocks)
    table = blocks[blocks.index(Heading("Scores over time")) + 2]
    assert isinstance(table, Table) and table.keys == 2 and table.heads[:2] == ("run of (UTC)", "commit")
    assert [cell.text for cell in table.rows[0]][:2] == ["2026-11-21 20:49:52", "abc123"]
    [page] = read_pages(tmp_path / "history/earlier.jsonl")
    assert "Scores over time" not in page.document.headings, "a run is not earlier than itself"


def test_an_earlier_run_that_cannot_be_read_is_left_out_and_the_next_one_is_read(tmp_path: Path) -> None:
    rows = [row | {"hash": "all"} if row["kind"] == "plan" else row for row in SCENES["onnx-operators"]()]
    paths = {name: tmp_path / f"{name}.jsonl" for name in ("newer", "none", "gone", "other", "right")}
    kept = {"newer": [*rows, rows[-1] | {"schema": 99}], "none": [], "other": [{"kind": "plan", "hash": "x"}],
            "right": rows}  # fmt: skip
    for name, found in kept.items():
        paths[name].write_text("".join(json.dumps(row) + "\n" for row in found))
    [read] = EarlierRuns(tuple(paths.values())).of_selection(rows)
    assert list(read) == rows


def test_earlier_than_a_run_of_the_history_are_those_before_it(tmp_path: Path) -> None:
    names = ("results.jsonl", "history/20261101.jsonl", "history/20261102.jsonl", "history/20261103.jsonl")
    last, first, second, third = (tmp_path / name for name in names)
    first.parent.mkdir()
    for path in (last, first, second, third):
        path.write_text("")
    assert beside(last).paths == (third, second, first)
    assert beside(second).paths == (first,) and beside(first).paths == ()


@pytest.mark.parametrize("name", SCENES)
def test_a_page_is_what_its_rows_say(name: str) -> None:
    found = files(name)
    assert sorted(found) == sorted(path.name for path in (EXPECTED / name).iterdir())
    for one, text in found.items():
        assert text == (EXPECTED / name / one).read_text("utf-8"), one


@pytest.mark.parametrize("name", SCENES)
def test_a_page_is_the_same_in_whatever_order_its_cells_were_computed(name: str) -> None:
    rows = SCENES[name]()
    cells = [row for row in rows if row["kind"] in ("cell", "declared")]
    places = [json.dumps(row["cell"], sort_keys=True) for row in cells]
    once = [row for row, place in zip(cells, places, strict=True) if places.count(place) == 1]
    assert len(once) > 1
    others = [row for row in rows if row not in once]
    [page], [turned] = (build_pages([*others, *found], (), EarlierRuns()) for found in (once, once[::-1]))
    assert turned.document == page.document and turned.details == page.details


def write() -> None:
    """Write the files that the tests expect."""
    for name in SCENES:
        (EXPECTED / name).mkdir(parents=True, exist_ok=True)
        for one, text in files(name).items():
            (EXPECTED / name / one).write_text(text, "utf-8")


if __name__ == "__main__":
    write()
