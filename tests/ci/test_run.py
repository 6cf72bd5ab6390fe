"""A step of ``.ci/run`` that takes too long ends at its ceiling, and its pytest names what had failed until then."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

from tests.project import signals_of_a_terminal

SCRIPT = Path(__file__).parents[2] / ".ci/run"
TESTS = """
import time

def test_that_fails():
    assert 1 == 2

def test_that_lasts():
    time.sleep(60)
"""


def test_a_step_that_is_too_slow_names_its_failures_although_the_ci_ignores_ctrl_c(tmp_path: Path) -> None:
    step = re.search(r"^FOREGROUND=.*?^}$", SCRIPT.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert step is not None
    (tmp_path / "test_it.py").write_text(TESTS)
    command = shlex.join([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"])
    script = f"set -euo pipefail\n{step[0]}\nstep slow 8 {command}\necho goes on"
    with signals_of_a_terminal(ignored=[signal.SIGINT]):
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL, timeout=100,
        )  # fmt: skip
    assert done.returncode == 1, done.stdout
    assert "FAILED test_it.py::test_that_fails" in done.stdout and "1 failed" in done.stdout
    assert "ci: slow: its ceiling is 8 s" in done.stdout and "ci: FAILED: slow (after " in done.stdout
    assert "goes on" not in done.stdout
