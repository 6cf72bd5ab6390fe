"""The plugin beside the plugins that its users are likely to have, all installed together."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench_plugin.domain.errors import EnvironmentMissing
from bench_plugin.domain.paths import CHECKOUT
from bench_plugin.reach.environments.uv import run_uv

NEIGHBOURS = ("embedded", "labgrid", "xdist", "benchmark", "html", "hypothesis", "timeout")
# pytest-embedded asks for a fixture `env`, and labgrid's skips every test that has no board: theirs, not ours.
APART = ("-p", "no:labgrid")
TESTS = """
import pytest
from hypothesis import given, strategies

@given(strategies.integers())
def test_property(number):
    assert number + 0 == number

def test_timed(benchmark):
    benchmark(sum, [1, 2])

@pytest.mark.timeout(10)
def test_plain():
    pass
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the plugin and all its neighbours."""
    folder = tmp_path_factory.mktemp("neighbours")
    python = folder / "environment" / "bin" / "python"
    try:
        make = ["venv", "--quiet", "--no-project", "--python", sys.executable, str(folder / "environment")]
        run_uv(make, folder=folder)
        run_uv(["pip", "install", "--quiet", "--python", str(python), "-e", f"{CHECKOUT}[neighbours]"], folder=folder)
    except EnvironmentMissing as error:
        pytest.skip(f"the neighbours cannot be installed: {error}")
    return python


def run_pytest(python: Path, *arguments: str, folder: Path) -> str:
    """Pytest's output; asserts that it ended well."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    command = [str(python), "-m", "pytest", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_all_start_together_and_every_option_is_there(python: Path, tmp_path: Path) -> None:
    output = run_pytest(python, "--help", folder=tmp_path)
    for option in ("--frameworks", "--compilers", "--targets", "--precisions", "--models", "--bench-profile"):
        assert re.search(rf"^\s+{option}\b", output, re.MULTILINE), option
    (tmp_path / "test_it.py").write_text(TESTS)
    header = run_pytest(python, "-W", "error", "test_it.py", folder=tmp_path)
    plugins = next(line for line in header.splitlines() if line.startswith("plugins: "))
    assert all(name in plugins for name in (*NEIGHBOURS, "bench"))


def test_their_own_work_is_undisturbed(python: Path, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    assert "3 passed" in run_pytest(python, *APART, "test_it.py", folder=tmp_path)
    spread = run_pytest(python, *APART, "-n2", "--html=report.html", "test_it.py", folder=tmp_path)
    assert "3 passed" in spread and (tmp_path / "report.html").stat().st_size > 0


def test_cells_are_collected_beside_them(python: Path, tmp_path: Path) -> None:
    suites = str(CHECKOUT / "suites")
    arguments = ("--collect-only", "-q", "--rootdir", str(tmp_path), suites, "--frameworks", "pytorch")
    assert "digits_mlp" in run_pytest(python, *arguments, folder=tmp_path)
