"""A results file is never lost: earlier runs are kept by id, and a cell is found in any of them."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.domain.errors import UsageError
from bench_plugin.results.history import (
    KEPT,
    archive,
    earlier_runs,
    find_row,
    find_run,
    folder_beside,
    folder_of,
    new_run_id,
    run_of_file,
)
from bench_plugin.results.rows import header_row, read_rows
from bench_plugin.results.series import keep
from bench_plugin.results.writer import ResultsWriter


def cell(key: str, status: str = "supported") -> dict[str, Any]:
    return {"schema": 1, "kind": "cell", "key": key, "nodeid": f"t.py::t[{key}]", "status": status}


def opening(run: str, total: int = 1) -> list[dict[str, Any]]:
    return [
        {"schema": 1, "kind": "header", "run": run},
        {"schema": 1, "kind": "plan", "count": total, "total": total},
    ]


def ran(path: Path, run: str, *keys: str, total: int = 1, resume: bool = False) -> None:
    writer = ResultsWriter(path, resume=resume)
    writer.begin(f"opener of {run}", opening(run, total))
    for key in keys:
        writer.append(cell(key))
    writer.close()


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "reports/results.jsonl"


def test_a_run_id_is_in_the_order_of_time() -> None:
    assert re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{6}", new_run_id())


@pytest.fixture
def far_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose clock on the wall is twelve hours ahead of UTC."""
    monkeypatch.setenv("TZ", "EAST-12")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("far_east")
def test_the_time_of_a_run_is_utc_wherever_the_machine_stands(tmp_path: Path) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    row = header_row(
        run="", root=tmp_path, state={}, command=(), versions={}, seeds={}, titles={}, host={}
    )  # fmt: skip
    times = [
        datetime.strptime(new_run_id()[:15] + "Z", "%Y%m%d-%H%M%S%z"),
        datetime.strptime(row["started"], "%Y-%m-%dT%H:%M:%S%z"),
    ]
    assert before <= min(times) and max(times) <= datetime.now(UTC)


def test_a_new_run_moves_the_last_one_to_the_history(results: Path) -> None:
    ran(results, "run-1", "aaaaaa")
    before = results.read_bytes()
    ran(results, "run-2", "bbbbbb")
    assert run_of_file(results) == "run-2"
    assert [path.name for path in earlier_runs(results)] == ["run-1.jsonl"]
    assert earlier_runs(results)[0].read_bytes() == before


def test_the_last_ten_runs_are_kept_and_the_last_full_one(results: Path) -> None:
    ran(results, "run-00", "full", "too", total=2)
    for number in range(1, KEPT + 5):
        ran(results, f"run-{number:02}", "some", total=2)
    kept = [path.stem for path in earlier_runs(results)]
    assert kept == [f"run-{number:02}" for number in range(KEPT + 3, 3, -1)] + ["run-00"]


def test_a_run_that_is_too_old_goes_with_its_logs_and_pages(results: Path) -> None:
    assert KEPT == 10, "docs/results.md says so"
    for number in range(KEPT + 3):
        ran(results, f"run-{number:02}", "some", total=2)
        folder = folder_beside(results, f"run-{number:02}")
        (folder / "logs").mkdir(parents=True)
    kept = {folder_beside(results, f"run-{number:02}") for number in range(2, KEPT + 3)}
    assert set(results.parent.glob("run-*")) == kept


def test_an_older_full_run_goes_when_a_newer_one_is_kept(results: Path) -> None:
    for number in range(KEPT + 5):
        ran(results, f"run-{number:02}", "all")
    assert len(earlier_runs(results)) == KEPT


HEADER = '{"schema": 1, "kind": "header", "run": "run-00"}'
PLAN = '{"schema": 1, "kind": "plan"}'
NO_CELLS = '{"schema": 1, "kind": "plan", "total": 0}'
ONE_CELL = '{"schema": 1, "kind": "plan", "total": 1}'
TWO_CELLS = '{"schema": 1, "kind": "plan", "total": 2}'
A, B = json.dumps(cell("a")), json.dumps(cell("b"))


@pytest.mark.parametrize(
    ("lines", "full"),
    [
        ([HEADER, ONE_CELL, A], True),
        ([HEADER, TWO_CELLS, A, B], True),
        ([HEADER, TWO_CELLS, A, '{"schema": 1, "ki', HEADER, TWO_CELLS, B], True),
        (['{"schema": 1, "ki', HEADER, ONE_CELL, A], True),
        ([HEADER, TWO_CELLS, A, A], False),
        ([HEADER, ONE_CELL, A, HEADER, TWO_CELLS], False),
        ([HEADER, NO_CELLS], False),
        ([HEADER, PLAN, A], False),
        ([HEADER, A], False),
        ([HEADER, ONE_CELL, '{"schema": 2, "kind": "cell"}'], False),
    ],
)
def test_a_run_is_full_if_every_cell_of_its_last_plan_has_a_row(results: Path, lines: list[str], full: bool) -> None:
    folder_of(results).mkdir(parents=True)
    (folder_of(results) / "run-00.jsonl").write_text("\n".join(lines) + "\n")
    (folder_of(results) / "run-01.jsonl").write_text('{"schema": 1, "ki')
    for number in range(2, KEPT + 1):
        ran(results, f"run-{number:02}", "some", total=5)
        archive(results, folder_of(results))
    assert len(earlier_runs(results)) == KEPT + 1 - (not full)
    assert (earlier_runs(results)[-1].stem == "run-00") is full


