"""The text of a failed cell: a long message is wrapped, so that the cause at its end is there."""

from __future__ import annotations

from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.outcome import Outcome, Stage, Status, Symptom
from bench_plugin.results.failure_text import WIDTH, failure_text

CELL = Cell(Check.EXPORT, "a", "fake")
LONG = "Load model from " + "/long" * 100 + " failed, because " + "of this and that " * 20 + "no Foo"


def test_reason_and_remark_are_wrapped_and_not_cut() -> None:
    outcome = Outcome(Status.ERROR, Stage.EXPORT, Symptom.EXCEPTION, LONG)
    text = failure_text(
        CELL, outcome, key="0f", remark=f"a new failure, found {LONG[-400:]}\nknown.toml row 1 expected {LONG[-400:]}"
    )
    assert text.replace("\n", " ").count("no Foo") == 3
    assert max(map(len, text.splitlines())) <= WIDTH
    assert text.splitlines()[-1] == "repeat: bench repro 0f"
