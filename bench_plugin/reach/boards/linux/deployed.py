"""Agents in Python on a Linux board: what they need is shipped once by content, then each is started over the link."""

from __future__ import annotations

import os
import re
import secrets
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from bench_plugin.agent.channel import Channel, Closed
from bench_plugin.agent.link.handshake import TUNNELLED, Refused, Transcript, prove, signature
from bench_plugin.agent.wire import WireError
from bench_plugin.domain.errors import BenchError
from bench_plugin.reach.boards.linux.link import BOARD_LOST, HARNESS, NO_CONNECTION, Heartbeat, Link
from bench_plugin.reach.boards.linux.shipping import Machine, digest, runtime
from bench_plugin.reach.environments.toolchains import Toolchains
from bench_plugin.reach.processes.client import Agent
from bench_plugin.reach.processes.leased_agent import AgentFailure, LeasedAgent, LinkLost
from bench_plugin.reach.processes.workplace import Workplace
from bench_plugin.reach.processes.zipapp import build_agent

TETHER = Path(__file__).with_name("tether.py")
LISTENING = re.compile(r"^listening on \S+:(\d+)\r?\n", re.MULTILINE)  # a whole line, which may come in parts
SILENCE_SECONDS = 15.0  # after which the board ends an agent whose link is silent
END_SECONDS = 5.0
POLL_SECONDS = 0.02
SIGNALLED = 128  # the tether's exit code for an agent that a signal ended, less the signal's number
# Prints the folder of the cache, the architecture, Python's version, and what the cache has.
PROBE = """
cache="${XDG_CACHE_HOME:-$HOME/.cache}/bench_plugin"
umask 077; mkdir -p "$cache" || exit 1
python=$(command -v "$1") || { echo "there is no Python '$1' (reach.python)" >&2; exit 1; }
echo "bench-cache $cache"
echo "bench-machine $(uname -m)"
echo "bench-python $python $("$python" -V 2>&1)"
ls "$cache" | sed 's/^/bench-has /'
"""
# Makes an environment of a shipped runtime: a folder with the board's own Python.
ENVIRONMENT = """
cd "$1" && mkdir -p bin && ln -sfn "$2" bin/python3 &&
printf 'home = %s\\ninclude-system-site-packages = false\\n' "${2%/*}" > pyvenv.cfg
"""


@dataclass(frozen=True)
class Probed:
    """What a board says of itself: its cache's folder, Python's path, and what wheels are chosen by."""

    cache: str
    python: str
    machine: Machine


