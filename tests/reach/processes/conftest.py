"""Real agents in real processes, with the fake adapter; nothing of them may be left after a test."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench_plugin.agent.store import Store
from bench_plugin.reach.places import Room
from bench_plugin.reach.processes.guardian import own_cgroup
from bench_plugin.reach.processes.leased_agent import Limits, Source
from bench_plugin.reach.processes.supervisor import AgentPool

FAKE = Path(__file__).parents[2] / "fake" / "adapter.py"
ROOT = Path(__file__).parents[3]
LIMITS = Limits(20.0, 0)


def make_pool(folder: Path, room: Room | None = None) -> AgentPool:
    """A pool whose toolchains are all this interpreter, whose adapters are all the fake one."""
    return AgentPool(
        lambda name: Path(sys.executable),
        folder / "logs",
        lambda name: [Source(name, FAKE.read_bytes())],
        folder / "scratch",
        room=room,
    )


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentPool]:
    """One pool for the tests of a module, which leave it usable."""
    pool = make_pool(tmp_path_factory.mktemp("pool"))
    yield pool
    pool.close()


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[AgentPool]:
    """A pool of the test's own."""
    pool = make_pool(tmp_path)
    yield pool
    pool.close()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An agent's folder, without the agent."""
    return Store(str(tmp_path / "agent"))


def alive(pid: int) -> bool:
    """Whether a process runs (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def until(condition: Callable[[], bool], seconds: float = 5.0) -> bool:
    """Whether the condition comes true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def parent(pid: int) -> int:
    """The parent of a process."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def guardian_of(agent: int) -> int:
    """The guardian of an agent: its keeper's parent."""
    return parent(parent(agent))


def groups(guardian: int) -> list[str]:
    """The control groups of a guardian's agents; none where none may be made."""
    base = own_cgroup()
    return [name for name in os.listdir(base) if name.startswith(f"bench-{guardian}-")] if base else []
