"""What the host gives to agents on boards, and the protocol of what starts them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bench_plugin.reach.environments.toolchains import Toolchains
from bench_plugin.reach.processes.leased_agent import LeasedAgent, Source
from bench_plugin.reach.processes.nursery import Nursery


@dataclass(frozen=True)
class Workplace:
    """What the host gives to agents on boards.

    ``scratch`` is a folder of the run, ``results`` the folder that files of answers are put into, ``log`` the file that
    the agent's output goes to. ``nursery`` starts processes of this machine that end with the run, such as emulators.
    ``adapters`` gives the files of an adapter and of those that it uses, ``environments`` the Python executable of a
    toolchain, ``variables`` the environment variables of what is started here. ``toolchains`` say what boards need.
    """

    scratch: Path
    results: Path
    log: Path
    nursery: Nursery
    adapters: Callable[[str], Sequence[Source]]
    environments: Callable[[str], Path]
    variables: Mapping[str, str]
    start_seconds: float
    toolchains: Toolchains = field(default_factory=Toolchains)


class Starter(Protocol):
    """Starts agents on one board. Used by one thread at a time: a board serves one lease after the other."""

    def acquire(self, toolchain: str, place: Workplace) -> LeasedAgent:
        """An agent for the adapters of a toolchain. Raises AgentFailure, with symptom ``board-lost`` or ``harness``."""

    def release(self) -> None:
        """Give the board free at the end of the run, from any thread; an emulator ends."""
