"""The end of a cell's log on a page: from the folder of logs alone, bounded, and without secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_plugin.domain.paths import LOGS
from bench_plugin.report.log_tail import TAIL, log_tail


@pytest.fixture
def results(tmp_path: Path) -> Path:
    (tmp_path / "reports" / LOGS).mkdir(parents=True)
    return tmp_path / "reports/results.jsonl"


def test_the_end_of_a_log_is_shown_without_secrets(results: Path) -> None:
    (results.parent / LOGS / "cell.log").write_bytes(b"x" * TAIL + b"\nTOKEN=abcdef0123456789\nred\xff\n")
    said = log_tail(f"{LOGS}/cell.log", results)
    assert "abcdef0123456789" not in said and "TOKEN=***" in said and said.startswith("x") and "red" in said
    assert len(said) <= TAIL + 20 and said.count("x") < TAIL


def test_a_run_of_the_history_has_the_logs_of_the_folder_above(results: Path) -> None:
    (results.parent / LOGS / "cell.log").write_text("boom")
    assert log_tail("cell.log", results.parent / "history/earlier.jsonl") == "boom"
    (results.parent / "history" / LOGS).mkdir(parents=True)
    (results.parent / "history" / LOGS / "cell.log").write_text("nearer")
    assert log_tail("cell.log", results.parent / "history/earlier.jsonl") == "nearer"


@pytest.mark.parametrize("log", ["", "gone.log", "../secret.log", "/etc/hostname", "\0"])
def test_what_is_not_in_the_folder_of_logs_is_not_opened(results: Path, log: str) -> None:
    (results.parent / "secret.log").write_text("secret")
    assert log_tail(log, results) == ""
