"""A kind of reach of the tests' own: a board behind a socket in the file system, see far_board.py."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Annotated

from bench_plugin.agent.channel import Channel
from bench_plugin.domain.records import Record, about
from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.processes.client import Agent
from bench_plugin.reach.processes.leased_agent import AgentFailure
from bench_plugin.reach.processes.workplace import Workplace


class Settings(Record, frozen=True):
    """The keys of a wired board."""

    host: Annotated[str, about("its address")]
    socket: Annotated[str, about("the file of its socket", extra={"file": True})]
    port: Annotated[int, about("not used", ge=1, le=65535)] = 1
    programs: Annotated[bool, about("it runs compiled programs")] = False
    lacks: Annotated[str, about("what this machine lacks to reach it")] = ""


SETTINGS = Settings


class Far:
    """The far end, which has no process to ask."""

    shares_files = False
    gone = False

    def resident(self) -> int:
        """Nothing can be asked."""
        return 0

    def spent(self) -> float | None:
        """Nothing can be asked."""
        return None

    def kill(self) -> int | None:
        """Nothing can be killed; the board ends the agent when the connection ends."""
        return None

    def ended(self) -> int | None:
        """Nothing is known."""
        return None


class WiredAgent(Agent):
    """An agent whose connection is the board's: where it ends, the board is lost."""

    def _gone(self, stage: str | None, within: bool) -> AgentFailure:
        return self._lost("board-lost", "the wire was cut", stage)


@dataclass(frozen=True)
class Wired:
    """The reach of a wired board."""

    board: Board

    @property
    def programs(self) -> bool:
        """As its file says."""
        return bool(self.board.settings["programs"])

    def missing(self) -> str:
        """As its file says."""
        return str(self.board.settings["lacks"])

    def acquire(self, toolchain: str, place: Workplace) -> Agent:
        """An agent in a fresh process of the board. Raises AgentFailure."""
        wire = socket.socket(socket.AF_UNIX)
        try:
            wire.connect(self.board.settings["socket"])
        except OSError as error:
            wire.close()
            raise AgentFailure("board-lost", f"nothing answers at the wire: {error.strerror}") from error
        agent = WiredAgent(Channel(wire), Far(), place.log, place.adapters, place.results)
        agent.greet(place.start_seconds)
        return agent

    def release(self) -> None:
        """Nothing is kept."""


def reach(board: Board) -> Wired:
    """The reach of a board of this kind."""
    return Wired(board)
