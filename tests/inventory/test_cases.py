"""The index of ONNX's tests that is committed: complete, and its sample holds every operator."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench_plugin.domain.errors import UsageError
from bench_plugin.inventory.cases import read_cases, sample

ROOT = Path(__file__).parents[2]
INDEX = ROOT / "fixtures/operators/corpus.csv"


def test_every_case_is_there() -> None:
    cases = read_cases(INDEX)
    counts: dict[str, int] = {}
    for case in cases.values():
        counts[case.category] = counts.get(case.category, 0) + 1
    assert len(cases) == 2033
    assert counts == {"node": 1884, "simple": 23, "light": 9, "pytorch-converted": 82, "pytorch-operator": 35}


def test_it_is_what_the_locked_onnx_holds() -> None:
    command = [sys.executable, "-m", "bench_plugin.cli.main", "corpus", "check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2033 cases in onnx, 0 differ" in done.stdout


def test_the_sample_holds_every_operator() -> None:
    cases = read_cases(INDEX)
    chosen = sample(cases.values())
    everything = {name for case in cases.values() for name in case.operators}
    assert {name for case in chosen for name in case.operators} == everything
    assert len(chosen) < len(cases) / 3
    assert chosen == sample(reversed(cases.values()))


def test_a_file_that_is_no_index(tmp_path: Path) -> None:
    path = tmp_path / "corpus.csv"
    path.write_text("name,nodes\ntest_a,many\n")
    with pytest.raises(UsageError, match="not an index"):
        read_cases(path)
