"""Series are side files named by their content: whole, found from each results file that names them, no orphans."""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.results.history import earlier_runs, folder_of
from bench_plugin.results.rows import read_rows
from bench_plugin.results.series import (
    FRESH,
    SeriesUnreadable,
    described,
    keep,
    read,
    remove_unnamed,
    trouble,
    troubles,
)
from bench_plugin.results.writer import ResultsWriter

VALUES = np.array([1.0, 2.5, 2.0])


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "reports/results.jsonl"


def ran(results: Path, run: str, series: dict[str, Any]) -> None:
    """A run with one cell whose row names ``series``."""
    writer = ResultsWriter(results, resume=False)
    header = {"schema": 1, "kind": "header", "run": run}
    writer.begin(run, [header, {"schema": 1, "kind": "plan", "count": 1, "total": 9}])
    writer.append({"schema": 1, "kind": "cell", "key": run, "nodeid": "n", "numbers": {"series": series}})
    writer.close()


def aged(results: Path) -> None:
    """Make all side files so old that no running cell can still be about to name them."""
    before = time.time() - FRESH - 60
    for path in (results.parent / "series").iterdir():
        os.utime(path, (before, before))


def side_files(results: Path) -> set[str]:
    return {f"series/{path.name}" for path in (results.parent / "series").iterdir()}


def test_a_series_is_kept_by_its_content_and_read_back(results: Path) -> None:
    kept = keep(results.parent, {"compute": VALUES, "same": VALUES.copy(), "empty": np.zeros(0)})
    assert kept["compute"] == kept["same"] and kept["compute"]["samples"] == 3 and kept["empty"]["samples"] == 0
    assert side_files(results) == {kept["compute"]["file"], kept["empty"]["file"]}
    content = (results.parent / kept["compute"]["file"]).read_bytes()
    assert kept["compute"]["file"] == f"series/{hashlib.sha256(content).hexdigest()}.npy"
    found = read(results, kept["compute"])
    assert found.dtype == np.float64 and found.tolist() == VALUES.tolist()


def test_a_row_says_of_a_series_what_the_agent_says_and_names_its_times(results: Path) -> None:
    kept = keep(results.parent, {"power.board": VALUES, "power.board.time": VALUES / 10, "compute": VALUES})
    about = {"power.board": {"unit": "W", "samples": 3}, "gone": {"unit": "%", "samples": 0, "ended": {"why": "x"}}}
    found = described(kept, about)
    assert set(found) == {"power.board", "compute", "gone"}
    assert found["power.board"]["unit"] == "W"
    assert read(results, found["power.board"], "times").tolist() == [0.1, 0.25, 0.2]
    assert "times" not in found["compute"] and found["gone"] == about["gone"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda path: path.unlink(), "is missing; the series was removed, or not copied with its results"),
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "is damaged: its 151 bytes have the digest "),
        (lambda path: path.write_bytes(b""), "is damaged: its 0 bytes have the digest e3b0c44298fc…"),
    ],
    ids=["missing", "cut", "empty"],
)
def test_a_side_file_that_is_missing_or_damaged_is_named(results: Path, change: Any, says: str) -> None:
    (entry,) = keep(results.parent, {"compute": VALUES}).values()
    path = results.parent / entry["file"]
    change(path)
    with pytest.raises(SeriesUnreadable, match="is ") as raised:
        read(results, entry)
    assert str(raised.value).startswith(f"{path} {says}")
    assert trouble(results, entry) == str(raised.value)


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "series/../x.npy", "/series/" + 64 * "0" + ".npy"])
def test_a_row_names_no_other_files(results: Path, name: str) -> None:
    with pytest.raises(SeriesUnreadable, match="is not the name of a series; expected series/<sha256>.npy"):
        read(results, {"file": name})


def test_a_file_that_holds_no_array_is_said(results: Path) -> None:
    data = b"no array"
    name = f"series/{hashlib.sha256(data).hexdigest()}.npy"
    (results.parent / "series").mkdir(parents=True)
    (results.parent / name).write_bytes(data)
    assert "is no array" in trouble(results, {"file": name})


def test_objects_are_neither_written_nor_read(results: Path) -> None:
    with pytest.raises(ValueError, match="pickle|Object arrays"):
        keep(results.parent, {"objects": np.array([{}], dtype=object)})
    assert not (results.parent / "series").exists()


