"""The timing check: how long does a compiled model take, and are the outputs of the timed inferences right?

The verdict is that of the equivalence check, on outputs that timed inferences gave. ``supported`` says that numbers
were compared and a time was taken; where the numbers are wrong, the time stays in the row.
"""

from __future__ import annotations

from bench_plugin.checks.compiled.compiling import Compiled, CompiledModels
from bench_plugin.checks.equivalence.check import Equivalence
from bench_plugin.checks.performance.against.measure import against
from bench_plugin.checks.performance.against.sides import environment_of
from bench_plugin.checks.performance.effort import effort
from bench_plugin.checks.performance.figures import figures, series
from bench_plugin.checks.performance.launches import Launcher
from bench_plugin.checks.performance.recordings import determinism, recordings
from bench_plugin.checks.performance.scenarios import Scenarios
from bench_plugin.checks.performance.task_metric import other_artefact, task_metric, timed_digest
from bench_plugin.checks.protocol import Checker, Parts, Request
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.outcome import Outcome, Stage, Status, Symptom, Unverified
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.schedule import Need
from bench_plugin.results.series import described, keep


class Timing:
    """Times compiled models and judges what they computed meanwhile. ``run`` is safe to call from several threads."""

    checks = frozenset({Check.TIMING})

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._models = CompiledModels(parts)
        self._equivalence = Equivalence(parts)
        self._against = against(parts, self._models)
        self._launcher = Launcher(parts, self._models, effort(parts.settings.selection.profile))
        self._scenarios = Scenarios(parts, self._launcher)

    def need(self, cell: Cell) -> Need:
        """What the cell occupies; the machine alone it asks for only while it takes times."""
        return self._models.need(cell)

    def run(self, request: Request) -> Outcome:
        """Compute the cell. Times are never reused, neither from the cache nor by a resumed run."""
        effect = self._parts.settings.thresholds.slowdown(request.cell.axes(), request.max_slowdown)
        return self._models.run(request, lambda run, found: self._judged(run, found, effect))

    def _judged(self, run: CellRun, found: Compiled, effect: float) -> Outcome:
        run.log.reusable = False
        taken = self._launcher.taken(run, found)
        self._models.note_run(run, taken.last, "time")
        toolchain = self._models.compile_tasks.toolchain(run.cell)
        run.log.placement["toolchain"] = environment_of(self._parts.workspace, toolchain)
        settings = self._parts.settings
        emulated = run.log.placement.get("timing") == "emulated"
        threads = self._models.compile_tasks.threads(run.cell)
        timing = figures(
            taken, threads=threads, seed=settings.seed, emulated=emulated, batch=run.cell.batch,
            streams=run.cell.streams,
        )  # fmt: skip
        if timing:
            timing |= {"artefact": timed_digest(found), "compile_seconds": found.compiled.seconds.get("compile")}
            run.log.numbers["timing"] = timing
            beside = recordings(taken)
            times = {} if emulated else series(taken)
            kept = keep(settings.results.parent, {**times, **beside.arrays})
            run.log.numbers["series"] = described(kept, beside.about)
            run.log.numbers.update(
                {**beside.numbers, "determinism": determinism(taken, threads=threads, batch=run.cell.batch)}
            )
        if self._against is not None and "compute" in timing:
            limits = self._launcher.limits(run)
            run.log.numbers["against"] = self._against.measured(run, found, taken, limits, effect)
        elif self._against is not None and (count := (timing.get("instructions") or {}).get("median")):
            run.log.numbers["against"] = self._against.counted(run, count)
        if "compute" in timing and (driven := self._scenarios.measured(run, found, taken.last, taken.board)):
            run.log.numbers["scenarios"] = driven
        other = self._task_metric(run, found) if "compute" in timing else ""
        outcome = self._equivalence.judged(run, found, taken.judged(found.subject), {})
        if other:
            return run.log.outcome(Status.ERROR, other, stage=Stage.RUN, symptom=Symptom.HARNESS)
        if outcome.status is Status.SUPPORTED and not {"compute", "instructions"} & set(timing):
            reason = "the numbers agree, but no time was taken"
            return run.log.unverified(Unverified.NOT_RUN, reason, stage=Stage.RUN)
        return outcome

    def _task_metric(self, run: CellRun, found: Compiled) -> str:
        """Note the task metric of the artefact that was timed; why it would be that of another, empty where not."""
        metric = task_metric(run, self._models, found)
        if not metric:
            return ""
        run.log.numbers["task"] = metric
        return other_artefact(run.log.numbers["timing"]["artefact"], metric["artefact"])


def checker(parts: Parts) -> Checker:
    """The checker of this folder, for registry.py."""
    return Timing(parts)
