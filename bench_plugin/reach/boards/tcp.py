"""Boards with an agent that listens on a TCP port (``bench board serve``), reached with a token."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from bench_plugin.agent.link.tokens import BadToken, read_token
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.records import NOT_BLANK, Record, about
from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.network import Endpoint, start
from bench_plugin.reach.processes.client import Agent
from bench_plugin.reach.processes.leased_agent import AgentFailure
from bench_plugin.reach.processes.workplace import Workplace

FILE = {"file": True}


class Settings(Record, frozen=True):
    """The table ``reach`` of a board that listens on a TCP port."""

    host: Annotated[str, about("its address or name", pattern=NOT_BLANK)]
    port: Annotated[int, about("the port that it listens on", ge=1, le=65535)]
    token_file: Annotated[str, about("the file of the token, the same as on the board", pattern=NOT_BLANK, extra=FILE)]
    wait: Annotated[float, about("how long to wait for it while another host has it, seconds", ge=0, le=86400)] = 60.0
    tunnelled: Annotated[bool, about("the port is the end of a tunnel through SSH on this machine")] = False


SETTINGS = Settings


@dataclass(frozen=True)
class TcpReach:
    """A board behind a listener."""

    board: Board
    endpoint: Endpoint
    programs: bool = False

    def missing(self) -> str:
        """What is wrong with the token file, and how to make one; "" if nothing is."""
        try:
            read_token(str(self.endpoint.token_file))
        except BadToken as error:
            return f"board {self.board.name}: {error}"
        return ""

    def acquire(self, toolchain: str, place: Workplace) -> Agent:
        """An agent in a fresh process of the board; the listener chose the interpreter that it runs in.

        Raises AgentFailure, with symptom ``board-lost`` where nothing answers, else ``harness``.
        """
        try:
            return start(self.endpoint, place.log, place.adapters, place.results, place.start_seconds)
        except AgentFailure as error:
            raise AgentFailure(
                error.symptom, f"board {self.board.name}: {error}", detail=error.detail, log=error.log,
                types=error.types, cause=error.cause,
            ) from error  # fmt: skip

    def release(self) -> None:
        """Nothing is kept: each agent has a connection of its own, which ends with it."""


def reach(board: Board) -> TcpReach:
    """The reach of a board of kind tcp. Raises UsageError for settings that are not valid."""
    try:
        said = msgspec.convert(dict(board.settings), Settings)
    except msgspec.ValidationError as error:
        raise UsageError(f"board {board.name}: reach: {error}") from error
    if said.tunnelled and not _is_loopback(said.host):
        text = f"reach.tunnelled: a tunnel ends on this machine, and the host is {said.host!r}"
        raise UsageError(f"board {board.name}: {text}")
    endpoint = Endpoint(said.host, said.port, Path(said.token_file), said.wait, said.tunnelled)
    return TcpReach(board, endpoint)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
