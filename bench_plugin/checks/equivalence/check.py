"""Does a compiled model still compute the same function?

What the numbers are compared with (docs/numbers.md):

=====================  =============================================  ====================================
what was compiled      conformance: the status                        approximation: shown beside it
=====================  =============================================  ====================================
fp32                   the file's own function in float64             –
fp16, bf16             the same, with the noise of that precision     E and SQNR against the framework
w16 (by us or by it)   the file with its weights rounded to float16   the same
a ready QDQ graph      that graph in float64, in steps of its scales  the same
a tool's own integers  nothing: unverified                            the same
=====================  =============================================  ====================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bench_plugin.checks.compiled.compiling import Compiled, Compiling, keeps_symbols
from bench_plugin.compare.verdict import AGREE, UNVERIFIED, Comparison
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.outcome import Failure, Outcome, Stage, Status, Symptom
from bench_plugin.inventory.models import Model
from bench_plugin.pipeline.cell_log import Trail
from bench_plugin.pipeline.compile_tasks import PERTURBED_RUNS, Arrays, Subject
from bench_plugin.pipeline.judge import Judge, Truth
from bench_plugin.pipeline.stages import Done

COMPUTED = ("fp32", "fp16", "bf16")  # precisions with a row in the table of tolerances
MOST_DROP = 0.02  # of top-1, at the lower bound of its paired interval


class Equivalence:
    """Judges compiled models by their numbers. ``run`` is safe to call from several threads."""

    checks = frozenset({Check.EQUIVALENCE})

    def __init__(self, compiling: Compiling) -> None:
        self._compiling = compiling

    def run(self, cell: Cell, overrides: Mapping[str, float]) -> Outcome:
        """Compute the cell; everything unforeseen is an exception."""

        def judged(cell: Cell, model: Model, trail: Trail, found: Compiled) -> Outcome:
            return self._equivalence(cell, model, trail, Judge(overrides), found)

        return self._compiling.carry(cell, judged)

    def _equivalence(self, cell: Cell, model: Model, trail: Trail, judge: Judge, found: Compiled) -> Outcome:
        ran = self._compiling.ran(cell, model, trail, found)
        if ran.failure:
            return trail.failed(ran.failure)
        reference = None
        if model.onnx is None:
            reference = self._compiling.steps.take(
                cell, trail, "reference", self._compiling.tasks.reference(model, cell.framework, found.file.weights)
            )
            if reference.failure:
                return trail.outcome(Status.UNVERIFIED, f"no reference: {reference.failure.message}")
        plain = self._file_truth(cell, model, trail, judge, found, reference)
        if plain is None:
            return trail.outcome(Status.UNVERIFIED, f"nothing to compare with: {trail.flags[-1]}")
        exact = (judge.framework_truth(model, reference) if reference else None) or plain
        if cell.precision != "fp32":
            trail.numbers["approximation"] = judge.approximation(exact, ran)
        comparison = self._conformance(cell, model, trail, judge, found, ran, plain, reference)
        trail.numbers.update(comparison.numbers)
        for note in comparison.notes:
            trail.flag(note)
        self._looks_like(cell, model, trail, judge, found, ran, exact)
        if comparison.status == UNVERIFIED:
            return trail.outcome(Status.UNVERIFIED, comparison.reason, stage=Stage.COMPARE)
        if comparison.status != AGREE:
            return self._mismatch(cell, trail, comparison)
        return self._proven(cell, model, trail, judge, found, plain)

    def _file_truth(
        self, cell: Cell, model: Model, trail: Trail, judge: Judge, found: Compiled, reference: Done | None
    ) -> Truth | None:
        """The file's own function in float64; of a framework's own model, the framework's."""
        if not cell.exporter and reference is not None:
            return judge.framework_truth(model, reference)
        task = self._compiling.tasks.evaluate(
            found.file.path, found.file.origin, model, found.drawn, perturbed=int(reference is None)
        )
        evaluated = self._compiling.steps.take(cell, trail, "evaluate", task)
        if evaluated.failure is None:
            return judge.file_truth(model, evaluated, reference)
        trail.flag(f"no float64 truth of the file: {evaluated.failure.message}")
        return judge.framework_truth(model, reference) if reference else None

    def _conformance(
        self, cell: Cell, model: Model, trail: Trail, judge: Judge, found: Compiled, ran: Done, plain: Truth,
        reference: Done | None,
    ) -> Comparison:  # fmt: skip
        """The run against what the tool was asked to compute: the status of the cell."""
        if cell.precision in COMPUTED:
            loose = cell.precision in self._compiling.adapter(cell).declaration.get("loose", ())
            truth = plain
            if cell.precision != "fp32":
                emulated = self._compiling.steps.take(
                    cell, trail, "emulate", self._compiling.compile_tasks.emulate(model, found.original)
                )
                if emulated.failure:
                    return Comparison(UNVERIFIED, f"{cell.precision} could not be emulated: {emulated.failure.message}")
                truth = judge.at_precision(plain, emulated, cell.precision)
            return judge.compare(model, truth, ran, precision=cell.precision, loose=loose)
        if cell.precision == "w16" and not cell.exporter and model.onnx is None:
            return Comparison(UNVERIFIED, "the tool rounds weights of a graph of its own: nothing says which they are")
        if cell.precision == "w16":
            return self._rounded(cell, model, trail, judge, found, ran, reference)
        if not cell.graph:
            return Comparison(UNVERIFIED, "the tool quantises by itself: nothing says what it should have computed")
        return self._quantised(cell, model, trail, judge, found, ran)

    def _rounded(
        self, cell: Cell, model: Model, trail: Trail, judge: Judge, found: Compiled, ran: Done, reference: Done | None
    ) -> Comparison:
        """Weights rounded to float16, everything else in float32: the rule of fp32 against the rounded file."""
        graph: Subject | Failure = found.subject
        if not cell.graph:
            rounds = str(self._compiling.adapter(cell).declaration.get("rounds", "w16"))
            graph = self._compiling.graph(cell, model, trail, found.original, found.original.given, rounds)
        if isinstance(graph, Failure):
            return Comparison(UNVERIFIED, f"no file with rounded weights: {graph.message}")
        path = graph.files["model.onnx"]
        task = self._compiling.tasks.evaluate(path, graph.origin, model, found.drawn, perturbed=int(reference is None))
        evaluated = self._compiling.steps.take(cell, trail, "evaluate", task)
        if evaluated.failure:
            return Comparison(UNVERIFIED, f"the rounded file has no truth: {evaluated.failure.message}")
        truth = replace(judge.file_truth(model, evaluated, reference), origin="file with float16 weights in float64")
        loose = cell.precision in self._compiling.adapter(cell).declaration.get("loose", ())
        return judge.compare(model, truth, ran, loose=loose)

    def _quantised(
        self, cell: Cell, model: Model, trail: Trail, judge: Judge, found: Compiled, ran: Done
    ) -> Comparison:
        graph = found.subject
        task = self._compiling.tasks.evaluate(
            graph.files["model.onnx"], graph.origin, model, found.drawn, perturbed=PERTURBED_RUNS
        )
        truth = self._compiling.steps.take(cell, trail, "evaluate", task)
        if truth.failure:
            return Comparison(UNVERIFIED, f"the quantised graph has no truth: {truth.failure.message}")
        layers = self._layers(cell, model, trail, found) if cell.graph == "qdq" else None
        return judge.quantised(truth, ran, list(graph.meta["output_scales"]), layers)

    def _layers(self, cell: Cell, model: Model, trail: Trail, found: Compiled) -> tuple[Arrays, Done] | None:
        """Every quantised layer with the truth's integers as its inputs, compiled by the same tool in one graph."""
        apart = self._compiling.steps.take(
            cell, trail, "layers", self._compiling.compile_tasks.layers(model, found.subject)
        )
        if apart.failure or not apart.meta["layers"]["layers"]:
            why = apart.failure.message if apart.failure else "none of them is named"
            trail.flag(f"layers could not be taken apart: {why}")
            return None
        names = list(apart.meta["layers"]["layers"])
        tapped = self._compiling.compile_tasks.tapped(model, found.subject, apart)
        truth = self._compiling.steps.take(cell, trail, "evaluate", tapped)
        if truth.failure:
            trail.flag(f"layers have no truth: {truth.failure.message}")
            return None
        integers = {name: truth.arrays[f"out{index}"] for index, name in enumerate(names)}
        subject = self._compiling.compile_tasks.cut(found.subject, apart, truth, integers)
        compiled = self._compiling.steps.take(
            cell, trail, "layers", self._compiling.compile_tasks.compile(cell, model, subject, None)
        )
        if not compiled.failure:
            task = self._compiling.compile_tasks.run(cell, model, subject, compiled, subject.given, whole=False)
            compiled = self._compiling.steps.take(cell, trail, "layers", task)
        if compiled.failure:
            trail.flag(f"layers could not be run one by one: {compiled.failure.message}")
            return None
        return integers, compiled

    def _looks_like(
        self, cell: Cell, model: Model, trail: Trail, judge: Judge, found: Compiled, ran: Done, exact: Truth
    ) -> None:
        """The effective precision by error, wherever a precision could have been swapped for another."""
        suspicious = cell.precision == "fp32" and trail.numbers.get("needed", 0.0) <= 1.0
        if cell.precision not in (*COMPUTED, "w16") or suspicious:
            if cell.precision == "fp32":
                trail.placement["effective_by_error"] = "fp32"
            return
        emulated = self._compiling.steps.take(
            cell, trail, "emulate", self._compiling.compile_tasks.emulate(model, found.original)
        )
        if not emulated.failure:
            trail.placement["effective_by_error"] = judge.looks_like(exact, emulated, ran)

    def _emulated(self, cell: Cell, model: Model, trail: Trail, found: Compiled) -> Done:
        """What every precision would have made of the file."""
        return self._compiling.steps.take(
            cell, trail, "emulate", self._compiling.compile_tasks.emulate(model, found.original)
        )

    def _mismatch(self, cell: Cell, trail: Trail, comparison: Comparison) -> Outcome:
        seems = trail.placement.get("effective_by_error", "")
        prefix = f"looks like {seems}: " if cell.precision == "fp32" and seems not in ("", "fp32") else ""
        reason = f"{prefix}{comparison.reason}"
        return trail.outcome(Status.MISMATCH, reason, stage=Stage.COMPARE, symptom=Symptom.MISMATCH)

    def _proven(self, cell: Cell, model: Model, trail: Trail, judge: Judge, found: Compiled, plain: Truth) -> Outcome:
        """A verdict is worth what it could have caught: the mutants at this precision, and fp32 behind bf16."""
        task = self._compiling.tasks.mutants(found.file.path, found.file.origin, model, found.drawn)
        mutants = self._compiling.steps.take(cell, trail, "mutants", task)
        if mutants.failure and cell.precision in COMPUTED:
            reason = f"mutants could not be run: {mutants.failure.message}"
            return trail.outcome(Status.UNVERIFIED, reason, stage=Stage.BUILD)
        if cell.precision in COMPUTED:
            truth = plain
            if cell.precision != "fp32":
                truth = judge.at_precision(plain, self._emulated(cell, model, trail, found), cell.precision)
            discrimination = judge.discrimination(truth, mutants, cell.precision)
            trail.numbers["mutants"] = discrimination.table
            if cell.precision == "fp32" and not discrimination.enough:
                reason = f"not discriminating: {discrimination.reason}"
                return trail.outcome(Status.UNVERIFIED, reason, stage=Stage.BUILD)
        elif not mutants.failure and cell.precision == "w16":  # the rule of fp32
            trail.numbers["mutants"] = judge.discrimination(plain, mutants).table
        elif not mutants.failure and cell.graph == "qdq":
            scales = list(found.subject.meta["output_scales"])
            trail.numbers["mutants"] = judge.killed_in_steps(plain, mutants, scales)
        if cell.precision == "bf16":
            whole = self.run(replace(cell, precision="fp32", graph=""), {})
            if whole.status is not Status.SUPPORTED:
                trail.flag(f"bf16 only: fp32 is {whole.status}")
        self._dynamic(trail, judge, plain, found)
        return trail.outcome(Status.SUPPORTED)

    def _dynamic(self, trail: Trail, judge: Judge, plain: Truth, found: Compiled) -> None:
        declared = found.file.check.meta["check"]
        symbolic = any(not isinstance(dim, int) for row in declared["inputs"] for dim in row["shape"])
        if symbolic:
            kept = keeps_symbols(found.compiled)
            trail.numbers["dynamic"] = "preserved" if kept else "frozen"
