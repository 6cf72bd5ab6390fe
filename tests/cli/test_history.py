"""``bench history`` from outside: the index beside the results, what people and programs are told, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.cli.main import main
from bench_plugin.cli.shared.sparkline import sparkline
from bench_plugin.results.identity import cell_text
from tests.project import Project
from tests.results.nights import axes, failed, night, passed, run_id, timed, write

LSTM, VGG = axes("lstm"), axes("vgg")


@pytest.mark.parametrize(
    ("values", "logarithmic", "line"),
    [
        ([1.0, 2.0, None, 4.0], False, "▁▃ █"),
        ([1e-7, 1e-5, 1e-3, 0.0], True, "▁▅█ "),
        ([100.0, 101.0, 100.5], False, "▁▁▁"),
        ([1e-7, 1.01e-7], True, "▁▁"),
        ([float("inf"), None], False, ""),
        ([float(number) for number in range(100)], False, "▁▁▁▂▂▂▂▃▃▃▃▃▄▄▄▄▅▅▅▅▆▆▆▆▆▇▇▇▇███"),
    ],
)
def test_a_sparkline_draws_the_newest_values(values: list[float | None], logarithmic: bool, line: str) -> None:
    assert sparkline(values, logarithmic=logarithmic) == line


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three nights: the last one is in the results file, the others in its history; lstm breaks in the last one."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "reports"
    timing = [timed(VGG, seconds) for seconds in (0.002, 0.002, 0.003)]
    write(folder / f"history/{run_id(1)}.jsonl", night(1, passed(LSTM, E=1e-7), timing[0]))
    write(folder / f"history/{run_id(2)}.jsonl", night(2, passed(LSTM, E=2e-7), timing[1]))
    newer = {"versions": {"onnxruntime": "1.32.0"}}
    write(folder / "results.jsonl", night(3, failed(LSTM, reason="no rule") | newer, timing[2]))
    return folder


def told(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(["history", *arguments]) == code
    return capsys.readouterr().out


def told_json(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    return json.loads(told(capsys, *arguments, "--json", code=code))


@pytest.fixture
def indexed(reports: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["history", "index"]) == 0
    capsys.readouterr()
    return reports


def test_one_command_makes_the_index_of_the_results_and_their_history(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = told(capsys, "index")
    assert said.startswith("indexed 3 runs with 6 cells; 0 sources had not changed\nreports/history/index.duckdb: ")
    made = told_json(capsys, "index")
    assert made["runs"] == {} and made["unchanged"] == 6 and not made["rebuilt"]
    assert told_json(capsys, "index", "--rebuild")["rebuilt"]


def test_the_runs_are_listed(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(capsys, "runs").splitlines()
    assert lines[0].split() == ["run", "started", "profile", "cells", "passed", "failed", "known", "commit", "machine"]
    assert lines[3].split()[:8] == [run_id(3), "2026-11-03T02:00:00Z", "quick", "2", "1", "1", "0", "c000003"]
    assert [one["run"] for one in told_json(capsys, "runs")] == [run_id(1), run_id(2), run_id(3)]


def test_the_history_of_a_cell_shows_its_changes_and_sparklines(
    indexed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = told(capsys, "cell", "lstm")
    assert said.startswith(cell_text(LSTM))
    assert run_id(2) not in said, "nothing changed in the second night"
    assert "onnxruntime 1.31.1 → 1.32.0" in said and "no rule" in said
    assert "3 runs, 1 without a change not shown (--all shows them)" in said
    assert "E     ▁█   1e-07 to 2e-07, now 2e-07" in said
    assert run_id(2) in told(capsys, "cell", "lstm", "--all")
    said = told(capsys, "cell", "vgg")
    assert "time  ▁▁█  3 ms, +50.0% to the median of 3 runs" in said
    found = told_json(capsys, "cell", "lstm")
    assert [point["status"] for point in found["points"]] == ["supported", "supported", "ERROR"]


def test_several_cells_are_listed(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = told(capsys, "cell", "pytorch")
    assert "equivalence lstm pytorch dynamo 17 onnxruntime" in said and "2 cells; more words" in said
    assert len(told_json(capsys, "cell", "pytorch")) == 2


def test_new_failures_are_a_finding(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = told(capsys, "failures", code=1)
    assert "equivalence lstm pytorch dynamo 17 onnxruntime" in said and "no rule" in said
    assert f"1 new failures since {run_id(2)}, of which 1 still fail" in said
    found = told_json(capsys, "failures", "--since", run_id(1), code=1)
    assert (found["since"], [one["run"] for one in found["failures"]]) == (run_id(1), [run_id(3)])
    assert "0 new failures" in told(capsys, "failures", "--since", run_id(3))


def test_the_first_run_has_none_to_compare_it_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "reports/results.jsonl", night(1, failed(LSTM)))
    told(capsys, "index")
    assert "the index has 1 run; new failures are those of later runs than another one" in told(capsys, "failures")
    assert told_json(capsys, "failures") == {"since": None, "failures": []}


def test_flaky_cells_are_a_finding(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, "index")
    said = told(capsys, "flaky", code=1)
    assert "lstm" in said and "1 cells had several outcomes of one key in the last 30 runs" in said
    assert told_json(capsys, "flaky", "--last", "1") == []


def test_trends_are_of_timed_cells(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = told(capsys, "trends")
    assert "timing vgg pytorch dynamo 17 onnxruntime" in said and "+50.0%" in said and "▁▁█" in said
    assert [one["ratio"] for one in told_json(capsys, "trends", "vgg")] == [pytest.approx(1.5)]
    assert told_json(capsys, "trends", "lstm") == []


def test_rows_from_outside_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "right.jsonl", night(1, passed(LSTM)))
    write(tmp_path / "wrong.jsonl", night(1, passed(LSTM) | {"status": "fine"}))
    assert told(capsys, "check", "right.jsonl") == "right.jsonl: fine; rows: 1 header, 1 plan, 1 cell\n"
    said = told(capsys, "check", "right.jsonl", "wrong.jsonl", code=1)
    assert "wrong.jsonl: line 3: status: 'fine' is not valid; valid are: supported" in said
    assert told_json(capsys, "check", "wrong.jsonl", code=1)["wrong.jsonl"]["wrong"] == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["runs"], "there is no index yet; bench history index makes it from the rows of runs"),
        (["index", "--forget"], "--forget: it says what --rebuild may drop; say both"),
        (["index"], "reports/results.jsonl: there is no results file, and no history beside it, that could be indexed"),
        (["index", "--index", "reports/results.jsonl"], "is not the name of an index, which ends with .duckdb"),
        (["index", "none"], "there is no such file or folder"),
        (["check", "none"], "none: cannot read results: No such file or directory"),
    ],
)
def test_what_cannot_be_done_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["history", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_damaged_index_ends_with_cannot_say(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (indexed / "history/index.duckdb").write_bytes(b"hello" * 5000)
    assert main(["history", "runs"]) == 3
    assert "bench history index --rebuild makes it again from rows" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["history", "runs"], ["history", "index"], ["export", "-o", "there"]])
def test_without_duckdb_the_message_says_what_brings_it(reports: Path, command: list[str]) -> None:
    block = "import sys; sys.modules['duckdb'] = None; from bench_plugin.cli.main import main; sys.exit(main())"
    (reports / "history/index.duckdb").touch()
    more = ["--licence", "MIT"] if command[0] == "export" else []
    done = subprocess.run([sys.executable, "-c", block, *command, *more], capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert "it comes with: pip install 'bench-plugin[history]'" in done.stderr


def test_runs_of_a_project_are_indexed_with_their_licence(project: Project) -> None:
    own = (project.folder / "bench.toml").read_text()
    project.write("bench.toml", f'{own}licence = "CC-BY-4.0"\ncontributor = "A Lab"\n')
    project.model("right")
    for _ in range(2):
        project.run()
    done = project.bench("history", "index")
    assert done.returncode == 0 and "indexed 2 runs" in done.stdout, done.stdout + done.stderr
    (first, second) = json.loads(project.bench("history", "runs", "--json").stdout)
    assert (first["licence"], first["contributor"], second["passed"] > 0) == ("CC-BY-4.0", "A Lab", True)
    assert project.bench("history", "check", "reports/results.jsonl").returncode == 0
