"""Runs that are killed, resumed or beside others give the verdicts of a run that nothing disturbed.

A few rounds by default; ``--nightly`` does as many as docs/faults.md says. A seed that fails is printed with the test.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.reach.processes.guardian import descendants
from bench_plugin.results.rows import read_rows
from tests.project import Project, make_project

MODELS = {
    "fine": "",
    "other": "",
    "third": "",
    "raises": "export:exception",
    "refuses": "export:unsupported",
    "segfault": "export:segfault",
    "wrong": "export:wrong-weights",
    "run_shape": "run:shape",
}
# One of each kind of outcome is enough for the few meetings of runs that every run of the tests has.
FEW = ("fine", "raises", "segfault", "run_shape")
KINDS = ("pytest", "guardian", "agent")
Verdicts = Mapping[tuple[str, str], tuple[Any, ...]]


def disturbed_project(folder: Path, python: Path, models: Sequence[str] = tuple(MODELS)) -> Project:
    """A project whose scratch folders lie below its own cache folder, so that what is left behind can be seen."""
    folder.mkdir(parents=True, exist_ok=True)
    project = make_project(folder, python)
    project.environment["BENCH_CACHE"] = str(folder / "root")
    for name in models:
        project.model(name, MODELS[name], seconds=30)
    return project


def verdicts(rows: list[dict[str, Any]]) -> Verdicts:
    """Status, stage and symptom of every cell; of a cell with several rows the last one counts."""
    cells = [row for row in rows if row["kind"] == "cell"]
    return {(row["cell"]["model"], row["check"]): (row["status"], row["stage"], row["symptom"]) for row in cells}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, tools_python: Path) -> Verdicts:
    """The verdicts of a run that nothing disturbed."""
    project = disturbed_project(tmp_path_factory.mktemp("undisturbed") / "project", tools_python)
    finished = project.run("-q")
    assert finished.code == 1 and len(verdicts(project.rows())) == 2 * len(MODELS), finished.text
    return verdicts(project.rows())


def test_a_random_kill_and_a_resumed_run(tmp_path: Path, tools_python: Path, undisturbed: Verdicts, seed: int) -> None:
    chance = random.Random(seed)
    project = disturbed_project(tmp_path / "project", tools_python)
    process = project.start("-q")
    rows = chance.randrange(len(undisturbed))  # the moment: when so many cells have their rows
    while sum(row["kind"] == "cell" for row in whole_rows(project)) < rows:
        assert process.poll() is None, "the run was over before the moment of the kill"
        time.sleep(0.005)
    kind = KINDS[seed % len(KINDS)]
    killed = kill_one(process, kind, chance)
    text, _ = process.communicate(timeout=120)
    resumed = project.run("-q", "--bench-resume")
    assert verdicts(project.rows()) == undisturbed, f"{kind} killed: {killed}\n{text}\n{resumed.text}"
    assert resumed.code == 1, resumed.text
    assert until(lambda: not processes_of(tmp_path)), f"{kind} killed: {processes_of(tmp_path)} are left"
    left = sorted(path.name for path in (tmp_path / "project/root/scratch").glob("run-*"))
    assert not left, f"{kind} killed: scratch folders are left"


def test_two_runs_beside_one_that_refreshes(
    tmp_path: Path,
    tools_python: Path,
    undisturbed: Verdicts,
    seed: int,
    pytestconfig: pytest.Config,
) -> None:
    models = tuple(MODELS) if pytestconfig.getoption("--nightly") else FEW
    expected = {cell: verdict for cell, verdict in undisturbed.items() if cell[0] in models}
    assert len(expected) == 2 * len(models)
    project = disturbed_project(tmp_path / "project", tools_python, models)
    if seed % 2:
        project.run("-q")  # the cache is full: one run replaces what the others read
    options = {"a": [], "b": [], "c": ["--bench-refresh"]}
    running = {
        name: project.start("-q", f"--bench-results={tmp_path / name / 'results.jsonl'}", *more)
        for name, more in options.items()
    }
    texts = {name: process.communicate(timeout=120)[0] for name, process in running.items()}
    for name, process in running.items():
        rows = read_rows(tmp_path / name / "results.jsonl")
        assert process.returncode == 1 and not rows.notes, texts[name]
        assert verdicts(list(rows.rows)) == expected, texts[name]
        assert "INTERNALERROR" not in texts[name] and "is not what was stored" not in texts[name], texts[name]
    again = project.run("-q")
    assert verdicts(project.rows()) == expected, again.text


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Seeds: three kills and two meetings of runs by default, sixty and twenty with ``--nightly``."""
    if "seed" in metafunc.fixturenames:
        few, many = (3, 60) if metafunc.function is test_a_random_kill_and_a_resumed_run else (2, 20)
        metafunc.parametrize("seed", range(many if metafunc.config.getoption("--nightly") else few))


def kill_one(process: subprocess.Popen[str], kind: str, chance: random.Random) -> str:
    """Kill pytest, its guardian or one of its agents as soon as there is one; returns the command line of it.

    It is an error if the run ends first: then nothing was disturbed.
    """
    while not (pids := pids_of(process, kind)):
        assert process.poll() is None, f"the run was over before it had a {kind} to kill"
        time.sleep(0.01)
    pid = chance.choice(pids)
    line = command_of(pid)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    return line


def whole_rows(project: Project) -> list[dict[str, Any]]:
    """The rows of a run that is at work, without a last line that is being written."""
    path = project.folder / "reports/results.jsonl"
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def pids_of(process: subprocess.Popen[str], kind: str) -> list[int]:
    """The processes of a run that are of this kind; a guardian forks a keeper for each agent, which counts as one."""
    if kind == "pytest":
        return [process.pid] if process.poll() is None else []
    marks = {"guardian": ("guardian.py",), "agent": ("--folder", ".pyz")}[kind]
    return sorted(pid for pid in descendants(process.pid) if all(mark in command_of(pid) for mark in marks))


def processes_of(folder: Path) -> list[str]:
    """The command lines of processes that name the folder."""
    found = [command_of(int(name)) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
    return [line for line in found if str(folder) in line]


def command_of(pid: int) -> str:
    """The command line of a process; empty for one that is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""


def until(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Whether the condition holds within so many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True
