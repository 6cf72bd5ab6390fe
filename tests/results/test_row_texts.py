"""Every kind of row as a whole, and the sentences of readers that refuse a file, literally."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
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


def test_the_licence_and_the_contributor_are_in_the_row_of_a_run_where_they_are_known(tmp_path: Path) -> None:
    def said(**known: str) -> dict[str, str]:
        row = header_row(
            run="", root=tmp_path, state={}, command=(), versions={}, seeds={}, titles={}, host={}, **known
        )  # fmt: skip
        return {key: value for key, value in row.items() if key in ("licence", "contributor")}

    assert said() == {}
    assert said(licence="CC0-1.0") == {"licence": "CC0-1.0"}
    assert said(licence="CC0-1.0", contributor="us") == {"licence": "CC0-1.0", "contributor": "us"}


def test_the_row_of_the_plan_of_a_shard_has_the_shard_and_the_cells_of_all() -> None:
    def said(**known: dict[str, Any]) -> dict[str, Any]:
        row = plan_row(count=2, hash="abc", selection={}, total=9, totals={}, **known)
        return {key: value for key, value in row.items() if key in ("shard", "planned")}

    assert said(shard={"index": 1, "of": 2}, planned={"cells": "…"}) == {
        "shard": {"index": 1, "of": 2}, "planned": {"cells": "…"},
    }  # fmt: skip
    assert said(shard={"index": 1, "of": 2}) == {}


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


def test_the_machine_in_short_has_what_stays_the_same_of_it() -> None:
    state = {
        "architecture": "x86_64", "system": "Linux", "kernel": "6.1", "cpu": "x", "libc": "glibc 2.36",
        "cores": [0, 1, 2], "memory_bytes": 16_700_000_000, "governor": "performance",
    }  # fmt: skip
    assert machine(state) == {
        "architecture": "x86_64", "system": "Linux", "kernel": "6.1", "cpu": "x", "libc": "glibc 2.36", "cpus": 3,
        "memory_gb": 15.6,
    }  # fmt: skip


def git(root: Path, *command: str) -> str:
    nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for role in ("AUTHOR", "COMMITTER"):
        nobody |= {f"GIT_{role}_NAME": "nobody", f"GIT_{role}_EMAIL": "nobody@example.org"}
    done = subprocess.run(
        ["git", "-C", str(root), *command], capture_output=True, text=True, check=True, env=os.environ | nobody
    )
    return done.stdout.strip()


def test_the_commit_is_called_as_git_describes_it(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "file").write_text("one")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-q", "-m", "one")
    short = git(tmp_path, "rev-parse", "HEAD")[:12]
    assert commit(tmp_path) == short
    row = header_row(run="", root=tmp_path, state={}, command=(), versions={}, seeds={}, titles={}, host={})
    assert row["commit"] == short
    (tmp_path / "file").write_text("two")
    assert commit(tmp_path) == f"{short}-dirty"
    git(tmp_path, "tag", "-a", "v1", "-m", "v1")
    assert commit(tmp_path) == "v1-dirty"


def test_there_is_no_commit_without_a_checkout_and_without_a_git_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert commit(tmp_path) == ""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit(tmp_path) == "", "git is not installed"
    (tmp_path / "git").write_text("#!/bin/sh\necho half an answer\nexit 3\n")
    (tmp_path / "git").chmod(0o755)
    assert commit(tmp_path) == "", "git has failed"
