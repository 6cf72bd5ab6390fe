"""What becomes of a board's agent when a stage on it is over."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.domain.outcome import Stage
from bench_plugin.pipeline.board_stages import BoardTask, performed
from bench_plugin.pipeline.stages import Done, not_started
from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.processes.leased_agent import Limits
from bench_plugin.reach.processes.supervisor import AgentPool
from bench_plugin.reach.processes.workplace import Workplace


@dataclass
class Wired:
    """An agent at the end of a wire, which does nothing."""

    calls: int = 0
    clean: bool = True
    lost: bool = False
    memory_limit: int = 0
    hello: Mapping[str, Any] = field(default_factory=lambda: {"machine": "armv7m"})

    def load(self, adapter: str, limits: Limits) -> None:
        """It takes no adapter."""

    def reset(self, limits: Limits) -> None:
        """It keeps nothing."""

    def resident(self) -> int:
        """It is elsewhere."""
        return 0

    def ended_idle(self) -> bool:
        """It stays."""
        return False

    def close(self) -> None:
        """The end of the wire."""
        self.lost = True


@dataclass
class At:
    """The reach of a board, which keeps the agents that were started."""

    board: Board
    programs: bool
    agents: list[Wired] = field(default_factory=list)

    def missing(self) -> str:
        """Nothing is."""
        return ""

    def acquire(self, toolchain: str, place: Workplace) -> Wired:
        """Another agent."""
        self.agents.append(Wired())
        return self.agents[-1]

    def release(self) -> None:
        """Nothing is kept."""


@pytest.fixture
def wires(tmp_path: Path) -> Iterator[tuple[AgentPool, dict[str, At]]]:
    """Boards that differ in what they are: emulated firmware, an emulated Linux, and hardware with firmware."""
    found = {
        name: At(Board(name, name, "wired", {}, emulated=emulated), programs)
        for name, emulated, programs in (
            ("firmware", True, True), ("linux", True, False), ("hardware", False, True),
        )
    }  # fmt: skip
    boards: dict[str, Any] = dict(found)
    pool = AgentPool(
        lambda name: Path(sys.executable), tmp_path / "logs", lambda name: [], tmp_path / "scratch", boards=boards
    )
    yield pool, found
    pool.close()


def stage(pool: AgentPool, at: At) -> Done:
    """A stage on the board, in whose middle its agent was alive."""
    task = BoardTask(
        at.board.target, at.programs, "any", "run", "", Limits(5.0, 0),
        lambda agent, limits: Done(failure=None, meta={"alive": {"then": not agent.lost}}),
        lambda error: not_started(error, Stage.RUN),
    )  # fmt: skip
    return performed(pool, task, fresh=False)


def test_emulated_firmware_ends_with_the_stage_because_it_keeps_a_processor_busy(
    wires: tuple[AgentPool, dict[str, At]],
) -> None:
    pool, boards = wires
    for _ in range(2):
        assert stage(pool, boards["firmware"]).meta == {
            "alive": {"then": True}, "board": {"name": "firmware", "kind": "wired", "machine": "armv7m"},
        }  # fmt: skip
    assert [agent.lost for agent in boards["firmware"].agents] == [True, True]


@pytest.mark.parametrize("name", ["linux", "hardware"])
def test_other_boards_keep_their_agent_for_the_next_stage(wires: tuple[AgentPool, dict[str, At]], name: str) -> None:
    pool, boards = wires
    for _ in range(2):
        assert stage(pool, boards[name]).failure is None
    assert [agent.lost for agent in boards[name].agents] == [False]
