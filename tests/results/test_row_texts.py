"""Every kind of row as a whole, and the sentences of readers that refuse a file, literally."""

from __future__ import annotations

import json
import platform
import re
from pathlib import Path
from typing import Any

import pytest

from bench_plugin import __version__
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Outcome, Stage, Status, Symptom
from bench_plugin.results.history import find_row, find_run, folder_beside, folder_of, new_run_id, run_of_file
from bench_plugin.results.rows import (
    cell_row,
    commit,
    declared_row,
    header_row,
    machine,
    parse_rows,
    plan_row,
    read_rows,
)

STATE = {"cores": [0, 2], "memory_bytes": 3 * 2**30, "cpu": "x", "load": [1.0, 2.0, 3.0]}


def test_the_row_of_a_run(tmp_path: Path) -> None:
    row = header_row(
        run="run-1", root=tmp_path, state=STATE, command=("pytest", "suites"), versions={"onnx": {"onnx": "1"}},
        seeds={"weights": 3}, titles={"models": {"a": "A"}}, host={"cpu": "x"},
    )  # fmt: skip
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", row.pop("started"))
    assert row == {
        "schema": 1, "kind": "header", "run": "run-1", "machine": machine(STATE), "host": {"cpu": "x"},
        "state": STATE, "commit": commit(tmp_path), "command": ["pytest", "suites"],
        "versions": {"onnx": {"onnx": "1"}},
        "seeds": {"weights": 3}, "titles": {"models": {"a": "A"}}, "bench_plugin": __version__,
        "python": platform.python_version(),
    }  # fmt: skip


def test_the_rows_of_the_plan_and_of_a_cell_that_was_decided_before() -> None:
    assert plan_row(count=2, hash="abc", selection={"models": ["a"]}, total=9, totals={"export": 9}) == {
        "schema": 1, "kind": "plan", "count": 2, "hash": "abc", "selection": {"models": ["a"]}, "total": 9,
        "totals": {"export": 9},
    }  # fmt: skip
    assert declared_row({"check": "export"}, status=Status.NOT_PROVIDED, reason="why") == {
        "schema": 1, "kind": "declared", "cell": {"check": "export"}, "status": "Not provided", "reason": "why",
    }  # fmt: skip


def test_the_row_of_a_computed_cell() -> None:
    outcome = Outcome(
        Status.ERROR, Stage.RUN, Symptom.CRASH, "why", "trace", converted=True, verified=False, numbers={"tried": 3},
        timings={"run": 1.5}, peaks={"run": 4}, versions={"onnx": "1"}, artefacts={"m": {"nodes": 2}},
        stages_cached=("export",), flags=("ftz",), placement={"threads": 5}, retry={"first": "x"}, log="a.log",
        reusable=True,
    )  # fmt: skip
    axes = {"check": "another", "model": "m"}
    row = cell_row(
        axes, outcome, key="k", nodeid="n", expected={"reason": "r"}, repro=("bench", "repro"), result="failed",
        settings={"seed": 1}, host="h",
    )  # fmt: skip
    assert row == {
        "schema": 1, "kind": "cell", "key": "k", "cell": axes, "check": "another", "status": "ERROR",
        "result": "failed", "stage": "run", "symptom": "crash", "unverified": None, "expected": {"reason": "r"},
        "reason": "why", "detail": "trace", "converted": True, "verified": False, "numbers": {"tried": 3},
        "timings": {"run": 1.5}, "peaks": {"run": 4}, "versions": {"onnx": "1"}, "artefacts": {"m": {"nodes": 2}},
        "stages_cached": ["export"], "flags": ["ftz"], "placement": {"threads": 5}, "retry": {"first": "x"},
        "reusable": True, "log": "a.log", "settings": {"seed": 1}, "host": "h", "repro": ["bench", "repro"],
        "nodeid": "n",
    }  # fmt: skip


def rows_of(path: Path, *rows: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"schema": 1, **row}) + "\n" for row in rows))
    return path


def cell(key: str) -> dict[str, Any]:
    return {"kind": "cell", "key": key, "nodeid": f"t.py::t[{key}]"}


def refused(call: Any, *arguments: Any) -> str:
    with pytest.raises(UsageError) as error:
        call(*arguments)
    return str(error.value)


def test_a_reader_says_which_file_and_line_it_cannot_read(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    assert refused(parse_rows, path) == f"{path}: cannot read results: No such file or directory"
    path.write_text("\n")
    assert refused(read_rows, path) == f"{path}: there is no row in it"
    path.write_text('{"schema": 1, "kind": "plan"}\n"text"\n')
    assert refused(parse_rows, path) == f"{path}: line 2 is not a row of a results file"
    path.write_text('{"schema": "2", "kind": "plan"}\n')
    assert refused(parse_rows, path) == f"{path}: line 1 has schema '2', this version reads 1"


def test_a_key_that_no_run_has_is_refused_with_every_file_and_its_number_of_cells(tmp_path: Path) -> None:
    results = rows_of(tmp_path / "results.jsonl", {"kind": "header", "run": "run-2"}, cell("aaaa1"), cell("aaaa2"))
    old = rows_of(tmp_path / "history/run-1.jsonl", {"kind": "header", "run": "run-1"}, cell("bbbb"))
    said = "no cell of a run has this key or node id; looked in"
    assert refused(find_row, "cccc", results) == f"cccc: {said} {results} (2 cells), {old} (1 cells)"
    assert refused(find_row, "aaa", results) == f"aaa: {said} {results} (2 cells), {old} (1 cells)", (
        "three is too short"
    )
    assert refused(find_row, "aaaa", results) == f"aaaa: 2 cells of {results} begin so; give more of the key"
    assert find_row("bbbb", results)["key"] == "bbbb"


def test_a_run_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    said = f"neither a results file nor a run id; runs beside {results}:"
    assert refused(find_run, "run-1", results) == f"run-1: {said} none"
    rows_of(results, {"kind": "header", "run": "20261122-b"})
    old = rows_of(tmp_path / "history/20261122-a.jsonl", {"kind": "header"})
    assert refused(find_run, "202", results) == f"202: {said} 20261122-b, 20261122-a"
    assert refused(find_run, "20261122", results) == "20261122: 2 runs begin so; give more of the run id"
    assert find_run("20261122-a", results) == old, "a file without a run id is called by its name"


def test_where_runs_lie_and_how_they_are_called(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    assert folder_of(results) == tmp_path / "history"
    assert folder_beside(results, "run-7") == tmp_path / "run-run-7"
    assert run_of_file(results) == ""
    results.write_text("[1]\n")
    assert run_of_file(results) == ""
    results.write_text('{"kind": "header"}\n')
    assert run_of_file(results) == ""
    assert new_run_id()[:2] == "20" and new_run_id() != new_run_id()


def test_the_machine_in_short_leaves_out_what_is_not_known() -> None:
    assert machine(STATE) == {"cpu": "x", "cpus": 2, "memory_gb": 3.0}
    assert machine({}) == {}
