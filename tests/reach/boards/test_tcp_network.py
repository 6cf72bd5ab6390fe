"""Links that are pulled or slow, in a network namespace with a pair of virtual cables (needs root and iproute2)."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench_plugin.agent import wire
from bench_plugin.reach.processes.leased_agent import AgentFailure, Limits
from tests.reach.boards.listening import LIMITS, Listening, listen
from tests.reach.boards.test_tcp_faults import call_in_thread
from tests.reach.processes.conftest import alive, until

MIB = 1 << 20
NOTICED = 5.0  # seconds in which a dead link has to be noticed
SLACK = 3.0  # of a busy machine


@dataclass
class Cable:
    """A pair of virtual cables between this machine and a namespace."""

    name: str
    number: int

    @property
    def address(self) -> str:
        """The address of the far end."""
        return f"10.213.{self.number}.2"

    def run(self, *argv: str) -> None:
        """Run one command of ip or tc."""
        subprocess.run(argv, check=True, capture_output=True, timeout=20)

    def plug(self) -> None:
        """Make the namespace, and connect it."""
        near = f"10.213.{self.number}.1/24"
        self.run("ip", "netns", "add", self.name)
        self.run("ip", "link", "add", self.name, "type", "veth", "peer", "name", f"{self.name}p", "netns", self.name)
        self.run("ip", "addr", "add", near, "dev", self.name)
        self.run("ip", "link", "set", self.name, "up")
        for words in (
            ("addr", "add", f"{self.address}/24", "dev", f"{self.name}p"),
            ("link", "set", f"{self.name}p", "up"),
        ):
            self.run("ip", "-n", self.name, *words)

    def pull(self) -> None:
        """Let nothing pass any more; nobody is told."""
        self.run("ip", "-n", self.name, "link", "set", f"{self.name}p", "down")

    def slow(self, rate: str) -> None:
        """Limit the rate of what this machine sends."""
        self.run(
            "tc", "qdisc", "add", "dev", self.name, "root", "tbf", "rate", rate, "burst", "16kb", "latency", "400ms"
        )

    def remove(self) -> None:
        """Remove the namespace, and the cable with it."""
        subprocess.run(["ip", "netns", "del", self.name], capture_output=True, timeout=20)


@pytest.fixture
def cable() -> Iterator[Cable]:
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("tc"):
        pytest.skip("needs root, ip and tc (Debian: iproute2)")
    found = Cable(f"bw{os.getpid() % 10**7}", os.getpid() % 250 + 1)
    try:
        try:
            found.plug()
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no network namespace can be made here: {error.stderr.decode().strip()}")
        yield found
    finally:
        found.remove()


@pytest.fixture
def far(cable: Cable, tmp_path: Path) -> Iterator[Listening]:
    """A listener at the far end of the cable."""
    listening = listen(tmp_path, address=f"{cable.address}:0", prefix=["ip", "netns", "exec", cable.name])
    yield listening
    listening.stop()


def test_a_link_that_is_pulled_in_a_call_is_noticed_within_five_seconds(cable: Cable, far: Listening) -> None:
    agent = far.host()
    thread, failures = call_in_thread(agent, stages={"run": 60})
    cable.pull()
    began = time.monotonic()
    thread.join(30)
    # Then the board is asked what became of the agent, which it cannot answer.
    assert time.monotonic() - began < NOTICED + 4 + SLACK
    assert (failures[0].symptom, failures[0].stage) == ("board-lost", "run")
    assert "nothing answers at" in str(failures[0])
    assert until(lambda: not alive(agent.hello["pid"]), 15), "the board has to notice it too"


def test_a_link_that_is_pulled_while_sending_is_noticed(cable: Cable, far: Listening) -> None:
    agent = far.host()
    agent.load("fake", LIMITS)
    cable.slow("8mbit")
    threading.Timer(0.5, cable.pull).start()
    began = time.monotonic()
    blob = wire.Array("bytes", (32 * MIB,), bytes(32 * MIB))
    with pytest.raises(AgentFailure) as caught:
        agent.ask(wire.PUT, {"sha256": "0" * 64}, Limits(60, 0), [blob])
    assert caught.value.symptom == "board-lost"
    assert time.monotonic() - began < 0.5 + NOTICED + 4 + SLACK


def test_a_slow_link_is_slow_and_nothing_else(cable: Cable, far: Listening, tmp_path: Path) -> None:
    cable.slow("4mbit")
    given = tmp_path / "model"
    given.write_bytes(os.urandom(MIB // 2))
    agent = far.host()
    began = time.monotonic()
    answer = agent.call("fake", "go", {}, files={"model": given}, limits=LIMITS)
    assert time.monotonic() - began > 0.8
    assert answer.files["model"].read_bytes() == given.read_bytes()


def test_a_link_that_is_slower_than_the_least_rate_is_left(cable: Cable, tmp_path: Path) -> None:
    options = ["--min-rate", "2000", "--max-pause", "0.5"]
    far = listen(tmp_path, *options, address=f"{cable.address}:0", prefix=["ip", "netns", "exec", cable.name])
    try:
        cable.slow("1mbit")
        agent = far.host()
        with pytest.raises(AgentFailure, match="not sent at the least rate|lost|ended"):
            agent.ask(wire.PUT, {"sha256": "0" * 64}, LIMITS, [wire.Array("bytes", (MIB,), bytes(MIB))])
    finally:
        far.stop()
