"""What changed of a cell since the run before, in the words and figures of the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jinja2", reason="comes with the extra report")
pytest.importorskip("orjson", reason="comes with the extra report")

from bench_plugin.report.interactive.changed import Changed, Movement, changed_since
from bench_plugin.report.interactive.reading import read_source, with_previous
from tests.report.comparison.runs import timed
from tests.report.interactive.scene import BEFORE, NOW, write
from tests.report.made import Row, equivalence, header, plan

VERSIONS = {"versions": {"tvm": "0.26"}}, {"versions": {"tvm": "0.27", "new": "1"}}


def since(folder: Path, before: Row | None, now: Row) -> Changed:
    """What changed between two runs of one selection, each with one row."""
    sides = ((BEFORE, folder / "history" / f"{BEFORE}.jsonl", before), (NOW, folder / "results.jsonl", now))
    for run, path, row in sides:
        opening = [header(run=run), {**plan(1, 1), "hash": "1", "selection": {"profile": "quick"}}]
        write(path, opening, [row] if row else [])
    return changed_since(with_previous(read_source(folder / "results.jsonl"), None))


def only(folder: Path, before: Row, now: Row) -> Movement:
    [found] = since(folder, before, now).movements.values()
    return found


def judged(error: float, **more: Any) -> Row:
    return equivalence(result="passed", numbers={"E": error, "tolerance_E": 1e-5, **more.pop("numbers", {})}, **more)


def test_figures_that_moved_are_said_with_their_versions(tmp_path: Path) -> None:
    worse = only(tmp_path / "a", judged(1e-7, **VERSIONS[0]), judged(8e-6, **VERSIONS[1]))
    assert worse == Movement("figures worse", "", ("E: 1e-07 → 8e-06",), ("new absent → 1", "tvm 0.26 → 0.27"))
    assert only(tmp_path / "b", judged(8e-6), judged(1e-7)).word == "figures better"
    counted = [judged(1e-7, numbers={"timing": {"instructions": {"median": count}}}) for count in (1000, 2_000_000)]
    assert only(tmp_path / "c", *counted) == Movement("figures worse", "", ("instructions: 1,000 → 2,000,000",), ())


def test_times_that_moved_are_said_with_their_share(tmp_path: Path) -> None:
    found = only(tmp_path, timed(), timed(1.3))
    assert (found.word, found.before, found.versions) == ("slower", "", ())
    assert found.said == ("slower: 1 ms → 1.3 ms (+30.0%)",)


def test_of_several_movements_the_most_urgent_word_counts_and_all_are_said(tmp_path: Path) -> None:
    before, now = timed(numbers={"E": 1e-7, "tolerance_E": 1e-5}), timed(1.3, numbers={"E": 8e-6, "tolerance_E": 1e-5})
    found = only(tmp_path / "a", before | VERSIONS[0], now | VERSIONS[1])
    assert found == Movement(
        "slower", "", ("E: 1e-07 → 8e-06", "slower: 1 ms → 1.3 ms (+30.0%)"), ("new absent → 1", "tvm 0.26 → 0.27")
    )
    broken = judged(0.5, status="mismatch", stage="compare", symptom="mismatch", **VERSIONS[1]) | {"result": "failed"}
    found = only(tmp_path / "b", judged(1e-7, **VERSIONS[0]), broken)
    assert (found.word, found.before) == ("broke", "supported") and found.said[0] == "supported → mismatch"
    assert found.versions == ("new absent → 1", "tvm 0.26 → 0.27")


def test_a_cell_that_the_run_before_did_not_have_is_new(tmp_path: Path) -> None:
    found = since(tmp_path, None, judged(1e-7))
    assert list(found.movements.values()) == [Movement("new", "", (), ())] and found.gone == 0
