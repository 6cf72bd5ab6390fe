"""``bench merge``: any order, any repetition, merged files merged again; conflicts, missing shards, other plans."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_plugin.cli.main import main
from bench_plugin.domain.cell import Cell
from bench_plugin.domain.errors import UsageError
from bench_plugin.report.blocks import Paragraph, TableCell
from bench_plugin.report.merging.merge import Source, merge
from bench_plugin.report.pages.registry import build_pages
from bench_plugin.report.summary import totals_table
from bench_plugin.results.rows import parse_rows
from bench_plugin.results.series import keep, troubles
from tests.report.shards import Row, cell, computed, opening, plan, shard
from tests.results import nights

COMPLETE: dict[str, Row] = {row["kind"]: row for row in nights.night(1, nights.passed(nights.axes()))}
STARTED: dict[str, Row] = {"header": {"started": "2026-11-01T02:00:00Z"}}
STATUSES = ("supported", "mismatch", "ERROR", "unverified")


def merged_text(*files: Sequence[Row], mixed: bool = False) -> str:
    rows = merge([Source(f"file {number}", rows) for number, rows in enumerate(files)], mixed=mixed).rows
    return "".join(json.dumps(row) + "\n" for row in rows)


def rows_of(text: str) -> list[Row]:
    return [json.loads(line) for line in text.splitlines()]


FILES = st.lists(
    st.builds(
        lambda run, cells: [opening(run), *(computed(run, cell(model), status) for model, status in cells)],
        st.sampled_from(["run-1", "run-2", "run-3"]),
        st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(STATUSES)), max_size=5),
    ),
    min_size=1, max_size=4,
)  # fmt: skip


@given(files=FILES, data=st.data())
def test_any_order_repetition_and_nesting_gives_the_same_bytes(files: list[list[Row]], data: st.DataObject) -> None:
    whole = merged_text(*files)
    assert merged_text(*data.draw(st.permutations(files))) == whole
    assert merged_text(*files, *files) == whole
    assert merged_text(rows_of(whole)) == whole
    cut = data.draw(st.integers(0, len(files)))
    parts = [rows_of(merged_text(*part)) for part in (files[:cut], files[cut:]) if part]
    assert merged_text(*parts[::-1], files[0]) == whole


@given(owners=st.dictionaries(st.sampled_from([cell(name) for name in "abcdef"]), st.integers(1, 3), min_size=1),
       ran=st.sets(st.sampled_from([cell(name) for name in "abcdef"])), present=st.sets(st.integers(1, 3), min_size=1),
       data=st.data())  # fmt: skip
def test_shards_in_any_order_mark_every_planned_cell_without_a_row(
    owners: dict[Cell, int], ran: set[Cell], present: set[int], data: st.DataObject
) -> None:
    owners |= {cell("last"): 3}
    statuses = dict.fromkeys(ran, "supported")
    files = [shard(index, owners, statuses) for index in sorted(present)]
    whole = merged_text(*files)
    assert merged_text(*data.draw(st.permutations(files))) == merged_text(rows_of(whole), files[0]) == whole
    found = {Cell.from_axes(row["cell"]): row for row in rows_of(whole) if row["kind"] in ("cell", "declared")}
    assert found.keys() == owners.keys()
    for one, row in found.items():
        missing = owners[one] not in present
        if one in ran and not missing:
            assert (row["kind"], row["status"]) == ("cell", "supported")
        else:
            said = f"shard {owners[one]}/3 " + ("is missing" if missing else "ended before this cell")
            assert (row["kind"], row["status"], row["reason"]) == ("declared", "not run", said)


def test_a_conflict_names_both_files_and_the_worst_counts() -> None:
    one = [opening("run-1"), computed("run-1", cell("a"), "supported")]
    other = [opening("run-2"), computed("run-2", cell("a"), "ERROR", stage="export", symptom="crash")]
    found = merge([Source("one.jsonl", one), Source("other.jsonl", other)])
    (conflict,) = found.conflicts
    assert conflict.cell["model"] == "a"
    assert [(said.text, said.run, said.files) for said in conflict.verdicts] == [
        ("ERROR (crash at export)", "run-2", ("other.jsonl",)), ("supported", "run-1", ("one.jsonl",)),
    ]  # fmt: skip
    rows = [row for row in found.rows if row["kind"] == "cell"]
    assert [(row["status"], row.get("outvoted")) for row in rows] == [("supported", True), ("ERROR", None)]
    assert [entry.status for page in build_pages(found.rows) for entry in page.entries] == ["ERROR"]
    assert merge([Source("merged.jsonl", found.rows)]).conflicts[0].verdicts[0].files == ("merged.jsonl",)


def test_of_a_resumed_file_the_last_row_of_a_cell_counts() -> None:
    rows = [opening("run-1"), computed("run-1", cell("a"), "ERROR"), computed("run-1", cell("a"), "supported")]
    found = merge([Source("resumed.jsonl", rows)])
    assert not found.conflicts and [row["status"] for row in found.rows if row["kind"] == "cell"] == ["supported"]


def test_cells_that_were_not_run_are_shown_as_such_and_the_pages_say_from_which_shards() -> None:
    owners = {cell("a"): 1, cell("b"): 2, cell("c"): 3}
    rows = rows_of(merged_text(*(shard(index, owners, dict.fromkeys(owners, "supported")) for index in (1, 3))))
    (page,) = build_pages(rows)
    assert {entry.cell["model"]: entry.status for entry in page.entries} == {
        "a": "supported", "b": "not run", "c": "supported",
    }  # fmt: skip
    totals = totals_table([page])
    assert totals.heads[-2:] == ("declared before", "not run") and totals.rows[0][-1] == TableCell("1")
    assert [one.text for one in totals.rows[0]] == ["export", "3", "2", "", "", "", "", "1"]
    assert "partial: 2 of 3 cells" in page.remarks
    assert "merged from shards 1, 3 of 3, without shard 2; 1 planned cells were not run" in page.remarks
    complete = rows_of(merged_text(rows, shard(2, owners, dict.fromkeys(owners, "supported"))))
    (page,) = build_pages(complete)
    assert "not run" not in totals_table([page]).heads
    assert "merged from shards 1, 2, 3 of 3" in page.remarks and not any("partial" in one for one in page.remarks)


def test_totals_of_runs_with_different_checks_add_up() -> None:
    first = [opening("run-1"), {**plan("run-1", 1, {cell("a"): 1}, 1), "total": 1, "totals": {"export": 1}}]
    second = [opening("run-2"), {"schema": 1, "kind": "plan", "run": "run-2", "count": 1, "total": 4,
                                 "totals": {"quality": 4}}]  # fmt: skip
    rows = rows_of(merged_text(first, second, [opening("run-3"), computed("run-3", cell("a"), "supported")]))
    assert "partial: 1 of 5 cells" in build_pages(rows)[0].remarks


def selected(run: str, models: Sequence[str], count: int) -> Row:
    return {"schema": 1, "kind": "plan", "run": run, "count": count, "total": 1, "totals": {"export": 1},
            "selection": {"models": list(models)}}  # fmt: skip


@pytest.mark.parametrize(
    ("second", "remark"), [(["b", "c"], "partial: 2 of 7 cells"), (["a", "b"], "partial: 2 of 4 cells"),
                           (["all"], "partial: 2 of 4 cells"), ([], "partial: 2 of 4 cells")],
)  # fmt: skip
def test_selections_of_different_models_add_up(second: Sequence[str], remark: str) -> None:
    first = [opening("run-1"), selected("run-1", ["a"], 3), computed("run-1", cell("a"), "supported")]
    other = [opening("run-2"), selected("run-2", second, 4), computed("run-2", cell("b"), "supported")]
    assert remark in build_pages(rows_of(merged_text(first, other)))[0].remarks


def test_pages_of_several_runs_name_all_their_commits_machines_and_versions() -> None:
    machines = ({"cpu": "Xeon", "architecture": "x86_64"}, {"cpu": "Neoverse", "architecture": "aarch64"})
    locks = [{"onnxruntime": {"onnx": version, "numpy": "2"}} for version in ("1.22", "1.23")]
    headers = [
        opening(f"run-{index + 1}", commit=commit, machine=machines[index], versions=locks[index])
        for index, commit in enumerate(("aaa", "bbb"))
    ]
    first, second = [headers[0], computed("run-1", cell("a"), "supported")], [headers[1]]
    (page,) = build_pages(rows_of(merged_text(second, first)))
    head, *_, made, locked = page.document.blocks
    assert head == Paragraph("2 runs of run-1 to run-2, commits aaa, bbb, on Xeon, x86_64; Neoverse, aarch64.")
    facts = {row[0].text: row[1].text for row in made.rows}
    assert facts["run"] == "run-1; run-2" and facts["commit"] == "aaa; bbb"
    assert facts["machine"] == "architecture x86_64, cpu Xeon; architecture aarch64, cpu Neoverse"
    assert [row[1].text for row in locked.rows] == ["numpy 2, onnx 1.22 and 1.23"]


def test_a_resumed_run_is_one_run() -> None:
    rows = [opening("run-1", commit="aaa"), opening("run-1", commit="aaa"), computed("run-1", cell("a"), "supported")]
    head = build_pages(rows)[0].document.blocks[0]
    assert head == Paragraph("Run run-1 of run-1, commit aaa, on an unknown machine.")


def test_a_run_that_was_resumed_at_another_commit_tells_both() -> None:
    rows = [opening("run-1", commit="aaa"), computed("run-1", cell("a"), "supported"), opening("run-1", commit="bbb")]
    head = build_pages(rows)[0].document.blocks[0]
    assert head == Paragraph("Run run-1 of run-1, commits aaa, bbb, on an unknown machine.")
    other = [opening("run-2", commit="ccc"), computed("run-2", cell("b"), "supported")]
    head = build_pages([*rows, *other])[0].document.blocks[0]
    assert head == Paragraph("2 runs of run-1 to run-2, commits aaa, bbb, ccc, on an unknown machine.")


def test_shards_of_plans_that_differ_are_refused() -> None:
    one = shard(1, {cell("a"): 1, cell("b"): 2}, {})
    other = shard(2, {cell("a"): 1, cell("b"): 2, cell("new"): 2}, {})
    with pytest.raises(UsageError, match=r"file [01] \(plan .*\) have 2 cells in common and are not the same plan"):
        merged_text(one, other)
    left = [row for row in rows_of(merged_text(one, other, mixed=True)) if row["kind"] == "declared"]
    assert [row["status"] for row in left] == ["not run"] * 3
    assert {(row["cell"]["model"], row["run"]) for row in left} == {("a", "run-1"), ("b", "run-1"), ("new", "run-2")}


def test_plans_of_other_cells_are_merged_side_by_side() -> None:
    first, second = {cell("a"): 1, cell("b"): 2}, {cell("c"): 1, cell("d"): 2}
    files = [shard(index, plan, {}, f"run-{name}{index}") for name, plan in (("x", first), ("y", second))
             for index in (1, 2)]  # fmt: skip
    assert len([row for row in rows_of(merged_text(*files)) if row.get("status") == "not run"]) == 4


def test_shards_that_were_divided_in_two_ways_are_told_and_nothing_is_lost() -> None:
    one, other = {cell("a"): 1, cell("b"): 2}, {cell("a"): 2, cell("b"): 1}
    statuses = dict.fromkeys(one, "supported")
    found = merge([Source("one", shard(1, one, statuses, "run-1")), Source("two", shard(2, other, statuses, "run-2"))])
    assert any("were divided in 2 ways" in note for note in found.notes)
    assert [row["cell"]["model"] for row in found.rows if row.get("status") == "not run"] == ["b"]


def test_a_declared_row_gives_way_to_a_computed_one() -> None:
    declared = {"schema": 1, "kind": "declared", "run": "run-1", "cell": cell("a").axes(), "status": "Not provided",
                "reason": "no such model"}  # fmt: skip
    found = merge([Source("one", [opening("run-1"), declared]),
                   Source("two", [opening("run-2"), computed("run-2", cell("a"), "supported")])])  # fmt: skip
    assert [row["kind"] for row in found.rows] == ["header", "header", "cell"] and not found.conflicts


def test_of_two_declared_rows_the_worse_one_counts_and_else_the_newer() -> None:
    def declared(run: str, status: str, reason: str) -> list[Row]:
        axes = cell("a").axes()
        row = {"schema": 1, "kind": "declared", "run": run, "cell": axes, "status": status, "reason": reason}
        return [opening(run), row]

    files = [declared("run-1", "Not provided", "older"), declared("run-2", "Not provided", "newer")]
    worse = declared("run-0", "unsupported", "by its own words")
    for order in (files, files[::-1]):
        assert [row["reason"] for row in rows_of(merged_text(*order)) if row["kind"] == "declared"] == ["newer"]
        found = [row["reason"] for row in rows_of(merged_text(*order, worse)) if row["kind"] == "declared"]
        assert found == ["by its own words"]


def test_cells_that_were_not_run_are_of_the_newest_run_of_their_plan() -> None:
    owners = {cell("a"): 1, cell("b"): 2, cell("c"): 3}
    files = [shard(index, owners, {}, f"run-{index}") for index in (2, 1)]
    runs = {row["run"] for row in rows_of(merged_text(*files)) if row["kind"] == "declared"}
    assert runs == {"run-2"}


def test_what_the_runs_do_not_have_in_common_is_said() -> None:
    first = [opening("run-1", commit="aaa", versions={"tvm": {"tvm": "1", "numpy": "2"}})]
    second = [opening("run-2", commit="bbb", versions={"tvm": {"tvm": "2", "numpy": "2"}})]
    assert merge([Source("one", first), Source("two", second)]).notes == (
        "the runs are of 2 commits: aaa, bbb", "the runs have different versions of tvm of toolchain tvm: 1, 2",
    )  # fmt: skip


def write(path: Path, rows: Sequence[Row]) -> Path:
    """A results file of rows with everything that the schema asks for."""
    return nights.write(path, [{**COMPLETE[row["kind"]], **row, **STARTED.get(row["kind"], {})} for row in rows])


def bench_merge(*arguments: object) -> int:
    return main(["merge", *map(str, arguments)])


def test_series_and_logs_are_copied_by_their_content(tmp_path: Path) -> None:
    files = []
    for name in ("x", "y"):
        folder = tmp_path / name
        kept = keep(folder, {"cpu": np.arange(3.0), "cpu.time": np.arange(3.0) + ord(name)})
        series = {"cpu": {**kept["cpu"], "times": kept["cpu.time"]["file"]}}
        (folder / "logs").mkdir()
        (folder / "logs/agent-1.log").write_text(f"said {name}")
        row = computed(f"run-{name}", cell(name), "supported", numbers={"series": series},
                       log="/of/another/machine/logs/agent-1.log")  # fmt: skip
        files.append(write(folder / "results.jsonl", [opening(f"run-{name}"), row]))
    out, again = tmp_path / "merged/all.jsonl", tmp_path / "again/all.jsonl"
    assert bench_merge(*files, "-o", out) == 0
    rows = [row for row in parse_rows(out).rows if row["kind"] == "cell"]
    assert troubles(out, rows) == [] and len(list((out.parent / "series").iterdir())) == 3
    assert [(out.parent / row["log"]).read_text() for row in rows] == ["said x", "said y"]
    assert bench_merge(out, files[1], "-o", again) == 0
    assert again.read_bytes() == out.read_bytes()
    assert [path.name for path in sorted((again.parent / "logs").iterdir())] == [
        path.name for path in sorted((out.parent / "logs").iterdir())
    ]


def test_series_that_are_missing_or_damaged_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = keep(tmp_path, {"cpu": np.arange(3.0), "load": np.arange(4.0), "memory": np.arange(5.0)})
    rows = [opening("run-1"), computed("run-1", cell("a"), "supported", numbers={"series": kept})]
    results = write(tmp_path / "results.jsonl", rows)
    lost = sorted([kept["cpu"]["file"], kept["memory"]["file"]])
    (tmp_path / lost[0]).unlink()
    (tmp_path / lost[1]).write_bytes(b"cut")
    out = tmp_path / "merged/all.jsonl"
    assert bench_merge(results, "-o", out) == 0
    assert f"2 of 3 series are missing or damaged; the first: {lost[0]}" in capsys.readouterr().out
    assert [path.name for path in (out.parent / "series").iterdir()] == [Path(kept["load"]["file"]).name]


def test_a_log_is_where_its_row_says_or_beside_its_results(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/agent-1.log").write_text("where the row says")
    (tmp_path / "night/logs").mkdir(parents=True)
    (tmp_path / "night/logs/agent-1.log").write_text("beside its results")
    logs = {"a": str(tmp_path / "elsewhere/agent-1.log"), "b": "logs/agent-1.log", "c": "logs/gone.log", "d": ""}
    rows = [computed("run-1", cell(name), "supported", log=log) for name, log in logs.items()]
    results = write(tmp_path / "night/results.jsonl", [opening("run-1"), *rows])
    out = tmp_path / "merged/deep/all.jsonl"
    assert bench_merge(results, "-o", out) == 0
    found = {row["cell"]["model"]: row["log"] for row in parse_rows(out).rows if row["kind"] == "cell"}
    assert [(out.parent / found[name]).read_text() for name in "ab"] == ["where the row says", "beside its results"]
    assert found["c"] == "logs/gone.log" and found["d"] == ""
    assert all(len(Path(found[name]).stem) == 32 for name in "ab")


def test_the_command_says_what_is_missing_and_ends_with_1_for_a_conflict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    owners = {cell("a"): 1, cell("b"): 2}
    first = write(tmp_path / "1.jsonl", shard(1, owners, {cell("a"): "supported"}))
    out = tmp_path / "out.jsonl"
    assert bench_merge(first, "-o", out) == 0
    text = capsys.readouterr().out
    assert "missing of the plan" in text and "shard 2/2" in text
    assert "1 cells of 1 runs, 0 declared before, 1 not run, 0 conflicts" in text
    worse = write(tmp_path / "2.jsonl", shard(1, owners, {cell("a"): "mismatch"}, "run-again"))
    assert bench_merge(first, worse, "-o", tmp_path / "both.jsonl", "--json") == 1
    said = json.loads(capsys.readouterr().out)
    assert said["conflicts"][0]["counts"] == "mismatch" and said["not_run"] == 1 and said["cells"] == 1


def test_results_of_another_run_are_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = write(tmp_path / "1.jsonl", [opening("run-1"), computed("run-1", cell("a"), "supported")])
    out = write(tmp_path / "out.jsonl", [opening("run-0"), computed("run-0", cell("b"), "supported")])
    before = out.read_bytes()
    assert bench_merge(first, "-o", out) == 2
    assert "has the results of the run run-0, which would be lost" in capsys.readouterr().err
    assert out.read_bytes() == before
    assert bench_merge(first, out, "-o", out) == 0
    assert bench_merge(first, out, "-o", out) == 0


def test_rows_of_another_schema_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    newer = write(tmp_path / "newer.jsonl", [{**opening("run-1"), "schema": 2}])
    assert bench_merge(newer, "-o", tmp_path / "out.jsonl") == 2
    assert "newer.jsonl: line 1 has schema 2, this version reads 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"status": "suported"}, "line 3: status: 'suported' is not valid; valid are: supported, mismatch"),
        ({"nodeid": None}, "line 3: nodeid: "),
        ({"numbers": {"E": "small"}}, "line 3: numbers.E: "),
        ({"run": "run-of-nobody"}, "line 3: run: 'run-of-nobody' is the run of no header above"),
    ],
    ids=["status", "type", "number", "run"],
)
def test_rows_against_the_schema_are_refused_and_the_message_says_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], wrong: Row, said: str
) -> None:
    rows = [opening("run-1"), computed("run-1", cell("a"), "supported"), computed("run-1", cell("b"), "supported")]
    right = write(tmp_path / "right.jsonl", rows)
    spoilt = write(tmp_path / "theirs.jsonl", [*rows[:2], {**rows[2], **wrong}])
    out = tmp_path / "out.jsonl"
    assert bench_merge(right, spoilt, "-o", out) == 2
    error = capsys.readouterr().err
    assert f"{spoilt}: {said}" in error and "1 findings in" in error, error
    assert "nothing was merged" in error and not out.exists()
    assert bench_merge(right, "-o", out) == 0


def test_rows_of_older_versions_and_of_a_killed_run_are_merged(tmp_path: Path) -> None:
    """They have the id of the run in the header alone, and the last line may be cut."""
    rows = [opening("run-1"), computed("run-1", cell("a"), "supported"), computed("run-1", cell("b"), "supported")]
    path = write(tmp_path / "1.jsonl", rows)
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    old = [lines[0], *({key: value for key, value in row.items() if key != "run"} for row in lines[1:])]
    path.write_text("".join(json.dumps(row) + "\n" for row in old) + '{"kind": "ce', "utf-8")
    assert bench_merge(path, "-o", tmp_path / "out.jsonl") == 0
    assert [row["run"] for row in parse_rows(tmp_path / "out.jsonl").rows] == ["run-1"] * 3


def test_the_plan_of_a_shard_that_is_not_whole_is_refused() -> None:
    broken = {**plan("run-1", 1, {cell("a"): 1}, 1), "planned": {"values": {"model": []}, "places": {}, "shards": [1]}}
    with pytest.raises(UsageError, match="file 0: the plan of a shard is not complete"):
        merged_text([opening("run-1"), broken])
