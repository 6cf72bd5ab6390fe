"""What an engine needs of a cluster: its workers, tasks for one of them, and an end to every question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

TOOLCHAIN, BOARD = "toolchain_", "board_"  # the names of resources begin so

# What is waited for, in seconds; a cluster says where its users set another value.
LIMITS: Mapping[str, float] = {
    "connect": 10.0,  # until the scheduler answers
    "workers": 30.0,  # until it has a worker, and until the workers that it has answer
    "silent": 60.0,  # a worker without a heartbeat is taken for lost
    "patience": 60.0,  # a cell that no worker can compute any more is given up
    "deadline": 0.0,  # of a cell on a worker; 0: what its stages and toolchains may take
}


@dataclass(frozen=True)
class Known:
    """A worker as the scheduler knows it.

    ``threads`` is how many tasks it runs side by side, ``folder`` its own one for temporary files, ``heartbeat`` a
    number that changes with every sign of life.
    """

    name: str
    threads: int
    resources: frozenset[str]
    folder: str
    heartbeat: float

    @property
    def boards(self) -> frozenset[str]:
        """Its resources that are boards."""
        return frozenset(name for name in self.resources if name.startswith(BOARD))


class Task(Protocol):
    """A function that a worker calls."""

    def done(self) -> bool:
        """Whether it has ended, in whatever way."""

    def result(self, timeout: float) -> Any:
        """What the function returned. Raises TimeoutError, and what it raised or what it was lost by."""

    def add_done_callback(self, function: Callable[[Any], object]) -> object:
        """Call the function with the task when it has ended, in any thread."""

    def release(self) -> None:
        """Nobody wants the result any more; a task that did not begin does not."""


class Cluster(Protocol):
    """The connection of a run to a cluster; safe to use from several threads."""

    address: str

    @property
    def lost(self) -> bool:
        """Whether the connection has ended for good."""

    def limit(self, name: str) -> float:
        """Seconds of :data:`LIMITS`, as the users of the cluster set them. Raises UsageError."""

    def workers(self) -> Mapping[str, Known]:
        """The workers by address. Raises OSError where the scheduler does not answer."""

    def submit(self, function: Callable[..., Any], text: str, address: str, resource: str = "") -> Task:
        """Call a function of the package with a text, in the worker with this address and no other.

        Where a ``resource`` is named, the task has one unit of it to itself.
        """

    def leave(self, function: Callable[[str], None], run: str, addresses: Sequence[str]) -> None:
        """Call a function in these workers at once, beside their tasks; one that does not answer is not waited for."""

    def close(self) -> None:
        """End the connection."""
