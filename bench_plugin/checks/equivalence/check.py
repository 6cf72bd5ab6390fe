"""The equivalence check: does a compiled model compute the same function as the model that it was made from?

What the numbers are compared with (docs/numbers.md):

============================  =============================================  ====================================
what was compiled             conformance: the status                        approximation: shown beside it
============================  =============================================  ====================================
fp32                          the file's own function in float64             –
fp16, bf16                    the same, with the noise of that precision     E and SQNR against the framework
w16 (by us or by the tool)    the file with its weights rounded to float16   the same (the tool's own: rounding.py)
weights of few bits, by us    the file with these integers, dequantised      the same
a pre-quantised QDQ model     that graph in float64, in steps of its scales  the same
quantised by the tool         what is read back from its artefact            the same
============================  =============================================  ====================================
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bench_plugin.checks import emulating
from bench_plugin.checks.compiled.compiling import Compiled, CompiledModels, keeps_symbols
from bench_plugin.checks.compiled.twice import asked, nondeterministic
from bench_plugin.checks.equivalence import comparing, narrow, own_noise, prequantised, quantised, stored
from bench_plugin.checks.equivalence.fast_math import with_exact
from bench_plugin.checks.equivalence.rounding import fitting, from_unrounded, pointed, roundings
from bench_plugin.checks.protocol import Checker, Parts, Request
from bench_plugin.checks.sensitivity import insensitive, noted, without_mutants
from bench_plugin.checks.ties import quantises
from bench_plugin.compare.precision import WRONG
from bench_plugin.compare.strength import Strength, rated
from bench_plugin.compare.table import Kind, kind_of
from bench_plugin.compare.verdict import AGREE, MISMATCH, Comparison, unverified
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.outcome import Failure, Outcome, Status, Unverified
from bench_plugin.domain.precision import PRECISIONS
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.judging.judge import OWN, ReferenceOutputs, unchanged
from bench_plugin.pipeline.schedule import Need
from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.tasks.inputs import stack_names
from bench_plugin.pipeline.tasks.subjects import Subject

COARSE = 0.5  # E of a quantised model from the unrounded one, from which on its row has a flag


class Equivalence:
    """Judges compiled models by their numbers. ``run`` is safe to call from several threads."""

    checks = frozenset({Check.EQUIVALENCE})

    def __init__(self, parts: Parts) -> None:
        self._models = CompiledModels(parts)
        self._profile = parts.settings.selection.profile

    def need(self, cell: Cell) -> Need:
        """What the cell occupies. Where its precision cannot prove the structure, another cell comes first."""
        prover = PRECISIONS[cell.precision].proven_by
        return self._models.need(cell, after=(replace(cell, precision=prover, graph=""),) if prover else ())

    def run(self, request: Request) -> Outcome:
        """Compute the cell. Failed stages and missing environments are outcomes; only our own faults raise."""

        def judged(run: CellRun, found: Compiled) -> Outcome:
            return self.judged(run, found, self._models.ran(run, found), request.others)

        return self._models.run(request, judged)

    def judged(self, run: CellRun, found: Compiled, ran: Done, others: Mapping[Cell, Outcome]) -> Outcome:
        """The verdict on a run, whose outputs are [N, ...] over the N inputs of the subject.

        ``others`` are the outcomes of the cells that :meth:`need` names, as far as they are known.
        """
        if ran.failure:
            return run.failed_on_inputs(ran.failure, found.file, found.inputs)
        reference = None
        if run.model.onnx is None:
            reference = run.obtain("reference", run.reference(found.file))
            if reference.failure:
                return run.log.unverified(Unverified.NO_REFERENCE, f"no reference: {reference.failure.message}")
        plain = self._unrounded(run, found, reference)
        if plain is None:
            return run.log.unverified(Unverified.NO_REFERENCE, f"nothing to compare with: {run.log.flags[-1]}")
        exact = (run.judge.framework_reference(run.model, reference) if reference else None) or plain
        if PRECISIONS[run.cell.precision].reduced:
            run.log.numbers["approximation"] = run.judge.approximation(exact, ran)
        comparison = self._conformance(run, found, ran, plain, reference)
        run.log.note_comparison(comparison)
        _flag_coarse(run, comparison)
        settled = comparison.status == AGREE or not run.used  # otherwise fresh processes compute the cell again
        if settled and asked(run.cell, self._profile):
            varies = nondeterministic(
                run, self._models, found, ran, comparison,
                lambda again: self._conformance(run, found, again, plain, reference),
            )  # fmt: skip
            if varies is not None:
                return varies
        self._infer_precision(run, found, ran, exact)
        if comparison.status == MISMATCH:
            reason = self._with_inferred(run, found, ran, exact, comparison.reason)
            comparison = replace(comparison, reason=reason)
        hidden = comparison.kind is Unverified.NO_REFERENCE and run.cell.types.rounds_weights
        if (settled and comparison.status == MISMATCH) or hidden:
            comparison = with_exact(
                run, self._models, found, comparison,
                lambda again: self._conformance(run, found, again, plain, reference),
            )  # fmt: skip
        if comparison.status == MISMATCH:
            comparison = replace(comparison, reason=_with_whole(run, comparison.reason))
        if comparison.status != AGREE:
            return run.log.compared(comparison)
        blind = self._mutation_sensitive(run, found, plain, ran, comparison)
        if blind is not None:
            return blind
        _note_others(run, others)
        _note_dynamic(run, found)
        return run.log.outcome(Status.SUPPORTED)

    def _unrounded(self, run: CellRun, found: Compiled, reference: Done | None) -> ReferenceOutputs | None:
        """The float64 reference of the unrounded model: of the file, or of a framework's own model by the framework."""
        if not run.cell.exporter and reference is not None:
            return run.judge.framework_reference(run.model, reference)
        evaluated = run.evaluate(
            found.file.given, found.file.origin, found.inputs, perturbed=int(reference is None)
        )  # fmt: skip
        if evaluated.failure is None:
            return run.judge.file_reference(run.model, evaluated, reference)
        run.log.flag(f"no float64 reference of the file: {evaluated.failure.message}")
        return run.judge.framework_reference(run.model, reference) if reference else None

    def _conformance(
        self, run: CellRun, found: Compiled, ran: Done, plain: ReferenceOutputs, reference: Done | None
    ) -> Comparison:
        """The comparison of the run with what the tool was asked to compute; it decides the status of the cell."""
        precision = run.cell.types
        if precision.computed:
            return self._computed(run, found, ran, plain, reference)
        if precision.rounds_weights:
            return self._rounded(run, found, ran, plain, reference)
        return quantised.conformance(run, self._models, found, ran, plain)

    def _computed(
        self, run: CellRun, found: Compiled, ran: Done, plain: ReferenceOutputs, reference: Done | None
    ) -> Comparison:
        """For one floating-point type throughout: compare with the file in float64, with the noise of that type."""
        precision, expected = _computed_precision(run, found), plain
        overflows, own = False, precision != run.cell.precision
        if PRECISIONS[precision].reduced:
            kind = OWN if own else precision
            emulated = emulating.emulated(run, found.original, found.file.check, kind)
            if emulated.failure:
                reason = f"{precision} could not be emulated: {emulated.failure.message}"
                return unverified(Unverified.NO_REFERENCE, reason)
            expected = run.judge.at_precision(plain, emulated, kind)
            overflows = run.judge.overflows(emulated, kind)
        comparison = comparing.compared(
            run, self._models, found, ran, expected, plain, precision, of_file=reference is None, own=own
        )
        if comparison.status == MISMATCH and overflows:
            reason = f"range: {precision} overflows between the layers, in the emulation too: {comparison.reason}"
            return unverified(Unverified.ILL_CONDITIONED, reason, comparison.numbers)
        return narrow.settled(run, self._models, found, ran, comparison, precision)

    def _rounded(
        self, run: CellRun, found: Compiled, ran: Done, plain: ReferenceOutputs, reference: Done | None
    ) -> Comparison:
        """For weights that a file has rounded: compare with the rounded file in float64, by the row of fp32."""
        if run.cell.graph:
            expected = self._of_rounded_file(run, found, reference, found.subject)
            return self._as_rounded(run, found, ran, plain, expected, of_file=reference is None)
        if not PRECISIONS[found.file.computes].reduced:
            read_back = stored.rounded_weights(run, self._models, found, ran, plain)
            if read_back is not None:
                run.log.placement["rounded_as"] = "as the artefact has them"
                return read_back
        base = str(self._models.compile_tasks.adapter(run.cell).declaration.get("rounds", "w16"))
        ratios: list[float] = []

        def rounded(graph: str) -> ReferenceOutputs | Comparison:
            prepared = self._models.prepared(run, found.original, found.original.inputs, graph)
            return self._of_rounded_file(run, found, reference, prepared)

        def compared(graph: str) -> Comparison:
            expected = rounded(graph)
            if isinstance(expected, ReferenceOutputs):
                ratios.append(from_unrounded(plain.outputs, expected.outputs, ran.arrays))
            return self._as_rounded(run, found, ran, plain, expected, of_file=reference is None)

        candidates = roundings(base, found.file.check.meta["check"]["operators"])
        comparison, run.log.placement["rounded_as"] = fitting(
            candidates, compared, lambda graph: pointed(run, found, ran, plain, graph, rounded)
        )
        return _settled(run, plain, ran, comparison, min(ratios, default=math.inf))

    def _of_rounded_file(
        self, run: CellRun, found: Compiled, reference: Done | None, graph: Subject | Failure
    ) -> ReferenceOutputs | Comparison:
        """The float64 reference of a file whose weights are rounded, or why there is none."""
        if isinstance(graph, Failure):
            return unverified(Unverified.NO_REFERENCE, f"no file with rounded weights: {graph.message}")
        perturbed = int(reference is None)
        evaluated = run.evaluate(graph.files["model.onnx"], graph.origin, found.inputs, perturbed=perturbed)
        if evaluated.failure:
            reason = f"the rounded file has no float64 reference: {evaluated.failure.message}"
            return unverified(Unverified.NO_REFERENCE, reason)
        expected = run.judge.file_reference(run.model, evaluated, reference)
        return replace(expected, origin=f"file with {run.cell.types.weights} weights in float64")

    def _as_rounded(
        self, run: CellRun, found: Compiled, ran: Done, plain: ReferenceOutputs,
        expected: ReferenceOutputs | Comparison, *, of_file: bool,
    ) -> Comparison:  # fmt: skip
        """Compare with one file whose weights are rounded, by the row of the type that the file computes in."""
        if isinstance(expected, Comparison):
            return expected
        return comparing.compared_by_own_row(run, self._models, found, ran, expected, plain, of_file=of_file)

    def _infer_precision(self, run: CellRun, found: Compiled, ran: Done, exact: ReferenceOutputs) -> None:
        """Record the precision inferred from the error, where the tool could have replaced the requested one.

        A result within the tolerance of fp32 is what was asked for: the model, or the file with its rounded weights.
        One within that of a narrower type, which a file itself may have, may still be as near as fp32 is. A wrong
        result points to no precision.
        """
        precision = run.cell.types
        if (run.log.numbers.get("E") or 0.0) >= WRONG:
            return
        unknown = math.inf if precision.reduced else 0.0
        computed = _computed_precision(run, found)
        by_its_own = not precision.reduced or precision.rounds_weights
        as_asked = by_its_own and run.log.numbers.get("needed", unknown) <= 1.0
        if as_asked:
            run.log.placement["effective_by_error"] = computed
        if precision.integers or (as_asked and not PRECISIONS[computed].reduced):
            return  # integers are farther from the unrounded model than any emulation
        emulated = emulating.emulated(run, found.original, found.file.check)
        inferred = "" if emulated.failure else run.judge.inferred_precision(exact, emulated, ran)
        if inferred and (not as_asked or inferred == "fp32"):
            run.log.placement["effective_by_error"] = inferred

    def _with_inferred(self, run: CellRun, found: Compiled, ran: Done, exact: ReferenceOutputs, reason: str) -> str:
        """The reason of a mismatch in fp32, with the precision that its error points to by size and by direction.

        Of a file that is quantised any narrower precision moves integers, and so is as far off.
        """
        inferred = run.log.placement.get("effective_by_error", "")
        asked = _computed_precision(run, found)
        if PRECISIONS[asked].reduced or inferred in ("", asked) or quantises(found.file.check):
            return reason
        emulated = emulating.emulated(run, found.original, found.file.check)
        alike = not emulated.failure and run.judge.resembles(exact, emulated, ran, inferred)
        return f"looks like {inferred}: {reason}" if alike else reason

    def _mutation_sensitive(
        self, run: CellRun, found: Compiled, plain: ReferenceOutputs, ran: Done, comparison: Comparison
    ) -> Outcome | None:
        """The outcome of a run that agrees, but whose comparison would not notice the mutants; else None."""
        reduced = PRECISIONS[run.cell.precision].reduced or PRECISIONS[_computed_precision(run, found)].reduced

        if own_noise.BY_APPROXIMATION in run.log.flags:  # also where some layers were read back: not all of them were
            return own_noise.insensitive(run, self._models, found, plain, ran)
        layers = run.log.numbers.get("mutants")
        if run.cell.types.quantised and layers:  # of the layers, by their own rule
            return self._layers_sensitive(run, found, plain, ran, layers)
        if narrow.in_place(run):
            return noted(run, narrow.strength(run))

        def measured(mutants: Done) -> Strength:
            if comparison.rule is not None:
                right = self._emulated_outputs(run, found) if reduced else None
                end_to_end = run.judge.strength(comparison, ran, mutants, plain.noise, reduced=reduced, right=right)
                return narrow.sharper(run, self._models, found, ran, end_to_end, _computed_precision(run, found))
            scales = found.subject.meta.get("output_scales") or [None] * len(plain.outputs)
            return run.judge.strength_in_steps(plain, mutants, list(scales))

        return insensitive(run, found.file, found.inputs, measured)

    def _emulated_outputs(self, run: CellRun, found: Compiled) -> dict[str, Any] | None:
        """The outputs [n, ...] of the emulation of the cell's precision by name; None where there is none."""
        precision = _computed_precision(run, found)
        if not PRECISIONS[precision].computed:
            return None
        kind = precision if precision == run.cell.precision else OWN
        emulated = emulating.emulated(run, found.original, found.file.check, kind)
        return None if emulated.failure else stack_names(emulated.arrays, kind)

    def _layers_sensitive(
        self, run: CellRun, found: Compiled, plain: ReferenceOutputs, ran: Done,
        layers: Mapping[str, Mapping[str, Any]],
    ) -> Outcome | None:  # fmt: skip
        """The same for a quantised graph: the mutants of its layers, and end to end those of the structure.

        Layers that are right one by one, apart from the model, say nothing of a block between them that a tool leaves
        out: it is the comparison end to end that has to notice it. What a tool quantised itself has no steps at its
        outputs: there it is that of its layers as one whole.
        """
        rows = dict(layers)
        mutants = run.mutants(found.file, found.inputs)
        if mutants.failure:
            return without_mutants(run, mutants.failure)
        if found.subject.meta.get("output_scales"):
            rows |= prequantised.structure_mutants(run, found, plain, ran, mutants)
        else:
            rows |= quantised.whole_mutants(run, self._models, found, plain, ran, mutants)
        without = [name for name in unchanged(mutants) if kind_of(name) is Kind.STRUCTURE]
        return noted(run, rated(rows, unchanged=without, exact=False, table=run.judge.table))


