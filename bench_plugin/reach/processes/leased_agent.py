"""Calls of agents, wherever they run: limits, answers and failures, and the protocol of what the pool leases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from bench_plugin.domain.errors import BenchError
from bench_plugin.domain.texts.messages import useful_line
from bench_plugin.reach.processes.given_files import GivenFile, NotAsStated

if TYPE_CHECKING:
    import numpy as np

    Arrays = Mapping[str, np.ndarray[Any, Any]]

START_SECONDS = 60.0
NOT_AS_STATED = (NotAsStated.__name__,)  # the types of a failure that no adapter caused
BUSY_TYPE = ("BoardBusy",)  # the types of the failure of a board that another host has
WALL_TIMES = 4.0  # how much longer a stage of a model may take on the clock than its processor time may be
MESSAGE = 1200  # characters: some tools name a long path or the whole node before they say what is wrong


@dataclass(frozen=True)
class Limits:
    """``seconds`` for each announced stage (deadline.py), and ``memory_bytes``, 0 for no limit.

    With ``wall_seconds`` the seconds are those of processor time, and ``wall_seconds`` those on the clock.
    ``memory_bytes`` is the limit of the resident memory of the process tree, of an answer, and of its files together.
    """

    seconds: float
    memory_bytes: int
    wall_seconds: float = 0.0


def of_computing(seconds: float, memory_bytes: int) -> Limits:
    """Limits of a stage that computes: ``seconds`` of processor time, so that a busy machine changes no outcome.

    What waits and computes nothing ends after WALL_TIMES as much on the clock.
    """
    return Limits(seconds, memory_bytes, WALL_TIMES * seconds)


class Source(NamedTuple):
    """The file of an adapter for an agent; ``module`` is the dotted name by which other adapters import it."""

    name: str
    text: bytes
    module: str = ""


@dataclass(frozen=True)
class Answer:
    """The result of a call: metadata, arrays of any shapes and dtypes by name, and files.

    ``seconds`` is by announced stage, and under ``call`` for the whole; ``peak_bytes`` is resident memory.
    """

    meta: Mapping[str, Any]
    arrays: Arrays
    files: Mapping[str, Path]
    seconds: Mapping[str, float]
    peak_bytes: int
    log: str


class AgentFailure(BenchError):
    """A call that did not finish; ``symptom`` is a value of domain/outcome.py, ``stage`` the last one announced."""

    def __init__(
        self, symptom: str, message: str, *, stage: str | None = None, detail: str = "", log: str = "",
        signal: int | None = None, types: tuple[str, ...] = (), cause: str = "",
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.symptom = symptom
        self.message = bounded_line(message)
        self.stage = stage
        self.detail = detail or message
        self.log = log
        self.signal = signal
        self.types = types
        self.cause = cause


class LinkLost(BenchError):
    """The link to a board ended, and not the agent at its other end; the symptom is ``board-lost``."""


class Process(Protocol):
    """What an agent runs in: a process of this machine, or one of a board, of which less can be asked."""

    shares_files: bool

    @property
    def gone(self) -> bool:
        """Whether it is known to have ended."""

    def resident(self) -> int:
        """Resident bytes of the process tree; 0 where it cannot be asked."""

    def spent(self) -> float | None:
        """Seconds of processor time that the process tree has used so far; None where it cannot be asked."""

    def kill(self) -> int | None:
        """End it; returns its status as of waitpid(2), None where there is none."""

    def ended(self) -> int | None:
        """Its status as of waitpid(2) if it ends by itself within a moment, else None.

        Raises BenchError, with the reason, where what ended it was not the agent's own doing; LinkLost where a board
        does not answer.
        """


class LeasedAgent(Protocol):
    """An agent that calls can be made to, one at a time; :class:`bench_plugin.reach.processes.client.Agent` is one."""

    calls: int
    clean: bool
    lost: bool
    memory_limit: int
    hello: Mapping[str, Any]  # what it said of itself: machine, machine_id, agent, and nonce where the link has one

    def call(
        self, adapter: str, operation: str, meta: Mapping[str, Any], *, arrays: Arrays | None = None,
        files: Mapping[str, Path | GivenFile] | None = None, limits: Limits, take_files: bool = True,
    ) -> Answer:  # fmt: skip
        """Run one operation of an adapter; ``arrays`` have any shapes and dtypes. Raises AgentFailure."""

    def load(self, adapter: str, limits: Limits) -> None:
        """Send the adapter ahead of its first call. Raises AgentFailure."""

    def reset(self, limits: Limits) -> None:
        """Let it drop what it keeps between calls. Raises AgentFailure."""

    def resident(self) -> int:
        """Resident bytes of its process tree; 0 where it cannot be asked."""

    def close(self) -> None:
        """End it, also in the middle of a call."""

    def ended_idle(self) -> bool:
        """Whether it is known to have ended while nobody had leased it, which is no cell's failure."""


def bounded_line(text: str) -> str:
    """The first useful line, cut to a bounded length."""
    line = useful_line(text)
    return line if len(line) <= MESSAGE else line[: MESSAGE - 1] + "…"
