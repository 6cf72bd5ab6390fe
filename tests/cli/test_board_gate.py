"""``bench board gate``: one count that changed is a table and exit code 1."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.cli.shared.board import gate as board_gate
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Outcome, Status
from bench_plugin.results.rows import cell_row

CELL = {
    "check": "equivalence", "model": "digits_mlp", "framework": "pytorch", "exporter": "torchscript", "opset": 17,
    "compiler": "emx", "precision": "fp32", "target": "unicorn-m3",
}  # fmt: skip
NAME = "digits_mlp pytorch torchscript 17 emx fp32 unicorn-m3"
COUNTED = {"instructions": 1_234_560, "flash": 54_000, "ram": 32_000, "stack": 584}


def results(path: Path, counted: dict[str, int], target: str = "unicorn-m3", status: Status = Status.SUPPORTED) -> Path:
    """A results file with one cell that counted."""
    one = counted["instructions"]
    memory = {name: value for name, value in counted.items() if name != "instructions"}
    numbers: dict[str, Any] = {"timing": {"instructions": {"median": one, "min": one, "max": one, "n": 16}}}
    outcome = Outcome(status=status, numbers=numbers, artefacts={"memory": memory})
    row = cell_row(
        {**CELL, "target": target}, outcome, key="k", nodeid="n", expected=None, repro=[], result="passed", settings={},
        host="h",
    )  # fmt: skip
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return path


def gate(results: Path, baseline: Path, *more: str) -> int:
    """The exit code of the gate."""
    parser = argparse.ArgumentParser()
    board_gate.add_arguments(parser)
    return board_gate.run(parser.parse_args(["--results", str(results), "--baseline", str(baseline), *more]))


@pytest.fixture
def baseline(tmp_path: Path) -> Path:
    """A baseline of the cell."""
    path = tmp_path / "microcontrollers.json"
    assert gate(results(tmp_path / "first.jsonl", COUNTED), path, "--update") == 0
    return path


def test_the_same_counts_pass(baseline: Path, tmp_path: Path) -> None:
    assert json.loads(baseline.read_text(encoding="utf-8")) == {"version": 1, "cells": {NAME: COUNTED}}
    assert gate(results(tmp_path / "r.jsonl", COUNTED), baseline) == 0


@pytest.mark.parametrize("figure", COUNTED)
def test_one_count_that_changed_fails(
    figure: str, baseline: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = results(tmp_path / "r.jsonl", {**COUNTED, figure: COUNTED[figure] + 1})
    assert gate(changed, baseline) == 1
    out = capsys.readouterr().out
    assert NAME in out and figure in out and "+1 (" in out
    assert str(COUNTED[figure]) in out and str(COUNTED[figure] + 1) in out
    assert gate(changed, baseline, "--update") == 0
    assert gate(changed, baseline) == 0


def test_a_new_cell_fails_and_one_that_was_not_run_does_not(
    baseline: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gate(results(tmp_path / "r.jsonl", COUNTED, "cortex-m3"), baseline) == 1
    said = capsys.readouterr()
    assert said.out.count("new") == 4
    assert "1 of the baseline were not run" in said.err


def test_json_is_on_standard_output(baseline: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert gate(results(tmp_path / "r.jsonl", {**COUNTED, "stack": 600}), baseline, "--json") == 1
    assert json.loads(capsys.readouterr().out) == [{"cell": NAME, "figure": "stack", "baseline": 584, "now": 600}]


def test_a_run_that_counted_nothing_says_nothing(tmp_path: Path) -> None:
    failed = results(tmp_path / "r.jsonl", COUNTED, status=Status.MISMATCH)
    with pytest.raises(UsageError, match="no cell counted instructions; run suites/equivalence"):
        gate(failed, tmp_path / "b.json")


@pytest.mark.parametrize("text", ["{", "[]", '{"version": 2, "cells": {}}', '{"version": 1, "cells": {"a": {"x": 1}}}'])
def test_a_file_that_is_no_baseline_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r"b.json: not"):
        gate(results(tmp_path / "r.jsonl", COUNTED), path)


def test_a_missing_baseline_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read.*--update writes it"):
        gate(results(tmp_path / "r.jsonl", COUNTED), tmp_path / "none.json")
