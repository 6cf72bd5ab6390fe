"""Listeners in real processes, and hosts that reach them, for the tests of boards."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench_plugin.reach.network import Endpoint, start
from bench_plugin.reach.processes.client import Agent
from bench_plugin.reach.processes.leased_agent import Limits, Source
from bench_plugin.reach.processes.zipapp import build_agent

FAKE = Path(__file__).parents[2] / "fake" / "adapter.py"
LIMITS = Limits(20.0, 0)


@dataclass
class Listening:
    """An agent that listens in a process of its own."""

    process: subprocess.Popen[str]
    endpoint: Endpoint
    folder: Path
    home: Path
    agents: list[Agent] = field(default_factory=list)

    def host(self, adapter: Path = FAKE, endpoint: Endpoint | None = None) -> Agent:
        """A greeted agent for the adapter in a file."""
        sources = [Source(adapter.stem if adapter != FAKE else "fake", adapter.read_bytes())]
        agent = start(endpoint or self.endpoint, self.home / "log", lambda name: sources, self.home / "results")
        self.agents.append(agent)
        return agent

    def stop(self) -> None:
        """End it, as a service manager does."""
        for agent in self.agents:
            agent.close()
        self.process.terminate()
        try:
            self.process.communicate(timeout=10)
        finally:
            self.process.kill()
            self.process.communicate()


def make_token(path: Path) -> Path:
    """A file with a token."""
    path.write_bytes(base64.b64encode(os.urandom(32)) + b"\n")
    return path


def listen(
    home: Path, *options: str, command: Sequence[str] = (), address: str = "127.0.0.1:0", prefix: Sequence[str] = ()
) -> Listening:
    """Start a listener whose files are below ``home``; ``prefix`` is a command that it runs under."""
    token = home / "token"
    if not token.exists():
        make_token(token)
    folder = home / "board"
    argv = [
        *prefix, *(command or [sys.executable, "-I", str(build_agent(home))]), "--listen", address, "--token-file",
        str(token), "--folder", str(folder), *options,
    ]  # fmt: skip
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("listening on "), line + process.stdout.read()
    host, _, port = line.removeprefix("listening on ").strip().rpartition(":")
    return Listening(process, Endpoint(host, int(port), token, wait=20), folder, home)
