"""Boards with an agent that listens on a TCP port (``bench board serve``), reached with a token."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_plugin.agent.link.tokens import BadToken, read_token
from bench_plugin.domain.choices import hint
from bench_plugin.domain.errors import UsageError
from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.network import Endpoint, start
from bench_plugin.reach.processes.client import Agent, AgentFailure
from bench_plugin.reach.processes.workplace import Workplace

KEYS = ("host", "port", "token_file", "wait", "same_machine", "tunnelled")
WAIT_SECONDS = 60.0  # for a board that another host has


@dataclass(frozen=True)
class TcpReach:
    """A board behind a listener. ``same_machine`` says that the listener may run on this host, as tests do it."""

    board: Board
    endpoint: Endpoint
    same_machine: bool = False
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
    settings = _Settings(board.name, board.settings)
    unknown = sorted(set(board.settings) - set(KEYS))
    if unknown:
        raise settings.wrong(unknown[0], f"there is no such key{hint(unknown[0], KEYS)}; valid are: {', '.join(KEYS)}")
    host, port = settings.text("host"), settings.number("port", 1, 65535)
    token = Path(os.path.expanduser(settings.text("token_file")))
    wait = settings.number("wait", 0, 86400, WAIT_SECONDS)
    same, tunnelled = settings.flag("same_machine"), settings.flag("tunnelled")
    if same and not _is_loopback(host):
        raise settings.wrong("same_machine", f"only a loopback address is this machine, and the host is {host!r}")
    if tunnelled and not _is_loopback(host):
        raise settings.wrong("tunnelled", f"a tunnel ends on this machine, and the host is {host!r}")
    return TcpReach(board, Endpoint(host, int(port), token, wait, tunnelled), same)


@dataclass(frozen=True)
class _Settings:
    """The keys of a board's table ``reach``, read with messages that name them."""

    board: str
    given: Mapping[str, Any]

    def wrong(self, key: str, text: str) -> UsageError:
        """The error of one key."""
        return UsageError(f"board {self.board}: reach.{key}: {text}")

    def text(self, key: str) -> str:
        """A text that has to be there."""
        value = self.given.get(key)
        if not isinstance(value, str) or not value:
            missing = "it is missing" if key not in self.given else f"it is {value!r}"
            raise self.wrong(key, f"{missing}; expected a text")
        return value

    def number(self, key: str, least: int, most: int, otherwise: float | None = None) -> float:
        """A number within bounds; without ``otherwise`` it has to be there, and be whole."""
        value = self.given.get(key, otherwise)
        kinds = int if otherwise is None else (int, float)
        if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value <= most:
            missing = "it is missing" if key not in self.given else f"it is {value!r}"
            raise self.wrong(key, f"{missing}; expected a number from {least} to {most}")
        return value

    def flag(self, key: str) -> bool:
        """True or false; false where it is not said."""
        value = self.given.get(key, False)
        if not isinstance(value, bool):
            raise self.wrong(key, f"it is {value!r}; expected true or false")
        return value


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
