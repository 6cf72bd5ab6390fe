"""A process that pytest forks (pytest-forked, multiprocessing, os.fork in a test) leaves the run's agents alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from bench_plugin.reach.processes.guardian import descendants
from bench_plugin.reach.processes.supervisor import AgentPool
from tests.project import Project
from tests.reach.processes.conftest import LIMITS, ROOT, alive, until

# A host with an idle agent, that forks a process which keeps every descriptor and sleeps.
HOST = """
import os, sys, time
from pathlib import Path
from tests.reach.processes.conftest import LIMITS, make_pool

pool = make_pool(Path(sys.argv[1]))
with pool.lease("fake") as agent:
    agent.call("fake", "go", {}, limits=LIMITS)
child = os.fork()
if not child:
    time.sleep(60)
    os._exit(0)
print(child, flush=True)
time.sleep(60)
"""

# The forked process returns into pytest: it runs the tests that follow, and ends as pytest does.
TESTS = """
import os
import pytest

def test_fork():
    global child
    child = os.fork()

@pytest.mark.bench(check="export")
def test_export(bench_cell):
    bench_cell.verify()

def test_wait_for_the_fork():
    if child:
        os.waitpid(child, 0)

@pytest.mark.bench(check="import")
def test_import(bench_cell):
    bench_cell.verify()
"""


def test_a_fork_that_lives_on_does_not_keep_the_agents_alive(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HOST, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    found: list[int] = []
    assert process.stdout is not None
    fork = int(process.stdout.readline())
    try:
        found = [pid for pid in descendants(process.pid) if pid != fork]
        assert len(found) == 3, "a guardian, a keeper, an agent"
        process.kill()
        process.wait(5)
        assert until(lambda: not any(alive(pid) for pid in found)), "a process is left"
        assert alive(fork)
        assert not list((tmp_path / "scratch").glob("run-*"))
    finally:
        for pid in (fork, *found):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.kill()
        process.communicate()


def test_a_fork_that_closes_the_pool_closes_nothing(pool: AgentPool) -> None:
    with pool.lease("fake") as agent:
        before = agent.call("fake", "go", {}, limits=LIMITS).meta["pid"]
    child = os.fork()
    if not child:
        try:
            pool.close()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    with pool.lease("fake") as agent:
        assert agent.call("fake", "go", {}, limits=LIMITS).meta["pid"] == before


def test_a_fork_of_pytest_writes_no_rows_and_ends_nothing(project: Project) -> None:
    project.model("a")
    project.write("test_models.py", TESTS)
    finished = project.run("-p", "no:xdist")
    assert finished.code == 0, finished.text
    assert [row["kind"] for row in finished.rows].count("header") == 1
    assert [(row["check"], row["status"]) for row in finished.rows if row["kind"] == "cell"] == [
        ("export", "supported"), ("import", "supported"),
    ]  # fmt: skip
    assert "this process was forked from pytest's" in finished.text
    assert finished.text.count("rows: reports/results.jsonl") == 1
