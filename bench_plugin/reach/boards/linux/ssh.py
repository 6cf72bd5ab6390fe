"""The kind of reach ``ssh``: a Linux board with Python, reached by the OpenSSH client of this machine."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.records import Record, about
from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.boards.linux.deployed import DeployedAgents
from bench_plugin.reach.boards.linux.limits import BoardLimits
from bench_plugin.reach.boards.linux.link import Address, Link
from bench_plugin.reach.processes.leased_agent import LeasedAgent
from bench_plugin.reach.processes.workplace import Workplace

CONNECT_SECONDS = 20.0


class Settings(Record, frozen=True):
    """The keys of ``reach`` for a board that is reached by ssh."""

    host: Annotated[str, about("its name or address, or a Host of your ssh configuration", min_length=1)]
    user: Annotated[str, about("the user (default: as ssh decides)")] = ""
    port: Annotated[int, about("the port (default: as ssh decides)", ge=0, le=65535)] = 0
    key: Annotated[str, about("the file of a private key (default: as ssh decides)", extra={"file": True})] = ""
    python: Annotated[str, about("the board's Python, 3.8 or later")] = "python3"
    ship: Annotated[bool, about("ship the runtimes of toolchains; else the board's python must have them")] = True
    options: Annotated[tuple[str, ...], about("options of ssh's -o, such as 'ProxyJump=bastion'")] = ()
    wait: Annotated[float, about("how long to wait for it while another host has it, seconds", ge=0, le=86400)] = 60.0
    limits: Annotated[BoardLimits, about("what agents may use of the board")] = BoardLimits()


SETTINGS = Settings
R = TypeVar("R", bound=Record)


class SshReach:
    """Starts agents on a board by ssh. The connection stays open between leases."""

    programs = False

    def __init__(self, board: Board, settings: Settings) -> None:
        self.board = board
        self._address = Address(
            settings.host, settings.user, settings.port, key_of(settings.key), settings.options
        )  # fmt: skip
        self._deployed = DeployedAgents(
            board.name, settings.python, ship=settings.ship, limits=settings.limits, wait=settings.wait
        )
        self._link: Link | None = None

    def missing(self) -> str:
        """Whether this machine lacks the OpenSSH client."""
        return "" if shutil.which("ssh") else "ssh not found; Debian: package openssh-client"

    def acquire(self, toolchain: str, place: Workplace) -> LeasedAgent:
        """An agent for the adapters of a toolchain. Raises AgentFailure."""
        if self._link is None or not self._link.alive:
            self.release()
            self._link = Link(self.board.name, self._address, place.scratch / "link", place.nursery, place.variables)
            self._link.open(CONNECT_SECONDS)
        return self._deployed.start(self._link, toolchain, place)

    def release(self) -> None:
        """End the connection, and with it what runs on the board."""
        if self._link is not None:
            self._link.close()


def reach(board: Board) -> SshReach:
    """The reach of a board. Raises UsageError for settings that are not valid."""
    return SshReach(board, settings_of(board, Settings))


def key_of(text: str) -> str:
    """The path of a key's file, empty where ssh decides."""
    return str(Path(text).expanduser()) if text else ""


def settings_of(board: Board, kind: type[R]) -> R:
    """The settings of a board as a record. Raises UsageError for a key or a value that it does not have."""
    try:
        return msgspec.convert(dict(board.settings), kind)
    except msgspec.ValidationError as error:
        raise UsageError(f"board {board.name}: reach: {error}") from error
