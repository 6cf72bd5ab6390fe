"""Agents in Python on a Linux board: what they need is shipped once by content, then each is started over the link."""

from __future__ import annotations

import re
import secrets
import socket
import time
from dataclasses import dataclass
from pathlib import Path

from bench_plugin.agent.channel import Channel, Closed
from bench_plugin.agent.link.handshake import Refused, Transcript, prove, signature
from bench_plugin.agent.wire import WireError
from bench_plugin.domain.errors import BenchError
from bench_plugin.reach.boards.linux.board_process import ABOUT, BoardProcess
from bench_plugin.reach.boards.linux.cache import BoardCache
from bench_plugin.reach.boards.linux.limits import BoardLimits
from bench_plugin.reach.boards.linux.link import BOARD_LOST, HARNESS, Link
from bench_plugin.reach.boards.linux.shipping import Machine, Runtime, digest, runtime
from bench_plugin.reach.environments.toolchains import Toolchains
from bench_plugin.reach.network import own_name
from bench_plugin.reach.processes.client import Agent
from bench_plugin.reach.processes.leased_agent import BUSY_TYPE, AgentFailure, LeasedAgent, LinkLost
from bench_plugin.reach.processes.workplace import Workplace
from bench_plugin.reach.processes.zipapp import build_agent

TETHER = Path(__file__).with_name("tether.py")
LOCK = "board.lock"  # in the board's cache
HELD = re.compile(r"^the board is held by .*", re.MULTILINE)
LISTENING = re.compile(r"^listening on \S+:(\d+)\r?\n", re.MULTILINE)  # a whole line, which may come in parts
WAIT_SECONDS = 60.0
SILENCE_SECONDS = 15.0  # after which the board ends an agent whose link is silent
POLL_SECONDS = 0.02
# Prints the folder of the cache, the architecture and Python's version.
PROBE = """
cache="${XDG_CACHE_HOME:-$HOME/.cache}/bench_plugin"
umask 077; mkdir -p "$cache" || exit 1
python=$(command -v "$1") || { echo "there is no Python '$1' (reach.python)" >&2; exit 1; }
echo "bench-cache $cache"
echo "bench-machine $(uname -m)"
echo "bench-python $python $("$python" -V 2>&1)"
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


@dataclass(frozen=True)
class Sent:
    """Paths on the board: of Python, tether and agent, and of all that must stay while the agent is at work."""

    python: str
    tether: str
    agent: str
    uses: tuple[str, ...]


class DeployedAgents:
    """Starts agents on one board. With ``ship`` they get the runtimes of their toolchain, else the board has them.

    Where another host has the board, it is waited for ``wait`` seconds.
    """

    def __init__(self, name: str, python: str, *, ship: bool, limits: BoardLimits, wait: float = WAIT_SECONDS) -> None:
        self._name = name
        self._wait = wait
        self._python = python
        self._ship = ship
        self._limits = limits
        self._link: Link | None = None
        self._probed: Probed | None = None
        self._ready: set[str] = set()

    def start(self, link: Link, toolchain: str, place: Workplace) -> LeasedAgent:
        """An agent for the adapters of a toolchain. Raises AgentFailure, ``board-lost`` where the link ended."""
        if self._link is not link or self._probed is None:
            self._link, self._probed = link, self._probe(link)
        probed = self._probed
        sent = self._sent(link, probed, place, toolchain)
        folder = f"{probed.cache}/run-{secrets.token_hex(8)}"
        words = [sent.python, "-I", "-u", "-X", "faulthandler", sent.tether, "--agent", sent.agent, "--folder", folder]
        words += ["--silence", str(SILENCE_SECONDS), "--uses", *sent.uses, "--lock", f"{probed.cache}/{LOCK}"]
        words += ["--who", own_name(), "--wait", str(self._wait), "--", *self._limits.options()]
        said_before = place.log.stat().st_size if place.log.exists() else 0
        process = link.start(words, place.log)
        token = secrets.token_bytes(32).hex().encode()
        running = BoardProcess(link, process, token)
        try:
            running.say(token + b"\n")
            port = self._port(running, place, said_before)
            channel, transcript = self._authenticated(link, running.connect(port), token, place)
            running.session = transcript.host.hex()
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
            return prove(connection, token, ABOUT, place.start_seconds)
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
        self._ready = set()
        return Probed(cache, python, Machine(architecture, numbers[1]))

    def _sent(self, link: Link, probed: Probed, place: Workplace, toolchain: str) -> Sent:
        """Send what the board lacks. Raises AgentFailure, also where its cache has no room for it."""
        agent = build_agent(place.scratch.parent)
        files = {f"{digest(TETHER)}.py": TETHER, f"{digest(agent)}.pyz": agent}
        shipped = self._runtime(probed, place.toolchains, toolchain) if self._ship else None
        wanted = {**files, **({shipped.sha256: shipped.path} if shipped else {})}
        cache = BoardCache(link, probed.cache, probed.python, self._limits.cache_bytes)
        there = cache.has(list(wanted))
        missing = {name: path for name, path in wanted.items() if name not in there}
        if missing:
            cache.make_room(missing.values(), list(wanted))
        for name, path in missing.items():
            if name in files:
                cache.put(path, name)
            else:
                cache.unpack(path, name)
                self._ready.discard(toolchain)
        python = self._environment(link, probed, toolchain, cache.place(shipped.sha256)) if shipped else probed.python
        tether, pyz = map(cache.place, files)
        return Sent(python, tether, pyz, tuple(map(cache.place, wanted)))

    def _environment(self, link: Link, probed: Probed, toolchain: str, place: str) -> str:
        """The Python of the toolchain's environment; its folder ``place`` is made into one, once for a link."""
        if toolchain not in self._ready:
            link.run(ENVIRONMENT, place, probed.python)
            self._ready.add(toolchain)
        return f"{place}/bin/python3"

    def _runtime(self, probed: Probed, toolchains: Toolchains, toolchain: str) -> Runtime:
        """The runtime of a toolchain for the board. Raises AgentFailure where there is none."""
        try:
            return runtime(toolchains[toolchain], probed.machine)
        except BenchError as error:
            raise AgentFailure(HARNESS, f"board {self._name}: {error}") from error

    def _port(self, running: BoardProcess, place: Workplace, said_before: int) -> int:
        """The port of the agent, which says it in its output, after what the log had before."""
        began = time.monotonic()
        while True:
            said = place.log.read_bytes()[said_before:].decode("utf-8", "replace")
            if listening := LISTENING.search(said):
                return int(listening[1])
            held = HELD.findall(said)
            if running.gone:
                try:
                    running.ended()
                except LinkLost as error:
                    raise AgentFailure(BOARD_LOST, str(error), log=str(place.log)) from error
                text = held[-1] if held else "the agent did not start"
                types = BUSY_TYPE if held else ()
                raise AgentFailure(HARNESS, f"board {self._name}: {text}", log=str(place.log), types=types)
            seconds = place.start_seconds + (self._wait if held else 0)
            if time.monotonic() - began > seconds:
                text = f"board {self._name}: the agent did not start within {seconds:.0f} s"
                raise AgentFailure(HARNESS, text, log=str(place.log))
            time.sleep(POLL_SECONDS)
