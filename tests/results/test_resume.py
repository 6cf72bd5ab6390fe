"""What a resumed run may reuse of a results file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Outcome, Status
from bench_plugin.results.resume import reusable_outcomes
from bench_plugin.results.rows import cell_row

HEADER = {"schema": 1, "kind": "header", "run": "run-1"}


def row(key: str, *, reusable: bool = True, status: Status = Status.SUPPORTED) -> dict[str, Any]:
    axes = {"check": "export", "model": key, "framework": "fake"}
    outcome = Outcome(status, reusable=reusable)
    return cell_row(axes, outcome, key=key, nodeid="n", expected=None, repro=[], result="passed", settings={}, host="h")


def found(path: Path, *rows: Any) -> tuple[dict[str, Outcome], list[str]]:
    path.write_text("".join((text if isinstance(text, str) else json.dumps(text)) + "\n" for text in rows))
    notes: list[str] = []
    return reusable_outcomes(path, notes.append), notes


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.jsonl"


def test_only_rows_that_say_so_are_reused(path: Path) -> None:
    outcomes, notes = found(path, HEADER, row("a"), row("b", reusable=False), row("c", status=Status.MISMATCH))
    assert {key: outcome.status for key, outcome in outcomes.items()} == {"a": "supported", "c": "mismatch"}
    assert notes == []


def test_the_last_row_of_a_cell_has_the_word(path: Path) -> None:
    rows = [row("a", reusable=False), row("a"), row("b"), row("b", reusable=False)]
    assert set(found(path, HEADER, *rows)[0]) == {"a"}


def test_declared_cells_are_not_rows_of_computed_ones(path: Path) -> None:
    declared = {**row("a"), "kind": "declared"}
    assert found(path, HEADER, declared)[0] == {}


def test_a_row_that_is_cut_or_lacks_something_is_computed_again_and_said(path: Path) -> None:
    lacking = row("b")
    del lacking["timings"]
    outcomes, notes = found(path, HEADER, row("a"), lacking, {**row("c"), "status": "great"}, '{"schema": 1, "kind')
    assert set(outcomes) == {"a"}
    assert len(notes) == 3
    assert notes[0] == "resume: results.jsonl: line 5 is incomplete or corrupt and was ignored"
    assert "the row b is not complete" in notes[1] and "the row c is not complete" in notes[2]


def test_a_file_that_was_cut_in_its_first_row_has_nothing_to_reuse(path: Path) -> None:
    outcomes, notes = found(path, '{"schema": 1, "kind": "hea')
    assert outcomes == {} and len(notes) == 1


@pytest.mark.parametrize("wrong", [{**HEADER, "schema": 2}, {**HEADER, "kind": "news"}])
def test_a_file_of_another_schema_or_kind_is_refused(path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="line 1 "):
        found(path, wrong, row("a"))