def test_a_damaged_file_is_written_again_by_the_next_run_with_the_same_values(results: Path) -> None:
    (entry,) = keep(results.parent, {"compute": VALUES}).values()
    (results.parent / entry["file"]).write_bytes(b"cut")
    keep(results.parent, {"compute": VALUES})
    assert trouble(results, entry) == ""


def test_a_disk_that_cannot_be_written_leaves_no_part_of_a_file(results: Path) -> None:
    results.parent.mkdir()
    (results.parent / "series").write_text("a file in its place")
    with pytest.raises(OSError, match="series"):
        keep(results.parent, {"compute": VALUES})
    assert [path.name for path in results.parent.iterdir()] == ["series"]


def test_series_of_the_history_and_of_runs_beside_are_found(results: Path) -> None:
    (entry,) = keep(results.parent, {"compute": VALUES}).values()
    ran(results, "run-1", {"compute": entry})
    ran(results, "run-2", {})
    (earlier,) = earlier_runs(results)
    row = read_rows(earlier).rows[-1]
    assert read(earlier, row["numbers"]["series"]["compute"]).tolist() == VALUES.tolist()
    assert read(results.parent / "run-3/results.jsonl", entry).tolist() == VALUES.tolist()


def test_the_side_files_of_a_run_leave_with_the_last_row_that_names_them(results: Path) -> None:
    """A file is shared: it stays as long as a row of any run names it, whichever run wrote it first."""
    kept = keep(results.parent, {"own": VALUES, "shared": VALUES * 2})
    ran(results, "run-1", kept)
    ran(results, "run-2", {"shared": kept["shared"]})
    ran(results, "run-3", {})
    aged(results)
    (folder_of(results) / "run-1.jsonl").unlink()
    assert side_files(results) == {kept["own"]["file"], kept["shared"]["file"]}, "nothing is looked at meanwhile"
    ran(results, "run-4", {})
    assert side_files(results) == {kept["shared"]["file"]}


def test_another_results_file_in_the_folder_keeps_what_it_names(results: Path) -> None:
    kept = keep(results.parent, {"other": VALUES})
    ran(results.with_name("other.jsonl"), "run-0", kept)
    aged(results)
    ran(results, "run-1", {})
    ran(results, "run-2", {})
    assert side_files(results) == {kept["other"]["file"]}


def test_a_young_side_file_waits_for_its_row(results: Path) -> None:
    keep(results.parent, {"of a running cell": VALUES})
    assert remove_unnamed(results.parent, []) == []
    aged(results)
    keep(results.parent, {"written again": VALUES})
    assert remove_unnamed(results.parent, []) == []
    aged(results)
    assert len(remove_unnamed(results.parent, [])) == 1 and side_files(results) == set()


def test_every_row_has_the_id_of_its_run(results: Path) -> None:
    """Also in a worker that joins, and in a resumed run, which goes on with the run of its file."""
    ran(results, "run-1", {})
    resumed = ResultsWriter(results, resume=True)
    resumed.begin("another", [{"schema": 1, "kind": "header", "run": "run-2"}, {"schema": 1, "kind": "declared"}])
    worker = ResultsWriter(results, resume=True)
    assert worker.join("another")
    worker.append({"schema": 1, "kind": "cell", "key": "of the worker"})
    resumed.append({"schema": 1, "kind": "cell", "key": "of the run"})
    rows = [json.loads(line) for line in results.read_text("utf-8").splitlines()]
    assert [row["kind"] for row in rows] == ["header", "plan", "cell", "header", "declared", "cell", "cell"]
    assert {row["run"] for row in rows} == {"run-1"}


def test_rows_of_older_versions_without_a_run_id_are_read(results: Path) -> None:
    results.parent.mkdir()
    results.write_text('{"schema": 1, "kind": "cell", "key": "k"}\n')
    assert read_rows(results).rows == ({"schema": 1, "kind": "cell", "key": "k"},)


def test_one_remark_counts_the_side_files_that_are_gone(results: Path) -> None:
    kept = keep(results.parent, {"own": VALUES, "shared": VALUES * 2})
    rows: list[dict[str, Any]] = [
        {"kind": "header"}, {"numbers": None}, {"numbers": {"series": None}}, {"numbers": {"series": kept}},
    ]  # fmt: skip
    assert troubles(results, rows) == []
    (results.parent / kept["own"]["file"]).unlink()
    (remark,) = troubles(results, rows)
    assert remark.startswith("1 of 2 series cannot be read; the first: ") and kept["own"]["file"] in remark
