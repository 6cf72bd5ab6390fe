"""Everything that is written of a comparison of two hand-made runs, compared literally with files that a person read.

Where it changes on purpose, ``python -m tests.report.comparison.test_whole_comparison`` writes them again: read the
difference.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from bench_plugin.report.comparison.causes import causes
from bench_plugin.report.comparison.changes import Comparison, compare
from bench_plugin.report.comparison.document import change_text, counted, document, tables, versions_text
from bench_plugin.report.comparison.summary import Item, _fitting, summary, write
from bench_plugin.report.entries import entry
from bench_plugin.report.formats import markdown
from tests.report.comparison.runs import between, timed
from tests.report.comparison.scene import two_runs
from tests.report.made import Row, cell, equivalence, export, header
from tests.report.test_whole_pages import coloured

EXPECTED = Path(__file__).parent / "expected"


def whole() -> tuple[Comparison, list[Row]]:
    """The comparison of the two runs, and the cells of the later one."""
    base, head = two_runs()
    return compare(base, head), [row for row in head if row["kind"] != "header"]


def files() -> dict[str, str]:
    """Everything that is written of the comparison, by the names of files."""
    found, rows = whole()
    entries = [entry(row) for row in rows]
    return {
        "comparison.json": json.dumps(found.plain(), indent=1, allow_nan=False) + "\n",
        "comparison.md": markdown.render(document(found)),
        "comparison.txt": "\n".join(coloured(title, table) for title, table in tables(found)),
        "first.md": summary(None, entries),
        "summary.md": summary(found, entries),
    }


@pytest.mark.parametrize("name", ["comparison.json", "comparison.md", "comparison.txt", "first.md", "summary.md"])
def test_a_comparison_is_what_its_rows_say(name: str) -> None:
    found = files()
    assert sorted(found) == sorted(path.name for path in EXPECTED.iterdir())
    assert found[name] == (EXPECTED / name).read_text("utf-8")


def test_a_comparison_of_nothing_says_so() -> None:
    found = compare([header(run="")], [header(run="later")])
    assert counted(found) == "0 cells are the same; nothing changed"
    assert document(found).title == "From a run without an id to later" and tables(found) == []
    assert found.undecided == "the two runs have no cell in common"
    lines = summary(found, []).splitlines()
    assert lines[0] == "## No regression found, but not everything can be said"
    assert "**Cannot say:** the two runs have no cell in common." in lines and "Runs: `unknown` → `later`" in lines


@pytest.mark.parametrize(
    ("found", "headline", "sentence"),
    [
        (between(export(), export()), "No regression", "1 cell is the same; nothing changed"),
        (
            between(export(status="ERROR"), export()), "No regression, 1 progress",
            "0 cells are the same; 1 progress",
        ),
        (
            between(export(), export(status="ERROR")), "1 regression", "0 cells are the same; 1 regression",
        ),
        (
            between(timed(), timed(1.2)), "1 regression in time",
            "0 cells are the same; 1 regression; times: 1 slower",
        ),
    ],
)  # fmt: skip
def test_the_headline_counts_what_is_worse_and_what_is_better(found: Comparison, headline: str, sentence: str) -> None:
    assert summary(found, []).splitlines()[0] == f"## {headline}"
    assert counted(found) == sentence


def test_the_largest_changes_of_time_are_shown_as_shares() -> None:
    [found] = between(timed(), timed(2.0)).times
    assert found.d is not None and abs(found.d - 0.693) < 0.01
    assert change_text(found).startswith("+100.0% ± ")


def test_thirteen_cells_of_a_cause_have_their_names_and_more_are_counted() -> None:
    bad = {"status": "ERROR", "stage": "run", "reason": "no Neg"}
    names = [f"m{number:02d}" for number in range(15)]
    base, head = ([header(), *(export(name, **more) for name in names)] for more in ({}, bad))
    text = summary(compare(base, head), [])
    assert "and 14 more: supported → ERROR at run" in text
    assert f"The same of: {', '.join(names[1:13])} and 2 more\n" in text


@pytest.mark.parametrize(("most", "kept"), [(8 + 2 + 160 + 11 + 21, 2), (8 + 2 + 160 + 11 + 20, 1), (10, 0)])
def test_a_section_has_what_fits_and_counts_the_rest(most: int, kept: int) -> None:
    items = [Item("x" * 10), Item("é" * 10, 3)]
    lines = _fitting("### Some", items, most).splitlines()
    assert lines[0] == "### Some (4)"
    rest = {0: "4 more are left out", 1: "3 more are left out", 2: None}[kept]
    assert [line for line in lines[2:] if line and "left out" not in line] == [item.text for item in items[:kept]]
    assert any(rest in line for line in lines) if rest else "left out" not in "".join(lines)
    assert "1 more is left out" in _fitting("### Some", [Item("x")], 10)


def test_a_summary_is_written_with_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "a/b/summary.md"
    write(path, "é")
    write(path, "è")
    assert path.read_text("utf-8") == "è"


def test_long_texts_of_tools_end_with_an_ellipsis() -> None:
    for length, shown in ((400, "y" * 400), (401, "y" * 399 + "…")):
        text = summary(between(export(), export(status="ERROR", reason="y" * length)), [])
        assert f"\n  {shown}\n" in text, length


def test_a_change_lends_its_colour_from_a_status() -> None:
    found, _ = whole()
    for title, table in tables(found):
        seen = {cell.status for row in table.rows for cell in row}
        assert seen == ({"", "ERROR", "supported"} if "change" in table.heads or title == "Time" else {""}), title


def test_several_versions_that_changed_stand_in_one_line() -> None:
    assert versions_text({"a": ("", "1"), "b": ("2", "")}) == "a none → 1, b 2 → none"


def test_a_time_without_an_interval_has_no_share() -> None:
    [found] = between(timed(), timed(2.0)).times
    assert change_text(replace(found, d=None)) == change_text(replace(found, half_width=None)) == ""


@pytest.mark.parametrize("axis", ["check", "framework", "compiler", "precision", "target", "board"])
def test_cells_of_another_axis_have_a_cause_of_their_own(axis: str) -> None:
    bad = {"status": "ERROR", "stage": "run", "reason": "no Neg"}
    places = [{"model": name, "check": "equivalence", "framework": "onnx"} for name in "ab"]
    places[1][axis] = "other"
    base, head = ([header(), *(cell(place, **more) for place in places)] for more in ({}, bad))
    assert [len(one.changes) for one in causes(compare(base, head).statuses)] == [1, 1]


@pytest.mark.parametrize("name", ["workload", "python"])
def test_another_calibration_takes_no_drift_out(name: str) -> None:
    before, after = timed(calibration=1e-3), timed(1.2, calibration=1.2e-3)
    assert between(before, after).times[0].drift == pytest.approx(math.log(1.2))
    after["numbers"]["timing"]["calibration"][name] = "another"
    assert between(before, after).times[0].drift is None


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({"E": 1.0}, {}, []), ({}, {"E": 1.0}, []), ({"E": 1.0}, {"E": 2.0}, ["regression"]),
        ({"E": 1.0}, {"E": 1.99}, []), ({"E": 2.0}, {"E": 1.0}, ["progress"]), ({"E": 1.99}, {"E": 1.0}, []),
        ({"worst_steps": 0.2}, {"worst_steps": 0.5}, ["regression"]), ({"accuracy": 0.5}, {}, []),
        ({"accuracy": 0.0}, {"accuracy": 0.01}, ["progress"]), ({"accuracy": 0.5}, {"accuracy": 0.505}, []),
        ({"approximation": {"sqnr_db": 20.0}}, {"approximation": {"sqnr_db": 13.9}}, ["regression"]),
        ({"approximation": {"sqnr_db": 20.0}}, {"approximation": {"sqnr_db": 26.1}}, ["progress"]),
        ({"approximation": {"sqnr_db": 20.0}}, {"approximation": {"sqnr_db": 14.1}}, []),
    ],
)  # fmt: skip
def test_a_number_counts_from_its_factor_on(before: Row, after: Row, found: list[str]) -> None:
    changed = between(*(equivalence(numbers=numbers) for numbers in (before, after))).numbers
    assert [one.direction for one in changed] == found


def test_what_a_run_does_not_say_is_empty() -> None:
    assert compare([{"kind": "header"}], [header()]).plain()["base"] == dict.fromkeys(
        ("run", "started", "commit", "command"), ""
    )


def write_again() -> None:
    """Write the files that the test expects."""
    EXPECTED.mkdir(exist_ok=True)
    for name, text in files().items():
        (EXPECTED / name).write_text(text, "utf-8")


if __name__ == "__main__":
    write_again()
