"""The kind of reach ``labgrid``: a board that labgrid lends, reached by ssh at the address of its NetworkService.

labgrid's own client is run, in whatever environment it is installed: its pytest plugin would disturb this one.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated

from msgspec import field

from bench_plugin.domain.records import Record, about
from bench_plugin.domain.texts.messages import useful_line
from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.boards.linux.deployed import DeployedAgents
from bench_plugin.reach.boards.linux.limits import BoardLimits
from bench_plugin.reach.boards.linux.link import BOARD_LOST, HARNESS, Address, Link
from bench_plugin.reach.boards.linux.ssh import CONNECT_SECONDS, key_of, settings_of
from bench_plugin.reach.processes.leased_agent import AgentFailure, LeasedAgent
from bench_plugin.reach.processes.workplace import Workplace

CLIENT = "labgrid-client"
COMMAND_SECONDS = 30.0
RELEASE_SECONDS = 10.0
TOKEN = re.compile(r"LG_TOKEN=(\w+)")
SERVICE = re.compile(r"^Acquired resource 'NetworkService'[^\n]*\n(\s*\{.*?\})\s*$", re.MULTILINE | re.DOTALL)


class Settings(Record, frozen=True):
    """The keys of ``reach`` for a board of a labgrid coordinator."""

    coordinator: Annotated[str, about("HOST:PORT of labgrid's coordinator", pattern=r"^.+:\d+$")]
    place: Annotated[str, about("the place to be reserved; or use tags")] = ""
    tags: Annotated[dict[str, str], about("any place with all of these tags is reserved")] = field(default_factory=dict)
    wait_seconds: Annotated[float, about("how long a place may take to become free", gt=0)] = 600.0
    client: Annotated[str, about("labgrid-client, also of another environment")] = CLIENT
    key: Annotated[str, about("the file of ssh's private key (default: as ssh decides)", extra={"file": True})] = ""
    python: Annotated[str, about("the board's Python, 3.8 or later")] = "python3"
    ship: Annotated[bool, about("ship the runtimes of toolchains; else the board's python must have them")] = True
    options: Annotated[tuple[str, ...], about("options of ssh's -o, such as 'ProxyJump=bastion'")] = ()
    limits: Annotated[BoardLimits, about("what agents may use of the board")] = BoardLimits()

    def __post_init__(self) -> None:
        """Raises ValueError unless there is a place or tags, and not both."""
        if bool(self.place) == bool(self.tags):
            raise ValueError("give either place or tags")


SETTINGS = Settings


class LabgridReach:
    """Starts agents on a place that is reserved and locked for the run."""

    programs = False

    def __init__(self, board: Board, settings: Settings) -> None:
        self.board = board
        self._settings = settings
        self._deployed = DeployedAgents(board.name, settings.python, ship=settings.ship, limits=settings.limits)
        self._link: Link | None = None
        self._token = ""
        self._lock = threading.Lock()

    def missing(self) -> str:
        """Which program this machine lacks, and how to get it."""
        if shutil.which(self._settings.client) is None:
            return f"{self._settings.client} not found; install it: pip install 'bench-plugin[labgrid]'"
        return "" if shutil.which("ssh") else "ssh not found; Debian: package openssh-client"

    def acquire(self, toolchain: str, place: Workplace) -> LeasedAgent:
        """An agent for the adapters of a toolchain. Raises AgentFailure."""
        if self._link is None or not self._link.alive:
            if self._link is not None:
                self._link.close()
            if not self._token:
                self._reserve()
            self._link = Link(self.board.name, self._address(), place.scratch / "link", place.nursery, place.variables)
            self._link.open(CONNECT_SECONDS)
        return self._deployed.start(self._link, toolchain, place)

    def release(self) -> None:
        """End the connection, and give the place back to labgrid."""
        if self._link is not None:
            self._link.close()
        with self._lock:
            token, self._token = self._token, ""
        if token:
            for words in (["-p", f"+{token}", "release"], ["cancel-reservation", token]):
                with suppress(AgentFailure):  # a place that was not locked cannot be unlocked
                    self._labgrid(*words, seconds=RELEASE_SECONDS)

    def _reserve(self) -> None:
        """Reserve a place, wait for it and lock it. Raises AgentFailure."""
        wanted = self._settings.tags or {"name": self._settings.place}
        said = self._labgrid("reserve", "--shell", *(f"{key}={value}" for key, value in sorted(wanted.items())))
        found = TOKEN.search(said)
        if found is None:
            raise AgentFailure(HARNESS, f"board {self.board.name}: labgrid gave no reservation: {useful_line(said)}")
        with self._lock:
            self._token = found[1]
        try:
            self._labgrid("wait", self._token, seconds=self._settings.wait_seconds)
            self._labgrid("-p", f"+{self._token}", "acquire")
        except AgentFailure:
            self.release()
            raise

    def _address(self) -> Address:
        """Where the locked place is reached by ssh. Raises AgentFailure where labgrid does not say it."""
        found = SERVICE.search(self._labgrid("-p", f"+{self._token}", "show"))
        params = ast.literal_eval(found[1].strip())["params"] if found else {}
        if not isinstance(params, Mapping) or not params.get("address"):
            raise AgentFailure(HARNESS, f"board {self.board.name}: its labgrid place has no NetworkService")
        said = self._settings
        return Address(
            str(params["address"]), str(params.get("username") or ""), int(params.get("port") or 22),
            key_of(said.key), said.options,
        )  # fmt: skip

    def _labgrid(self, *words: str, seconds: float = COMMAND_SECONDS) -> str:
        """The output of labgrid's client. Raises AgentFailure with its message where it fails."""
        command = [self._settings.client, "-x", self._settings.coordinator, *words]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds,
                check=False, encoding="utf-8", errors="replace",
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            what = "no place became free" if words[0] == "wait" else f"labgrid did not {words[-1]}"
            raise AgentFailure(BOARD_LOST, f"board {self.board.name}: {what} within {seconds:.0f} s") from error
        if done.returncode != 0:
            text = f"board {self.board.name}: labgrid: {useful_line(done.stdout)}"
            raise AgentFailure(BOARD_LOST, text, detail=done.stdout)
        return done.stdout


def reach(board: Board) -> LabgridReach:
    """The reach of a board. Raises UsageError for settings that are not valid."""
    return LabgridReach(board, settings_of(board, Settings))
