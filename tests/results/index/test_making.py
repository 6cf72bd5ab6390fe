"""The index is made from rows: each run once, whatever is indexed twice, and it can always be made again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench_plugin.domain.errors import UsageError
from bench_plugin.results.checking.reading import read_source
from bench_plugin.results.index.queries import cells_named, runs
from bench_plugin.results.index.queries import history as history_of
from bench_plugin.results.index.store import IndexDamaged, IndexOutdated, opened
from bench_plugin.results.tables.files import read_parquet, write_tables
from bench_plugin.results.writer import ResultsWriter
from tests.results.index.conftest import History
from tests.results.nights import Row, axes, decided, failed, night, passed, run_id, timed, write


def contents(path: Path) -> list[tuple[object, ...]]:
    """Every row of the index, in words, whatever numbers it gave to runs and cells."""
    sql = (
        "SELECT runs.run, cells.cell, status, result, stage, symptom, key, reason, E, p50, place, versions.versions "
        "FROM results JOIN runs ON runs.id = results.run JOIN cells ON cells.id = results.cell "
        "LEFT JOIN versions ON versions.id = results.versions ORDER BY ALL"
    )
    with opened(path) as index:
        return index.execute(sql).fetchall()


def two_nights(history: History) -> None:
    history.add(1, passed(axes(), E=1e-7), failed(axes("vgg")), decided(axes("bert")))
    history.add(2, failed(axes(), reason="\n  no rule\nfor Foo"), timed(axes("vgg"), 0.002))


def test_every_row_is_indexed_and_indexing_again_changes_nothing(history: History) -> None:
    two_nights(history)
    assert history.update().runs == {run_id(1): 3, run_id(2): 2}
    before = contents(history.index)
    assert [row[2] for row in before] == ["unsupported", "supported", "ERROR", "ERROR", "supported"]
    assert before[3][7] == "no rule"
    again = history.update()
    assert (again.runs, again.unchanged) == ({}, 4), "two files, and the copies that were kept of them"
    assert contents(history.index) == before


def test_the_rows_of_a_run_are_replaced_when_its_file_changed(history: History) -> None:
    two_nights(history)
    history.update()
    history.add(1, passed(axes(), E=2e-7), passed(axes("vgg")), decided(axes("bert")))
    assert history.update().runs == {run_id(1): 3}
    with opened(history.index) as index:
        assert index.execute("SELECT count(*) FROM results").fetchone() == (5,), "nothing of the old rows is left"
    assert [row[2] for row in contents(history.index)] == [
        "unsupported",
        "supported",
        "supported",
        "ERROR",
        "supported",
    ]


def test_the_last_row_of_a_cell_counts(history: History) -> None:
    history.add(1, failed(axes()), passed(axes()))
    history.update()
    assert [row[2] for row in contents(history.index)] == ["supported"]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_files_with_a_run_the_one_with_more_cells_counts(
    history: History, tmp_path: Path, order: tuple[int, int]
) -> None:
    rows = night(1, passed(axes()), passed(axes("vgg")), passed(axes("bert")))
    files = write(tmp_path / "whole.jsonl", rows), write(tmp_path / "part.jsonl", rows[:4])
    for number in order:
        history.update(files[number])
    assert len(contents(history.index)) == 3


def test_rows_as_parquet_are_indexed_like_those_of_the_file(history: History, tmp_path: Path) -> None:
    two_nights(history)
    history.update()
    for number in (1, 2):
        rows = read_source(history.results.parent / f"history/{run_id(number)}.jsonl", print)
        write_tables(rows, tmp_path / f"exports/{number}", "parquet")
    other = History(tmp_path / "other")
    other.update(tmp_path / "exports")
    assert contents(other.index) == contents(history.index)
    with opened(other.index) as copied, opened(history.index) as index:
        about = [{**one, "source": ""} for one in runs(index)]
        assert [{**one, "source": ""} for one in runs(copied)] == about
    assert about[0]["profile"] == "quick" and about[0]["machine"] == "Some CPU, x86_64, 2 cores"


def test_rows_of_older_versions_have_the_result_that_followed_from_their_status(
    history: History, tmp_path: Path
) -> None:
    rows = night(1, passed(axes("a")), failed(axes("b")), failed(axes("c"), known=True), decided(axes("d")))
    for row in rows:
        row.pop("run") if row["kind"] != "header" else None
        row.pop("result", None)
    history.update(write(tmp_path / "old.jsonl", rows))
    assert [row[3] for row in contents(history.index)] == ["passed", "failed", "xfailed", None]


def test_runs_of_the_history_are_kept_as_parquet_because_later_runs_remove_them(history: History) -> None:
    path = history.add(1, passed(axes(), E=1e-7))
    rows = read_source(path, print)
    history.update()
    path.unlink()
    assert read_parquet(history.results.parent / "history/kept" / run_id(1)) == rows
    before = contents(history.index)
    history.index.unlink()
    history.update()
    assert contents(history.index) == before


def test_a_merged_file_and_its_first_run_are_kept_apart(history: History) -> None:
    first, second = night(1, passed(axes("a"))), night(2, passed(axes("b")))
    write(history.results, [*first, *second])
    history.add(1, passed(axes("a")))
    history.update()
    kept = sorted((history.results.parent / "history/kept").iterdir())
    assert [read_parquet(path) for path in kept] == [first, [*first, *second]]


def test_the_id_of_a_run_leads_to_no_other_folder(history: History) -> None:
    rows = [row | {"run": "../../../x"} for row in night(1, passed(axes()))]
    write(history.results, rows)
    history.update()
    (kept,) = (history.results.parent / "history/kept").iterdir()
    assert read_parquet(kept) == rows


def test_a_new_index_takes_the_place_of_the_old_one(history: History, tmp_path: Path) -> None:
    two_nights(history)
    elsewhere = write(tmp_path / "elsewhere/third.jsonl", night(3, passed(axes())))
    history.update()
    history.update(elsewhere)
    before = contents(history.index)
    made = history.update(rebuild=True)
    assert made.rebuilt and set(made.runs) == {run_id(1), run_id(2), run_id(3)}
    assert contents(history.index) == before
    assert [path.name for path in history.index.parent.iterdir() if "index" in path.name] == ["index.duckdb"]


def test_the_only_copy_of_a_run_is_not_dropped_unasked(history: History, tmp_path: Path) -> None:
    elsewhere = write(tmp_path / "elsewhere/third.jsonl", night(3, passed(axes())))
    history.update(elsewhere)
    elsewhere.unlink()
    before = contents(history.index)
    with pytest.raises(UsageError, match=rf"the rows of 1 runs are only in the index.*{run_id(3)} \(was in .*third"):
        history.update(rebuild=True)
    assert contents(history.index) == before
    assert not list(history.index.parent.glob("*.partial*"))
    assert history.update(rebuild=True, forget=True).runs == {}
    assert contents(history.index) == []


@pytest.mark.parametrize("damage", [b"", b"hello" * 5000])
def test_a_damaged_index_is_said_so_and_made_again(history: History, damage: bytes) -> None:
    two_nights(history)
    history.update()
    before = contents(history.index)
    history.index.write_bytes(damage or history.index.read_bytes()[:5000])
    with pytest.raises(IndexDamaged, match=r"index.duckdb: the index cannot be used: .*bench history index --rebuild"):
        contents(history.index)
    made = history.update()
    assert made.rebuilt and contents(history.index) == before
    assert any("index.duckdb.unusable now; sources outside" in note for note in history.notes)


def test_an_index_of_another_version_is_made_again(history: History) -> None:
    two_nights(history)
    history.update()
    before = contents(history.index)
    with opened(history.index, write=True) as index:
        index.execute("UPDATE meta SET version = 0")
    with pytest.raises(IndexOutdated, match="an index of version 0, and this bench_plugin makes version 1"):
        contents(history.index)
    assert history.update().rebuilt
    assert contents(history.index) == before


def test_a_database_of_something_else_is_not_touched(history: History) -> None:
    import duckdb

    history.index.parent.mkdir(parents=True)
    with duckdb.connect(str(history.index)) as other:
        other.execute("CREATE TABLE mine(a INTEGER)")
    history.add(1, passed(axes()))
    for ask in (lambda: contents(history.index), history.update, lambda: history.update(rebuild=True)):
        with pytest.raises(UsageError, match="index.duckdb: a DuckDB database, and not an index of bench history"):
            ask()
    with duckdb.connect(str(history.index)) as other:
        assert other.execute("SELECT count(*) FROM mine").fetchall() == [(0,)]


def test_a_failed_source_changes_nothing(history: History, tmp_path: Path) -> None:
    two_nights(history)
    history.update()
    before = contents(history.index)
    bad = write(tmp_path / "bad.jsonl", [*night(3, passed(axes())), {"kind": "cell", "schema": 2, "cell": {}}])
    with pytest.raises(UsageError, match=r"bad.jsonl:4: a row of schema 2, this version reads 1; bench history check"):
        history.update(bad)
    assert contents(history.index) == before


def test_the_results_of_a_run_that_is_not_over_wait(history: History) -> None:
    writer = ResultsWriter(history.results, resume=False)
    writer.begin("opener", night(1)[:2])
    writer.append(passed(axes()))
    assert history.update().runs == {}
    assert history.notes == [f"{history.results}: a run is writing it; its rows are indexed when it is over"]
    writer.close()
    assert history.update().runs == {run_id(1): 1}


def test_a_cut_last_line_is_left_out_and_noted(history: History) -> None:
    path = history.add(1, passed(axes()))
    path.write_text(path.read_text() + '{"kind": "cell", "sch', "utf-8")
    assert history.update().runs == {run_id(1): 1}
    assert "jsonl:4: incomplete or corrupt, and ignored: not JSON" in history.notes[0]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"kind": "sell"}, "its kind is 'sell', and not one of header, plan, declared, cell"),
        ({"kind": "cell", "schema": 1, "status": "supported"}, "its cell is not the table of its axes"),
        ({"kind": "cell", "schema": 1, "cell": {"check": "export"}}, "its status is None, which is no text"),
        ({"kind": "cell", "schema": 1, "run": 5}, "its run is 5, which is no text"),
        ([1], "a list, where a row is a JSON object with the key kind"),
    ],
)
def test_what_is_no_row_is_named(history: History, tmp_path: Path, row: Row, said: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(row))
    with pytest.raises(UsageError, match=f"x.jsonl:1: .*{said}"):
        history.update(path)


def test_sources_that_are_none_are_named(history: History, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none: there is no such file or folder"):
        history.update(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        UsageError, match=r"there is no results file \(\*.jsonl or \*.jsonl.gz\) and no export \(cells.parquet\)"
    ):
        history.update(tmp_path / "empty")
    (tmp_path / "empty/cells.parquet").write_bytes(b"PAR1")
    with pytest.raises(UsageError, match="empty: not what bench export wrote"):
        history.update(tmp_path / "empty")


def test_a_cell_is_one_across_versions_whatever_its_key(history: History) -> None:
    older = {name: value for name, value in axes().items() if name not in ("precision", "target")}
    history.add(1, passed(older, "aaaa00000001"))
    history.add(2, passed(axes(), "bbbb00000002"))
    history.update()
    with opened(history.index) as index:
        (cell,) = cells_named(index, ["lstm"])
        assert [point.key for point in history_of(index, cell)] == ["aaaa00000001", "bbbb00000002"]