def checker(parts: Parts) -> Checker:
    """The checker of this folder, for registry.py."""
    return Equivalence(parts)


def _flag_coarse(run: CellRun, comparison: Comparison) -> None:
    """Say of a quantised model that is computed rightly where it tells hardly more than its mean output would."""
    found = run.log.numbers.get("approximation") or {}
    error = found.get("E")
    if comparison.status == AGREE and run.cell.types.integers and error is not None and error >= COARSE:
        where = _where(found)
        run.log.flag(
            f"the quantised model itself is E {error:.2g} from the unrounded one{where}, whose mean would be 1"
        )


def _with_whole(run: CellRun, reason: str) -> str:
    """The reason of a mismatch of a quantised model, which may be of one layer, with how far off its outputs are."""
    found = run.log.numbers.get("approximation", {})
    if not run.cell.types.quantised or found.get("E") is None:
        return reason
    noise = "" if found["sqnr_db"] is None else f", {found['sqnr_db']:.1f} dB"
    return f"{reason}; the outputs are E {found['E']:.1e}{noise} from the unrounded model{_where(found)}"


def _where(approximation: Mapping[str, Any]) -> str:
    """The part of an output that an approximation is of; empty where it is of an output."""
    return f" in {approximation['part']}" if "part" in approximation else ""


