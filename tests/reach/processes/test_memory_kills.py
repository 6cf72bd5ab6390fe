"""Where the machine has no memory left, the kernel chooses an agent, and that is no verdict on the tool."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench_plugin.reach.processes.leased_agent import AgentFailure
from bench_plugin.reach.processes.memory import memory_kills
from bench_plugin.reach.processes.supervisor import AgentPool
from tests.reach.processes.conftest import LIMITS

MIB = 1 << 20
# Where a group of processes gets a limit of memory, by version 1 and 2 of control groups, and the file that holds it.
GROUPS = {"/sys/fs/cgroup/memory": "memory.limit_in_bytes", "/sys/fs/cgroup": "memory.max"}


@pytest.fixture
def narrow() -> Iterator[Path]:
    """A control group whose processes have 100 MiB together; it stands for a machine that has no more."""
    for base, limit in GROUPS.items():
        group = Path(base, f"bench-test-{os.getpid()}")
        with contextlib.suppress(OSError):
            group.mkdir()
            try:
                (group / limit).write_text(str(100 * MIB))
            except OSError:
                group.rmdir()
                raise
            break
    else:
        pytest.skip("no control group can be made here")
    yield group
    while (group / "cgroup.procs").read_text():
        time.sleep(0.01)
    group.rmdir()


def test_an_agent_that_the_kernel_killed_for_want_of_memory_did_not_crash(shared: AgentPool, narrow: Path) -> None:
    before = memory_kills()
    with shared.lease("fake", fresh=True) as agent, pytest.raises(AgentFailure) as caught:
        pid = agent.call("fake", "go", {}, limits=LIMITS).meta["pid"]
        (narrow / "cgroup.procs").write_text(str(pid))
        agent.call("fake", "go", {"fault": "peak", "bytes": 400 * MIB}, limits=LIMITS)
    assert memory_kills() > before
    said = "this machine has no memory left, and its kernel killed the agent in stage work"
    assert (caught.value.symptom, caught.value.message) == ("harness", said)
    assert caught.value.signal == signal.SIGKILL


def test_an_agent_is_chosen_before_the_process_of_the_run(shared: AgentPool) -> None:
    with shared.lease("fake", fresh=True) as agent:
        pid = agent.call("fake", "go", {}, limits=LIMITS).meta["pid"]
        chosen, own = (int(Path(f"/proc/{one}/oom_score").read_text()) for one in (pid, os.getpid()))
    assert chosen > own
