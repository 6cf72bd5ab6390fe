"""The table of MLPerf's scenarios on the page of times, compared literally."""

from __future__ import annotations

from typing import Any

from bench_plugin.report.blocks import Heading, Paragraph, Table
from bench_plugin.report.entries import entry
from bench_plugin.report.scenarios import HEADS, OPENING, scenario_blocks
from tests.report.made import Row, equivalence

NOTE = "not MLPerf"


def measured(**more: Any) -> Row:
    return {"status": "measured", "result": "valid", "queries": 12_345, "seconds": 2.04, "note": NOTE, **more}


def table(scenarios: Row) -> list[list[str]]:
    """The texts of the rows."""
    one = entry(equivalence(check="timing", numbers={"scenarios": scenarios}))
    heading, opening, found = scenario_blocks([one, entry(equivalence())], lambda one: f"{one.cell['model']} here")
    assert heading == Heading("Scenarios") and opening == Paragraph(OPENING)
    assert isinstance(found, Table) and found.heads == HEADS and found.keys == 2
    return [[cell.text for cell in row] for row in found.rows]


def test_no_scenario_is_no_section() -> None:
    assert scenario_blocks([entry(equivalence())], str) == []


def test_each_scenario_has_its_figure_with_the_null_beside_it() -> None:
    server = {"samples_per_query": 3, "target_per_second": 123.456, "bound": 0.015}
    assert table({
        "single-stream": measured(
            percentiles={"p90": 0.0012, "p99": 9.0}, mean=0.001,
            null={"percentiles": {"p90": 2e-5}, "mean": 1.5e-5, "queries": 7},
        ),
        "multi-stream": measured(percentiles={"p99": 0.0034}, result="invalid", why=["too short", "too few"]),
        "server": measured(percentiles={"p90": 1.0}, settings=server, outputs="returned"),
        "offline": measured(per_second=12345.6, queries=1, null={"per_second": 9e6, "reason": "unused"}),
        "empty": {"status": "not run", "reason": "no LoadGen", "note": NOTE},
    }) == [
        ["lstm here", "single-stream", "valid", "p90 1.2 ms", "p90 20 us", "1 ms", "15 us", "12,345", "2 s", NOTE],
        ["lstm here", "multi-stream", "invalid (too short; too few)", "p99 3.4 ms", "", "", "", "12,345", "2 s", NOTE],
        ["lstm here", "server", "valid", "too few queries for p99", "", "", "", "12,345",
         "2 s, 3 samples per query, 123.5 queries/s, bound 15 ms, outputs: returned", NOTE],
        ["lstm here", "offline", "valid", "1.235e+04 samples/s", "9e+06 samples/s", "", "", "1", "2 s", NOTE],
        ["lstm here", "empty", "not run", "no LoadGen", "", "", "", "", "", NOTE],
    ]  # fmt: skip


def test_what_was_not_measured_is_empty_and_a_null_that_failed_says_why() -> None:
    assert table({
        "offline": measured(queries=0, null={"reason": "it crashed"}),
        "server": measured(queries=0, null={"reason": "it hung"}),
    }) == [
        ["lstm here", "offline", "valid", "", "it crashed", "", "", "0", "2 s", NOTE],
        ["lstm here", "server", "valid", "", "it hung", "", "", "0", "2 s", NOTE],
    ]  # fmt: skip