def _computed_precision(run: CellRun, found: Compiled) -> str:
    """The precision of a cell; a file whose own types are narrower than float32 sets that of a cell of float32.

    It sets that of rounded weights, too, whose products are otherwise those of float32.
    """
    own, single = found.file.computes, run.cell.precision == "fp32" or run.cell.types.rounds_weights
    return own if single and PRECISIONS[own].reduced else run.cell.precision


def _settled(
    run: CellRun, plain: ReferenceOutputs, ran: Done, comparison: Comparison, near: float
) -> Comparison:  # fmt: skip
    """The comparison of weights that a tool rounded itself, where a mismatch may be a rounding that is not known.

    ``near`` is how far the run is from the unrounded file, over how far the nearest file with rounded weights is. Where
    weights of the artefact are none of the file's, the tool has computed them, as where it folds a factor that stands
    behind a product into it; what rounding them changes is not known, and may be more.
    """
    table = run.judge.table
    computed = any(flag.endswith(stored.UNPLACED) for flag in run.log.flags)
    limit = table.unknown_weights if computed else table.unknown_rounding
    if comparison.status != MISMATCH or near > limit or run.model.detections:
        return comparison
    if run.judge.compare(run.model, plain, ran).status == AGREE:
        return replace(comparison, reason=f"no weight is rounded: {comparison.reason}")
    reason = (
        f"no way of rounding that is known gives this result, which is {near:.2g} times as far from the unrounded "
        f"file as rounded weights are: {comparison.reason}"
    )
    return unverified(Unverified.NO_REFERENCE, reason, comparison.numbers)


def _note_others(run: CellRun, others: Mapping[Cell, Outcome]) -> None:
    """Flag the cell where the cell that should prove its structure did not."""
    for other, found in others.items():
        run.log.reusable = run.log.reusable and found.reusable
        if found.status is not Status.SUPPORTED:
            run.log.flag(f"{run.cell.precision} only: {other.precision} is {found.status}")


def _note_dynamic(run: CellRun, found: Compiled) -> None:
    declared = found.file.check.meta["check"]
    if any(not isinstance(dim, int) for row in declared["inputs"] for dim in row["shape"]):
        run.log.numbers["dynamic"] = "preserved" if keeps_symbols(found.compiled) else "frozen"
