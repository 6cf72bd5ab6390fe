"""Boards over ssh: a real sshd on the loopback, the plugin's own agent in a process there."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.reach.boards.linux import tether
from bench_plugin.reach.boards.linux.deployed import LOCK, TETHER
from bench_plugin.reach.processes.leased_agent import AgentFailure
from tests.reach.boards.sshd import Sshd, sshd
from tests.reach.processes.conftest import LIMITS, alive, until

__all__ = ["sshd"]


def shipped(server: Sshd) -> dict[str, int]:
    """The files on the board, with the numbers that tell one that was written again."""
    return {path.name: path.stat().st_ino for path in server.cache.iterdir() if path.name != LOCK}


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


def held(folder: Path) -> list[str]:
    """The options of a tether that has the board, without waiting for it."""
    return ["--lock", str(folder / LOCK), "--who", "a test", "--wait", "0"]


def test_a_silent_link_ends_the_agent(tmp_path: Path) -> None:
    """As when a cable is pulled: no end of the connection ever comes."""
    agent = tmp_path / "agent.py"
    agent.write_text("import os, sys, time\nprint(os.getpid(), flush=True)\ntime.sleep(60)\n")
    folder = tmp_path / "run"
    command = [
        sys.executable,
        str(TETHER),
        "--agent",
        str(agent),
        "--folder",
        str(folder),
        "--silence",
        "1.5",
        *held(tmp_path),
    ]
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
        command = [
            sys.executable,
            str(TETHER),
            "--agent",
            str(agent),
            "--folder",
            str(folder),
            "--silence",
            "30",
            *held(tmp_path),
        ]
        token = b"0" * tether.HEX_DIGITS + b"\n"
        done = subprocess.run(command, input=token, capture_output=True, timeout=30)
        assert done.returncode == 129, done.stderr
        assert not folder.exists()


def test_an_agent_that_is_killed_is_a_crash_with_its_signal(sshd: Sshd) -> None:
    pool = sshd.pool()
    try:
        with pool.lease("fake", board="pi") as agent, pytest.raises(AgentFailure, match="killed by SIGSEGV") as caught:
            agent.call("fake", "go", {"fault": "segfault"}, limits=LIMITS)
        assert caught.value.symptom == "crash"
    finally:
        pool.close()


def test_memory_and_processor_time_are_bounded(sshd: Sshd) -> None:
    pool = sshd.pool(limits={"memory": 200, "cpu": 2})
    try:
        with pool.lease("fake", board="pi") as agent:
            with pytest.raises(AgentFailure) as caught:
                agent.call("fake", "go", {"fault": "allocate"}, limits=LIMITS)
            assert caught.value.symptom == "out-of-memory"
            agent.call("fake", "go", {}, limits=LIMITS)
            with pytest.raises(AgentFailure, match="killed by SIGXCPU") as caught:
                agent.call("fake", "go", {"fault": "spin"}, limits=LIMITS)
            assert caught.value.symptom == "crash"
        with pool.lease("fake", board="pi") as agent:
            agent.call("fake", "go", {}, limits=LIMITS)
    finally:
        pool.close()


def test_what_an_agent_stores_is_bounded(sshd: Sshd, tmp_path: Path) -> None:
    large = tmp_path / "large.bin"
    large.write_bytes(bytes(3 << 20))
    pool = sshd.pool(limits={"store": 2})
    try:
        with pool.lease("fake", board="pi") as agent:
            with pytest.raises(AgentFailure, match=r"3\.0 MiB cannot be stored: hosts may store 2\.0 MiB here"):
                agent.call("fake", "go", {}, files={"x": large}, limits=LIMITS)
            agent.call("fake", "go", {}, limits=LIMITS)
    finally:
        pool.close()


def leave(server: Sshd, name: str, *, hours: float, size: int = 0) -> Path:
    """A file of the board's cache, or a folder where there is no size, that was last used so long ago."""
    path = server.cache / name
    server.cache.mkdir(parents=True, exist_ok=True)
    if size:
        path.write_bytes(bytes(size))
    else:
        path.mkdir()
    then = time.time() - hours * 3600
    os.utime(path, (then, then))
    return path


