"""However the host ends, nothing that an agent started is left: processes are counted by their numbers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from bench_plugin.reach.processes.guardian import descendants
from bench_plugin.reach.processes.supervisor import AgentPool
from tests.project import signals_of_a_terminal
from tests.reach.processes.conftest import LIMITS, ROOT, alive, guardian_of, parent, until

# A host: two agents, one of them with a grandchild in a session of its own, both asleep in calls of two threads.
HOST = """
import sys, threading, time
from pathlib import Path
from bench_plugin.reach.processes.leased_agent import AgentFailure, Limits
from tests.reach.processes.conftest import make_pool

folder = Path(sys.argv[1])
pool = make_pool(folder)
limits = Limits(60.0, 0)

def hang(toolchain, meta):
    try:
        with pool.lease(toolchain) as agent:
            agent.call("fake", "go", meta, limits=limits)
    except AgentFailure as error:
        print(error.symptom, flush=True)

for toolchain in ("one", "two"):
    meta = {"fault": ["grandchild", "sleep"], "pid_file": str(folder / toolchain)}
    threading.Thread(target=hang, args=(toolchain, meta), daemon=True).start()
while not all((folder / name).exists() for name in ("one", "two")):
    time.sleep(0.01)
print("ready", flush=True)
try:
    time.sleep(60)
finally:
    if "leave" not in sys.argv:
        pool.close()
"""


@contextmanager
def host(
    folder: Path, *arguments: str, ignored: Sequence[signal.Signals] = ()
) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """A host that is at work, and every process below it."""
    with signals_of_a_terminal(ignored=ignored):
        process = subprocess.Popen(
            [sys.executable, "-c", HOST, str(folder), *arguments],
            cwd=ROOT, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
    found: list[int] = []
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        found = list(descendants(process.pid))
        assert len(found) == 7, "a guardian, two keepers, two agents, two grandchildren"
        assert {int((folder / name).read_text()) for name in ("one", "two")} < set(found)
        yield process, found
    finally:
        for pid in [process.pid, *found]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["SIGKILL", "SIGTERM"])
def test_a_host_that_is_killed_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    with host(tmp_path) as (process, found):
        process.send_signal(number)
        assert process.wait(5) == -number
        assert until(lambda: not any(alive(pid) for pid in found), 2.0), "2 s later a process is left"
        assert not list((tmp_path / "scratch").iterdir())


@pytest.mark.parametrize("arguments", [(), ("leave",)], ids=["that closes", "that forgets to close"])
def test_a_host_that_is_interrupted_leaves_nothing(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    with host(tmp_path, *arguments) as (process, found):
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the whole foreground group
        assert process.wait(5) == -signal.SIGINT
        assert until(lambda: not any(alive(pid) for pid in found), 2.0), "2 s later a process is left"
        assert not list((tmp_path / "scratch").iterdir())


def test_signals_to_the_guardian_itself_change_nothing(pool: AgentPool) -> None:
    with pool.lease("fake") as agent:
        first = agent.call("fake", "go", {}, limits=LIMITS).meta["pid"]
    guardian = guardian_of(first)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(guardian, number)
    with pool.lease("fake") as agent:
        assert agent.call("fake", "go", {}, limits=LIMITS).meta["pid"] == first


def test_agents_and_their_children_take_signals_as_usual(pool: AgentPool, tmp_path: Path) -> None:
    """What the guardian does not heed must not be deaf in a multiprocessing pool of a framework."""
    file = tmp_path / "grandchild"
    with pool.lease("fake") as agent:
        agent.call("fake", "go", {"fault": "grandchild", "pid_file": str(file)}, limits=LIMITS)
    child = int(file.read_text())
    assert not ignored_by(child)
    os.kill(child, signal.SIGTERM)
    assert until(lambda: not alive(child))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT], ids=["SIGINT", "SIGQUIT"])
def test_what_a_host_ignores_its_agents_do_not(tmp_path: Path, number: signal.Signals) -> None:
    """``nohup … &`` hands ignored signals down: the host heeds that, its agents and their children do not."""
    with host(tmp_path, ignored=[number]) as (process, found):
        assert number in ignored_by(process.pid)
        grandchildren = [int((tmp_path / name).read_text()) for name in ("one", "two")]
        agents = {parent(pid) for pid in grandchildren}
        assert not [pid for pid in (*agents, *grandchildren) if number in ignored_by(pid)]
        os.killpg(process.pid, number)
        time.sleep(0.2)
        assert process.poll() is None and all(alive(pid) for pid in found)
        process.terminate()
        assert process.wait(5) == -signal.SIGTERM
        assert until(lambda: not any(alive(pid) for pid in found), 2.0), "2 s later a process is left"


def test_closing_ends_the_guardian_the_agents_and_their_orphans(pool: AgentPool, tmp_path: Path) -> None:
    file = tmp_path / "grandchild"
    with pool.lease("fake") as agent:
        answer = agent.call("fake", "go", {"fault": "grandchild", "pid_file": str(file)}, limits=LIMITS)
    agent_pid = answer.meta["pid"]
    pids = [int(file.read_text()), agent_pid, parent(agent_pid), guardian_of(agent_pid)]
    assert all(alive(pid) for pid in pids)
    began = time.monotonic()
    pool.close()
    assert time.monotonic() - began < 0.5
    assert not [pid for pid in pids if alive(pid)]
    pool.close()


def test_an_orphan_outlives_a_call_but_not_its_agent(pool: AgentPool, tmp_path: Path) -> None:
    """A server that a compiler starts may serve its next call; with the agent it ends, and no other agent's does."""
    files = {name: tmp_path / name for name in ("one", "two")}
    for name, file in files.items():
        with pool.lease(name) as agent:
            agent.call("fake", "go", {"fault": "grandchild", "pid_file": str(file)}, limits=LIMITS)
    one, two = (int(file.read_text()) for file in files.values())
    assert alive(one) and alive(two)
    with pool.lease("one", fresh=True):
        assert until(lambda: not alive(one))
    assert alive(two)


def ignored_by(pid: int) -> list[signal.Signals]:
    """The signals that a process ignores."""
    status = Path(f"/proc/{pid}/status").read_text()
    ignored = int(status.partition("SigIgn:")[2].split()[0], 16)
    return [number for number in signal.Signals if ignored >> (number - 1) & 1]
