"""Head against base: what a row says of having been measured in turn with the artefact of another run."""

from __future__ import annotations

from typing import Any

from bench_plugin.checks.compiled.compiling import Compiled, CompiledModels
from bench_plugin.checks.performance.against import resident, successive
from bench_plugin.checks.performance.against.base import Base, Missing
from bench_plugin.checks.performance.against.counted import COUNTED, compared
from bench_plugin.checks.performance.against.resident import Measured
from bench_plugin.checks.performance.against.sides import Side, sides
from bench_plugin.checks.performance.launches import Launches
from bench_plugin.checks.protocol import Parts
from bench_plugin.compare.times.turns import BASE, HEAD, ORDER
from bench_plugin.domain.errors import EnvironmentMissing
from bench_plugin.domain.outcome import Symptom
from bench_plugin.domain.texts.shares import share
from bench_plugin.domain.thresholds import NOT_COMPARABLE, SLOWER, TOO_NOISY
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.reach.machine_memory import machine_memory
from bench_plugin.reach.processes.leased_agent import AgentFailure, Limits
from bench_plugin.results.rows import Row

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


class Against:
    """Measures cells in turn with the artefacts of a base run; safe to use from several threads.

    ``busy`` are seconds of work that are added to every inference of the head, to prove that a slowdown is found.
    """

    def __init__(self, parts: Parts, models: CompiledModels, base: Base, *, busy: float = 0.0) -> None:
        self._parts = parts
        self._models = models
        self._base = base
        self._busy = busy
        self._noted: set[str] = set()

    def measured(self, run: CellRun, found: Compiled, taken: Launches, limits: Limits, effect: float) -> dict[str, Any]:
        """``numbers["against"]`` of a row (docs/comparison.md).

        ``taken`` are the launches of the head, whose board is the one that base and head are measured on. Where it
        cannot be measured, the verdict is ``not comparable``, and ``reason`` says what is missing.
        """
        own: dict[str, Any] = {"run": self._base.run, "effect": effect}
        try:
            row = self._base.row(run.cell)
            own["key"] = row.get("key", "")
            pair = self._pair(run, found, row, limits)
            result = self.in_turn(run, pair, taken, effect)
        except (Missing, EnvironmentMissing) as missing:
            return self._without(run, own, str(missing))
        except AgentFailure as error:
            return self._without(run, own, f"a launch failed ({error.symptom}): {error.message}")
        return {**own, **_said(result, pair, effect, self._base.name)}

    def counted(self, run: CellRun, instructions: float) -> dict[str, Any]:
        """The same of a cell on an emulated board, which has no times: its instructions, compared exactly."""
        growth = self._parts.settings.thresholds.growth(run.cell.axes())
        own: dict[str, Any] = {"run": self._base.run, "effect": growth, "how": COUNTED}
        try:
            row = self._base.row(run.cell)
            own["key"] = row.get("key", "")
            return {**own, **compared(row, instructions, run.log.placement, growth, self._base.name)}
        except Missing as missing:
            return self._without(run, own, str(missing))

    def in_turn(self, run: CellRun, pair: tuple[Side, Side], taken: Launches, effect: float) -> Measured:
        """Measure a base and a head that can be run, with the machine alone.

        Raises AgentFailure and EnvironmentMissing as launches do.
        """
        by_name = {BASE: pair[0], HEAD: pair[1]}
        seconds = min(float(one.said["median"]) for one in taken.launches if one.said.get("median"))
        board = taken.launches[-1].board
        self._parts.recorder.at(run.cell, f"in turn with run {self._base.name}")
        with self._parts.admission.alone():
            if not board and taken.last.peak * len(ORDER) <= machine_memory().available:
                try:
                    return resident.in_turn(self._parts.pool, by_name, effect, seconds)
                except AgentFailure as error:
                    if error.symptom != Symptom.UNSUPPORTED:
                        raise
            plan = {"seconds": max(successive.BRIEF["seconds"], 5 * seconds)}
            return successive.in_turn(run, by_name, effect, board, plan)

    def _pair(self, run: CellRun, found: Compiled, row: Row, limits: Limits) -> tuple[Side, Side]:
        """Base and head of a cell. Raises Missing where the base is not there any more."""
        if found.ran is not None:
            raise Missing("its compiler leaves no artefact that another run could keep")
        return sides(run, found, row, self._base.artefact(row), self._models, limits, self._parts.settings.seed)

    def _without(self, run: CellRun, own: dict[str, Any], why: str) -> dict[str, Any]:
        run.log.flag(f"not measured against another run: {why}" if "how" in own else f"not measured in turn: {why}")
        if why not in self._noted:
            self._noted.add(why)
            self._parts.pool.note(f"--bench-against: {run.cell.id}: {why}")
        return {**own, "verdict": NOT_COMPARABLE, "reason": why}


def against(parts: Parts, models: CompiledModels) -> Against | None:
    """What measures against the run of ``--bench-against``; None without that option.

    Raises UsageError where the run's file cannot be read any more.
    """
    chosen = parts.settings.against
    return None if chosen is None else Against(parts, models, Base(chosen.file(), parts.cache))


def _said(result: Measured, pair: tuple[Side, Side], effect: float, base: str) -> dict[str, Any]:
    compared, samples = result.compared, result.samples
    found: dict[str, Any] = {
        "verdict": compared.verdict, "d": compared.d, "half_width": compared.half_width, "how": result.how,
        "rounds": result.rounds, "launches": result.launches, "calls": result.calls, "inner": result.inner,
        "seconds": result.seconds, "start_seconds": result.start_seconds,
    }  # fmt: skip
    for side in pair:
        found[side.name] = {
            "median": samples.median(side.name), "min": samples.minimum(side.name), "toolchain": side.toolchain,
            "artefact": dict(side.artefact),
        }  # fmt: skip
    width = share(compared.d, compared.half_width)
    if compared.verdict == SLOWER:
        medians = " → ".join(_duration(found[name]["min"]) for name in (BASE, HEAD))
        found["text"] = (
            f"slower than in run {base}: {medians} at best, {width} (95 %) over {result.launches} launches a side, "
            f"measured in turn {result.how}; {effect:.1%} is allowed"
        )
    if compared.verdict == TOO_NOISY:
        found["reason"] = f"{width} after {result.rounds} rounds"
    return found


def _duration(seconds: float) -> str:
    scale, unit = next((one for one in UNITS if seconds >= one[0]), UNITS[-1])
    return f"{seconds / scale:.4g} {unit}"
