"""What ``numbers`` of a row holds: declared once, always there, and documented as it is declared."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_plugin.domain.cell import Check
from bench_plugin.domain.outcome import Outcome, Status
from bench_plugin.results.numbers import NUMBERS, complete, markdown_table, measured
from bench_plugin.results.rows import cell_row, outcome_of

DOCUMENT = Path(__file__).parents[2] / "docs/results.md"


def test_the_document_has_the_table_as_it_is_declared() -> None:
    table = markdown_table()
    assert table.startswith("| key | checks | precisions | content |\n|---|---|---|---|\n| `E` | export, import,")
    assert table in DOCUMENT.read_text("utf-8")


def test_a_key_is_declared_once_and_for_checks_that_exist() -> None:
    names = [one.name for one in NUMBERS]
    assert len(names) == len(set(names))
    assert {check for one in NUMBERS for check in one.checks} <= set(map(str, Check))


@pytest.mark.parametrize("check", ["export", "import", "equivalence", "quality", "operator", "property"])
def test_every_key_of_a_check_is_always_there(check: str) -> None:
    names = {one.name for one in NUMBERS if check in one.checks}
    assert complete(check, {}) == dict.fromkeys(names)


def test_what_was_measured_comes_back_from_a_row() -> None:
    numbers = {"E": 1e-6, "needed": 0.0, "mutants": {}}
    axes = {"check": "export", "model": "a", "framework": "fake"}
    outcome = Outcome(Status.SUPPORTED, numbers=numbers)
    row = cell_row(axes, outcome, key="k", nodeid="n", expected=None, repro=[], result="passed", settings={}, host="")
    assert row["numbers"]["M"] is None and row["numbers"]["E"] == 1e-6
    assert row["result"] == "passed"
    assert outcome_of(row) == outcome
    assert measured(row["numbers"]) == numbers
