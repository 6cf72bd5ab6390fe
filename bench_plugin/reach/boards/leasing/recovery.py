"""A lost board is restarted, then power-cycled, by the commands that its description gives."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable

from bench_plugin.domain.texts.messages import useful_line
from bench_plugin.reach.boards.board import Board

ASK_SECONDS = 1.0  # between two questions whether it answers


def recovered(board: Board, answers: Callable[[], bool], note: Callable[[str], None]) -> None:
    """Run the board's commands, each only where it does not answer after the one before; without any do nothing.

    ``answers`` asks the board. ``note`` is told what was done, and what a command failed with.
    """
    for key, command in (("restart", board.restart), ("power_cycle", board.power_cycle)):
        if not command:
            continue
        until = time.monotonic() + board.boot_seconds
        trouble = _run(command, board.boot_seconds)
        note(f"board {board.name}: {key}: {trouble or 'done'}")
        while not trouble and time.monotonic() < until:
            if answers():
                return
            time.sleep(min(ASK_SECONDS, max(0.0, until - time.monotonic())))


def _run(command: tuple[str, ...], seconds: float) -> str:
    """Run a command of this machine; returns what went wrong, empty where it ended with 0."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds
        )
    except OSError as error:
        return f"{command[0]} cannot be run: {error.strerror}"
    except subprocess.TimeoutExpired:
        return f"{command[0]} did not end within {seconds:g} s (boot_seconds)"
    said = useful_line(done.stdout.decode("utf-8", "replace"))
    return f"{command[0]} ended with exit code {done.returncode}: {said}" if done.returncode else ""
