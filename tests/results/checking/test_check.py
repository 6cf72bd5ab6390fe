"""Rows that somebody contributes: each finding says the line, the key, what is wrong and what would be right."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench_plugin.cli.about.schema import schema
from bench_plugin.domain.outcome import Status
from bench_plugin.results.checking.check import check
from bench_plugin.results.checking.lines import DEEPEST
from bench_plugin.results.tables.files import write_tables
from tests.results.nights import Row, axes, decided, failed, night, passed, timed, write

RIGHT = night(1, passed(axes(), E=1e-7, M=0), failed(axes("vgg")), decided(axes("bert")), timed(axes("gru"), 0.002))
STATUSES = (
    "supported, mismatch, ERROR, unsupported, version skew, Not provided, unverified, outside our bound, board-lost, "
    "not run"
)


def findings(path: Path, rows: list[Row]) -> list[str]:
    return [str(one) for one in check(write(path, rows)).findings]


def test_rows_of_a_run_are_right_and_further_keys_are_allowed(tmp_path: Path) -> None:
    rows = [{**row, "a_new_key": [1]} for row in RIGHT]
    rows[2] = rows[2] | {"cell": axes() | {"a_new_axis": 3}, "numbers": {**rows[2]["numbers"], "a_new_number": {}}}
    found = check(write(tmp_path / "right.jsonl", rows))
    assert (found.findings, found.rows) == ([], {"header": 1, "plan": 1, "cell": 3, "declared": 1})


def test_a_planned_cell_that_no_shard_computed_is_right(tmp_path: Path) -> None:
    assert findings(tmp_path / "x.jsonl", night(1, decided(axes()) | {"status": "not run"})) == []


def test_rows_as_parquet_are_checked_too(tmp_path: Path) -> None:
    write_tables([*RIGHT[:2], RIGHT[2] | {"status": "sported"}], tmp_path, "parquet")
    assert [str(one) for one in check(tmp_path).findings] == [
        f"line 3: status: 'sported' is not valid; valid are: {STATUSES}"
    ]


WRONG: dict[str, tuple[Callable[[Row], Any], str]] = {
    "status": (lambda row: row.update(status="suported"), f"status: 'suported' is not valid; valid are: {STATUSES}"),
    "stage": (
        lambda row: row.update(stage="link"),
        "stage: 'link' is not valid; valid are: build, reference, export, check, import, compile, deploy, run, "
        "compare, time",
    ),
    "symptom": (
        lambda row: row.update(symptom="broke"),
        "symptom: 'broke' is not valid; valid are: exception, unsupported, invalid-model, mismatch, crash, timeout, "
        "out-of-memory, version-skew, harness, board-lost, nondeterministic",
    ),
    "result": (
        lambda row: row.update(result="ok"), "result: 'ok' is not valid; valid are: passed, failed, xfailed, skipped"
    ),
    "renamed": (
        lambda row: row.update(Status=row.pop("status")),
        "status: missing; the row has 'Status', which must be called 'status'",
    ),
    "missing": (lambda row: row.pop("versions"), "versions: missing; every such row has it"),
    "no run": (lambda row: row.pop("run"), "run: missing; every such row has it"),
    "no kind": (lambda row: row.pop("kind"), "kind: missing; every such row has it"),
    "kind": (lambda row: row.update(kind="sell"), "kind: 'sell' is not valid; valid are: header, plan, declared, cell"),
    "schema": (
        lambda row: row.update(schema=2), "schema: 2, and this version reads 1; contribute rows of that version"
    ),
    "axis": (lambda row: row["cell"].pop("model"), "cell.model: missing; every such row has it"),
    "opset": (lambda row: row["cell"].update(opset="17"), "cell.opset: expected a whole number or nothing, found '17'"),
    "number": (lambda row: row["numbers"].update(E="1"), "numbers.E: expected a number or nothing, found '1'"),
    "seconds": (lambda row: row["timings"].update(run=-1), "timings.run: expected a number >= 0.0, found -1"),
    "bytes": (lambda row: row["peaks"].update(run=1.5), "peaks.run: expected a whole number, found 1.5"),
    "flags": (lambda row: row.update(flags="shim"), "flags: expected a list, found 'shim'"),
    "converted": (lambda row: row.update(converted=1), "converted: expected true or false, found 1"),
    "key": (lambda row: row.update(key=" "), "key: expected a text that is not blank, found ' '"),
    "check": (
        lambda row: row.update(check="export"),
        "check: 'export', where the cell has 'equivalence'; both are the check of the cell",
    ),
    "unverified": (
        lambda row: row.update(unverified="blocked"),
        "unverified: 'blocked' with status 'supported'; exactly the status unverified has a kind, and every other "
        "status has null",
    ),
    "other run": (
        lambda row: row.update(run="r2"),
        "run: 'r2' is the run of no header above; the header says where rows come from, and is first",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_with_line_key_and_what_would_be_right(tmp_path: Path, name: str) -> None:
    spoil, said = WRONG[name]
    rows = json.loads(json.dumps(RIGHT))
    spoil(rows[2])
    assert findings(tmp_path / "x.jsonl", rows) == [f"line 3: {said}"]


def test_a_header_says_when_it_began(tmp_path: Path) -> None:
    (said,) = findings(tmp_path / "x.jsonl", night(1, started="yesterday"))
    assert said.startswith("line 1: started: expected a text matching regex") and "found 'yesterday'" in said


LINES = {
    b'{"kind": "cell", "E": NaN}': "not JSON: NaN is no number of JSON; write null for a number that is not finite",
    b'{"E": -Infinity}': "not JSON: Infinity is no number of JSON; write null for a number that is not finite",
    b'{"kind": "cell"': "not JSON: Input data was truncated; a row is one JSON object on one line",
    b'{"kind": "\xff"}': "not UTF-8: invalid start byte at byte 10; rows are written as UTF-8",
    b"[1]": "a list, where a row is a JSON object with the key kind",
    b"[" * 100_000: f"tables and lists in it are nested more than {DEEPEST} levels deep, which no row is",
    b'{"a":' * 100 + b"1" + b"}" * 100: "tables and lists in it are nested more than 64 levels deep, which no row is",
}


@pytest.mark.parametrize("line", LINES, ids=lambda line: str(line[:12]))
def test_a_hostile_line_is_a_finding_and_the_lines_after_it_are_checked(tmp_path: Path, line: bytes) -> None:
    path = write(tmp_path / "x.jsonl", RIGHT)
    path.write_bytes(line + b"\n" + path.read_bytes())
    found = check(path)
    assert [str(one) for one in found.findings] == [f"line 1: {LINES[line]}"]
    assert found.rows["cell"] == 3


def test_a_line_without_end_takes_no_memory(tmp_path: Path) -> None:
    import resource

    path = tmp_path / "x.jsonl"
    with path.open("wb") as file:
        file.truncate(2**30)  # a sparse file: one line of zero bytes
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = check(path, longest=2**20)
    assert [str(one) for one in found.findings] == ["line 1: the line is longer than 1 MiB, which no row is"]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000, "kB"


def test_all_findings_are_counted_and_the_first_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", [*night(1), *({"kind": "sell"} for _ in range(50))])
    found = check(path, most=3)
    assert (found.wrong, [one.line for one in found.findings]) == (50, [3, 4, 5])


def test_a_file_without_rows_is_a_finding(tmp_path: Path) -> None:
    assert findings(tmp_path / "x.jsonl", []) == ["the file: there is no row in it"]


def test_the_json_schema_says_the_same_as_the_check() -> None:
    said = schema("rows")
    jsonschema = pytest.importorskip("jsonschema", reason="comes with the extra dev")
    validator = jsonschema.Draft202012Validator(said)
    validator.check_schema(said)
    for row in RIGHT:
        validator.validate(json.loads(json.dumps(row)))
    for name, (spoil, _) in WRONG.items():
        rows = json.loads(json.dumps(RIGHT))
        spoil(rows[2])
        between_keys = name in ("check", "unverified", "other run")  # what keys say together, a schema does not know
        assert validator.is_valid(rows[2]) == between_keys, name


def test_every_status_of_the_code_is_in_the_schema() -> None:
    values = schema("rows")["$defs"]["CellRow"]["properties"]["status"]["enum"]
    assert set(values) == {*(str(one) for one in Status), "not run"}
    assert msgspec.json.encode(values)
