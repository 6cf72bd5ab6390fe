"""Launches of a timed model: fresh agents, one after the other, while no other cell computes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bench_plugin.checks.compiled.compiling import Compiled, CompiledModels
from bench_plugin.checks.performance.effort import Effort
from bench_plugin.checks.performance.machine_load import Load, quiet
from bench_plugin.checks.performance.requests import TIME, Requests, taken
from bench_plugin.checks.performance.rotation import rotating
from bench_plugin.checks.protocol import Parts
from bench_plugin.compare.timing import enough
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.stages import CallSpec, Done, Task, failure_of, perform
from bench_plugin.reach.processes.client import AgentFailure, Limits
from bench_plugin.reach.processes.leased_agent import LeasedAgent

if TYPE_CHECKING:
    Series = np.ndarray[Any, np.dtype[np.float64]]

RUN = "run"
COMPUTE = "series:compute"
BRIEF = {"blocks": 1, "block_seconds": 0.0, "block_samples": 1, "seconds": 0.01, "warmup_seconds": 0.0}
MORE = 4  # times the planned seconds that a launch may take before its limit ends it


@dataclass(frozen=True)
class Launch:
    """One launch: the stage with the outputs of its sampled inferences, and the host's times of its requests."""

    done: Done
    requests: Requests = field(default_factory=Requests)

    @property
    def said(self) -> Mapping[str, Any]:
        """The figures of the timed run, as the agent gave them."""
        found: Mapping[str, Any] = self.done.meta.get(TIME, {}).get("timing", {})
        return found

    @property
    def telemetry(self) -> Mapping[str, Any]:
        """What the agent says of the series that it recorded."""
        found: Mapping[str, Any] = self.done.meta.get(TIME, {}).get("telemetry") or {}
        return found

    @property
    def compute(self) -> Series:
        """Device seconds of single calls [n]."""
        return np.asarray(self.done.arrays.get(COMPUTE, np.empty(0)), dtype=np.float64)


@dataclass(frozen=True)
class Launches:
    """All launches of a cell, the last of which may have failed. ``caps`` say what ended them early.

    ``load`` is that of this machine before; None where it takes no part in the times. ``power`` is a further launch
    with windows for the figures of power, None without a meter; ``one_thread`` a further, short launch with one thread,
    None where the others had no more.
    """

    launches: Sequence[Launch]
    load: Load | None
    caps: tuple[str, ...] = ()
    power: Launch | None = None
    one_thread: Launch | None = None

    @property
    def finished(self) -> Sequence[Launch]:
        """The launches that did not fail."""
        return [one for one in self.launches if one.done.failure is None]

    @property
    def last(self) -> Done:
        """The stage of the last launch: its outputs [N, ...] are compared, and where it failed so did the cell."""
        return self.launches[-1].done


