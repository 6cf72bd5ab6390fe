"""Boards over ssh: a real sshd on the loopback, the plugin's own agent in a process there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.reach.boards.linux import tether
from bench_plugin.reach.boards.linux.deployed import TETHER
from bench_plugin.reach.processes.leased_agent import AgentFailure
from tests.reach.boards.sshd import Sshd, sshd
from tests.reach.processes.conftest import LIMITS, alive, until

__all__ = ["sshd"]


def shipped(server: Sshd) -> dict[str, int]:
    """The files on the board, with the times at which they were written."""
    return {path.name: path.stat().st_mtime_ns for path in server.cache.iterdir()}


def test_an_adapter_runs_on_the_board(sshd: Sshd, tmp_path: Path) -> None:
    given = tmp_path / "given.bin"
    given.write_bytes(os.urandom(100_000))
    pool = sshd.pool()
    try:
        with pool.lease("fake", board="pi") as agent:
            answer = agent.call("fake", "go", {"given": 7}, files={"given": given}, limits=LIMITS)
            assert answer.meta["given"] == {"given": 7}
            assert alive(answer.meta["pid"])
    finally:
        pool.close()
    assert until(lambda: not alive(answer.meta["pid"]))


def test_what_is_on_the_board_is_not_sent_again_and_only_that_stays(sshd: Sshd) -> None:
    pool = sshd.pool()
    with pool.lease("fake", board="pi") as agent:
        agent.call("fake", "go", {}, limits=LIMITS)
        at_work = shipped(sshd)
    pool.close()
    assert until(lambda: len(shipped(sshd)) == 2), shipped(sshd)
    first = shipped(sshd)
    assert sorted(Path(name).suffix for name in first) == [".py", ".pyz"]
    assert len(at_work) == 3, "the agent's own folder is there while it works"
    pool = sshd.pool()
    with pool.lease("fake", board="pi") as agent:
        agent.call("fake", "go", {}, limits=LIMITS)
    pool.close()
    assert until(lambda: shipped(sshd) == first), shipped(sshd)


def test_another_toolchain_gets_another_process_over_the_same_link(sshd: Sshd) -> None:
    pool = sshd.pool()
    try:
        with pool.lease("one", board="pi") as agent:
            first = agent.call("fake", "go", {}, limits=LIMITS).meta["pid"]
        links = len(sshd.sessions())
        with pool.lease("two", board="pi") as agent:
            assert agent.call("fake", "go", {}, limits=LIMITS).meta["pid"] != first
        assert len(sshd.sessions()) == links
        assert until(lambda: not alive(first))
    finally:
        pool.close()


def lost(server: Sshd, *, toolchain: str = "fake", **changes: Any) -> AgentFailure:
    """The failure of a board that no agent can be started on."""
    pool = server.pool(**changes)
    try:
        with pytest.raises(AgentFailure) as caught, pool.lease(toolchain, board="pi"):
            pass
    finally:
        pool.close()
    return caught.value


def test_a_key_that_the_board_does_not_know(sshd: Sshd) -> None:
    failure = lost(sshd, key="stranger")
    assert failure.symptom == "board-lost"
    assert "board pi cannot be reached: " in failure.message
    assert "Permission denied (publickey)" in failure.message


def test_a_board_whose_host_key_has_changed(sshd: Sshd) -> None:
    sshd.trust(sshd.folder / "stranger.pub")
    failure = lost(sshd)
    assert failure.symptom == "board-lost"
    assert "Host key verification failed" in failure.message


def test_a_board_that_nobody_answers_at(sshd: Sshd) -> None:
    sshd.stop()
    failure = lost(sshd)
    assert failure.symptom == "board-lost"
    assert "Connection refused" in failure.message


def test_a_python_that_the_board_does_not_have(sshd: Sshd) -> None:
    failure = lost(sshd, python="/opt/absent/python3")
    assert failure.symptom == "harness"
    assert "board pi: there is no Python '/opt/absent/python3' (reach.python)" in failure.message


def test_a_toolchain_that_is_not_for_boards(sshd: Sshd) -> None:
    failure = lost(sshd, toolchain="emx", ship=True)
    assert failure.symptom == "harness"
    assert "toolchain emx is not for boards: " in failure.message
    assert "has no key boards" in failure.message


def in_mid_call(server: Sshd, stage_seconds: float, cut: Any) -> tuple[AgentFailure, float, int]:
    """The failure of a call during which ``cut`` is done, the seconds from then on, and the agent's number."""
    pool = server.pool()
    cut_at: list[float] = []

    def later() -> None:
        cut_at.append(time.monotonic())
        cut()

    try:
        with pool.lease("fake", board="pi") as agent:
            pid = agent.call("fake", "go", {}, limits=LIMITS).meta["pid"]
            timer = threading.Timer(0.5, later)
            timer.start()
            with pytest.raises(AgentFailure) as caught:
                agent.call("fake", "go", {"stages": {"run": stage_seconds}}, limits=LIMITS)
            noticed = time.monotonic() - cut_at[0]
            timer.join()
    finally:
        pool.close()
    return caught.value, noticed, pid


