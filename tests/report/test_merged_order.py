"""The rows of a merged results file in their order, which of them count, and the sentences on what is missing."""

from __future__ import annotations

from typing import Any

import pytest

from bench_plugin.domain.errors import UsageError
from bench_plugin.report.merging.merge import Source, merge
from bench_plugin.report.merging.remark import shards_remark
from tests.report.shards import Row, cell, computed, opening, plan, shard

OWNERS = {cell("a"): 1, cell("b"): 2, cell("c"): 3}


def said(rows: tuple[Row, ...] | list[Row]) -> list[tuple[Any, ...]]:
    """Each row by its kind, run, model and status."""
    return [(row["kind"], row["run"], row.get("cell", {}).get("model"), row.get("status")) for row in rows]


def test_rows_are_run_by_run_with_the_header_before_its_plan_and_then_cell_by_cell() -> None:
    owners = {**OWNERS, cell("d"): 1}  # the first shard has more cells, so that its plan is behind as text
    first = {"a key before those of a header": 1, **plan("run-1", 1, owners, 3)}
    files = [
        [opening("run-2"), plan("run-2", 2, owners, 3), computed("run-2", cell("b"), "mismatch")],
        [opening("run-1"), first, computed("run-1", cell("b"), "supported"), computed("run-1", cell("a"), "supported"),
         computed("run-1", cell("d"), "supported")],
    ]  # fmt: skip
    for order in (files, files[::-1]):
        found = merge([Source(f"file {number}", rows) for number, rows in enumerate(order)])
        assert said(found.rows) == [
            ("header", "run-1", None, None), ("plan", "run-1", None, None),
            ("header", "run-2", None, None), ("plan", "run-2", None, None),
            ("declared", "run-2", "c", "not run"),
            ("cell", "run-1", "a", "supported"),
            ("cell", "run-1", "b", "supported"), ("cell", "run-2", "b", "mismatch"),
            ("cell", "run-1", "d", "supported"),
        ]  # fmt: skip
        plans = [row for row in found.rows if row["kind"] == "plan"]
        assert ["planned" in row for row in plans] == [True, False], "the cells of a division are there once"
        assert found.rows[4]["schema"] == 1 and found.rows[4]["reason"] == "shard 3/3 is missing"


def test_of_several_verdicts_the_worst_counts_and_of_one_verdict_the_newest_row_with_a_log_at_hand() -> None:
    rows = [computed(f"run-{run}", cell("a"), status) for run, status in
            ((1, "supported"), (2, "unverified"), (3, "ERROR"), (4, "mismatch"), (5, "supported"))]  # fmt: skip
    found = merge([Source(row["run"], [opening(row["run"]), row]) for row in rows])
    cells = [row for row in found.rows if row["kind"] == "cell"]
    assert said(cells)[-1] == ("cell", "run-3", "a", "ERROR") and "outvoted" not in cells[-1]
    assert {(row["status"], row["run"]) for row in cells if row.get("outvoted")} == {
        ("supported", "run-5"), ("unverified", "run-2"), ("mismatch", "run-4"),
    }  # fmt: skip
    (conflict,) = found.conflicts
    assert [verdict.status for verdict in conflict.verdicts] == ["ERROR", "mismatch", "unverified", "supported"]
    at_hand, gone = (computed("run-1", cell("a"), "supported", log=log) for log in ("logs/a.log", "there/z.log"))
    for order in ([at_hand, gone], [gone, at_hand]):
        found = merge([Source(str(number), [opening("run-1"), row]) for number, row in enumerate(order)])
        assert [row["log"] for row in found.rows if row["kind"] == "cell"] == ["logs/a.log"]


def test_rows_without_an_id_of_their_run_have_that_of_the_header_above() -> None:
    rows = [opening("run-1"), computed("", cell("a"), "supported"), opening("run-2"), computed("", cell("b"), "ERROR")]
    plain = [{key: value for key, value in row.items() if key != "run" or value} for row in rows]
    assert said(merge([Source("one", plain)]).rows)[2:] == [
        ("cell", "run-1", "a", "supported"), ("cell", "run-2", "b", "ERROR"),
    ]  # fmt: skip


def test_what_is_missing_or_mixed_is_said_in_whole_sentences() -> None:
    def whole(run: str) -> str:
        return str(plan(run, 1, OWNERS, 3)["shard"]["whole"])

    found = merge([Source("one", shard(1, OWNERS, {}, "run-1"))])
    assert found.notes == (
        f"missing of the plan {whole('run-1')}: shard 2/3, 3/3",
        "3 planned cells have no result and are shown as 'not run'",
    )
    again = {cell("a"): 2, cell("b"): 1, cell("c"): 1}
    complete = [shard(index, OWNERS, dict.fromkeys(OWNERS, "supported"), f"run-{index}") for index in (1, 2, 3)]
    assert merge([Source(rows[0]["run"], rows) for rows in complete]).notes == ()
    divided = [*complete, shard(1, again, dict.fromkeys(OWNERS, "supported"), "run-4"),
               shard(2, again, dict.fromkeys(OWNERS, "supported"), "run-5")]  # fmt: skip
    assert merge([Source(rows[0]["run"], rows) for rows in divided]).notes == (
        f"the shards of the plan {whole('run-1')} were divided in 2 ways: with other numbers of shards, or other "
        "--bench-shard-durations; cells may have been computed twice, or by none",
    )
    commits = [[opening("run-1", commit="aaa")], [opening("run-2")], [opening("run-3", commit="aaa")]]
    assert merge([Source("x", rows) for rows in commits]).notes == ("the runs are of 2 commits: aaa, none",)
    assert merge([Source("x", rows) for rows in commits[::2]]).notes == ()


def test_shards_of_plans_that_differ_are_refused_in_a_message_that_says_what_to_do() -> None:
    files = [shard(1, OWNERS, {}, "run-1"), shard(1, {**OWNERS, cell("new"): 3}, {}, "run-2")]
    with pytest.raises(UsageError) as raised:
        merge([Source(rows[0]["run"], rows) for rows in (*files, shard(2, OWNERS, {}, "run-3"))])
    text = str(raised.value)
    assert "run-1, run-3 (plan " in text
    assert "of 3 cells)" in text and "of 4 cells)" in text and "have 3 cells in common" in text
    assert text.endswith(
        "are not the same plan: the project, its suites or the selection changed between these shards. Run all shards "
        "again from one commit, or give --mixed to merge them nevertheless"
    )


def test_a_page_says_which_shards_it_was_made_from() -> None:
    one, other = (shard(index, OWNERS, dict.fromkeys(OWNERS, "supported"), f"run-{index}") for index in (1, 2))
    assert shards_remark(one) == "shard 1 of 3, without shards 2, 3"
    merged = merge([Source("one", one), Source("other", other)])
    assert shards_remark(merged.rows) == "merged from shards 1, 2 of 3, without shard 3; 1 planned cells were not run"
    apart = {cell("x"): 1, cell("y"): 2}
    third = shard(2, apart, dict.fromkeys(apart, "supported"), "run-3")
    two = merge([Source("one", one), Source("third", third)])
    assert shards_remark(two.rows) == (
        "merged from shard 1 of 3, without shards 2, 3 and shard 2 of 2, without shard 1; 3 planned cells were not run"
    )
