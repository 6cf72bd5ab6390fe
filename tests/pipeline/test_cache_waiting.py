"""What a run does and says while another one holds the lock of a recipe; here both are in one process."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench_plugin.pipeline.cache import Cache, LockCancelled, Patience
from bench_plugin.pipeline.cache.leases import opened_lock
from bench_plugin.reach.lock_holder import taken
from tests.pipeline.stored import key_of

KEY = key_of("a")
WHAT = "the stage export of torch"
LONG = 600.0


def lock_of(folder: Path) -> Path:
    return folder / "locks" / f"{KEY[:2]}.{KEY[:16]}"


def timeless(lines: list[str]) -> list[str]:
    """What was said, without how many seconds had passed; at most nine, however busy the machine is."""
    return [re.sub(r" in [0-9] s;", " in a moment;", line) for line in lines]


@contextmanager
def held_by(folder: Path, pid: int, command: str) -> Iterator[None]:
    """Hold the lock of the recipe KEY and sign it for a process."""
    with opened_lock(lock_of(folder)) as file:
        assert taken(file)
        os.pwrite(file.fileno(), json.dumps([pid, command]).encode(), 0)
        yield


def test_a_lock_is_signed_while_it_is_held_and_free_afterwards(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    for _ in range(2):
        with cache.lock(KEY):
            assert json.loads(lock_of(tmp_path).read_text())[0] == os.getpid()
            with opened_lock(lock_of(tmp_path)) as file:
                assert not taken(file)
        assert lock_of(tmp_path).read_bytes() == b""
    with pytest.raises(ZeroDivisionError), cache.lock(KEY):
        raise ZeroDivisionError
    with opened_lock(lock_of(tmp_path)) as file:
        assert taken(file)


@pytest.mark.parametrize(
    ("patience", "said"),
    [
        (Patience(say=LONG, stopped=0.0, longest=0.2), ["{what}: {who} has not made it in a moment; {itself}"]),
        (Patience(say=LONG, stopped=LONG, longest=0.0), ["{what}: {who} has not made it in a moment; {itself}"]),
        (
            Patience(say=0.0, stopped=0.0, longest=0.2),
            [
                "{what} is being made by {who}; this run waits for it, at most 0 s, then makes it itself",
                "{what}: {who} has not made it in a moment; {itself}",
            ],
        ),
    ],
)
@pytest.mark.parametrize("what", [WHAT, ""])
def test_a_run_says_for_whom_it_waits_and_goes_on(
    tmp_path: Path, patience: Patience, said: list[str], what: str
) -> None:
    lines: list[str] = []
    cache = Cache(tmp_path, note=lines.append, patience=patience)
    with held_by(tmp_path, os.getpid(), "pytest a.py"):
        with cache.lock(KEY, what), opened_lock(lock_of(tmp_path)) as file:
            assert not taken(file)
        assert json.loads(lock_of(tmp_path).read_text()) == [os.getpid(), "pytest a.py"], "the other one still holds it"
    names = {"what": what or f"recipe {KEY[:12]}", "who": f"process {os.getpid()} (pytest a.py)"}
    assert timeless(lines) == ["cache: " + one.format(**names, itself="this run makes it itself") for one in said]


def test_how_long_a_run_waits_at_most_is_said(tmp_path: Path) -> None:
    lines: list[str] = []
    cache = Cache(tmp_path, note=lines.append, patience=Patience(say=0.0, stopped=3.0))
    with pytest.raises(LockCancelled) as caught, held_by(tmp_path, os.getpid(), "pytest"):
        threading.Timer(0.1, cache.cancel).start()
        with cache.lock(KEY, WHAT):
            raise AssertionError("another run holds the lock")
    who = f"process {os.getpid()} (pytest)"
    assert str(caught.value) == f"the run ends while it waits for {WHAT}, which {who} makes"
    assert lines == [
        f"cache: {WHAT} is being made by {who}; this run waits for it, at most 900 s, then makes it itself"
    ]


@pytest.fixture
def stopped() -> Iterator[int]:
    """A process that is stopped; it has done nothing."""
    with subprocess.Popen(["sleep", "600"]) as process:
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        yield process.pid
        process.kill()


def test_a_stopped_holder_is_waited_for_less_long(tmp_path: Path, stopped: int) -> None:
    lines: list[str] = []
    cache = Cache(tmp_path, note=lines.append, patience=Patience(say=0.0, stopped=0.1, longest=LONG))
    with held_by(tmp_path, stopped, "sleep 600"), cache.lock(KEY, WHAT):
        pass
    who = f"process {stopped} (sleep 600), which is stopped"
    assert timeless(lines) == [
        f"cache: {WHAT} is being made by {who}; this run waits for it, at most 0 s, then makes it itself",
        f"cache: {WHAT}: {who} has not made it in a moment; this run makes it itself",
    ]


def test_a_lock_that_becomes_free_is_taken(tmp_path: Path) -> None:
    """Nobody is named, because nobody had to be waited for for long."""
    lines: list[str] = []
    held, done = threading.Event(), threading.Event()
    other = Cache(tmp_path)

    def hold() -> None:
        with other.lock(KEY):
            held.set()
            done.wait(LONG)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(LONG)
    threading.Timer(0.1, done.set).start()
    with Cache(tmp_path, note=lines.append, patience=Patience(say=LONG, stopped=0.0, ending=0.0)).lock(KEY):
        thread.join()
        assert json.loads(lock_of(tmp_path).read_text())[0] == os.getpid()
    assert lines == []


def test_a_run_that_ends_waits_a_moment_and_is_not_cancelled(tmp_path: Path) -> None:
    lines: list[str] = []
    cache = Cache(tmp_path, note=lines.append, patience=Patience(ending=0.05))
    cache.cancel()
    with held_by(tmp_path, os.getpid(), "pytest"), cache.lock(KEY, WHAT):
        pass
    who = f"process {os.getpid()} (pytest)"
    assert timeless(lines) == [f"cache: {WHAT}: {who} has not made it in a moment; this run makes it itself"]


def test_without_a_folder_for_locks_the_run_goes_on_and_says_it(tmp_path: Path) -> None:
    (tmp_path / "locks").write_text("mine")
    lines: list[str] = []
    reached = []
    with Cache(tmp_path, note=lines.append).lock(KEY):
        reached.append(1)
    assert reached == [1]
    assert lines == [f"cache: {tmp_path}: Not a directory; the run goes on without storing"]