def test_what_stays_on_the_board_is_bounded_and_the_oldest_goes_first(sshd: Sshd) -> None:
    oldest = leave(sshd, "1" * 64 + ".pyz", hours=9, size=1 << 20)
    newer = leave(sshd, "2" * 64 + ".pyz", hours=2, size=1 << 19)
    in_use = leave(sshd, "3" * 64, hours=99)
    killed = leave(sshd, "run-0123456789abcdef", hours=1)
    half_sent = leave(sshd, "4" * 64 + ".pyz.4711", hours=2, size=100)
    half_sent_now = leave(sshd, "5" * 64 + ".pyz.4712", hours=0, size=100)
    in_use.joinpath("large").write_bytes(bytes(1 << 20))
    os.utime(in_use, (0, 0))
    pool = sshd.pool(limits={"cache": 2})
    with locked(in_use), pool.lease("fake", board="pi") as agent:
        agent.call("fake", "go", {}, limits=LIMITS)
        used = {path.name: path for path in sshd.cache.iterdir()}
    pool.close()
    assert not oldest.exists() and not killed.exists() and not half_sent.exists()
    assert newer.exists() and in_use.exists() and half_sent_now.exists(), sorted(used)


def test_what_cannot_fit_on_the_board_is_said(sshd: Sshd) -> None:
    leave(sshd, "6" * 64 + ".pyz", hours=0, size=1 << 20)
    failure = lost(sshd, limits={"cache": 1})
    assert failure.symptom == "harness"
    assert "MiB cannot be sent: 1.0 MiB in" in failure.message and "(reach.limits.cache)" in failure.message
    assert sorted(shipped(sshd)) == ["6" * 64 + ".pyz"], "nothing was sent"


def test_what_an_agent_uses_is_locked_and_counts_as_used(sshd: Sshd) -> None:
    pool = sshd.pool()
    with pool.lease("fake", board="pi") as agent:
        agent.call("fake", "go", {}, limits=LIMITS)
        assert all(is_locked(path) for path in sshd.cache.iterdir()), "the board's own lock too"
    pool.close()
    assert until(lambda: not any(is_locked(path) for path in sshd.cache.iterdir()))
    for path in sshd.cache.iterdir():
        os.utime(path, (0, 0))
    pool = sshd.pool()
    with pool.lease("fake", board="pi"):
        assert all(path.stat().st_mtime > time.time() - 60 for path in sshd.cache.iterdir())
    pool.close()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """A lock as that of an agent at work."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


def is_locked(path: Path) -> bool:
    """Whether an agent at work holds the lock of a file or folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def test_a_second_host_is_told_who_has_the_board_and_may_wait(sshd: Sshd) -> None:
    first, second, patient = sshd.pool(), sshd.pool(wait=0.5), sshd.pool(wait=60)
    try:
        with first.lease("fake", board="pi") as agent:
            agent.call("fake", "go", {}, limits=LIMITS)
            with pytest.raises(
                AgentFailure, match=r"board pi: the board is held by .+@.+ since \d+ s; waited for it: 0.5 s"
            ):
                second.lease("fake", board="pi").__enter__()
        threading.Timer(1.0, first.close).start()
        with patient.lease("fake", board="pi") as agent:
            agent.call("fake", "go", {}, limits=LIMITS)
    finally:
        for pool in (first, second, patient):
            pool.close()


def test_a_full_disk_of_the_board_is_said_and_leaves_nothing(sshd: Sshd) -> None:
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("mounts a small file system, for which it must be root")
    sshd.cache.mkdir(parents=True)
    small = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(sshd.cache)]
    if subprocess.run(small, capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine lets nobody mount a file system")
    try:
        failure = lost(sshd)
        assert failure.symptom == "harness"
        assert "board pi: " in failure.message and "No space left on device" in failure.message
        assert [path.suffix for path in sshd.cache.iterdir()] == [".py"], (
            "the tether fits, and half an agent does not stay"
        )
    finally:
        subprocess.run(["umount", str(sshd.cache)], check=True)
