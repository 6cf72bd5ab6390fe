"""Rows: what a reader takes, what it leaves out and says, and what it refuses."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Outcome, Stage, Status, Symptom, Unverified
from bench_plugin.results.rows import (
    KINDS,
    SCHEMA,
    cell_row,
    finite,
    of_run,
    outcome_of,
    parse_rows,
    read_rows,
    without_home,
)

AXES = {"check": "export", "model": "a", "framework": "fake"}


def written(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_the_schema_and_the_kinds_are_those_of_the_document() -> None:
    assert SCHEMA == 1
    assert KINDS == ("header", "plan", "declared", "cell")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_read(tmp_path: Path, kind: str) -> None:
    row = {"schema": 1, "kind": kind}
    assert read_rows(written(tmp_path / "r.jsonl", row)).rows == (row,)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"schema": 2, "kind": "cell"}, r"r\.jsonl: line 2 has schema 2, this version reads 1"),
        ({"schema": 0, "kind": "cell"}, "line 2 has schema 0, this version reads 1"),
        ({"kind": "cell"}, "line 2 has schema None"),
        ({"schema": 1, "kind": "guess"}, "line 2 is not a row of a results file"),
        ({"schema": 1}, "line 2 is not a row of a results file"),
        ([1], "line 2 is not a row of a results file"),
        (None, "line 2 is not a row of a results file"),
    ],
)
def test_another_schema_and_another_kind_are_refused(tmp_path: Path, row: Any, message: str) -> None:
    path = written(tmp_path / "r.jsonl", {"schema": 1, "kind": "header"}, row)
    with pytest.raises(UsageError, match=message):
        read_rows(path)


def test_a_cut_line_is_left_out_and_named_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'{"schema": 1, "kind": "header"}\n\n{"schema": 1, "ki\n{"schema": 1, "kind": "cell"}\n\xff\xfe')
    found = read_rows(path)
    assert [row["kind"] for row in found.rows] == ["header", "cell"]
    assert found.notes == (
        "r.jsonl: line 3 is incomplete or corrupt and was ignored",
        "r.jsonl: line 5 is incomplete or corrupt and was ignored",
    )


def test_a_file_without_a_row_is_refused_unless_none_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'{"schema"')
    assert parse_rows(path).rows == ()
    with pytest.raises(UsageError, match="there is no row in it"):
        read_rows(path)
    with pytest.raises(UsageError, match="cannot read results"):
        read_rows(tmp_path / "absent.jsonl")


def test_an_outcome_comes_back_from_its_row_with_every_field() -> None:
    outcome = Outcome(
        Status.ERROR, Stage.RUN, Symptom.CRASH, "why", "trace", converted=True, verified=True, numbers={"E": 0.5},
        timings={"run": 1.5}, peaks={"run": 3}, versions={"onnx": "1"}, artefacts={"model.onnx": {"nodes": 2}},
        stages_cached=("export",), flags=("ftz",), placement={"threads": 2}, retry={"first": "x"}, log="logs/a.log",
        reusable=False,
    )  # fmt: skip
    row = cell_row(
        AXES, outcome, key="k", nodeid="n", expected=None, repro=["r"], result="failed", settings={"seed": 1}, host="h"
    )
    read = json.loads(json.dumps(row))
    assert outcome_of(read) == outcome
    assert (read["schema"], read["kind"], read["stage"], read["symptom"]) == (1, "cell", "run", "crash")
    assert (read["check"], read["cell"], read["expected"]) == ("export", AXES, None)


@pytest.mark.parametrize(
    ("status", "symptom", "reusable"),
    [
        (Status.NOT_PROVIDED, None, False),
        (Status.BOARD_LOST, None, False),
        (Status.ERROR, Symptom.HARNESS, False),
        (Status.UNVERIFIED, None, True),
        (Status.ERROR, Symptom.EXCEPTION, True),
    ],
)
def test_what_the_machine_lacked_is_never_reusable(status: Status, symptom: Symptom | None, reusable: bool) -> None:
    kind = Unverified.BLOCKED if status is Status.UNVERIFIED else None
    assert Outcome(status, Stage.RUN, symptom, unverified=kind).reusable is reusable


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.UNVERIFIED])
def test_exactly_the_unverified_have_a_kind(status: Status) -> None:
    with pytest.raises(ValueError, match="exactly the unverified have one"):
        Outcome(status, unverified=Unverified.BLOCKED)
    with pytest.raises(ValueError, match="exactly the unverified have one"):
        Outcome(Status.UNVERIFIED)


def test_the_kind_of_an_unverified_cell_is_in_its_row() -> None:
    outcome = Outcome(Status.UNVERIFIED, reason="why", unverified=Unverified.NOT_SENSITIVE)
    row = cell_row(AXES, outcome, key="k", nodeid="n", expected=None, repro=[], result="skipped", settings={}, host="h")
    assert row["unverified"] == "not sensitive"
    assert outcome_of(row).unverified is Unverified.NOT_SENSITIVE
    del row["unverified"]  # as rows of older versions
    assert outcome_of(row).unverified is Unverified.HARNESS


def test_a_row_of_an_older_version_is_not_reusable() -> None:
    outcome = Outcome(Status.SUPPORTED)
    row = cell_row(AXES, outcome, key="k", nodeid="n", expected=None, repro=[], result="passed", settings={}, host="h")
    assert outcome_of(row).reusable
    del row["reusable"]
    assert outcome_of(row).reusable is False


def test_numbers_that_are_not_finite_are_null() -> None:
    given = {"a": math.nan, "b": [math.inf, (1.5,)], 3: np.float32(2.0), "c": np.int64(4)}
    assert finite(given) == {"a": None, "b": [None, [1.5]], "3": 2.0, "c": 4}
    assert json.dumps(finite(given)) == '{"a": null, "b": [null, [1.5]], "3": 2.0, "c": 4}'


def test_the_lines_are_read_by_the_function_that_is_given(tmp_path: Path) -> None:
    path = written(tmp_path / "r.jsonl", {"schema": 1, "kind": "cell", "peak": 1.5})

    def loads(line: bytes) -> Any:
        return json.loads(line, parse_float=str)

    assert read_rows(path, loads).rows == ({"schema": 1, "kind": "cell", "peak": "1.5"},)


@pytest.mark.parametrize(
    ("row", "run", "expected"),
    [
        ({"schema": 1, "kind": "cell", "x": 1}, "run-1", '{"schema": 1, "kind": "cell", "run": "run-1", "x": 1}'),
        ({"x": 1, "kind": "cell", "schema": 1}, "run-1", '{"schema": 1, "kind": "cell", "run": "run-1", "x": 1}'),
        ({"kind": "cell", "run": "run-0"}, "run-1", '{"kind": "cell", "run": "run-1"}'),
        ({"key": "k", "run": "run-0"}, "", '{"key": "k", "run": "run-0"}'),
    ],
)  # fmt: skip
def test_a_row_has_the_id_of_its_run_behind_its_kind(row: dict[str, Any], run: str, expected: str) -> None:
    assert json.dumps(of_run(row, run)) == expected


def test_rows_name_no_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    assert without_home("File /home/someone/.cache/a.py and /home/someoneelse/b") == (
        "File ~/.cache/a.py and /home/someoneelse/b"
    )
    failed = Outcome(status=Status.ERROR, detail="File /home/someone/.cache/a.py, line 3")
    row = cell_row(AXES, failed, key="k", nodeid="n", expected=None, repro=[], result="failed",
                   settings={}, host="")  # fmt: skip
    assert row["detail"] == "File ~/.cache/a.py, line 3"
    monkeypatch.setenv("HOME", "/")
    assert without_home("/a/b") == "/a/b"
