"""The command that makes mutants of the project's own code: what it says of areas and files that there are none of."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("compere", 2, "unknown area compere; there are compare, judge, "),
        ("compere/verdict", 2, "unknown area compere/verdict; there are compare, judge, "),
        ("compare/verdikt", 1, "area compare has no file verdikt.py with tests in test_verdikt*.py"),
        ("judge/judge_nothing", 1, "area judge has no file judge_nothing.py with tests in test_judge_nothing*.py"),
    ],
)
def test_what_is_not_there_is_named(name: str, code: int, said: str) -> None:
    command = [sys.executable, str(ROOT / ".ci" / "mutation"), name]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == code and said in done.stderr, done.stderr


def test_the_areas_are_listed() -> None:
    command = [sys.executable, str(ROOT / ".ci" / "mutation"), "--list"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.startswith("compare: bench_plugin/compare/**/*.py; tests: tests/compare\n"), done.stdout
