"""``bench expect apply``: the cells of a finished run are judged by the known failures of today."""

from __future__ import annotations

import fcntl
import gzip
import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.results.known_failures.applied import _with_known_signatures, applied
from bench_plugin.results.known_failures.expectations import Expectations
from tests.project import Project

RESULTS = "reports/results.jsonl"
FILE = "suites/expectations/known.toml"
ROW = """
[[expectation]]
check = "export"
model = "{model}"
framework = "fake"
stage = "export"
symptom = "exception"
signature = "ValueError: this is the first line"
reason = "{reason}"
link = "https://example.org/1"
"""


@pytest.fixture
def finished(project: Project) -> Project:
    """A project after a run that nobody expected to fail, in one of two cells."""
    project.model("broken", "export:exception")
    project.model("sound")
    assert project.run("-k", "export").code == 1
    return project


def _cell(project: Project, model: str) -> dict[str, Any]:
    return next(row for row in project.rows() if row["kind"] == "cell" and row["cell"]["model"] == model)


def _judged(row: Mapping[str, Any]) -> tuple[str, Any]:
    return row["result"], row["expected"]


def test_a_row_written_after_the_run_makes_its_cell_a_known_failure_there(finished: Project) -> None:
    before = {row["cell"]["model"]: row for row in finished.rows() if row["kind"] == "cell"}
    finished.write(FILE, ROW.format(model="broken", reason="the converter loses the model"))
    done = finished.bench("expect", "apply")
    assert done.returncode == 0, done.stderr
    assert "1 cells: failed before, xfailed now" in done.stdout
    assert "judged 2 cells of reports/results.jsonl again, 1 changed, 0 fail" in done.stdout
    cause = {"reason": "the converter loses the model", "link": "https://example.org/1"}
    assert _cell(finished, "broken") == before["broken"] | {"result": "xfailed", "expected": cause}
    assert _cell(finished, "sound") == before["sound"]
    grid = finished.bench("grid", RESULTS)
    assert grid.returncode == 0
    assert "the converter loses the model" in (finished.folder / "reports/onnx-support.md").read_text()


def test_a_cause_that_was_written_anew_is_told_and_a_removed_row_makes_the_cell_fail(finished: Project) -> None:
    finished.write(FILE, ROW.format(model="broken", reason="some cause"))
    assert finished.bench("expect", "apply").returncode == 0
    finished.write(FILE, ROW.format(model="broken", reason="the right cause"))
    assert "1 cells: xfailed before, another cause or link" in finished.bench("expect", "apply").stdout
    assert _cell(finished, "broken")["expected"]["reason"] == "the right cause"
    (finished.folder / FILE).unlink()
    done = finished.bench("expect", "apply")
    assert done.returncode == 1
    assert "1 cells: xfailed before, failed now" in done.stdout
    key = _cell(finished, "broken")["key"]
    assert f"{key}  export broken fake fakeout 17 fp32 local: ValueError: this is the first line" in done.stdout
    assert _judged(_cell(finished, "broken")) == ("failed", None)


def test_a_row_that_expects_a_failure_of_a_cell_that_passed_is_said(finished: Project) -> None:
    rows = "".join(ROW.format(model=model, reason="some cause") for model in ("broken", "sound"))
    finished.write(FILE, rows)
    done = finished.bench("expect", "apply", "--json")
    assert done.returncode == 1
    said = json.loads(done.stdout)
    assert {"before": "passed", "now": "failed", "cells": 1} in said["changes"]
    assert {"before": "failed", "now": "xfailed", "cells": 1} in said["changes"]
    (failed,) = said["failed"]
    assert "progress: it passed, known.toml row 2 expected a failure; remove the row" in failed
    assert _judged(_cell(finished, "sound")) == ("failed", None)


def test_the_page_says_of_which_commit_the_known_failures_are(finished: Project) -> None:
    git = ["git", "-c", "user.name=n", "-c", "user.email=n@example.org", "-C", str(finished.folder)]
    finished.write(FILE, ROW.format(model="broken", reason="some cause"))
    for words in (["init", "-q"], ["add", "suites"], ["commit", "-qm", "a row"]):
        subprocess.run([*git, *words], check=True)
    named = subprocess.run([*git, "describe", "--always", "--abbrev=12"], check=True, capture_output=True, text=True)
    finished.bench("expect", "apply")
    finished.bench("grid", RESULTS)
    text = (finished.folder / "reports/onnx-support.md").read_text()
    assert f"The known failures are those of commit {named.stdout.strip()}." in text


def test_compressed_results_stay_compressed(finished: Project, tmp_path: Path) -> None:
    kept = finished.folder / "kept.jsonl.gz"
    kept.write_bytes(gzip.compress((finished.folder / RESULTS).read_bytes()))
    finished.write(FILE, ROW.format(model="broken", reason="some cause"))
    assert finished.bench("expect", "apply", "--results", "kept.jsonl.gz").returncode == 0
    rows = [json.loads(line) for line in gzip.decompress(kept.read_bytes()).splitlines()]
    assert [row["result"] for row in rows if row["kind"] == "cell" and row["cell"]["model"] == "broken"] == ["xfailed"]