def test_the_server_killed_in_mid_call(sshd: Sshd) -> None:
    failure, _, pid = in_mid_call(sshd, 60.0, sshd.stop)
    assert failure.symptom == "board-lost"
    assert failure.message.startswith("board pi was lost")
    assert until(lambda: not alive(pid)), "the agent ends with its link"


def test_a_link_that_carries_nothing_any_more(sshd: Sshd) -> None:
    def freeze() -> None:
        for pid in sshd.sessions():
            os.kill(pid, signal.SIGSTOP)

    failure, noticed, _ = in_mid_call(sshd, 60.0, freeze)
    assert failure.symptom == "board-lost"
    assert "not responding" in failure.message
    assert noticed < 15, "ssh asks every second, and gives up after four"


def test_an_agent_that_dies_is_no_lost_board(sshd: Sshd) -> None:
    pool = sshd.pool()
    try:
        with pool.lease("fake", board="pi") as agent:
            pid = agent.call("fake", "go", {}, limits=LIMITS).meta["pid"]
            threading.Timer(0.5, os.kill, (pid, signal.SIGKILL)).start()
            with pytest.raises(AgentFailure) as caught:
                agent.call("fake", "go", {"stages": {"run": 60.0}}, limits=LIMITS)
        assert caught.value.symptom == "crash"
        with pool.lease("fake", board="pi") as agent:
            assert agent.call("fake", "go", {"given": 1}, limits=LIMITS).meta["given"] == {"given": 1}
    finally:
        pool.close()


def test_a_silent_link_ends_the_agent(tmp_path: Path) -> None:
    """As when a cable is pulled: no end of the connection ever comes."""
    agent = tmp_path / "agent.py"
    agent.write_text("import os, sys, time\nprint(os.getpid(), flush=True)\ntime.sleep(60)\n")
    folder = tmp_path / "run"
    command = [sys.executable, str(TETHER), "--agent", str(agent), "--folder", str(folder), "--silence", "1.5"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"0" * tether.HEX_DIGITS + b"\n")
        process.stdin.flush()
        pid = int(process.stdout.readline())
        assert alive(pid)
        assert process.wait(30) == 129
    assert not alive(pid)
    assert not folder.exists()


def test_a_link_that_ends_at_once_leaves_no_agent(tmp_path: Path) -> None:
    """The agent may not have become the leader of its group yet; killing the group alone would wait for it for ever."""
    agent = tmp_path / "agent.py"
    agent.write_text("import time\ntime.sleep(60)\n")
    for number in range(30):
        folder = tmp_path / f"run{number}"
        command = [sys.executable, str(TETHER), "--agent", str(agent), "--folder", str(folder), "--silence", "30"]
        token = b"0" * tether.HEX_DIGITS + b"\n"
        done = subprocess.run(command, input=token, capture_output=True, timeout=30)
        assert done.returncode == 129, done.stderr
        assert not folder.exists()
