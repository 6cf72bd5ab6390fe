"""A guardian, or a keeper, that is killed: nothing of its agents is left, and the next agent gets a new one."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

from bench_plugin.reach.processes.guardian import children
from bench_plugin.reach.processes.leased_agent import AgentFailure, Limits
from bench_plugin.reach.processes.supervisor import AgentPool
from tests.project import Project
from tests.reach.processes.conftest import LIMITS, alive, groups, guardian_of, parent, until


def busy_agent(pool: AgentPool, file: Path) -> tuple[threading.Thread, list[AgentFailure]]:
    """A call that leaves a grandchild, whose number is in the file, and hangs; the list gets how it failed."""
    failures: list[AgentFailure] = []

    def hang() -> None:
        try:
            with pool.lease("fake") as agent:
                meta = {"fault": ["grandchild", "sleep"], "pid_file": str(file)}
                agent.call("fake", "go", meta, limits=Limits(60.0, 0))
        except AgentFailure as error:
            failures.append(error)

    thread = threading.Thread(target=hang)
    thread.start()
    assert until(file.exists, 20.0)
    return thread, failures


def test_a_busy_agent_ends_with_its_guardian(pool: AgentPool, tmp_path: Path) -> None:
    thread, failures = busy_agent(pool, tmp_path / "grandchild")
    grandchild = int((tmp_path / "grandchild").read_text())
    agent = parent(grandchild)
    os.kill(guardian_of(agent), signal.SIGKILL)
    thread.join(20)
    assert until(lambda: not alive(agent) and not alive(grandchild))
    assert [(error.symptom, error.stage) for error in failures] == [("harness", "work")]
    assert "the guardian of the agents is gone (killed by SIGKILL)" in failures[0].message


def test_the_next_agent_gets_a_new_guardian_at_once(pool: AgentPool, tmp_path: Path) -> None:
    """Also for a toolchain whose agent was idle: that is no failure of its next call."""
    with pool.lease("fake", affinity="model") as agent:
        first = agent.call("fake", "go", {}, limits=LIMITS).meta["pid"]
    guardian = guardian_of(first)
    os.kill(guardian, signal.SIGKILL)
    assert until(lambda: not alive(guardian))
    began = time.monotonic()
    for toolchain in ("fake", "other"):
        with pool.lease(toolchain, affinity="model") as agent:
            assert alive(agent.call("fake", "go", {}, limits=LIMITS).meta["pid"])
    assert time.monotonic() - began < 20  # and not 30 s for each request to the guardian that is gone
    pool.close()
    assert not list((tmp_path / "scratch").glob("run-*"))


def test_an_agent_ends_with_its_keeper_alone(pool: AgentPool, tmp_path: Path) -> None:
    with pool.lease("other") as agent:
        other = agent.call("fake", "go", {}, limits=LIMITS).meta["pid"]
    thread, failures = busy_agent(pool, tmp_path / "grandchild")
    grandchild = int((tmp_path / "grandchild").read_text())
    agent_pid = parent(grandchild)
    os.kill(parent(agent_pid), signal.SIGKILL)
    thread.join(20)
    assert until(lambda: not alive(agent_pid) and not alive(grandchild))
    assert [error.symptom for error in failures] == ["crash"]
    assert alive(other) and alive(guardian_of(other))


def test_agents_end_where_guardian_and_keepers_are_killed_together(pool: AgentPool) -> None:
    with pool.lease("fake") as agent:
        pid = agent.call("fake", "go", {}, limits=LIMITS).meta["pid"]
        guardian = guardian_of(pid)
        os.kill(guardian, signal.SIGSTOP)  # so that it does nothing about its keepers
        left = groups(guardian)
        for keeper in children(guardian):
            os.kill(keeper, signal.SIGKILL)
        os.kill(guardian, signal.SIGKILL)
        assert until(lambda: not alive(pid) and not alive(guardian))
    assert groups(guardian) == left
    with pool.lease("fake", fresh=True) as agent:
        agent.call("fake", "go", {}, limits=LIMITS)  # a new guardian
    assert not groups(guardian)


def test_a_run_goes_on_when_its_guardian_is_killed(project: Project, tmp_path: Path) -> None:
    """The cell at work is a row with symptom harness, which says why; the next cell is computed.

    What failed in an agent that had answered calls before is repeated in a fresh one, so the guardian is killed twice.
    """
    pids = tmp_path / "pids"
    project.environment["FAKE_PIDS"] = str(pids)
    project.model("a", "reference:grandchild")
    project.model("b")
    with project.start("-k", "test_export", "--bench-jobs=1") as process:
        try:
            for attempt in range(2):
                os.kill(guardian_of(agent_in(pids, attempt)), signal.SIGKILL)
            text, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    rows = {row["cell"]["model"]: row for row in project.rows() if row["kind"] == "cell"}
    assert rows["a"]["symptom"] == "harness", text
    assert "the guardian of the agents is gone (killed by SIGKILL)" in rows["a"]["reason"]
    assert rows["b"]["status"] == "supported"
    assert not any(alive(int(pid)) for pid in pids.read_text().split())


def agent_in(pids: Path, line: int) -> int:
    """The process number of an agent that the fault ``grandchild`` writes, once it is written."""
    assert until(lambda: pids.exists() and pids.read_text().count("\n") > line, 60.0)
    return int(pids.read_text().splitlines()[line].split()[0])
