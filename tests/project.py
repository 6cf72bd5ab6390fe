"""A project of a user's own around the fake framework: models, tests and settings in an empty folder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FRAMEWORK = Path(__file__).parent / "fake" / "framework.py"
# Neighbours of which a run of the fake framework has no use: they cost a fifth of a short run's processor time.
# tests/neighbours has all of them beside the plugin.
DROPPED = ("PYTHONDONTWRITEBYTECODE", "PYTEST_XDIST_", "PYTEST_CURRENT_TEST")
LEAN = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:benchmark")
TESTS = """
import pytest

@pytest.mark.bench(check="export")
def test_export(bench_cell):
    bench_cell.verify()

@pytest.mark.bench(check="import")
def test_import(bench_cell):
    bench_cell.verify()
"""
MODEL = """
name = "{name}"
title = "Model {name}"
family = "mlp"
task = "classification"
profiles = ["smoke", "quick", "full"]
samples = 8
seconds = {seconds}
memory_gb = 1
[[inputs]]
name = "x"
shape = ["batch", 8]
[symbols]
batch = [1, 3]
[constructors.fake]
callable = "fake.linear"
arguments = {{ fault = "{fault}" }}
{more}
"""


def kept_environment() -> dict[str, str]:
    """The tests' own, but compiled modules are kept: compiling pytest's plugins anew costs seconds per run.

    Nor do they look like a worker of pytest-xdist, although the tests themselves may run in one.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(DROPPED)}
    return {**kept, "COLUMNS": "250"}


@contextmanager
def signals_of_a_terminal(*, ignored: Sequence[signal.Signals] = ()) -> Iterator[None]:
    """Processes that start meanwhile take SIGINT and SIGQUIT as usual, whatever the parent of these tests ignores.

    ``ignored`` signals they ignore, as behind ``nohup … &`` and in the jobs of some CI systems.
    """
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGQUIT)}
    for number in before:  # a handler ends at exec, what is ignored stays ignored
        signal.signal(number, signal.SIG_IGN if number in ignored else signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass(frozen=True)
class Finished:
    """A run of pytest that is over: exit code, output, rows."""

    code: int
    text: str
    rows: Sequence[Mapping[str, Any]]

    def cells(self, check: str = "") -> dict[str, Mapping[str, Any]]:
        """The rows of computed cells by model (of one check, when one is named)."""
        return {row["cell"]["model"]: row for row in self.rows if row["kind"] == "cell" and check in ("", row["check"])}

    def verdict(self, model: str, check: str = "export") -> tuple[str, str | None, str | None]:
        """Status, stage and symptom of a cell."""
        row = self.cells(check)[model]
        return row["status"], row["stage"], row["symptom"]


@dataclass
class Project:
    """The folder, and how pytest is run in it."""

    folder: Path
    environment: dict[str, str] = field(default_factory=kept_environment)

    def model(self, name: str, fault: str = "", *, seconds: float = 60, more: str = "") -> Path:
        """Write a model of the fake framework."""
        path = self.folder / "fixtures/models" / f"{name}.toml"
        path.write_text(MODEL.format(name=name, fault=fault, seconds=seconds, more=more))
        return path

    def write(self, name: str, text: str) -> Path:
        """Write a file of the project."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def command(self, *arguments: str, models: str | None = None) -> list[str]:
        """pytest on the project's tests, with the fake framework alone."""
        names = models or ",".join(sorted(path.stem for path in (self.folder / "fixtures/models").glob("*.toml")))
        chosen = (
            [f"--models={names}"]
            if names and not any(one.startswith(("--bench-model", "--bench-onnx")) for one in arguments)
            else []
        )
        fixed = [*LEAN, "--frameworks=fake", f"--bench-cache={self.folder / 'cache'}", *chosen]
        return [sys.executable, "-m", "pytest", "test_models.py", *fixed, *arguments]

    def start(
        self, *arguments: str, models: str | None = None, ignored: Sequence[signal.Signals] = ()
    ) -> subprocess.Popen[str]:
        """pytest as a process of its own group, that ignores these signals from its start."""
        with signals_of_a_terminal(ignored=ignored):
            return subprocess.Popen(
                self.command(*arguments, models=models),
                cwd=self.folder,
                env=self.environment,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def run(self, *arguments: str, models: str | None = None) -> Finished:
        """Run pytest to its end (at most two minutes)."""
        with self.start(*arguments, models=models) as process:
            text, _ = process.communicate(timeout=120)
        return Finished(process.returncode, text, self.rows())

    def finish(self, command: Sequence[str], *, below: str = ".") -> subprocess.CompletedProcess[str]:
        """A command in the project's folder, or in one below it, to its end."""
        return subprocess.run(
            command, cwd=self.folder / below, env=self.environment, text=True, timeout=120, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )  # fmt: skip

    def bench(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The command ``bench`` in the project's folder."""
        command = [sys.executable, "-m", "bench_plugin.cli.main", *arguments]
        return subprocess.run(
            command, cwd=self.folder, env=self.environment, text=True, capture_output=True, timeout=120
        )

    def rows(self, file: str = "reports/results.jsonl") -> list[dict[str, Any]]:
        """The rows of the last run that wrote them to this file."""
        path = self.folder / file
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def make_project(folder: Path, python: Path) -> Project:
    """An empty project that knows the fake framework."""
    made = Project(folder)
    (folder / "fixtures/models").mkdir(parents=True)
    made.write("toolchains/fake.toml", f'title = "Fake"\npython = "{python}"\nmemory_gb = 0.5\n')
    made.write("bench.toml", f'adapters = ["{FRAMEWORK}"]\ntoolchains = ["toolchains"]\nenvironment = ["FAKE_*"]\n')
    made.write("pytest.ini", "[pytest]\n")
    made.write("test_models.py", TESTS)
    return made


def rows_of_suites(folder: Path, *arguments: str) -> list[Mapping[str, Any]]:
    """The rows of computed cells of a run of the project's suites, without expectations being broken."""
    results = folder / "results.jsonl"
    command = [sys.executable, "-m", "pytest", *arguments, *LEAN, f"--bench-results={results}", "-q"]
    done = subprocess.run(
        command, cwd=Path(__file__).parents[1], env=kept_environment(), capture_output=True, text=True, timeout=1800
    )
    assert done.returncode == 0, done.stdout[-5000:]
    found = [json.loads(line) for line in results.read_text().splitlines()]
    return [row for row in found if row["kind"] == "cell"]
