"""Operating modes of boards: a task's mode is set by the board's own command before it, and the usual one after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.processes.leased_agent import AgentFailure, LeasedAgent, Limits

LIMITS = Limits(60.0, 0)
Lease = Callable[[], AbstractContextManager[LeasedAgent]]


class Mode:
    """The mode of one task on one board; an empty ``name`` leaves the board as it is."""

    def __init__(self, board: Board, name: str) -> None:
        self._board = board
        self._name = name
        self._said: dict[str, Any] = {}
        self._stuck = ""  # why the board is not in its usual mode

    @property
    def said(self) -> Mapping[str, Any]:
        """What a row says of it: ``name``, ``command``, what it ``said``, and the mode that was ``restored``."""
        restored = {} if self._stuck else {"restored": self._board.usual_mode}
        return {"mode": {**self._said, **restored}} if self._said else {}

    def enter(self, agent: LeasedAgent) -> None:
        """Bring the board into the mode. Raises AgentFailure where its command does not do that."""
        if self._name:
            self._stuck = f"board {self._board.name} is still in mode {self._name}"
            self._said = {"name": self._name, "command": list(self._board.modes[self._name])}
            self._said["said"] = self._set(agent, self._name)

    def leave(self, agent: LeasedAgent) -> None:
        """Bring the board back into its usual mode, where the agent is still there."""
        if self._stuck and not agent.lost:
            self._restore(agent)

    def leave_by_another(self, lease: Lease) -> str:
        """The same with an agent of its own, where the task's agent could not; why it failed, else an empty text."""
        if self._stuck:
            try:
                with lease() as agent:
                    self._restore(agent)
            except AgentFailure as error:
                self._stuck = f"board {self._board.name} may still be in mode {self._name}: {error}"
        return self._stuck

    def _restore(self, agent: LeasedAgent) -> None:
        try:
            self._set(agent, self._board.usual_mode)
            self._stuck = ""
        except AgentFailure as error:
            self._stuck = f"board {self._board.name} may still be in mode {self._name}: {error}"

    def _set(self, agent: LeasedAgent, name: str) -> str:
        """What the command of a mode printed. Raises AgentFailure where it cannot be run, or ends with another code."""
        command = list(self._board.modes[name])
        done = agent.call("probe", "command", {"argv": command}, limits=LIMITS).meta
        text = str(done["said"]).strip()
        if done["code"]:
            ended = f"{command[0]} ended with exit code {done['code']}: {text or 'it said nothing'}"
            raise AgentFailure("harness", f"board {self._board.name}, mode {name}: {ended}")
        return text
