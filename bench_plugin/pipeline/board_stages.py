"""Stages on boards: which board does a task, and what happens when the board is lost.

A lost board is restarted or power-cycled where its description says how, and the task is tried once more there. A board
that is lost again is used no more in this run; the task goes to another board of the pool, if there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bench_plugin.domain.errors import BenchError
from bench_plugin.domain.outcome import Failure, Symptom
from bench_plugin.pipeline.board_modes import Mode
from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.boards.leasing.place import place_of
from bench_plugin.reach.boards.leasing.recovery import recovered
from bench_plugin.reach.processes.leased_agent import AgentFailure, LeasedAgent, Limits
from bench_plugin.reach.processes.supervisor import AgentPool

if TYPE_CHECKING:
    from bench_plugin.pipeline.stages import Done

PROGRAM = "program.elf"  # the file of an artefact that is a program for the board
PLACE = "board"  # beside the metadata by operation: where the task was done


@dataclass(frozen=True)
class BoardTask:
    """A task for a board.

    ``target`` is the name on the axis of targets; ``programs`` says that the artefact is a program. ``perform`` makes
    the task's calls within limits that are at most ``limits``; ``not_started`` is the result without an agent. ``only``
    names the board that it must be, where an earlier task was done on it. ``mode`` is the operating mode of the board
    that the task is done in; empty: as the board is.
    """

    target: str
    programs: bool
    toolchain: str
    role: str
    affinity: str
    limits: Limits
    perform: Callable[[LeasedAgent, Limits], Done]
    not_started: Callable[[AgentFailure], Done]
    only: str = ""
    mode: str = ""


def performed(pool: AgentPool, task: BoardTask, *, fresh: bool) -> Done:
    """The result of a task on a board; one of a board that was lost has symptom ``board-lost``."""
    while True:
        try:
            with pool.boards.taken(task.target, programs=task.programs, only=task.only) as board:
                done = _on(pool, board, task, fresh=fresh)
        except AgentFailure as error:
            return task.not_started(error)
        if not _lost(done) or task.only or not pool.boards.others(task.target, programs=task.programs):
            return done


def within(limits: Limits, seconds: float) -> Limits:
    """The limits of a call that may hold a board for at most ``seconds``."""
    wall = min(limits.wall_seconds or limits.seconds, seconds)
    return Limits(min(limits.seconds, seconds), limits.memory_bytes, wall)


def _on(pool: AgentPool, board: Board, task: BoardTask, *, fresh: bool) -> Done:
    """The task on one board, which the caller has taken, tried once more where the board was lost."""
    done = _once(pool, board, task, fresh=fresh)
    if not _lost(done):
        return done
    recovered(board, lambda: _answers(pool, board, task), pool.note)
    again = _once(pool, board, task, fresh=True)
    if not _lost(again):
        return replace(again, remarks=(*again.remarks, f"board {board.name} was lost and tried again: {_cause(done)}"))
    pool.boards.latch(board, f"board {board.name} was lost: {_cause(again)}")
    return again


def _once(pool: AgentPool, board: Board, task: BoardTask, *, fresh: bool) -> Done:
    limits, mode = within(task.limits, board.lease_seconds), Mode(board, task.mode)
    try:
        with pool.lease(task.toolchain, role=task.role, fresh=fresh, affinity=task.affinity, board=board.name) as agent:
            try:
                mode.enter(agent)
                done = task.perform(agent, limits)
            finally:
                mode.leave(agent)
                if board.emulated and task.programs:  # firmware that waits for its line keeps a processor of ours busy
                    agent.close()
            place = place_of(board, agent.hello)
            done = replace(done, meta={**done.meta, PLACE: place}, failure=_named(done.failure, board, task))
    except AgentFailure as error:
        done = task.not_started(error)
    stuck = mode.leave_by_another(lambda: pool.lease(task.toolchain, role="mode", fresh=True, board=board.name))
    if task.mode and PLACE in done.meta:
        done = replace(done, meta={**done.meta, PLACE: {**done.meta[PLACE], **mode.said}})
    return replace(done, remarks=(*done.remarks, stuck)) if stuck else done


def _named(failure: Failure | None, board: Board, task: BoardTask) -> Failure | None:
    """A failure that names the board's deadline where that was what ended the call."""
    most = task.limits.wall_seconds or task.limits.seconds
    if failure is None or failure.symptom is not Symptom.TIMEOUT or board.lease_seconds >= most:
        return failure
    return replace(failure, message=f"{failure.message} (lease_seconds of board {board.name})")


def _answers(pool: AgentPool, board: Board, task: BoardTask) -> bool:
    """Whether an agent of the board says hello. Raises BenchError when the run is ending."""
    try:
        with pool.lease(task.toolchain, role=task.role, fresh=True, board=board.name):
            return True
    except BenchError:
        if pool.ending:
            raise
        return False


def _lost(done: Done) -> bool:
    return done.failure is not None and done.failure.symptom is Symptom.BOARD_LOST


def _cause(done: Done) -> str:
    failure: Failure | None = done.failure
    return failure.message if failure is not None else ""
