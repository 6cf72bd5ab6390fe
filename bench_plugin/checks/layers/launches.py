"""Launches of all layers of a model: each is a fresh agent that times them one after the other."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from bench_plugin.checks.compiled.compiling import Compiled, CompiledModels
from bench_plugin.checks.performance.effort import Effort
from bench_plugin.checks.performance.launches import Launch, Launcher, Launches
from bench_plugin.checks.performance.machine_load import Load, quiet
from bench_plugin.checks.protocol import Parts
from bench_plugin.compare.times.timing import enough
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.stages import Done, Task, perform
from bench_plugin.reach.processes.leased_agent import LeasedAgent, Limits

TIME = "time"


@dataclass
class _Taken:
    """What was taken of one piece so far, and its task; a failed launch is its last one."""

    task: Task
    launches: list[Launch] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        return bool(self.launches) and self.launches[-1].done.failure is not None

    @property
    def medians(self) -> list[float]:
        return [float(one.said["median"]) for one in self.launches if one.said.get("median")]


class LayerLauncher:
    """Times many compiled pieces of one cell; safe to use from several threads, one at a time has the machine."""

    def __init__(self, parts: Parts, models: CompiledModels, effort: Effort) -> None:
        self._parts = parts
        self._models = models
        self._effort = effort
        self._launcher = Launcher(parts, models, effort)

    def taken(
        self, run: CellRun, pieces: Mapping[str, tuple[CellRun, Compiled]], longer: Mapping[str, float]
    ) -> dict[str, Launches]:
        """The launches of every piece by its key, the same number of each that does not fail.

        ``longer`` are the factors by which some are timed longer. Raises EnvironmentMissing when the compiler's
        toolchain cannot be installed.
        """
        kept = {
            key: _Taken(_planned(self._launcher.timed_task(one, found), longer.get(key, 1.0)))
            for key, (one, found) in pieces.items()
        }
        self._parts.recorder.at(run.cell, "waiting for the machine")
        with self._parts.admission.alone():
            load = quiet(self._effort.quiet_seconds)
            caps = self._launches(run, kept)
        return {key: Launches(one.launches, load, caps) for key, one in kept.items() if one.launches}

    def _launches(self, run: CellRun, kept: Mapping[str, _Taken]) -> tuple[str, ...]:
        began, number, board = time.monotonic(), 0, ""
        while True:
            waiting = [key for key, one in kept.items() if not one.failed]
            if not waiting:
                return ()
            number += 1
            # every other launch goes the other way round, so that a drift within launches favours no layer
            order = waiting if number % 2 else waiting[::-1]
            self._launch(run, number, order, kept, board)
            board = next((one.launches[-1].board for one in kept.values() if one.launches), "")
            if self._ended(kept, number):
                return ()
            if cap := self._cap(number, time.monotonic() - began):
                return (cap,)

    def _launch(self, run: CellRun, number: int, order: list[str], kept: Mapping[str, _Taken], board: str) -> None:
        """One launch of all pieces in ``order``; where one of them ends the agent, another goes on behind it."""
        left = deque(order)

        def make(agent: LeasedAgent, limits: Limits) -> Done:
            while True:
                self._parts.recorder.at(run.cell, f"{TIME}, launch {number}, {len(left)} of {len(order)} left")
                key = left.popleft()
                done = perform(agent, replace(kept[key].task, limits=limits))
                kept[key].launches.append(Launch(done))
                if agent.lost or not left:
                    return done

        while left:
            before = len(left)
            done = self._parts.recorder.apart(
                run.cell, f"{TIME}, launch {number}", kept[left[0]].task, make, only=board
            )
            run.log.credit(TIME, done)
            if len(left) == before:  # no agent could be had
                for key in left:
                    kept[key].launches.append(Launch(done))
                return

    def _ended(self, kept: Mapping[str, _Taken], number: int) -> bool:
        """Whether every interval is as narrow as wanted; also where no figure is taken, as on an emulated board."""
        effort = self._effort
        if not any(one.medians for one in kept.values()):
            return True
        if number >= effort.most_launches:
            return True
        timed = [one.medians for one in kept.values() if not one.failed]
        return all(enough(one, least=effort.launches, wanted=effort.half_width) for one in timed)

    def _cap(self, number: int, seconds: float) -> str:
        """What ends the launches although intervals are wider than wanted; empty where nothing does."""
        effort = self._effort
        limit = effort.cell_seconds if number >= effort.launches else effort.last_seconds
        return f"{number} launches in {seconds:.0f} s: a cell has a cap of {limit:g} s" if seconds >= limit else ""


def _planned(task: Task, factor: float) -> Task:
    """The timed task without sensors, whose process would cost as much as a layer, for so many times the seconds."""
    calls = tuple(
        replace(call, meta={**call.meta, "sensors": False, "seconds": factor * call.meta["seconds"]})
        if call.operation == TIME
        else call
        for call in task.calls
    )
    return replace(task, calls=calls)


def load_of(taken: Mapping[str, Launches]) -> Load | None:
    """The load of this machine before the launches."""
    return next((one.load for one in taken.values()), None)