class Launcher:
    """Takes the launches of cells; safe to use from several threads, of which one at a time has the machine."""

    def __init__(self, parts: Parts, models: CompiledModels, effort: Effort) -> None:
        self._parts = parts
        self._models = models
        self._effort = effort

    def taken(self, run: CellRun, found: Compiled) -> Launches:
        """The launches of a compiled model. Raises EnvironmentMissing when its toolchain cannot be installed."""
        inputs = rotating(found.subject.inputs, self._effort.inputs, self._parts.settings.seed)
        sampled = 0 if inputs.once else len(next(iter(found.subject.inputs.arrays().values()), ()))
        task = self._task(run, found, inputs.arrays, sampled)
        self._parts.recorder.at(run.cell, "waiting for the machine")
        boards = [self._models.workspace.boards[name] for name in self._models.workspace.boards_of(run.cell.target)]
        if boards and all(reach.board.emulated for reach in boards):  # which are counted, not timed
            return self._all(run, task, None)
        with self._parts.admission.alone():
            every = self._all(run, task, quiet(self._effort.quiet_seconds))
            if every.last.failure is not None:
                return every
            return replace(every, power=self._power(run, task, every), one_thread=self._one_thread(run, task, every))

    def _power(self, run: CellRun, task: Task, found: Launches) -> Launch | None:
        """A launch with windows of power, where there is a meter; what fails in it is not the cell's."""
        series = found.launches[-1].telemetry.get("series", {})
        seconds = self._effort.power_seconds
        if not seconds or not any(one.get("unit") == "W" for one in series.values()):
            return None
        plan = {"blocks": 10, "block_seconds": seconds / 10, "block_samples": 1, "seconds": 2 * seconds}
        more = MORE * 3 * seconds * max(1, run.tasks.threads)
        limits = replace(task.limits, seconds=task.limits.seconds + more)
        if limits.wall_seconds:
            limits = replace(limits, wall_seconds=limits.wall_seconds + more)
        task = replace(_with(task, {**plan, "power_seconds": seconds}, TIME), limits=limits)
        return self._launch(run, task, "windows of power", requests=False)

    def _one_thread(self, run: CellRun, task: Task, found: Launches) -> Launch | None:
        """A short launch with one thread, for its bits, where the others had several; its failure is not the cell's."""
        if run.tasks.threads == 1 or not found.launches[-1].said.get("repeats"):
            return None
        return self._launch(run, _with(_with(task, {"threads": 1}), BRIEF, TIME), "one thread", requests=False)

    def _all(self, run: CellRun, task: Task, load: Load | None) -> Launches:
        """Launches until they are enough; a failed one is the last, and so is one of a device that takes no times."""
        effort = self._effort
        launches: list[Launch] = []
        caps: list[str] = []
        began = time.monotonic()
        while True:
            launches.append(self._launch(run, task, f"launch {len(launches) + 1}"))
            run.log.credit(TIME, launches[-1].done)
            medians = [float(one.said["median"]) for one in launches if one.said.get("median")]
            if launches[-1].done.failure is not None or not medians:
                break
            if enough(medians, least=effort.launches, wanted=effort.half_width):
                break
            if cap := self._cap(len(launches), time.monotonic() - began):
                caps.append(cap)
                break
        return Launches(launches, load, tuple(caps))

    def _cap(self, launches: int, seconds: float) -> str:
        """What ends the launches although the interval is wider than wanted; empty where nothing does."""
        effort = self._effort
        if launches >= effort.most_launches:
            return f"{launches} launches, the most that are taken"
        if launches >= effort.launches and seconds >= effort.cell_seconds:
            return f"{launches} launches in {seconds:.0f} s: a cell has a cap of {effort.cell_seconds:g} s"
        if seconds >= effort.last_seconds:
            text = f"{launches} launches in {seconds:.0f} s, fewer than {effort.launches}"
            return f"{text}: a cell has a last cap of {effort.last_seconds:g} s"
        return ""

    def _task(self, run: CellRun, found: Compiled, arrays: Any, sampled: int) -> Task:
        """The run of the artefact as a timed one; a compiler without an artefact compiles in each launch."""
        tasks, subject = self._models.compile_tasks, found.subject
        given = replace(subject.inputs, arrays=arrays)
        limits = self._limits(run)
        if tasks.in_one_process(run.cell):
            task = tasks.compile_and_run(run.cell, subject, limits, calibration=found.calibration, inputs=given)
        else:
            task = tasks.run(run.cell, subject, found.compiled, limits, inputs=given)
        names = self._models.workspace.boards_of(run.cell.target)
        meter = next((self._models.workspace.boards[name].board.power.get("path", "") for name in names), "")
        calls = tuple(self._timed(call, sampled, meter) if call.operation == RUN else call for call in task.calls)
        return replace(task, calls=calls, role=TIME, affinity="")

    def _timed(self, call: CallSpec, sampled: int, meter: str) -> CallSpec:
        return replace(call, operation=TIME, meta={**call.meta, **self._effort.plan(sampled, meter)})

    def _limits(self, run: CellRun) -> Limits:
        """The cell's limits, with what a timed run takes of all processors, also where threads spin."""
        limits, effort = self._models.limits(run), self._effort
        more = MORE * (effort.seconds + effort.warmup_seconds) * max(1, run.tasks.threads)
        wall = limits.wall_seconds + more if limits.wall_seconds else 0
        return replace(limits, seconds=limits.seconds + more, wall_seconds=wall)

    def _launch(self, run: CellRun, task: Task, name: str, *, requests: bool = True) -> Launch:
        """One launch in a fresh agent, which ends with it. A failure is not repeated: the launch was fresh.

        With ``requests`` the host times requests to it.
        """
        timed = Requests()

        def make(agent: LeasedAgent, limits: Limits) -> Done:
            nonlocal timed
            done = perform(agent, replace(task, limits=limits))
            if not requests or done.failure is not None or not done.meta[TIME]["timing"].get("median"):
                return done
            try:
                timed = taken(agent, replace(task, limits=limits), self._effort)
            except AgentFailure as error:
                return replace(done, failure=failure_of(error, task.stage))
            return done

        done = self._parts.recorder.apart(run.cell, f"{TIME}, {name}", task, make)
        return Launch(done, timed)


def _with(task: Task, fields: Mapping[str, Any], operation: str = "") -> Task:
    """The task whose calls of that operation, or all calls, have other values of these fields, where they have them."""

    def changed(call: CallSpec) -> CallSpec:
        if operation and call.operation != operation:
            return call
        known = fields if operation else {name: value for name, value in fields.items() if name in call.meta}
        return replace(call, meta={**call.meta, **known})

    return replace(task, calls=tuple(map(changed, task.calls)))
