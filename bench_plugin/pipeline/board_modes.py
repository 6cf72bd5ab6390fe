"""Operating modes of boards: a task's mode is set by the board's own command before it, and the usual one after it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.processes.leased_agent import AgentFailure, LeasedAgent, Limits

LIMITS = Limits(60.0, 0)
Lease = Callable[[], AbstractContextManager[LeasedAgent]]


def enter(agent: LeasedAgent, board: Board, mode: str) -> dict[str, Any]:
    """Bring the board into a mode; returns what a row says of it: ``name``, ``command``, what it ``said``.

    Raises AgentFailure where the command cannot be run, or ends with another exit code than 0.
    """
    command = list(board.modes[mode])
    done = agent.call("probe", "command", {"argv": command}, limits=LIMITS).meta
    if done["code"]:
        text = str(done["said"]).strip() or "it said nothing"
        raise AgentFailure(
            "harness", f"board {board.name}, mode {mode}: {command[0]} ended with exit code {done['code']}: {text}"
        )
    return {"name": mode, "command": command, "said": str(done["said"]).strip()}


def leave(agent: LeasedAgent, board: Board, lease: Lease) -> str:
    """Bring the board back into its usual mode, by ``agent`` or, where that is gone, by another one.

    Returns why the board is not in its usual mode now; empty where it is.
    """
    try:
        if not agent.lost:
            enter(agent, board, board.usual_mode)
            return ""
        with lease() as other:
            enter(other, board, board.usual_mode)
        return ""
    except AgentFailure as error:
        return f"board {board.name} was not brought back into its usual mode {board.usual_mode}: {error}"
