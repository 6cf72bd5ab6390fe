"""Tokens for memory: processes that share a folder never hold more than there is, and none waits for a dead one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from bench_plugin.pipeline.memory_tokens import MemoryTokens, TokensCancelled, Waiting

HOLD = """
import sys, time
from pathlib import Path
from bench_plugin.pipeline.memory_tokens import MemoryTokens
folder, size, seconds, log = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
tokens = MemoryTokens(folder, 10, note=print)
for _ in range(int(sys.argv[5])):
    with tokens.held(size, "a cell"), open(log, "a") as file:
        print(time.monotonic_ns(), size, file=file, flush=True)
        time.sleep(seconds)
        print(time.monotonic_ns(), -size, file=file, flush=True)
"""


def holder(folder: Path, size: int, seconds: float, log: Path, times: int = 1) -> subprocess.Popen[str]:
    arguments = (folder, size, seconds, log, times)
    return subprocess.Popen([sys.executable, "-c", HOLD, *map(str, arguments)], stdout=subprocess.PIPE, text=True)


def until(log: Path, lines: int) -> None:
    while not log.exists() or len(log.read_text().splitlines()) < lines:
        time.sleep(0.01)


def quiet(folder: Path, limit: int = 10, waiting: Waiting | None = None) -> tuple[MemoryTokens, list[str]]:
    said: list[str] = []
    return MemoryTokens(folder, limit, note=said.append, waiting=waiting), said


def test_processes_never_hold_more_than_the_limit(tmp_path: Path) -> None:
    log = tmp_path / "log"
    running = [holder(tmp_path / "tokens", size, 0.02, log, 5) for size in (6, 5, 4, 3)]
    assert [one.communicate(timeout=60)[0] for one in running] == [""] * 4
    held, most = 0, 0
    for _, change in sorted(tuple(map(int, line.split())) for line in log.read_text().splitlines()):
        held += change
        most = max(most, held)
    assert held == 0 and 6 <= most <= 10
    assert list((tmp_path / "tokens").glob("*.token")) == []


def test_one_that_is_alone_gets_a_token_of_any_size(tmp_path: Path) -> None:
    tokens, said = quiet(tmp_path)
    with tokens.held(99, "a large cell"):
        assert [path.read_text() for path in tmp_path.glob("*.token")] == ["99"]
    assert said == []


def test_the_token_of_a_killed_process_is_free(tmp_path: Path) -> None:
    with holder(tmp_path / "tokens", 9, 600, tmp_path / "log") as other:
        until(tmp_path / "log", 1)
        os.kill(other.pid, signal.SIGKILL)
    tokens, said = quiet(tmp_path / "tokens")
    with tokens.held(9, "a cell"):
        assert len(list((tmp_path / "tokens").glob("*.token"))) == 1
    assert said == []


def test_a_cell_that_waits_says_so_and_goes_on_in_the_end(tmp_path: Path) -> None:
    tokens, said = quiet(tmp_path / "tokens", waiting=Waiting(say=0.0, longest=0.3))
    with holder(tmp_path / "tokens", 9, 600, tmp_path / "log") as other:
        until(tmp_path / "log", 1)
        with tokens.held(2 * 2**30, "export lstm"):
            pass
        other.kill()
    assert said[0] == "export lstm waits for 2.0 GiB of memory, which other workers use"
    assert "export lstm: no memory was free for" in said[1] and said[1].endswith("it is computed now")


def test_the_end_of_a_run_ends_the_waiting(tmp_path: Path) -> None:
    tokens, _ = quiet(tmp_path)
    with tokens.held(9, "a cell"):
        threading.Timer(0.1, tokens.cancel).start()
        with pytest.raises(TokensCancelled, match="the run ends while b waits"), tokens.held(9, "b"):
            pass


def test_without_a_folder_cells_go_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    tokens, said = quiet(tmp_path / "file" / "tokens")
    with tokens.held(9, "a cell"):
        pass
    assert len(said) == 1 and said[0].endswith("memory is not bounded across the processes of this run")
