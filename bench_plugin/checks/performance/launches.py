"""Launches of a timed model: fresh agents, one after the other, while no other cell computes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bench_plugin.checks.compiled.batches import BATCHES, only_first
from bench_plugin.checks.compiled.compiling import Compiled, CompiledModels
from bench_plugin.checks.performance.effort import Effort
from bench_plugin.checks.performance.machine_load import Load, quiet
from bench_plugin.checks.performance.requests import TIME, Requests, taken
from bench_plugin.checks.performance.rotation import rotating
from bench_plugin.checks.protocol import Parts
from bench_plugin.compare.times.determinism import moved
from bench_plugin.compare.times.timing import enough
from bench_plugin.pipeline.board_stages import PLACE
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.stages import CallSpec, Done, Task, failure_of, perform
from bench_plugin.pipeline.tasks.subjects import Subject
from bench_plugin.reach.processes.leased_agent import AgentFailure, LeasedAgent, Limits

if TYPE_CHECKING:
    Series = np.ndarray[Any, np.dtype[np.float64]]

RUN = "run"
COMPUTE = "series:compute"
BRIEF = {"blocks": 1, "block_seconds": 0.0, "block_samples": 1, "seconds": 0.01, "warmup_seconds": 0.0}
# The roles of launches, by turns: the agents of a pair are started side by side, and timed one after the other.
ROLES = (TIME, f"{TIME}, beside")
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
    def board(self) -> str:
        """The name of the board that it was on; empty for this machine."""
        return str(self.done.meta.get(PLACE, {}).get("name", ""))

    @property
    def compute(self) -> Series:
        """Device seconds of single calls [n]."""
        return np.asarray(self.done.arrays.get(COMPUTE, np.empty(0)), dtype=np.float64)


@dataclass(frozen=True)
class Launches:
    """All launches of a cell, the last of which may have failed. ``caps`` say what ended them early.

    ``load`` is that of this machine before; None where it takes no part in the times.
    ``power`` is a further launch with windows for the figures of power; None on a machine without a meter.
    ``one_thread`` is a further, short launch with one thread; None where the others had no more. ``moved`` is one whose
    samples stand one place further in their batch; None without batches.
    """

    launches: Sequence[Launch]
    load: Load | None
    caps: tuple[str, ...] = ()
    power: Launch | None = None
    one_thread: Launch | None = None
    moved: Launch | None = None

    @property
    def last(self) -> Done:
        """The stage of the last launch: its outputs [N, ...] are compared, and where it failed so did the cell."""
        return self.launches[-1].done

    @property
    def board(self) -> str:
        """The name of the board of all launches; empty for this machine."""
        return self.launches[-1].board

    def judged(self, subject: Subject) -> Done:
        """The same with the outputs of the subject's own N inputs alone [N, ...], not those that filled a batch."""
        if subject.batch == 1 or self.last.failure is not None:
            return self.last
        have = len(next(iter(subject.inputs.arrays().values()), ()))
        return replace(self.last, arrays=only_first(self.last.arrays, have))


