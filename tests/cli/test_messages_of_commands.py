"""What commands say when they cannot do what they are asked for; each message literally."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench_plugin.cli.main import main
from tests.report.made import equivalence, export, header


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a command says on stderr; it ends with the code of a usage error."""
    assert main(list(arguments)) == 2
    return capsys.readouterr().err


@pytest.fixture
def results(tmp_path: Path) -> Path:
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in (header(), export(), equivalence())))
    return path


@pytest.mark.parametrize("factor", ["1", "0.5"])
def test_a_factor_of_diff_is_above_one(capsys: pytest.CaptureFixture[str], results: Path, factor: str) -> None:
    said = refused(capsys, "compare", str(results), str(results), "--factor", factor)
    assert f"--factor: {factor} is not above 1" in said


def test_pages_of_several_checks_cannot_share_a_name(capsys: pytest.CaptureFixture[str], results: Path) -> None:
    said = refused(capsys, "grid", str(results), "--name", "mine")
    assert f"--name: {results} gives 2 pages (onnx-support, equivalence), which cannot share a name" in said
    assert sorted(path.name for path in results.parent.iterdir()) == ["results.jsonl"], "nothing is written"


@pytest.mark.parametrize("action", ["info", "prune"])
def test_a_cache_that_is_no_folder_is_named_beside_the_one_that_is_used(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    (tmp_path / "bench.toml").write_text('cache = "kept"\n')
    monkeypatch.chdir(tmp_path)
    assert main(["cache", action, "--cache", "stagse"]) == 0
    said = capsys.readouterr()
    assert said.err.startswith("stagse is no folder, so nothing is stored there; without --cache it is ")
    assert said.err.endswith("kept\n") and "stagse: 0 entries" in said.out
    (tmp_path / "kept").mkdir()
    assert main(["cache", action, "--cache", "kept"]) == 0
    assert capsys.readouterr().err == ""
