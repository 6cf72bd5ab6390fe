"""What the pool leases: an agent of this machine or of a board, whatever it is reached by."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bench_plugin.reach.processes.client import Answer, Limits
from bench_plugin.reach.processes.given_files import GivenFile

if TYPE_CHECKING:
    import numpy as np

    Arrays = Mapping[str, np.ndarray[Any, Any]]


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
