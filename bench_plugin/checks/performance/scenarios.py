"""MLPerf's scenarios of a timed cell: LoadGen drives the runtime in agents of their own, with its null cost beside it.

Each scenario takes two launches: one that answers queries with the model, and one that answers them with nothing. A
launch that fails is not the cell's failure: the row says what came of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bench_plugin.checks.compiled.compiling import Compiled
from bench_plugin.checks.performance.launches import Launcher
from bench_plugin.checks.performance.requests import TIME
from bench_plugin.checks.protocol import Parts
from bench_plugin.compare.times.timing import PERCENTILES
from bench_plugin.domain.outcome import Symptom
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.stages import Done, Task, perform
from bench_plugin.reach.processes.leased_agent import LeasedAgent, Limits

if TYPE_CHECKING:
    Arrays = Mapping[str, np.ndarray[Any, Any]]

NOTE = "not an MLPerf result"
SECONDS = {"smoke": 0.2, "full": 60.0}  # of a scenario at least, by profile
USUAL_SECONDS = 2.0
LONGEST = 10.0  # times these seconds that a scenario may take before its limit ends it
START_SECONDS = 60.0  # and for the start of the runtime before it


class Scenarios:
    """Drives the scenarios that a run asks for; safe to use from several threads."""

    def __init__(self, parts: Parts, launcher: Launcher) -> None:
        self._parts = parts
        self._launcher = launcher
        self._names = parts.settings.scenarios
        self._seconds = SECONDS.get(parts.settings.selection.profile, USUAL_SECONDS)

    def measured(self, run: CellRun, found: Compiled, timed: Done, board: str) -> dict[str, Any]:
        """``numbers["scenarios"]`` of a row by the names of scenarios (docs/scenarios.md); empty where none are asked.

        ``timed`` is a launch of the same artefact, whose outputs the scenarios must give again. ``board`` is its board.
        """
        if not self._names:
            return {}
        if why_not := _why_not(run):
            return {name: {"note": NOTE, "status": "unsupported", "reason": why_not} for name in self._names}
        task = self._launcher.timed_task(run, found)
        self._parts.recorder.at(run.cell, "waiting for the machine")
        with self._parts.admission.alone():
            return {name: self._one(run, task, name, timed, board) for name in self._names}

    def _one(self, run: CellRun, task: Task, name: str, timed: Done, board: str) -> dict[str, Any]:
        done = self._launch(run, _with(task, scenario=name, scenario_seconds=self._seconds), name, board)
        if done.failure is not None:
            status = "unsupported" if done.failure.symptom is Symptom.UNSUPPORTED else "ERROR"
            symptom = str(done.failure.symptom)
            return {"note": NOTE, "status": status, "symptom": symptom, "reason": done.failure.message}
        said = done.meta[TIME]["timing"]
        row = {"note": NOTE, "status": "measured", **_figures(said), "outputs": _compared(timed.arrays, done.arrays)}
        null = {"scenario": name, "scenario_seconds": self._seconds, "scenario_null": True}
        if name == "server":  # the same queries at the same times
            null |= {
                "scenario_rate": said["settings"]["target_per_second"],
                "scenario_bound": said["settings"]["bound"],
            }
        empty = self._launch(run, _with(task, **null), f"{name}, null", board)
        if empty.failure is not None:
            return {**row, "null": {"reason": empty.failure.message}}
        return {**row, "null": _figures(empty.meta[TIME]["timing"])}

    def _launch(self, run: CellRun, task: Task, name: str, board: str) -> Done:
        """One fresh agent, which ends with it: LoadGen's threads and logs are those of a process."""
        seconds = START_SECONDS + LONGEST * self._seconds
        usual = self._launcher.limits(run)
        busy = max(1, task_threads(task))
        task = replace(task, limits=replace(usual, seconds=seconds * busy, wall_seconds=seconds))

        def make(agent: LeasedAgent, limits: Limits) -> Done:
            return perform(agent, replace(task, limits=limits))

        return self._parts.recorder.apart(run.cell, f"scenario {name}", task, make, only=board)


def task_threads(task: Task) -> int:
    """The threads that the runtime of a timed task may use."""
    return int(next((call.meta["threads"] for call in task.calls if call.operation == TIME), 1))


def _why_not(run: CellRun) -> str:
    """Why a cell has no scenarios; empty where it has."""
    if run.cell.batch > 1:
        return f"LoadGen issues single samples, and this cell has batch {run.cell.batch}"
    if run.cell.streams > 1:
        return f"LoadGen is the only client, and this cell has {run.cell.streams} streams"
    if run.log.placement.get("timing") == "emulated":
        return "the board is an emulator, whose seconds are no times"
    return ""


def _with(task: Task, **fields: Any) -> Task:
    calls = tuple(
        replace(call, meta={**call.meta, **fields}) if call.operation == TIME else call for call in task.calls
    )
    return replace(task, calls=calls)


def _figures(said: Mapping[str, Any]) -> dict[str, Any]:
    """What LoadGen's summary said, in seconds and samples per second; percentiles only from enough queries."""
    keys = ("result", "why", "mean", "min", "max", "per_second", "queries", "samples", "seconds", "settings", "loadgen")
    found = {key: said[key] for key in keys if key in said}
    if said["scenario"] == "offline":  # its only query holds all samples, so that a latency is a place in the queue
        return {key: value for key, value in found.items() if key not in ("mean", "min", "max")}
    carried = {name for name, (_, least) in PERCENTILES.items() if said["queries"] >= least}
    percentiles = {name: value for name, value in (said.get("percentiles") or {}).items() if name in carried}
    return found | ({"percentiles": percentiles} if percentiles else {})


def _compared(timed: Arrays, again: Arrays) -> str:
    """Whether the outputs of the scenario are those of the timed launch, bit by bit."""
    names: Sequence[str] = [name for name in timed if name.startswith("out")]
    same = all(name in again and np.array_equal(timed[name], again[name], equal_nan=True) for name in names)
    return "those of the timed launches" if same else "others than those of the timed launches"
