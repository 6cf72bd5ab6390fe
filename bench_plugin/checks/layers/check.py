"""The layers check: is every layer of a model right when it is compiled alone, and how long does it take?

Level 1 are single layers, each distinct one once; level 2 stacks of two and four of them and the named blocks; the
whole model is timed beside them in the same launches. A layer is judged as a model of its own, by the verdict of the
equivalence check, on outputs that the timed inferences gave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bench_plugin.checks.compiled.compiling import Compiled, CompiledModels
from bench_plugin.checks.equivalence.check import Equivalence
from bench_plugin.checks.layers import rows
from bench_plugin.checks.layers.cutting import Cut, cut
from bench_plugin.checks.layers.effort import MODEL, effort
from bench_plugin.checks.layers.launches import LayerLauncher, load_of
from bench_plugin.checks.layers.pieces import Piece
from bench_plugin.checks.performance.against.sides import environment_of
from bench_plugin.checks.performance.figures import figures
from bench_plugin.checks.performance.launches import Launches
from bench_plugin.checks.protocol import Checker, Parts, Request
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.outcome import Outcome, Status, Symptom, Unverified
from bench_plugin.pipeline.cell_log import CellLog
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.retry import with_repeat
from bench_plugin.pipeline.schedule import Need

WHOLE = "model"
# What decides the status of a cell, the worst first; what could not be judged does so only where nothing was.
WORST = (
    Status.MISMATCH, Status.ERROR, Status.UNSUPPORTED, Status.VERSION_SKEW, Status.OUTSIDE_BOUND, Status.NOT_PROVIDED,
    Status.BOARD_LOST,
)  # fmt: skip


class Layers:
    """Judges and times the layers and stacks of compiled models. ``run`` is safe to call from several threads."""

    checks = frozenset({Check.LAYERS})

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._models = CompiledModels(parts)
        self._equivalence = Equivalence(parts)
        self._launcher = LayerLauncher(parts, self._models, effort(parts.settings.selection.profile))

    def need(self, cell: Cell) -> Need:
        """What the cell occupies; the machine alone it asks for only while it takes times."""
        return self._models.need(cell)

    def run(self, request: Request) -> Outcome:
        """Compute the cell. Times are never reused, neither from the cache nor by a resumed run."""
        return self._parts.computed(request, self._computed)

    def _computed(self, run: CellRun) -> Outcome:
        if missing := self._models.missing_tool(run.cell):
            return run.log.outcome(Status.NOT_PROVIDED, missing)
        run.log.reusable = False
        cuts = cut(run)
        if isinstance(cuts, Outcome):
            return cuts
        compiled = self._all_compiled(run, cuts)
        ready = {key: (one, found) for key, (one, found) in compiled.items() if isinstance(found, Compiled)}
        taken = self._launcher.taken(run, ready, {WHOLE: MODEL})
        found = [(one.piece, *self._judged(run, str(place), one, compiled, taken)) for place, one in enumerate(cuts)]
        model = self._model(run, compiled[WHOLE][1], taken.get(WHOLE))
        settings = self._parts.settings
        threads = self._models.compile_tasks.threads(run.cell)
        load = load_of(taken)
        conditions: dict[str, Any] = {
            "threads": threads, "seed": settings.seed, "profile": settings.selection.profile,
            **({"load_before": load._asdict()} if load else {}),
        }  # fmt: skip
        toolchain = self._models.compile_tasks.toolchain(run.cell)
        run.log.placement["toolchain"] = environment_of(self._parts.workspace, toolchain)
        run.log.placement["threads"] = threads
        run.log.converted = any(outcome is not None and outcome.converted for _, outcome, _ in found)
        lines = [
            (piece, rows.piece_row(piece, outcome, timing, batch=run.cell.batch, why_not=cuts[place].why_not))
            for place, (piece, outcome, timing) in enumerate(found)
        ]
        run.log.numbers["levels"] = rows.levels(lines, model, conditions)
        return _outcome(run, [(piece, outcome) for piece, outcome, _ in found if piece.twin is None])

    def _all_compiled(self, run: CellRun, cuts: Sequence[Cut]) -> dict[str, tuple[CellRun, Compiled | Outcome]]:
        """Every piece compiled, by its place in ``cuts``, and the whole model; an outcome where that failed."""
        runs = {str(place): one.run for place, one in enumerate(cuts) if one.run is not None}
        runs[WHOLE] = replace(run, log=CellLog(run.log.versions))
        found: dict[str, tuple[CellRun, Compiled | Outcome]] = {}
        for number, (key, one) in enumerate(runs.items(), 1):
            self._parts.recorder.at(run.cell, f"compile, {number} of {len(runs)}")
            found[key] = one, self._models.compiled(one)
        return found

    def _judged(
        self, run: CellRun, key: str, one: Cut, compiled: Mapping[str, tuple[CellRun, Compiled | Outcome]],
        taken: Mapping[str, Launches],
    ) -> tuple[Outcome | None, dict[str, Any]]:  # fmt: skip
        """The verdict on a piece and its figures of time; no verdict where it is no file."""
        if one.run is None:
            return None, {}
        own, found = compiled[key]
        if isinstance(found, Outcome):
            return found, {}
        launches = taken[key]
        outcome = self._equivalence.judged(own, found, launches.judged(found.subject), {})
        if outcome.symptom is Symptom.MISMATCH:  # the launch had timed other layers before: a fresh process decides
            outcome = with_repeat(self._fresh(own), outcome)
        return outcome, self._figures(run, launches)

    def _fresh(self, own: CellRun) -> Outcome:
        """The verdict on a piece that fresh processes compile and run."""
        again = replace(own, log=CellLog(own.log.versions), fresh=True)
        found = self._models.compiled(again)
        if isinstance(found, Outcome):
            return found
        return self._equivalence.judged(again, found, self._models.ran(again, found), {})

    def _figures(self, run: CellRun, taken: Launches) -> dict[str, Any]:
        emulated = run.log.placement.get("timing") == "emulated"
        threads = self._models.compile_tasks.threads(run.cell)
        return figures(
            taken, threads=threads, seed=self._parts.settings.seed, emulated=emulated, batch=run.cell.batch,
            streams=run.cell.streams,
        )  # fmt: skip

    def _model(self, run: CellRun, found: Compiled | Outcome, taken: Launches | None) -> dict[str, Any]:
        """The times of the whole model, which the check of timing judges; or why there are none."""
        if isinstance(found, Outcome):
            return {"status": str(found.status), "reason": found.reason}
        failure = taken.last.failure if taken is not None else None
        if taken is None or failure is not None:
            return {"status": str(Status.ERROR), "reason": failure.message if failure else "it was not timed"}
        return rows.times(self._figures(run, taken), 0, run.cell.batch)


def checker(parts: Parts) -> Checker:
    """The checker of this folder, for registry.py."""
    return Layers(parts)


def _outcome(run: CellRun, judged: Sequence[tuple[Piece, Outcome | None]]) -> Outcome:
    """The outcome of a cell: that of its worst piece, which the reason names with how many ended like it.

    Pieces that could not be judged are flagged. Where none could be, the cell is unverified.
    """
    known = [(piece, outcome) for piece, outcome in judged if outcome is not None]
    uncut = sum(outcome is None for _, outcome in judged)
    if uncut:
        run.log.flag(f"{uncut} of {len(judged)} layers and stacks could not be cut out")
    for status in WORST:
        same = [(piece, outcome) for piece, outcome in known if outcome.status is status]
        if same:
            piece, first = same[0]
            more = f" (and {len(same) - 1} more of {len(judged)})" if len(same) > 1 else f" (1 of {len(judged)})"
            operators = ", ".join(dict.fromkeys(piece.operators))
            reason = f"{piece.group} {piece.name} ({operators}): {first.reason}{more}"
            return run.log.outcome(
                status, reason, stage=first.stage, symptom=first.symptom, detail=first.detail, log=first.log
            )
    unverified = [(piece, outcome) for piece, outcome in known if outcome.status is Status.UNVERIFIED]
    if unverified:
        piece, first = unverified[0]
        text = f"{piece.name}: {first.reason}"
        run.log.flag(f"{len(unverified)} of {len(judged)} layers and stacks are unverified, such as {text}")
    if any(outcome.status is Status.SUPPORTED for _, outcome in known):
        return run.log.outcome(Status.SUPPORTED)
    if unverified:
        piece, first = unverified[0]
        kind = first.unverified or Unverified.HARNESS
        return run.log.unverified(kind, f"{piece.name}: {first.reason}", stage=first.stage)
    return run.log.unverified(Unverified.HARNESS, "the model has no layer that could be cut out")
