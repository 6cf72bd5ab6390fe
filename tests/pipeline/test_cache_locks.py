"""One run makes a stage while the others wait, say for whom, and wait neither for ever nor when they are to end."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from bench_plugin.pipeline.cache import Cache, LockCancelled, Patience
from tests.pipeline.stored import at, key_of, put, start
from tests.project import Project

LONG = 600.0
HOLD = """
    with cache.lock(key_of("a")):
        print("held", flush=True)
        sys.stdin.read()
"""
MAKE = """
    print("ready", flush=True)
    sys.stdin.readline()
    with cache.lock(key_of("a")):
        if cache.get(key_of("a")) is None:
            print("made", flush=True)
            time.sleep(0.2)
            put(cache, "a")
    sys.exit(0 if cache.get(key_of("a")) else 1)
"""


def test_exactly_one_of_many_processes_makes_a_stage(tmp_path: Path) -> None:
    makers = [start(tmp_path, MAKE) for _ in range(4)]
    for one in makers:
        assert one.stdout is not None and one.stdout.readline() == "ready\n"
    for one in makers:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    said = [one.communicate(timeout=60)[0] for one in makers]
    assert [one.returncode for one in makers] == [0, 0, 0, 0]
    assert sorted(said) == ["", "", "", "made\n"]


def test_exactly_one_of_many_threads_makes_a_stage(tmp_path: Path) -> None:
    cache, made = Cache(tmp_path), []

    def make() -> None:
        with cache.lock(key_of("a")):
            if cache.get(key_of("a")) is None:
                made.append(1)
                time.sleep(0.05)
                put(cache, "a")

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1


def test_locks_of_other_recipes_are_free(tmp_path: Path) -> None:
    with at(tmp_path, HOLD, "held"):
        said: list[str] = []
        with Cache(tmp_path, note=said.append, patience=Patience(longest=0.0)).lock(key_of("b")):
            assert said == []


def test_a_lock_is_free_after_its_holder_was_killed(tmp_path: Path) -> None:
    with at(tmp_path, HOLD, "held") as process:
        process.kill()
        process.wait()
        said: list[str] = []
        with Cache(tmp_path, note=said.append, patience=Patience(longest=LONG)).lock(key_of("a")):
            assert said == []


def test_a_lock_is_free_although_a_forked_child_of_its_holder_lives(tmp_path: Path) -> None:
    script = """
    with cache.lock(key_of("a")):
        child = os.fork()
        if child == 0:
            time.sleep(600)
    print(child, flush=True)
    sys.stdin.read()
    """
    with start(tmp_path, script) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        said: list[str] = []
        try:
            with Cache(tmp_path, note=said.append, patience=Patience(longest=0.5)).lock(key_of("a")):
                assert said == []
        finally:
            os.kill(child, signal.SIGKILL)
            process.kill()


def test_a_run_says_for_whom_it_waits_and_not_without_end(tmp_path: Path) -> None:
    said: list[str] = []
    cache = Cache(tmp_path, note=said.append, patience=Patience(say=0.05, stopped=LONG, longest=0.5))
    with at(tmp_path, HOLD, "held") as process, cache.lock(key_of("a"), "the stage export of torch"):
        put(cache, "a")
    waiting, ended = said
    assert waiting.startswith(f"cache: the stage export of torch is being made by process {process.pid} (-c); this run")
    assert ended.startswith(f"cache: the stage export of torch: process {process.pid} (-c) has not made it in ")
    assert Cache(tmp_path).get(key_of("a")) is not None, "what was made without the lock is stored as well"


def test_a_stopped_process_is_named_and_not_waited_for_long(tmp_path: Path) -> None:
    said: list[str] = []
    cache = Cache(tmp_path, note=said.append, patience=Patience(say=0.05, stopped=0.2, longest=LONG))
    with at(tmp_path, HOLD, "held") as process:
        process.send_signal(signal.SIGSTOP)
        with cache.lock(key_of("a")):
            pass
    assert len(said) == 2
    for line in said:
        assert f"process {process.pid} (-c), which is stopped" in line
        assert key_of("a")[:12] in line


def test_nothing_is_said_of_a_short_wait(tmp_path: Path) -> None:
    said: list[str] = []
    cache = Cache(tmp_path, note=said.append, patience=Patience(say=LONG))
    with at(tmp_path, HOLD, "held") as process:
        assert process.stdin is not None
        threading.Timer(0.2, process.stdin.close).start()
        with cache.lock(key_of("a")):
            assert said == []
        process.wait()


def test_waiting_ends_when_the_run_ends(tmp_path: Path) -> None:
    cache, ended = Cache(tmp_path, patience=Patience(ending=0.1)), []

    def wait() -> None:
        with pytest.raises(LockCancelled, match="the run ends while it waits"), cache.lock(key_of("a")):
            raise AssertionError("another process holds the lock")
        ended.append(1)

    with at(tmp_path, HOLD, "held"):
        threads = [threading.Thread(target=wait, daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        assert ended == []
        cache.cancel()
        for thread in threads:
            thread.join(1.5)
        assert ended == [1, 1, 1]
        with cache.lock(key_of("a")):  # what is saved at the end of a run is saved all the same
            put(cache, "a")
    with cache.lock(key_of("b")):
        put(cache, "b")


def test_ctrl_c_ends_a_run_that_waits_for_a_stopped_one(project: Project) -> None:
    project.model("a", "export:pause")
    other = project.start("-k", "export", "--bench-results=other/results.jsonl")
    locks = project.folder / "cache/locks"
    try:
        deadline = time.monotonic() + 60
        while not any(path.stat().st_size for path in locks.glob("??.*")):
            assert other.poll() is None and time.monotonic() < deadline
            time.sleep(0.01)
        other.send_signal(signal.SIGSTOP)
        waiting = project.start("-k", "export", "-s")
        assert waiting.stdout is not None
        text = ""
        while "is being made by" not in text:
            line = waiting.stdout.readline()
            assert line, text
            text += line
        assert f"process {other.pid} (pytest " in text and "which is stopped" in text
        began = time.monotonic()
        os.killpg(waiting.pid, signal.SIGINT)
        waiting.communicate(timeout=60)
        assert time.monotonic() - began < 4.5, "five seconds were spent on each thread that waits for a lock"
        assert waiting.returncode == 2
    finally:
        other.send_signal(signal.SIGCONT)
    other.communicate(timeout=120)
    assert other.returncode == 0
