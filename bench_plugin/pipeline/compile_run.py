"""Compile a subject and run its artefact without the cache, in two processes that are reused for the next subject.

There are hundreds of operator cases, generated graphs and parts of graphs, of milliseconds each, so their stages are
not stored. Models use the same calls (tasks/compile_tasks.py), the same retries (retry.py) and the same agents, and
every stage of theirs is stored (stages.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from bench_plugin.domain.cell import Cell
from bench_plugin.pipeline.retry import Attempted, settled
from bench_plugin.pipeline.stages import Done, Task, not_started, perform
from bench_plugin.pipeline.tasks.compile_tasks import CompileTasks
from bench_plugin.pipeline.tasks.subjects import InputSet, Subject
from bench_plugin.reach.processes.leased_agent import AgentFailure, LeasedAgent, Limits
from bench_plugin.reach.processes.supervisor import AgentPool

LOOK_EVERY = 50  # the agents' memory is measured once in so many subjects
GROWN = 3  # an agent that holds more than a third of its limit is replaced
NOTED = ("effective", "placement", "notes", "shims")


@dataclass(frozen=True, kw_only=True)
class CompiledRun(Attempted):
    """The result of a subject: the stage that ran it, or its failure; both are None where it was only compiled.

    ``seconds`` is by stage, ``peak`` the largest resident memory in bytes, ``meta`` what the compiler and the runtime
    reported of precision and placement. It is ``fresh`` if all its processes were.
    """

    ran: Done | None
    seconds: Mapping[str, float] = field(default_factory=dict)
    peak: int = 0
    meta: Mapping[str, Any] = field(default_factory=dict)


class CompileRun:
    """Compiles and runs subjects, one at a time; ``name`` distinguishes its processes from those of other users of the
    pool.

    It must not be used from two threads at once.
    """

    def __init__(self, pool: AgentPool, tasks: CompileTasks, *, name: str) -> None:
        self._pool = pool
        self._tasks = tasks
        self._name = name
        self._held: dict[tuple[str, str], tuple[ExitStack, LeasedAgent]] = {}
        self._count = 0

    def run(
        self, cell: Cell, subject: Subject, limits: Limits, *, calibration: InputSet | None = None, fresh: bool = False,
        stored: bool = False, compile_only: bool = False,
    ) -> CompiledRun:  # fmt: skip
        """Compile the subject as the cell says, and run it if that needs no board and it is not ``compile_only``.

        ``fresh`` starts new processes; ``stored`` says that the caller will store the result if it may be stored.
        Raises EnvironmentMissing when the compiler's toolchain cannot be installed, ValueError for ``compile_only``
        with a compiler whose only process also runs (CompileTasks.in_one_process).
        """
        if compile_only and self._tasks.in_one_process(cell, short=True):
            raise ValueError(f"{cell.compiler} cannot compile without running")
        self._count += 1
        if self._count % LOOK_EVERY == 0:
            self._replace_grown(limits)
        runs = self._tasks.runs_here(cell) and not compile_only

        def attempt(anew: bool) -> CompiledRun:
            return self._attempt(cell, subject, limits, calibration, fresh=anew, runs=runs)

        return settled(attempt, fresh=fresh, short=True, confirm=stored)

    def close(self) -> None:
        """Return the agents to the pool."""
        for place in list(self._held):
            self._release(place)

    def _end_used(self) -> None:
        """End the agents that have served calls, so that the next call starts new ones."""
        for place, (_, agent) in list(self._held.items()):
            if agent.calls:
                agent.close()
                self._release(place)

    def _attempt(
        self, cell: Cell, subject: Subject, limits: Limits, calibration: InputSet | None, *, fresh: bool,
        runs: bool,
    ) -> CompiledRun:  # fmt: skip
        if fresh:
            self._end_used()
        if self._tasks.in_one_process(cell, short=True):
            task = self._tasks.compile_and_run(cell, subject, limits, calibration=calibration, short=True)
            done = self._performed(task, fresh=fresh)
            _remove(done)
            return _joined(done, done)
        task = self._tasks.compile(cell, subject, limits, calibration=calibration)
        if runs:
            self._prepare((task.toolchain, f"{self._name}-run"), task.adapter)
        compiled = self._performed(task, fresh=fresh)
        if compiled.failure is not None:
            return _joined(compiled, None)
        if not runs:
            _remove(compiled)
            return _joined(compiled, None)
        try:
            ran = self._performed(self._tasks.run(cell, subject, compiled, limits), fresh=fresh)
        finally:
            _remove(compiled)
        return _joined(compiled, ran)

    def _performed(self, task: Task, *, fresh: bool) -> Done:
        place = (task.toolchain, f"{self._name}-{task.role}")
        try:
            agent = self._agent(place, fresh=fresh)
        except AgentFailure as error:
            return not_started(error, task.stage)
        return perform(agent, task)

    def _prepare(self, place: tuple[str, str], adapter: str) -> None:
        """Start the process that will run the artefact while the first compilation is at work, not after it."""
        if place not in self._held:
            toolchain, role = place
            self._pool.prepare(toolchain, role=role, adapter=adapter)

    def _agent(self, place: tuple[str, str], *, fresh: bool) -> LeasedAgent:
        held = self._held.get(place)
        if held is not None and held[1].lost:
            self._release(place)
            held = None
        if held is None:
            stack = ExitStack()
            toolchain, role = place
            agent = stack.enter_context(self._pool.lease(toolchain, role=role, fresh=fresh, affinity=self._name))
            held = self._held[place] = (stack, agent)
        return held[1]

    def _release(self, place: tuple[str, str]) -> None:
        stack, _ = self._held.pop(place)
        stack.close()

    def _replace_grown(self, limits: Limits) -> None:
        for place, (_, agent) in list(self._held.items()):
            if agent.lost or agent.resident() > limits.memory_bytes / GROWN:
                agent.close()
                self._release(place)


def _remove(done: Done) -> None:
    """Remove the files of a stage that is not stored."""
    for path in done.files.values():
        path.unlink(missing_ok=True)


def _joined(compiled: Done, ran: Done | None) -> CompiledRun:
    both = [compiled] if ran is None or ran is compiled else [compiled, ran]
    seconds: dict[str, float] = {}
    meta: dict[str, Any] = {}
    for done in both:
        seconds.update({name: round(value, 6) for name, value in done.seconds.items() if name != "call"})
        for said in done.meta.values():
            placement = {**meta.get("placement", {}), **(said.get("placement") or {})}  # of both replies
            meta.update({name: said[name] for name in NOTED if said.get(name)})
            meta.update({"placement": placement} if placement else {})
    failure = next((done.failure for done in both if done.failure), None)
    return CompiledRun(
        failure=failure, ran=ran if failure is None else None, seconds=seconds, peak=max(done.peak for done in both),
        meta=meta, fresh=all(done.fresh for done in both),
    )  # fmt: skip
