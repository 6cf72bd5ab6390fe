"""The writer of rows: one file per run, whole rows only, and none is lost when the disk is full."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import signal
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.domain.errors import UsageError
from bench_plugin.results.begun import BegunCells
from bench_plugin.results.history import earlier_runs, files_beside, find_row, run_of_file
from bench_plugin.results.rows import of_run, read_rows
from bench_plugin.results.writer import ResultsWriter, file_of, in_use

CONTEXT = multiprocessing.get_context("spawn")


def cell(key: str, **more: Any) -> dict[str, Any]:
    return {"schema": 1, "kind": "cell", "key": key, "nodeid": f"t.py::t[{key}]", **more}


def opening(run: str) -> list[dict[str, Any]]:
    return [{"schema": 1, "kind": "header", "run": run}, {"schema": 1, "kind": "plan", "count": 1, "total": 1}]


def begun(path: Path, run: str, *, resume: bool = False, opener: str = "", wait: float = 5.0) -> ResultsWriter:
    writer = ResultsWriter(path, resume=resume, wait=wait)
    writer.begin(opener or f"opener of {run}", opening(run))
    return writer


def keys(path: Path) -> list[str]:
    return [row["key"] for row in read_rows(path).rows if row["kind"] == "cell"]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "reports/results.jsonl"


def test_a_file_that_is_in_use_is_left_alone_and_the_second_run_writes_beside_it(results: Path) -> None:
    first = begun(results, "run-1")
    first.append(cell("a1"))
    second = begun(results, "run-2")
    third = begun(results, "run-3")
    second.append(cell("b1"))
    first.append(cell("a2"))
    third.append(cell("c1"))
    assert (first.occupied_by, second.occupied_by, third.occupied_by) == ("", "run-1", "run-1")
    assert keys(first.path) == ["a1", "a2"] and first.path == results
    assert (keys(second.path), keys(third.path)) == (["b1"], ["c1"])
    assert [run_of_file(path) for path in files_beside(results)] == ["run-2", "run-3"]
    assert earlier_runs(results) == []


def test_the_file_is_free_when_its_run_has_closed_it(results: Path) -> None:
    first = begun(results, "run-1")
    assert in_use(results)
    first.close()
    assert not in_use(results)
    second = begun(results, "run-2")
    assert second.path == results and [path.stem for path in earlier_runs(results)] == ["run-1"]


def _holds(path: Path, run: str, pipe: Connection) -> None:
    begun(path, run).append(cell(f"of-{run}"))
    pipe.send(os.getpid())
    pipe.recv()


def killed_run(path: Path, run: str) -> None:
    """A run in another process, killed after its first row."""
    here, there = CONTEXT.Pipe()
    process = CONTEXT.Process(target=_holds, args=(path, run, there))
    process.start()
    os.kill(here.recv(), signal.SIGKILL)
    process.join(60)


def test_a_dead_run_holds_no_lock_and_its_rows_move_to_the_history(results: Path) -> None:
    first = begun(results, "run-1")
    killed_run(results, "run-2")  # beside the first
    first.close()
    killed_run(results, "run-3")
    fourth = begun(results, "run-4")
    assert fourth.path == results and fourth.occupied_by == ""
    assert [path.stem for path in earlier_runs(results)] == ["run-3", "run-2", "run-1"]
    assert files_beside(results) == []
    fourth.close()
    assert find_row("of-run-2", results)["key"] == "of-run-2"


def test_a_run_beside_that_is_alive_is_not_moved(results: Path) -> None:
    first = begun(results, "run-1")
    second = begun(results, "run-2")
    first.close()
    begun(results, "run-3").close()
    second.append(cell("late"))
    assert keys(second.path) == ["late"]


def test_processes_of_one_run_share_its_file_also_beside_another_one(results: Path) -> None:
    begun(results, "run-1").append(cell("other"))
    one, two = (begun(results, f"run-of-{name}", opener="the same") for name in ("one", "two"))
    one.append(cell("k1"))
    two.append(cell("k2"))
    assert one.path == two.path == file_of(results, "the same")
    rows = read_rows(one.path).rows
    assert [row["kind"] for row in rows] == ["header", "plan", "cell", "cell"]
    assert rows[0]["run"] == "run-of-one"
    assert file_of(results, "nobody") is None


def test_a_file_in_use_is_not_resumed(results: Path) -> None:
    first = begun(results, "run-1")
    with pytest.raises(UsageError, match=r"results\.jsonl is in use by the run run-1, which is not over"):
        begun(results, "run-2", resume=True, wait=0.0)
    first.close()
    assert begun(results, "run-2", resume=True, wait=0.0).path == results


def test_a_resumed_run_waits_for_processes_that_are_ending(results: Path) -> None:
    here, there = CONTEXT.Pipe()
    process = CONTEXT.Process(target=_holds, args=(results, "run-1", there))
    process.start()
    here.recv()
    here.send("end")
    resumed = begun(results, "run-2", resume=True, wait=60.0)
    process.join(60)
    assert resumed.path == results and keys(results) == ["of-run-1"]


def test_a_new_run_forgets_what_killed_workers_of_the_last_one_had_begun(results: Path) -> None:
    first = begun(results, "run-1", opener="the same")
    noted = BegunCells(results)
    noted.begin({"nodeid": "a"})
    begun(results, "run-1", opener="the same").close()
    assert noted.take("a") is not None, "another worker of the same run forgets nothing"
    noted.begin({"nodeid": "a"})
    first.close()
    begun(results, "run-2").close()
    assert noted.take("a") is None


def test_rows_of_one_file_name_have_nothing_to_do_with_those_of_another(results: Path) -> None:
    one, two = begun(results, "run-1"), begun(results.with_suffix(".json"), "run-2")
    assert (one.occupied_by, two.occupied_by) == ("", "")
    assert begun(results, "again", opener="opener of run-1").path == results


def test_a_row_after_one_that_was_cut_is_on_a_line_of_its_own(results: Path) -> None:
    begun(results, "run-1").close()
    whole = json.dumps(cell("cut")).encode()
    with results.open("ab") as file:
        file.write(whole[: len(whole) // 2])
    writer = begun(results, "run-2", resume=True)
    writer.append(cell("a"))
    writer.append(cell("b"))
    found = read_rows(results)
    assert keys(results) == ["a", "b"]
    assert found.notes == ("results.jsonl: line 3 is incomplete or corrupt and was ignored",)
    assert [row["run"] for row in found.rows if row["kind"] == "header"] == ["run-1", "run-1"]


def _limited(path: Path, pipe: Connection) -> None:
    """Rows behind a limit of the file's size: the third is too long by half, and there is room again for the last."""
    writer = begun(path, "run-1")
    writer.append(cell("a"))
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 100, most))
    writer.append(cell("long", reason="x" * 200))
    writer.append(cell("after"))
    pipe.send((path.read_bytes(), [row["key"] for row in writer.unwritten], writer.trouble))
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    writer.append(cell("last"))
    pipe.send((path.read_bytes(), [row["key"] for row in writer.unwritten], writer.trouble))


def test_rows_that_do_not_fit_are_kept_and_written_when_there_is_room(results: Path) -> None:
    here, there = CONTEXT.Pipe()
    process = CONTEXT.Process(target=_limited, args=(results, there))
    process.start()
    full, later = here.recv(), here.recv()
    process.join(60)
    last = json.dumps(of_run(cell("a"), "run-1")).encode() + b"\n"
    assert full[0].endswith(last), "no part of a row stays in the file"
    assert full[1:] == (["long", "after"], "File too large")
    assert [json.loads(line)["key"] for line in later[0].splitlines()[2:]] == ["a", "long", "after", "last"]
    assert later[1] == []


def test_the_opening_rows_must_fit(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="/proc/self"):
        ResultsWriter(Path("/proc/self/results.jsonl"), resume=False).begin("opener", opening("run-1"))
