"""Starts machines of the tests' own (far_board.py), and describes them as boards of a project."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bench_plugin.reach.processes.zipapp import build_agent
from tests.project import Project

HERE = Path(__file__).parent
SITE = HERE / "site"
# One line of a board's file that says how it is reached, and that it is this machine.
WIRED = 'reach = {{ kind = "wired", host = "127.0.0.1", socket = "{socket}" }}\nsame_machine = true\n'


def know_wired(project: Project) -> None:
    """Let the processes of a project know the kind of reach ``wired``."""
    project.environment["PYTHONPATH"] = str(SITE)
    project.environment["XDG_CACHE_HOME"] = str(project.folder / "user-cache")


def command(python: Path, socket: Path, folder: Path, machine: str = "") -> list[str]:
    """The command line of a machine."""
    agent = build_agent(folder)
    said = [machine] if machine else []
    return [str(python), str(HERE / "far_board.py"), str(socket), str(agent), str(folder), *said]


@contextmanager
def machine(python: Path, socket: Path, folder: Path, name: str = "") -> Iterator[subprocess.Popen[str]]:
    """A machine that runs; ``name`` is its machine id, that of this machine by default."""
    process = subprocess.Popen(
        command(python, socket, folder, name), stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None and process.stdout.readline() == "listening\n"
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def end(pid: int) -> None:
    """End a machine that a command of a board's file started, with its agents."""
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
