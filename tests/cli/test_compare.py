"""``bench compare``: exit codes, thresholds of the configuration, formats, the summary, and its old name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench_plugin.cli.main import main
from tests.report.comparison.runs import BASE_RUN, HEAD_RUN, timed
from tests.report.made import Row, export, header


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's folder, in which results files are written and compared."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "bench.toml").write_text("")
    return tmp_path


def compared(base: Row, head: Row, *arguments: str) -> int:
    for name, run, row in (("base", BASE_RUN, base), ("head", HEAD_RUN, head)):
        Path(f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in (header(run=run), row)))
    return main(["compare", "base.jsonl", "head.jsonl", *arguments])


@pytest.mark.parametrize(
    ("base", "head", "code"),
    [
        (export(), export(), 0),
        (export(status="ERROR"), export(), 0),
        (export(), export(status="ERROR"), 1),
        (timed(), timed(1.1), 1),
        (timed(), timed(0.9), 0),
        (timed(), timed(1.1, host="bbb"), 3),
        (timed(), timed(launches=[1e-3, 1.2e-3, 0.9e-3, 1.1e-3, 0.8e-3]), 3),
        (export("lstm"), export("vgg16"), 3),
    ],
)
def test_exit_codes(runs: Path, base: Row, head: Row, code: int) -> None:
    assert compared(base, head) == code


def test_what_cannot_be_said_is_said(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compared(timed(), timed(1.1, host="bbb"))
    said = capsys.readouterr().out
    assert "not comparable" in said and "host aaa and bbb" in said
    assert "cannot say: none of 1 times is comparable" in said
    assert compared(timed(), timed(1.1, host="bbb"), "--no-times") == 0


def test_thresholds_are_those_of_the_configuration_and_of_the_option(runs: Path) -> None:
    (runs / "bench.toml").write_text('[[thresholds]]\ncompiler = "onnxruntime"\nmax_slowdown = 0.2\n')
    assert compared(timed(), timed(1.1)) == 0
    (runs / "bench.toml").write_text("")
    assert compared(timed(), timed(1.1)) == 1
    assert compared(timed(), timed(1.1), "--max-slowdown", "0.2") == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("max_slowdown = 0.0001", "bench.toml:2: thresholds[1].max_slowdown: expected a number >= 0.005, found 0.0001"),
        ('max_slowdown = 0.1\nmodell = "x"', "bench.toml:3: thresholds[1].modell: unknown key"),
        ('model = "x"', "thresholds row 1: neither max_slowdown nor max_growth is said"),
    ],
)
def test_a_threshold_that_is_wrong_is_said_with_its_line(
    runs: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    (runs / "bench.toml").write_text(f"[[thresholds]]\n{text}\n")
    assert compared(export(), export()) == 2
    assert said in capsys.readouterr().err


def test_a_slowdown_out_of_range_is_a_usage_error(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compared(export(), export(), "--max-slowdown", "5%".rstrip("%")) == 0
    assert compared(export(), export(), "--max-slowdown", "50") == 2
    assert "--max-slowdown: 50 is not from 0.005 to 10" in capsys.readouterr().err


def test_markdown_data_and_the_summary(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = export(status="ERROR", stage="export", reason="boom", repro=["test.py::test"])
    assert compared(export(), head, "--format", "md", "--summary", "reports/summary.md") == 1
    page = capsys.readouterr().out
    assert page.startswith(f"# From {BASE_RUN} to {HEAD_RUN}\n") and "## Status" in page and "| regression |" in page
    summary = (runs / "reports/summary.md").read_text()
    assert summary.startswith("## 1 regression\n") and "`pytest test.py::test`" in summary
    compared(export(), head, "--json")
    data = json.loads(capsys.readouterr().out)
    assert (data["regressions"], data["statuses"][0]["direction"]) == (1, "regression")


def test_its_old_name_is_an_alias(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compared(export(), export(status="ERROR"))
    first = capsys.readouterr().out
    assert main(["diff", "base.jsonl", "head.jsonl"]) == 1
    assert capsys.readouterr().out == first