class Launcher:
    """Takes the launches of cells; safe to use from several threads, of which one at a time has the machine."""

    def __init__(self, parts: Parts, models: CompiledModels, effort: Effort) -> None:
        self._parts = parts
        self._models = models
        self._effort = effort

    def taken(self, run: CellRun, found: Compiled) -> Launches:
        """The launches of a compiled model. Raises EnvironmentMissing when its toolchain cannot be installed."""
        task = self.timed_task(run, found)
        boards = [self._models.workspace.boards[name] for name in self._models.workspace.boards_of(run.cell.target)]
        with self._parts.recorder.apart_ahead(run.cell, "start", task, ROLES) as start:
            if boards and all(reach.board.emulated for reach in boards):  # which are counted, not timed
                return self._all(run, task, None, start)
            self._parts.recorder.at(run.cell, "waiting for the machine")
            with self._parts.admission.alone():
                return self._all(run, task, quiet(self._effort.quiet_seconds), start)

    def _all(self, run: CellRun, task: Task, load: Load | None, start: Callable[[], None]) -> Launches:
        """Launches until they are enough; a failed one is the last, and so is one of a device that takes no times.

        ``start`` starts the next pair of agents; the first one was started already.
        """
        effort = self._effort
        launches: list[Launch] = []
        caps: list[str] = []
        began = time.monotonic()
        while True:
            board = launches[0].board if launches else ""
            if launches and len(launches) % len(ROLES) == 0:
                start()
            task = replace(task, role=ROLES[len(launches) % len(ROLES)])
            one = self._launch(run, task, f"{TIME}, launch {len(launches) + 1}", board, requests=run.cell.streams == 1)
            launches.append(one)
            run.log.credit(TIME, launches[-1].done)
            self._models.note_place(run, launches[-1].done)
            medians = [float(one.said["median"]) for one in launches if one.said.get("median")]
            if launches[-1].done.failure is not None or not medians:
                break
            if enough(medians, least=effort.launches, wanted=effort.half_width):
                break
            if cap := self._cap(len(launches), time.monotonic() - began):
                caps.append(cap)
                break
        last = launches[-1]
        task = replace(task, role=ROLES[len(launches) % len(ROLES)])  # whose agent may be started already
        return Launches(
            launches, load, tuple(caps), self._power(run, task, last), self._one_thread(run, task, last),
            self._moved(run, task, last),
        )  # fmt: skip

    def _power(self, run: CellRun, task: Task, last: Launch) -> Launch | None:
        """A launch with windows of power, where the last one found a meter; what fails in it is not the cell's."""
        series = (last.said.get("telemetry") or {}).get("series", {})
        if run.cell.streams > 1:  # whose windows would be of one client
            return None
        if not self._effort.power_seconds or not any(one.get("unit") == "W" for one in series.values()):
            return None
        task = _with(task, {"power_seconds": self._effort.power_seconds}, TIME)
        seconds = 3 * self._effort.power_seconds * self._busy(run)
        limits = replace(task.limits, seconds=task.limits.seconds + seconds)
        if limits.wall_seconds:
            limits = replace(limits, wall_seconds=limits.wall_seconds + seconds)
        return self._launch(run, replace(task, limits=limits), f"{TIME}, windows of power", last.board, requests=False)

    def _one_thread(self, run: CellRun, task: Task, last: Launch) -> Launch | None:
        """A short launch with one thread, for its bits, where the others had several; its failure is not the cell's."""
        if self._models.compile_tasks.threads(run.cell) == 1 or not last.said.get("repeats"):
            return None
        task = _with(_with(task, {"threads": 1}), BRIEF, TIME)
        return self._launch(run, task, f"{TIME}, one thread", last.board, requests=False)

    def _moved(self, run: CellRun, task: Task, last: Launch) -> Launch | None:
        """A short launch with every sample at another position of its batch; its failure is not the cell's."""
        if run.cell.batch == 1 or not last.said.get("repeats"):
            return None
        calls = tuple(replace(call, arrays=_moved_in(call, run.cell.batch)) if call.operation == TIME else call
                      for call in task.calls)  # fmt: skip
        task = _with(replace(task, calls=calls), BRIEF, TIME)
        return self._launch(run, task, f"{TIME}, other positions in the batch", last.board, requests=False)

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

    def timed_task(self, run: CellRun, found: Compiled) -> Task:
        """The run of a compiled model as a timed one, on inputs that rotate; outputs of the model's own are kept."""
        have = len(next(iter(found.subject.inputs.arrays().values()), ()))
        batch, streams = found.subject.batch, run.cell.streams
        calls = max(-(-max(self._effort.inputs, have) // batch), BATCHES if batch > 1 else 1, streams)
        inputs = rotating(found.subject.inputs, calls * batch, self._parts.settings.seed)
        return self._task(run, found, inputs.arrays, 0 if inputs.once else -(-have // batch))

    def _task(self, run: CellRun, found: Compiled, arrays: Any, sampled: int) -> Task:
        """The run of the artefact as a timed one; a compiler without an artefact compiles in each launch."""
        tasks, subject = self._models.compile_tasks, found.subject
        given = replace(subject.inputs, arrays=arrays)
        limits = self.limits(run)
        if tasks.in_one_process(run.cell):
            task = tasks.compile_and_run(run.cell, subject, limits, calibration=found.calibration, inputs=given)
        else:
            task = tasks.run(run.cell, subject, found.compiled, limits, inputs=given)
        plan = {**self._effort.plan(sampled, self._meter(task.board))}
        plan |= {"streams": run.cell.streams} if run.cell.streams > 1 else {}
        calls = tuple(
            replace(call, operation=TIME, meta={**call.meta, **plan}) if call.operation == RUN else call
            for call in task.calls
        )
        return replace(task, calls=calls, role=TIME, affinity="", mode=run.cell.mode)

    def _meter(self, board: str) -> str:
        """The file of the board's own power meter; empty where it names none."""
        reach = self._parts.workspace.boards.get(board)
        return reach.board.power.get("path", "") if reach is not None else ""

    def _busy(self, run: CellRun) -> int:
        """How many threads may be at work at the same time: those of the runtime, for each stream."""
        return max(1, self._models.compile_tasks.threads(run.cell)) * run.cell.streams

    def limits(self, run: CellRun) -> Limits:
        """The cell's limits, with what a timed run takes of all processors, also where threads spin."""
        limits, effort = self._models.limits(run), self._effort
        more = MORE * (effort.seconds + effort.warmup_seconds) * self._busy(run)
        wall = limits.wall_seconds + more if limits.wall_seconds else 0
        return replace(limits, seconds=limits.seconds + more, wall_seconds=wall)

    def _launch(self, run: CellRun, task: Task, name: str, board: str, *, requests: bool = True) -> Launch:
        """One launch in a fresh agent, which ends with it. A failure is not repeated: the launch was fresh.

        On a board it is on ``board``, if that is named: the launches of a cell are all on the same one. With
        ``requests`` the host times requests of one inference after it.
        """
        asked = Requests()

        def make(agent: LeasedAgent, limits: Limits) -> Done:
            nonlocal asked
            done = perform(agent, replace(task, limits=limits))
            if not requests or done.failure is not None or not done.meta[TIME]["timing"].get("median"):
                return done
            try:
                asked = taken(agent, replace(task, limits=limits), self._effort)
            except AgentFailure as error:
                return replace(done, failure=failure_of(error, task.stage))
            return done

        done = self._parts.recorder.apart(run.cell, name, task, make, only=board)
        return Launch(done, asked)


def _moved_in(call: CallSpec, batch: int) -> Callable[[], Mapping[str, Any]]:
    """The inputs [N, ...] of a call, each one place further in its batch."""
    return lambda: moved(call.arrays(), batch)


def _with(task: Task, fields: Mapping[str, Any], operation: str = "") -> Task:
    """The task whose calls of that operation, or all calls, have other values of these fields, where they have them."""

    def changed(call: CallSpec) -> CallSpec:
        if operation and call.operation != operation:
            return call
        known = fields if operation else {name: value for name, value in fields.items() if name in call.meta}
        return replace(call, meta={**call.meta, **known})

    return replace(task, calls=tuple(map(changed, task.calls)))
