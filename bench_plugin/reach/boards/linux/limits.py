"""What agents may use of a Linux board that they are sent to: the table ``reach.limits`` of a board's file."""

from __future__ import annotations

from typing import Annotated

from bench_plugin.agent.link.bounds import MIB, Bounds
from bench_plugin.domain.records import Record, about


class BoardLimits(Record, frozen=True):
    """The keys of ``reach.limits``. What is left out is as for ``bench board serve``."""

    memory: Annotated[
        int, about("the most memory of a process of an agent, MiB; 0: nine tenths of the board's", ge=0)
    ] = Bounds.memory
    cpu: Annotated[int, about("the most processor time of a process of an agent, seconds; 0: no limit", ge=0)] = (
        Bounds.cpu
    )
    store: Annotated[
        int, about("the most that an agent stores of what it is sent, MiB; the least recently used goes first", gt=0)
    ] = Bounds.store
    cache: Annotated[
        int, about("the most that stays on the board from run to run, MiB; the least recently used goes first", gt=0)
    ] = Bounds.store

    @property
    def cache_bytes(self) -> int:
        """The most bytes of agents and runtimes that stay on the board."""
        return self.cache * MIB

    def options(self) -> list[str]:
        """The options of an agent that listens (agent/link/bounds.py)."""
        given = ["--max-cpu", str(self.cpu), "--max-store", str(self.store)]
        return [*given, "--max-memory", str(self.memory)] if self.memory else given
