"""Who gets a board: one stage at a time, also among runs, and one of hardware before an emulator."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.boards.leasing.pool import BoardPool
from bench_plugin.reach.boards.leasing.recovery import recovered
from bench_plugin.reach.processes.leased_agent import AgentFailure

PI = Board("pi", "aarch64", "wired", {"host": "pi.lab"}, lease_seconds=20)
HOLDER = """
import sys, time
from pathlib import Path
from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.boards.leasing.lock import BoardLock
lock = BoardLock(Board("pi", "aarch64", "wired", {"host": "pi.lab"}), Path(sys.argv[1]))
assert lock.taken()
print("held", flush=True)
until_wanted = sys.argv[2:] == ["until-wanted"]
while not (until_wanted and lock.wanted()):
    time.sleep(0.05)
lock.yielded()
print("given free", flush=True)
time.sleep(60)
"""


@dataclass(frozen=True)
class At:
    """A board that nothing is asked of."""

    board: Board
    programs: bool = False
    lacks: str = ""

    def missing(self) -> str:
        """As it was made."""
        return self.lacks


MADE: list[BoardPool] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """The pools of a test are closed after it."""
    yield
    while MADE:
        MADE.pop().close()


def pool(
    tmp_path: Path, *boards: At, idle: Callable[[str], None] = print, note: Callable[[str], None] = print
) -> BoardPool:
    MADE.append(BoardPool({one.board.name: one for one in boards}, tmp_path / "locks", idle=idle, note=note))
    return MADE[-1]


@contextmanager
def another_run(tmp_path: Path, *how: str) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the board."""
    argv = [sys.executable, "-c", HOLDER, str(tmp_path / "locks"), *how]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def test_two_threads_never_have_one_board_and_two_boards_serve_one_queue(tmp_path: Path) -> None:
    both = pool(tmp_path, At(PI), At(replace(PI, name="pi2", settings={"host": "pi2.lab"})))
    having: set[str] = set()
    most: list[int] = []
    lock = threading.Lock()

    def work() -> None:
        for _ in range(20):
            with both.taken("aarch64", programs=False) as board:
                with lock:
                    assert board.name not in having
                    having.add(board.name)
                    most.append(len(having))
                time.sleep(0.002)
                with lock:
                    having.discard(board.name)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(most) == 80 and max(most) == 2


def test_another_run_that_holds_a_board_is_named_and_gives_it_free(tmp_path: Path) -> None:
    said: list[str] = []
    ours = pool(tmp_path, At(PI), note=said.append)
    with another_run(tmp_path, "until-wanted") as process, ours.taken("pi", programs=False):
        assert f"board pi is held by process {process.pid}" in said[0] and "waits for it" in said[0]


def test_a_board_that_another_run_keeps_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    ours = pool(tmp_path, At(replace(PI, lease_seconds=0.3)))
    with another_run(tmp_path) as process:
        for _ in range(2):  # the second time at once
            with pytest.raises(AgentFailure, match="did not give it free") as caught, ours.taken("pi", programs=False):
                pass
            assert caught.value.symptom == "board-lost" and f"process {process.pid}" in str(caught.value)


def test_a_run_that_waits_gets_the_board_and_its_agent_is_ended_first(tmp_path: Path) -> None:
    ended: list[str] = []
    ours, theirs = pool(tmp_path, At(PI), idle=ended.append), pool(tmp_path, At(PI))
    with ours.taken("pi", programs=False):
        pass
    assert ended == [], "nobody waits, so the agent stays"
    got = threading.Event()

    def wait() -> None:
        with theirs.taken("pi", programs=False):
            got.set()

    waiting = threading.Thread(target=wait)
    with ours.taken("pi", programs=False):
        waiting.start()
        assert not got.wait(0.5)
    assert got.wait(5) and ended == ["pi"]
    waiting.join(5)


def test_hardware_comes_before_an_emulator_until_it_is_lost(tmp_path: Path) -> None:
    emulator = replace(PI, name="aarch64", emulated=True)
    boards = pool(tmp_path, At(emulator), At(PI), At(replace(PI, name="gone"), lacks="ssh not found"))
    with boards.taken("aarch64", programs=False) as board:
        assert board.name == "pi"
        boards.latch(board, "board pi was lost: no route")
    with boards.taken("aarch64", programs=False) as board:
        assert board.name == "aarch64"
    with pytest.raises(AgentFailure, match="board pi was lost: no route"), boards.taken("pi", programs=False):
        pass


def test_of_several_emulators_it_is_always_the_same(tmp_path: Path) -> None:
    first, other = replace(PI, name="cortex-m3", target="cortex-m3", emulated=True), replace(PI, name="a-unicorn")
    boards = pool(tmp_path, At(replace(other, target="cortex-m3", emulated=True)), At(first))
    with boards.taken("cortex-m3", programs=False) as board:
        assert board.name == "cortex-m3"
        with boards.taken("a-unicorn", programs=False) as named:
            assert named.name == "a-unicorn"
        got = threading.Event()

        def wait() -> None:
            with boards.taken("cortex-m3", programs=False) as later:
                assert later.name == "cortex-m3"
                got.set()

        waiting = threading.Thread(target=wait)
        waiting.start()
        assert not got.wait(0.3), "it does not go to the other one, which is free"
    assert got.wait(5)
    waiting.join(5)


def test_a_board_of_the_wrong_kind_is_not_given(tmp_path: Path) -> None:
    boards = pool(tmp_path, At(PI), At(replace(PI, name="gone"), programs=True, lacks="qemu-aarch64 not found"))
    with pytest.raises(AgentFailure, match="qemu-aarch64 not found"), boards.taken("aarch64", programs=True):
        pass


def test_a_board_is_restarted_then_power_cycled(tmp_path: Path) -> None:
    log = tmp_path / "log"
    board = replace(
        PI, boot_seconds=3, restart=("sh", "-c", f"echo restart >> {log}; echo no such host; exit 7"),
        power_cycle=("sh", "-c", f"echo power >> {log}"),
    )  # fmt: skip
    said: list[str] = []
    recovered(board, lambda: "power" in log.read_text(), said.append)
    assert log.read_text().split() == ["restart", "power"]
    assert said == ["board pi: restart: sh ended with exit code 7: no such host", "board pi: power_cycle: done"]


def test_a_command_that_is_not_there_or_does_not_end_is_named() -> None:
    said: list[str] = []
    recovered(replace(PI, restart=("no-such-command",)), lambda: True, said.append)
    recovered(replace(PI, restart=("sleep", "60"), boot_seconds=0.2), lambda: True, said.append)
    assert said == [
        "board pi: restart: no-such-command cannot be run: No such file or directory",
        "board pi: restart: sleep did not end within 0.2 s (boot_seconds)",
    ]
