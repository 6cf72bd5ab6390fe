"""``bench export`` from outside: tables with dictionary and metadata, which mlcroissant reads without a network."""

from __future__ import annotations

import csv
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.cli.main import main
from bench_plugin.results.tables.columns import TABLES
from bench_plugin.results.tables.dictionary import with_columns
from bench_plugin.results.tables.files import read_csv, read_parquet
from tests.results.nights import axes, failed, night, passed, run_id, timed, write

ROOT = Path(__file__).parents[2]
TODAY = "2026-11-22"
VALIDATE = """
import json, logging, socket, sys, warnings
def no(*_, **__): raise RuntimeError("mlcroissant asked for the network")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = no
warnings.simplefilter("ignore")
import mlcroissant
dataset = mlcroissant.Dataset(jsonld=sys.argv[1])
issues = dataset.metadata.ctx.issues
records = list(dataset.records("timings"))
text = lambda value: value.decode() if isinstance(value, bytes) else value
print(json.dumps({
    "errors": sorted(issues.errors), "warnings": sorted(issues.warnings),
    "sets": [one.id for one in dataset.metadata.record_sets],
    "records": [{name: text(value) for name, value in one.items()} for one in records],
}, default=str))
"""


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795341600")  # of TODAY
    rows = night(1, passed(axes(), E=1e-7), failed(axes("vgg")), timed(axes("gru"), 0.002), contributor="Lab A")
    return write(tmp_path / "reports/results.jsonl", rows)


def exported(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["export", "-o", "out", *arguments]) == 0
    return capsys.readouterr().out


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize(("form", "read"), [("csv", read_csv), ("parquet", read_parquet)])
def test_what_was_exported_and_read_back_are_the_rows_with_their_licence(
    results: Path, capsys: pytest.CaptureFixture[str], form: str, read: Any
) -> None:
    said = exported(capsys, "--format", form, "--licence", "CC-BY-4.0")
    assert said.endswith("wrote out/dictionary.csv\nwrote out/croissant.json\n5 rows of 1 runs\n")
    header, *others = rows_of(results)
    assert read(Path("out")) == [header | {"licence": "CC-BY-4.0"}, *others]


def test_the_tables_say_of_every_row_where_it_comes_from(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exported(capsys, "--licence", "CC-BY-4.0")
    with open("out/cells.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    said = {
        "run": run_id(1), "started": "2026-11-01T02:00:00Z", "commit": "c000001", "contributor": "Lab A",
        "machine": "Some CPU, x86_64, 2 cores", "licence": "CC-BY-4.0", "bench_plugin": "0.1.0",
    }  # fmt: skip
    assert [{name: line[name] for name in said} for line in lines] == [said] * 3
    assert json.loads(lines[0]["versions"]) == {"onnxruntime": "1.31.1", "onnx": "1.23.2"}
    with open("out/dictionary.csv", newline="") as file:
        described = {(line["table"], line["column"]) for line in csv.DictReader(file)}
    for table in TABLES:
        with open(f"out/{table.name}.csv", newline="") as file:
            assert next(csv.reader(file)) == [column.name for column in table.columns]
        assert {(table.name, column.name) for column in table.columns} <= described


def test_mlcroissant_finds_nothing_wrong_and_reads_the_tables(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("mlcroissant", reason="pip install mlcroissant (extra dev)")
    exported(capsys, "--licence", "CC-BY-4.0", "--name", "nightly")
    done = subprocess.run([sys.executable, "-c", VALIDATE, "out/croissant.json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert (found["errors"], found["warnings"]) == ([], [])
    assert found["sets"] == [table.name for table in TABLES]
    (record,) = found["records"]
    assert (record["timings/run"], record["timings/p50"], record["timings/launches"]) == (run_id(1), 0.002, 5)


def test_the_metadata_name_files_with_digests_licence_and_contributors(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exported(capsys, "--licence", "CC-BY-4.0", "--name", "nightly", "--format", "parquet")
    said = json.loads(Path("out/croissant.json").read_text("utf-8"))
    assert said["name"] == "nightly" and said["datePublished"] == TODAY
    assert said["license"] == ["https://spdx.org/licenses/CC-BY-4.0"]
    assert [one["name"] for one in said["creator"]] == ["Lab A"]
    assert said["isBasedOn"] == [f"run {run_id(1)}"]
    for file in said["distribution"]:
        data = Path("out", file["contentUrl"]).read_bytes()
        assert file["sha256"] == hashlib.sha256(data).hexdigest()
        assert file["contentSize"] == f"{len(data)} B"


def test_several_runs_are_one_dataset_and_a_run_in_two_sources_is_in_it_once(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "reports/history" / f"{run_id(2)}.jsonl", night(2, passed(axes()), licence="MIT"))
    write(tmp_path / "reports/a-part.jsonl", rows_of(results)[:3])
    exported(capsys, run_id(2), "reports", "--licence", "CC-BY-4.0", "--format", "parquet")
    rows = read_parquet(Path("out"))
    assert [row["licence"] for row in rows if row["kind"] == "header"] == ["MIT", "CC-BY-4.0"]
    assert [row["kind"] for row in rows].count("cell") == 4
    assert main(["export", "-o", "again", "out"]) == 0
    assert [row | {"line": 0} for row in read_csv(Path("again"))] == [row | {"line": 0} for row in rows]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-o", "out"], f"the run {run_id(1)} does not say its licence; give it with --licence, such as CC-BY-4.0"),
        ([], "say with -o FOLDER where the tables go"),
        (["-o", "out", "none"], "none: neither a results file nor a run id"),
        (["--check"], "--check: it is of a page; say --dictionary docs/data.md too"),
        (["--dictionary", "reports/results.jsonl"], "reports/results.jsonl: the page has no lines <!-- columns"),
    ],
)
def test_what_cannot_be_exported_is_said(
    results: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["export", *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not list(Path("out").glob("*")), "nothing is left behind"


def test_the_page_has_the_columns_of_the_code(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = ROOT / "docs/data.md"
    assert main(["export", "--dictionary", str(page), "--check"]) == 0, "bench export --dictionary docs/data.md"
    old = tmp_path / "data.md"
    old.write_text(page.read_text("utf-8").replace("| `numbers_E` | number |", "| `numbers_E` | text |"), "utf-8")
    assert main(["export", "--dictionary", str(old), "--check"]) == 1
    assert "old; bench export --dictionary writes it again" in capsys.readouterr().out
    assert main(["export", "--dictionary", str(old)]) == 0
    assert old.read_text("utf-8") == page.read_text("utf-8") == with_columns(page.read_text("utf-8"))
