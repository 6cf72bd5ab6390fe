"""Pre-quantised models: their layers one by one and in place, and the whole in steps of its scales."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bench_plugin.checks.compiled.compiling import Compiled, CompiledModels
from bench_plugin.checks.equivalence import layers, own_noise
from bench_plugin.checks.equivalence.comparing import compared_in_steps
from bench_plugin.compare.quantised import compare_stable, same_bits
from bench_plugin.compare.table import Kind, kind_of
from bench_plugin.compare.verdict import AGREE, MISMATCH, UNVERIFIED, Comparison, unverified
from bench_plugin.domain.outcome import Unverified
from bench_plugin.domain.precision import FIXED_QDQ, PRECISIONS
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.judging.judge import ReferenceOutputs
from bench_plugin.pipeline.judging.judge_quantised import (
    BY_DISTANCE,
    IN_PLACE,
    LAYER_BY_LAYER,
    bounded_by_exposed,
    judge_prequantised,
    numbered,
    perturbed,
)
from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.tasks.subjects import Subject

PERTURBED_RUNS = 2  # perturbed runs of a quantised graph, which find the inputs whose rounding is stable


def judged(run: CellRun, models: CompiledModels, found: Compiled, ran: Done, plain: ReferenceOutputs) -> Comparison:
    """For a pre-quantised model: compare with its own graph in float64, in steps of its scales."""
    graph = found.subject
    path = graph.files["model.onnx"]
    reference = run.evaluate(path, graph.origin, found.inputs, perturbed=PERTURBED_RUNS)
    if reference.failure:
        text = f"the quantised graph has no float64 reference: {reference.failure.message}"
        if run.cell.graph != own_noise.DYNAMIC:
            return unverified(Unverified.NO_REFERENCE, text)
        run.log.flag(text)  # such as DynamicQuantizeLSTM, an operator of ONNX Runtime's own
        return own_noise.by_approximation(run, models, found, ran, plain)
    one_by_one = run.cell.graph == own_noise.LAYERED and graph.batch == 1
    apart = layers.of_graph(run, models, graph) if one_by_one else None
    scales = list(graph.meta["output_scales"])
    if run.cell.graph == FIXED_QDQ and same_bits(numbered(reference.arrays), numbered(ran.arrays)):
        exact = compare_stable(numbered(reference.arrays), [], numbered(ran.arrays), scales, table=run.judge.table)
        return replace(exact, numbers={**exact.numbers, "truth": "quantised graph in float64, bit for bit"})
    results = apart.results if apart else None

    def by(truth: Done) -> Comparison:
        return judge_prequantised(plain.outputs, truth, ran, scales, results, run.judge.table)

    comparison, reference = compared_in_steps(run, found, reference, by)
    if apart and comparison.status == MISMATCH and _right_as_a_whole(run, reference, ran, scales):
        inside = layers.in_place(run, models, graph, apart.made, ran)
        if isinstance(inside, str) or not inside.faithful:
            said = inside if isinstance(inside, str) else layers.UNFAITHFUL
            reason = f"a layer is wrong, but only apart from the model, which agrees ({said}): {comparison.reason}"
            return unverified(Unverified.NO_REFERENCE, reason, comparison.numbers)
        within = judge_prequantised(plain.outputs, reference, ran, scales, inside.results, run.judge.table)
        if within.status != MISMATCH:
            run.log.flag(f"layers are compared within the model; compiled apart: {comparison.reason}")
            numbers = {**within.numbers, **inside.numbers, "whole_by": IN_PLACE}
            apart, comparison = inside, replace(within, numbers=numbers)
    if apart and comparison.status != MISMATCH and comparison.numbers["whole_by"] == BY_DISTANCE:
        comparison, _ = _in_place(run, models, graph, apart.made, ran, comparison, whole=(plain, reference))
    if run.cell.graph == own_noise.DYNAMIC and graph.batch == 1 and comparison.status == UNVERIFIED:
        made = layers.taken_apart(run, graph)
        comparison, apart = _in_place(run, models, graph, made, ran, comparison) if made else (comparison, None)
    if apart and comparison.status == AGREE:
        layers.note_mutants(run, apart)
    if comparison.status == MISMATCH and PRECISIONS[found.file.computes].reduced:
        return _of_narrow_floats(run, found, ran, plain, reference, comparison)
    return comparison


def _of_narrow_floats(
    run: CellRun, found: Compiled, ran: Done, plain: ReferenceOutputs, reference: Done, comparison: Comparison
) -> Comparison:
    """The verdict by approximation for a file that computes in float16 or bfloat16, where integers are not the nearest.

    What it rounds to integers was rounded to the narrow type before, so that few of them are certain.
    """
    near = own_noise.against(run, found, ran, plain, reference)
    if near.status == MISMATCH:
        return comparison
    run.log.flag(own_noise.BY_APPROXIMATION)
    run.log.flag(f"{found.file.computes} decides integers of this file, which were not judged: {comparison.reason}")
    return near


def _in_place(
    run: CellRun, models: CompiledModels, graph: Subject, made: Done, ran: Done, comparison: Comparison, *,
    whole: tuple[ReferenceOutputs, Done] | None = None,
) -> tuple[Comparison, layers.Layers | None]:  # fmt: skip
    """The verdict on layers within the model, on what the model itself gave them: where all are right, none is missing.

    That settles what single steps add up to, too, where nothing else does. A layer that is wrong there is a mismatch.
    Where the layers cannot be judged there, or one is more than a rounding off, ``comparison`` is left as it is. One
    that agrees by the distance of the ``whole``, the references of the unrounded model and of the graph, is bounded by
    :func:`bounded_by_exposed`. The layers are None where none could be judged.
    """
    inside = layers.in_place(run, models, graph, made, ran)
    if isinstance(inside, str):
        run.log.flag(f"layers were not judged in their places: {inside}")
    if isinstance(inside, str) or not inside.faithful:
        if whole is None or comparison.status != AGREE:
            return comparison, None
        outputs = {} if isinstance(inside, str) else inside.outputs
        plain, reference = whole
        return bounded_by_exposed(comparison, plain.outputs, reference, outputs, run.judge.table), None
    found = inside.results
    there = found.compared(run.judge.table)
    numbers = {**comparison.numbers, **there.numbers, **inside.numbers, "whole_by": IN_PLACE, "truth": LAYER_BY_LAYER}
    if there.status == MISMATCH:
        apart = run.cell.graph == own_noise.LAYERED
        said = "every layer is right apart from the model, and within it one" if apart else "within the model a layer"
        return Comparison(MISMATCH, f"{said} is wrong: {there.reason}", numbers), inside
    if comparison.status == AGREE:
        return replace(comparison, numbers=numbers), inside
    if there.status != AGREE or found.beyond_rounding(run.judge.table):
        return comparison, inside
    note = "every layer is right in its place; end to end single steps add up"
    return Comparison(AGREE, "", numbers, notes=(note,)), inside


def structure_mutants(
    run: CellRun, found: Compiled, plain: ReferenceOutputs, ran: Done, mutants: Done
) -> dict[str, dict[str, Any]]:
    """What a pre-quantised model's comparison end to end notices of the mutants of the structure.

    Nothing is left to notice for it where all layers are right in their places.
    """
    by = run.log.numbers.get("whole_by")
    if by == IN_PLACE:
        return {}
    subject = found.subject
    if by == BY_DISTANCE:
        reference = run.evaluate(subject.files["model.onnx"], subject.origin, found.inputs, perturbed=PERTURBED_RUNS)
        table = run.judge.strength_by_distance(plain, reference, ran, mutants).table
    else:
        table = run.judge.strength_in_steps(plain, mutants, list(subject.meta["output_scales"])).table
    return {name: dict(row) for name, row in table.items() if kind_of(name) is Kind.STRUCTURE}


def _right_as_a_whole(run: CellRun, reference: Done, ran: Done, scales: Sequence[float | None]) -> bool:
    """Whether a pre-quantised model agrees end to end, where its layers do not."""
    expected, found = numbered(reference.arrays), numbered(ran.arrays)
    return compare_stable(expected, perturbed(reference), found, scales, table=run.judge.table).status == AGREE