def test_results_that_a_run_still_writes_to_are_left_alone(finished: Project) -> None:
    path = finished.folder / RESULTS
    shutil.copy(path, finished.folder / "before.jsonl")
    with path.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        done = finished.bench("expect", "apply")
    assert done.returncode == 2
    assert "reports/results.jsonl is in use by a run that is not over; wait for its end" in done.stderr
    assert path.read_bytes() == (finished.folder / "before.jsonl").read_bytes()


def test_the_last_row_of_a_cell_counts_and_one_that_was_outvoted_is_left_alone(finished: Project) -> None:
    broken = _cell(finished, "broken")
    passed = {**_cell(finished, "sound"), "key": broken["key"], "cell": broken["cell"]}
    outvoted = {**broken, "outvoted": True, "result": "xfailed"}
    done = applied([broken, outvoted, passed], Expectations(()), "0123456789ab")
    assert done.failed == () and done.changes == {}
    assert [row["result"] for row in done.rows] == ["failed", "xfailed", "passed"]


GRAPHS = """
[[expectation]]
check = "property"
model = "Slice"
framework = "onnx"
compiler = "fake"
stage = "run"
symptom = "exception"
operators = ["Slice"]
signature = "ValueError: {message}"
example = "slice.json"
reason = "a slice that selects nothing is refused"
link = "https://example.org/2"
when = "fake=={version}"
"""


def _signature(message: str, **more: Any) -> dict[str, Any]:
    shown = {"stage": "run", "symptom": "exception", "operators": ["Slice"], "message": f"ValueError: {message}"}
    return shown | more


@pytest.mark.parametrize(
    ("rows", "result", "still"),
    [
        (("start is behind end",), "failed", ["step is wrong"]),
        (("start is behind end", "step is wrong"), "xfailed", []),
        (("another one",), "failed", ["start is behind end", "step is wrong"]),
    ],
)
@pytest.mark.parametrize("model", ["Slice", "dag"])
def test_new_signatures_of_generated_graphs_are_known_once_rows_have_them(
    tmp_path: Path, rows: tuple[str, ...], result: str, still: list[str], model: str
) -> None:
    (tmp_path / "slice.json").write_text("{}")
    (tmp_path / "known.toml").write_text("".join(GRAPHS.format(message=one, version="1.0") for one in rows))
    found = [
        _signature(one, reason=one, example="", folder=f"/{one}", reproduced=True)
        for one in ("start is behind end", "step is wrong")
    ]
    numbers = {"seen": [], "found": found, "signature": _signature("start is behind end")}
    cell = {"check": "property", "model": model, "framework": "onnx", "compiler": "fake"}
    row = {
        "kind": "cell", "key": "one", "cell": cell, "status": "ERROR", "stage": "run", "symptom": "exception",
        "reason": "ValueError: start is behind end", "result": "failed", "expected": None, "numbers": numbers,
        "versions": {"fake": "1.0"}, "detail": "", "converted": False, "verified": False, "timings": {}, "peaks": {},
        "artefacts": {}, "stages_cached": [], "flags": [], "placement": {}, "retry": "", "log": "", "unverified": None,
    }  # fmt: skip
    done = applied([row], Expectations.load([tmp_path]), "0123456789ab")
    after = done.rows[0]["numbers"]
    assert [one["message"] for one in after["found"]] == [f"ValueError: {one}" for one in still]
    assert [one["folder"] for one in after["seen"]] == [
        f"/{one['reason']}" for one in found if one["reason"] not in still
    ]
    assert done.rows[0]["result"] == (result if model == "Slice" else "failed"), (
        "no row is one of graphs of several nodes"
    )
    assert after["signature"]["message"] == f"ValueError: {still[0] if still else 'start is behind end'}"


def test_a_row_of_another_version_makes_no_signature_known(tmp_path: Path) -> None:
    (tmp_path / "slice.json").write_text("{}")
    (tmp_path / "known.toml").write_text(GRAPHS.format(message="no", version="2.0"))
    axes = {"check": "property", "model": "Slice", "framework": "onnx", "compiler": "fake"}
    expectations = Expectations.load([tmp_path])
    assert expectations.of_signature(axes, {"fake": "1.0"}, _signature("no")) is None
    assert expectations.of_signature(axes, {"fake": "2.0"}, _signature("no")) is not None
    assert expectations.of_signature(axes | {"compiler": "other"}, {"fake": "2.0"}, _signature("no")) is None


def test_a_known_signature_names_the_row_that_it_has_now(tmp_path: Path) -> None:
    (tmp_path / "slice.json").write_text("{}")
    (tmp_path / "known.toml").write_text("".join(GRAPHS.format(message=one, version="1.0") for one in ("new", "old")))
    seen = [_signature("old", row="known.toml row 1", folder="/old"), _signature("gone", row="known.toml row 7")]
    row = {
        "cell": {"check": "property", "model": "Slice", "framework": "onnx", "compiler": "fake"},
        "versions": {"fake": "1.0"}, "numbers": {"seen": seen, "found": [], "signature": None},
    }  # fmt: skip
    after = _with_known_signatures(row, Expectations.load([tmp_path]))["numbers"]
    assert [one["row"] for one in after["seen"]] == ["known.toml row 2", "known.toml row 7"]
    assert after["seen"][0]["folder"] == "/old" and after["found"] == []