class DeployedAgents:
    """Starts agents on one board. With ``ship`` they get the runtimes of their toolchain, else the board has them."""

    def __init__(self, name: str, python: str, *, ship: bool) -> None:
        self._name = name
        self._python = python
        self._ship = ship
        self._link: Link | None = None
        self._probed: Probed | None = None
        self._there: set[str] = set()
        self._ready: set[str] = set()

    def start(self, link: Link, toolchain: str, place: Workplace) -> LeasedAgent:
        """An agent for the adapters of a toolchain. Raises AgentFailure, ``board-lost`` where the link ended."""
        if self._link is not link or self._probed is None:
            self._link, self._probed = link, self._probe(link)
        probed = self._probed
        tether = self._shipped(link, probed, TETHER, ".py")
        agent = self._shipped(link, probed, build_agent(place.scratch.parent), ".pyz")
        python = self._environment(link, probed, place.toolchains, toolchain) if self._ship else probed.python
        folder = f"{probed.cache}/run-{secrets.token_hex(8)}"
        words = [python, "-I", "-u", "-X", "faulthandler", tether, "--agent", agent, "--folder", folder]
        said_before = place.log.stat().st_size if place.log.exists() else 0
        process = link.start([*words, "--silence", str(SILENCE_SECONDS)], place.log)
        running = BoardProcess(link, process)
        token = secrets.token_bytes(32).hex().encode()
        try:
            running.say(token + b"\n")
            port = self._port(running, place, said_before)
            channel, transcript = self._authenticated(link, running.connect(port), token, place)
            client = Agent(channel, running, place.log, place.adapters, place.results)
            client.greet(place.start_seconds)
            self._check_place(client, transcript)
        except BaseException:
            running.kill()
            raise
        return client

    def _check_place(self, client: Agent, transcript: Transcript) -> None:
        """Raises AgentFailure for a hello that was not signed for this connection."""
        expected = signature(transcript.hello_key(), client.hello)
        if client.hello.get("nonce") != transcript.host.hex() or client.hello.get("signature") != expected:
            text = f"board {self._name}: the hello of its agent is not signed for this connection"
            raise AgentFailure(HARNESS, text, log=str(client.log))

    def _authenticated(
        self, link: Link, connection: socket.socket, token: bytes, place: Workplace
    ) -> tuple[Channel, Transcript]:
        """A channel over a connection to the agent; both ends have proven the token. Raises AgentFailure.

        Frames have no codes of their own: ssh authenticates what it carries.
        """
        try:
            return prove(connection, token, {"who": "the host of this link", "frames": TUNNELLED}, place.start_seconds)
        except (OSError, WireError, Closed, Refused) as error:
            connection.close()
            if not link.alive:
                raise link.lost("was lost") from error
            text = f"board {self._name}: what answers there is not the agent: {error}"
            raise AgentFailure(HARNESS, text, log=str(place.log)) from error

    def _probe(self, link: Link) -> Probed:
        said = dict[str, list[str]]()
        for line in link.run(PROBE, self._python).splitlines():
            key, _, value = line.partition(" ")
            said.setdefault(key, []).append(value)
        try:
            cache, architecture = said["bench-cache"][0], said["bench-machine"][0]
            python, _, version = said["bench-python"][0].partition(" ")
            numbers = re.fullmatch(r"Python (\d+\.\d+)\..*", version)
        except (KeyError, IndexError):
            numbers = None
        if numbers is None:
            raise AgentFailure(HARNESS, f"board {self._name}: {self._python} -V says {said.get('bench-python')}")
        self._there, self._ready = set(said.get("bench-has", ())), set()
        return Probed(cache, python, Machine(architecture, numbers[1]))

    def _shipped(self, link: Link, probed: Probed, path: Path, suffix: str) -> str:
        """The path on the board of a file, which is sent unless the board has it."""
        name = f"{digest(path)}{suffix}"
        place = f"{probed.cache}/{name}"
        if name not in self._there:
            link.put(path, place)
            self._there.add(name)
        return place

    def _environment(self, link: Link, probed: Probed, toolchains: Toolchains, toolchain: str) -> str:
        """The Python of the toolchain's environment on the board, which is made unless it is there."""
        try:
            shipped = runtime(toolchains[toolchain], probed.machine)
        except BenchError as error:
            raise AgentFailure(HARNESS, f"board {self._name}: {error}") from error
        place = f"{probed.cache}/{shipped.sha256}"
        if shipped.sha256 not in self._there:
            link.unpack(shipped.path, place)
            self._there.add(shipped.sha256)
        if toolchain not in self._ready:
            link.run(ENVIRONMENT, place, probed.python)
            self._ready.add(toolchain)
        return f"{place}/bin/python3"

    def _port(self, running: BoardProcess, place: Workplace, said_before: int) -> int:
        """The port of the agent, which says it in its output, after what the log had before."""
        until = time.monotonic() + place.start_seconds
        while True:
            if said := LISTENING.search(place.log.read_bytes()[said_before:].decode("utf-8", "replace")):
                return int(said[1])
            if running.gone:
                try:
                    running.ended()
                except LinkLost as error:
                    raise AgentFailure(BOARD_LOST, str(error), log=str(place.log)) from error
                raise AgentFailure(HARNESS, f"board {self._name}: the agent did not start", log=str(place.log))
            if time.monotonic() > until:
                text = f"board {self._name}: the agent did not start within {place.start_seconds:.0f} s"
                raise AgentFailure(HARNESS, text, log=str(place.log))
            time.sleep(POLL_SECONDS)


class BoardProcess:
    """An agent on a board, as the session of ssh that it runs in shows it."""

    shares_files = False

    def __init__(self, link: Link, process: subprocess.Popen[bytes]) -> None:
        self._link = link
        self._process = process
        self._beating: Heartbeat | None = None
        self._carrier: subprocess.Popen[bytes] | None = None

    def say(self, data: bytes) -> None:
        """Write to its tether, and go on with a byte every second."""
        assert self._process.stdin is not None
        try:
            os.write(self._process.stdin.fileno(), data)
        except OSError as error:
            raise self._link.lost("was lost") from error
        self._beating = Heartbeat(self._process.stdin)

    def connect(self, port: int) -> socket.socket:
        """A connection to a port of the board's loopback."""
        connection, self._carrier = self._link.connect(port)
        return connection

    @property
    def gone(self) -> bool:
        """Whether it is known to have ended, or its link."""
        return self._process.poll() is not None or not self._link.alive

    def resident(self) -> int:
        """Unknown: to ask a board disturbs what it measures."""
        return 0

    def spent(self) -> float | None:
        """Unknown, for the same reason."""
        return None

    def kill(self) -> int | None:
        """End it: its tether kills it with what it started, and removes its folder."""
        if self._beating is not None:
            self._beating.end()
        for process in (self._process, self._carrier):
            if process is not None:
                try:
                    process.wait(END_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        return None

    def ended(self) -> int | None:
        """Its status as of waitpid(2). Raises AgentFailure with symptom ``board-lost`` where the link ended."""
        try:
            code = self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            return None
        if not self._link.alive or code == NO_CONNECTION:
            raise LinkLost(self._link.lost("was lost").message)
        return code - SIGNALLED if code > SIGNALLED and code - SIGNALLED in set(signal.Signals) else code << 8