@pytest.mark.parametrize(
    ("place", "stays"),
    [
        ("results.jsonl", True), ("others.jsonl", True), ("history/run-1.jsonl", True), ("run-7/results.jsonl", True),
        ("elsewhere/results.jsonl", False),
    ],
)  # fmt: skip
def test_a_new_run_leaves_the_series_that_a_results_file_beside_it_names(
    results: Path, place: str, stays: bool
) -> None:
    ran(results, "run-2")
    kept = keep(results.parent, {"power": np.array([1.0, 2.0])})["power"]["file"]
    os.utime(results.parent / kept, (0, 0))  # a young one stays in any case
    naming = results.parent / place
    naming.parent.mkdir(exist_ok=True)
    with naming.open("a") as file:
        file.write(json.dumps({**cell("a"), "numbers": {"series": {"power": {"file": kept}}}}) + "\n")
    archive(results, folder_of(results))
    assert (results.parent / kept).exists() is stays


def test_a_run_is_archived_though_the_series_cannot_be_looked_through(results: Path) -> None:
    ran(results, "run-1")
    kept = keep(results.parent, {"power": np.array([1.0, 2.0])})["power"]["file"]
    os.utime(results.parent / kept, (0, 0))
    (results.parent / "others.jsonl").mkdir()
    assert archive(results, folder_of(results)) == earlier_runs(results)[0]
    assert (results.parent / kept).exists()


def test_a_resumed_run_keeps_its_rows_and_its_id(results: Path) -> None:
    ran(results, "run-1", "aaaaaa")
    ran(results, "run-2", "bbbbbb", resume=True)
    rows = read_rows(results).rows
    assert [row["run"] for row in rows if row["kind"] == "header"] == ["run-1", "run-1"]
    assert [row["key"] for row in rows if row["kind"] == "cell"] == ["aaaaaa", "bbbbbb"]
    assert earlier_runs(results) == []


def test_a_file_of_an_older_version_is_kept_by_the_time_of_its_last_change(results: Path) -> None:
    results.parent.mkdir()
    results.write_text(json.dumps({"schema": 1, "kind": "header"}) + "\n")
    os.utime(results, (0, 0))
    ran(results, "run-2")
    assert [path.name for path in earlier_runs(results)] == ["19700101-000000-000000.jsonl"]


def test_a_file_that_cannot_be_read_is_kept_too(results: Path) -> None:
    results.parent.mkdir()
    results.write_bytes(b'{"schema": 1, "kind": "hea')
    ran(results, "run-2")
    assert earlier_runs(results)[0].read_bytes() == b'{"schema": 1, "kind": "hea'


def _worker(path: Path, key: str) -> None:
    writer = ResultsWriter(path, resume=False)
    writer.begin("the same run", opening(f"run-of-{key}"))
    writer.append(cell(key))


def test_of_several_processes_of_a_run_the_first_opens_it(results: Path) -> None:
    ran(results, "run-1", "aaaaaa")
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_worker, args=(results, f"key{number}")) for number in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    rows = read_rows(results).rows
    assert [row["kind"] for row in rows[:2]] == ["header", "plan"]
    assert sorted(row["key"] for row in rows[2:]) == ["key0", "key1", "key2"]
    assert [path.name for path in earlier_runs(results)] == ["run-1.jsonl"]


def test_a_cell_is_found_in_any_run_and_the_newest_has_the_word(results: Path) -> None:
    ran(results, "run-1", "aaaaaa", "cccccc")
    ran(results, "run-2", "aaaaaa")
    ran(results, "run-3", "bbbbbb")
    assert find_row("bbbbbb", results)["key"] == "bbbbbb"
    assert find_row("cccc", results)["key"] == "cccccc"
    assert find_row("t.py::t[cccccc]", results)["key"] == "cccccc"
    ran(results, "run-4", "bbbbbb", resume=True)
    with results.open("a") as file:
        file.write(json.dumps(cell("bbbbbb", "mismatch")) + "\n")
    assert find_row("bbbbbb", results)["status"] == "mismatch", "a resumed run has computed it again"
    results.unlink()
    assert find_row("aaaaaa", results)["key"] == "aaaaaa", "the results file itself may be gone"
    with pytest.raises(UsageError, match=r"000000: no cell of a run .*run-2\.jsonl \(1 cells\), .*run-1\.jsonl"):
        find_row("000000", results)


def test_a_beginning_that_several_keys_have_is_an_error(results: Path) -> None:
    ran(results, "run-1", "aaaa11", "aaaa22")
    with pytest.raises(UsageError, match="2 cells of .* begin so; give more of the key"):
        find_row("aaaa", results)


def test_without_any_results_the_file_is_named(results: Path) -> None:
    with pytest.raises(UsageError, match=r"results\.jsonl: cannot read results"):
        find_row("aaaaaa", results)


def test_a_run_is_found_by_path_id_or_beginning(results: Path, tmp_path: Path) -> None:
    ran(results, "20261121-1")
    ran(results, "20261122-2")
    assert find_run("20261121", results) == earlier_runs(results)[0]
    assert find_run("20261122-2", results) == results
    assert find_run(str(results), tmp_path / "nowhere.jsonl") == results
    with pytest.raises(UsageError, match="20261: 2 runs begin so|202611: 2 runs begin so"):
        find_run("202611", results)
    with pytest.raises(UsageError, match="neither a results file nor a run id; .*20261122-2, 20261121-1"):
        find_run("2025", results)


def test_four_characters_are_enough_to_find_a_run(results: Path) -> None:
    ran(results, "20261121-1")
    assert find_run("2026", results) == results
    with pytest.raises(UsageError, match="202: neither a results file nor a run id"):
        find_run("202", results)
