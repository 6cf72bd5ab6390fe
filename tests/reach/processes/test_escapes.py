"""What an agent starts cannot escape: it counts to the agent's memory, and ends with the agent."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench_plugin.reach.processes.leased_agent import AgentFailure, Limits, Source
from bench_plugin.reach.processes.supervisor import AgentPool
from tests.reach.processes.conftest import LIMITS, ROOT, alive, groups, guardian_of, make_pool, until

RUNNING = ROOT / "tests" / "fake" / "running.py"
MIB = 1 << 20

# An orphan in a session of its own; it says its number, does what follows, and sleeps.
ORPHAN = """
import os, time
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
with open({file!r} + ".partial", "w") as file:
    file.write(str(os.getpid()))
os.rename(file.name, {file!r})
{more}
time.sleep(60)
"""
TAKE = "taken = bytearray(b'1') * (200 << 20)"

# Every process forks, changes its session and exits at once; the last one to live has written its number.
CHAIN = """
import os
file = os.open({file!r}, os.O_WRONLY | os.O_CREAT)
if os.fork():
    os._exit(0)
while True:
    if os.fork():
        os._exit(0)
    os.setsid()
    os.pwrite(file, b"%-10d" % os.getpid(), 0)
"""


@pytest.fixture
def running(tmp_path: Path) -> Iterator[AgentPool]:
    """A pool whose agents run programs."""
    pool = make_pool(tmp_path)
    pool._adapters = lambda name: [Source(name, RUNNING.read_bytes())]
    yield pool
    pool.close()


def failure(pool: AgentPool, limits: Limits, **meta: object) -> AgentFailure:
    with pool.lease("fake") as agent, pytest.raises(AgentFailure) as caught:
        agent.call("fake", "go", meta, limits=limits)
    return caught.value


def number_in(file: Path) -> int:
    return int(file.read_text())


def test_an_orphan_without_environment_ends_with_the_deadline(running: AgentPool, tmp_path: Path) -> None:
    file = tmp_path / "orphan"
    code = ORPHAN.format(file=str(file), more="")
    assert failure(running, Limits(2.0, 0), code=code, seconds=60.0).symptom == "timeout"
    assert not alive(number_in(file))


def test_the_memory_of_an_orphan_without_environment_counts(running: AgentPool, tmp_path: Path) -> None:
    file = tmp_path / "orphan"
    code = ORPHAN.format(file=str(file), more=TAKE)
    error = failure(running, Limits(20.0, 150 * MIB), code=code, seconds=60.0)
    assert error.symptom == "out-of-memory", error.message
    assert not alive(number_in(file))


def test_an_orphan_ends_with_an_agent_that_is_replaced(running: AgentPool, tmp_path: Path) -> None:
    file = tmp_path / "orphan"
    with running.lease("fake") as agent:
        agent.call("fake", "go", {"code": ORPHAN.format(file=str(file), more="")}, limits=LIMITS)
    assert until(file.exists)
    assert alive(number_in(file))
    with running.lease("fake", fresh=True):
        assert not alive(number_in(file))


def test_an_environment_that_is_not_utf8_harms_nobody(running: AgentPool, tmp_path: Path) -> None:
    """An agent with such a descendant can be ended, and another one is started afterwards."""
    file = tmp_path / "orphan"
    variables = {"BENCH_AGENT_ID": "caf\udce9", "\udcff": "\udcfe"}
    with running.lease("fake") as agent:
        meta = {"code": ORPHAN.format(file=str(file), more=""), "variables": variables}
        first = agent.call("fake", "go", meta, limits=LIMITS).meta["pid"]
    assert until(file.exists)
    with running.lease("fake", fresh=True) as agent:
        assert not alive(first) and not alive(number_in(file))
        assert agent.call("fake", "go", {}, limits=LIMITS).meta["pid"]


def test_a_chain_of_forks_ends_with_the_deadline(running: AgentPool, tmp_path: Path) -> None:
    file = tmp_path / "chain"
    assert failure(running, Limits(2.0, 0), code=CHAIN.format(file=str(file)), seconds=60.0).symptom == "timeout"
    assert stands_still(file)


# A process that ends what is below it as keepers do where there are no control groups.
ENDING = """
import subprocess, sys, time
from pathlib import Path
from bench_plugin.reach.processes.guardian import PR_SET_CHILD_SUBREAPER, end_descendants, prctl

prctl(PR_SET_CHILD_SUBREAPER, 1)
subprocess.run([sys.executable, "-I", "-S", "-c", sys.argv[1]], check=True)
file = Path(sys.argv[2])
while not (file.exists() and file.stat().st_size):
    time.sleep(0.01)
end_descendants()
"""


def test_without_control_groups_a_chain_of_forks_is_caught_too(tmp_path: Path) -> None:
    file = tmp_path / "chain"
    command = [sys.executable, "-c", ENDING, CHAIN.format(file=str(file)), str(file)]
    subprocess.run(command, cwd=ROOT, timeout=60, check=True)
    assert stands_still(file)


def stands_still(file: Path) -> bool:
    """Whether no process writes to the file any more."""
    before = file.read_bytes()
    time.sleep(0.3)
    return file.read_bytes() == before and not alive(int(before))


def test_no_control_group_is_left(running: AgentPool) -> None:
    with running.lease("fake") as agent:
        guardian = guardian_of(agent.call("fake", "go", {}, limits=LIMITS).meta["pid"])
        if not groups(guardian):
            pytest.skip("no control group may be made here")
    running.close()
    assert not groups(guardian)
