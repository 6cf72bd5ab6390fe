"""Models in float16 or bfloat16, layer by layer within the model: what adds up end to end does not add up there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bench_plugin.checks.compiled.compiling import Compiled, CompiledModels
from bench_plugin.checks.equivalence import layers
from bench_plugin.compare.operators.strict import LOW_ACCUMULATOR
from bench_plugin.compare.strength import Strength, rated
from bench_plugin.compare.table import Table
from bench_plugin.compare.verdict import AGREE, MISMATCH, UNVERIFIED, Comparison
from bench_plugin.domain.outcome import Unverified
from bench_plugin.domain.precision import PRECISIONS
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.judging.judge import OWN
from bench_plugin.pipeline.judging.judge_narrow import NarrowLayers, narrow_layers
from bench_plugin.pipeline.judging.judge_quantised import IN_PLACE, numbered
from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.tasks import graph_tasks, layer_tasks
from bench_plugin.pipeline.tasks.corpus import widened
from bench_plugin.pipeline.tasks.subjects import InputSet, Subject

SETTLED = "every layer is right in its place; end to end roundings add up"
FILE = "model.onnx"
# What gives something else where two numbers that are nearly equal, or a number and a bound, are rounded.
STEPPED = frozenset({
    "ArgMax", "ArgMin", "Ceil", "Equal", "Floor", "Greater", "GreaterOrEqual", "Hardmax", "If", "Less", "LessOrEqual",
    "Loop", "Mod", "NonMaxSuppression", "Round", "Sign", "TopK",
})  # fmt: skip


@dataclass(frozen=True)
class Within:
    """The layers of the stage ``apart`` within the model, and the ``inputs`` that the model itself gave them.

    ``kind`` is the emulation of their roundings: that of a precision, or of the types of the file.
    """

    results: NarrowLayers
    apart: Done
    inputs: InputSet
    kind: str


def settled(
    run: CellRun, models: CompiledModels, found: Compiled, ran: Done, comparison: Comparison, precision: str
) -> Comparison:  # fmt: skip
    """The verdict on a run that is ill-conditioned end to end: by its layers within the model, where these are judged.

    Where all are right, none is missing, and the run is. One that is wrong is a mismatch. Where they cannot be judged
    ``comparison`` is left as it is, and a flag says why.
    """
    if comparison.status != UNVERIFIED or comparison.kind is not Unverified.ILL_CONDITIONED:
        return comparison
    judged = _compared(run, models, found, ran, precision)
    if judged is None:
        return comparison
    numbers = {**comparison.numbers, **judged.numbers}
    if judged.status == MISMATCH:
        return replace(judged, reason=f"within the model a layer is wrong: {judged.reason}", numbers=numbers)
    return Comparison(AGREE, "", numbers, notes=(*judged.notes, SETTLED))


def sharper(
    run: CellRun, models: CompiledModels, found: Compiled, ran: Done, end_to_end: Strength, precision: str
) -> Strength:  # fmt: skip
    """What the layers within the model notice, where a comparison end to end would not notice enough.

    Neither does one that needed the noise of terms which are added one by one: a mistake may be as far off as these.
    Where a layer is wrong the run has ``made`` a mistake. Where the layers cannot be judged, or notice no larger a
    share of their mutants, ``end_to_end`` is left.
    """
    if not (end_to_end.reason or end_to_end.weak or LOW_ACCUMULATOR in run.log.flags):
        return end_to_end
    judged = _compared(run, models, found, ran, precision)
    if judged is None:
        return end_to_end
    if judged.status == MISMATCH:
        run.log.note_comparison(judged)
        return replace(end_to_end, made=f"within the model a layer is wrong: {judged.reason}")
    layered = _rated(judged.numbers, run.judge.table)
    if layered.reason or (not end_to_end.reason and (layered.share or 0.0) <= (end_to_end.share or 0.0)):
        return end_to_end
    run.log.note_comparison(judged)
    return layered


def strength(run: CellRun) -> Strength:
    """What the rule of layers notices of the mutants of the layers, which the row has."""
    return _rated(run.log.numbers, run.judge.table)


def _rated(numbers: Mapping[str, Any], table: Table) -> Strength:
    return rated(numbers["mutants"], unchanged=numbers["mutants_unchanged"], exact=False, table=table)


def in_place(run: CellRun) -> bool:
    """Whether the row is that of a model in floating point that was judged by its layers."""
    return not run.cell.types.quantised and run.log.numbers.get("whole_by") == IN_PLACE


def _compared(
    run: CellRun, models: CompiledModels, found: Compiled, ran: Done, precision: str
) -> Comparison | None:  # fmt: skip
    """The verdict on the layers, right with their mutants or wrong; None, and a flag, where they cannot be judged."""
    narrow = run.cell.types.computed and PRECISIONS[precision].reduced
    if not narrow or FILE not in found.subject.files or found.subject.batch != 1 or run.model.detections:
        return None
    within = _within(run, models, found, ran, precision)
    if isinstance(within, str):
        run.log.flag(f"layers were not judged: {within}")
        return None
    results, judged = within.results, Comparison(UNVERIFIED)
    for sums, notes in ((False, ()), (True, (LOW_ACCUMULATOR,))):
        emulated = _emulated(run, within, sums=sums)
        if emulated.failure:
            run.log.flag(f"layers were not judged: {precision} could not be emulated: {emulated.failure.message}")
            return None
        results = results.with_noise(emulated, _named(within.kind, sums=sums))
        judged = replace(results.compared(), notes=notes)
        if judged.status == AGREE:
            return _with_mutants(run, within, results, judged)
    if judged.status == UNVERIFIED:
        run.log.flag(f"layers were not judged: {judged.reason}")
        return None
    steps = STEPPED.intersection(found.file.check.meta["check"]["operators"])
    if steps:  # the emulation may have chosen otherwise
        run.log.flag(f"layers were not judged: a rounding may decide what {min(steps)} gives")
        return None
    return judged


def _within(run: CellRun, models: CompiledModels, found: Compiled, ran: Done, precision: str) -> Within | str:
    """The layers with what is right in float64; a text says why there are none.

    A tool may compute another result once its tensors are outputs. The first of some ways to hand them over that
    changes nothing is taken.
    """
    graph = replace(found.subject, inputs=layer_tasks.few(found.subject.inputs))
    kind = OWN if run.cell.graph or precision != run.cell.precision else precision
    said = ""
    for fused_sums in (False, True):
        for in_bfloat16 in (False, True) if kind == "bf16" else (False,):
            task = graph_tasks.layers(
                run.tasks, run.model, graph, fused_sums=fused_sums, floating=True, in_bfloat16=in_bfloat16
            )
            apart = run.obtain("layers", task)
            if apart.failure or not apart.meta["layers"]["layers"]:
                return apart.failure.message if apart.failure else "the file has none"
            if not {row["name"] for row in graph.outputs}.issubset(apart.meta["layers"]["layers"]):
                return "an output is no floating point"
            exposed = layers.ran_exposed(run, models, graph, apart, ran)
            if not isinstance(exposed, str) and exposed.faithful:
                return _in_float64(run, graph, apart, exposed, precision, kind)
            said = said or (exposed if isinstance(exposed, str) else layers.UNFAITHFUL)
    return said


def _in_float64(
    run: CellRun, graph: Subject, apart: Done, exposed: layers.Exposed, precision: str, kind: str
) -> Within | str:  # fmt: skip
    tensors = {name: widened(x, "bfloat16") if x.dtype == "uint16" else x for name, x in exposed.tensors.items()}
    inputs = graph_tasks.layer_by_layer(graph, apart, exposed.done, tensors).inputs
    exact = run.obtain("evaluate", layer_tasks.unrounded(run.tasks, run.model, apart, inputs))
    if exact.failure:
        return f"they have no float64 reference: {exact.failure.message}"
    truth = dict(zip(tensors, numbered(exact.arrays).values(), strict=True))
    return Within(narrow_layers(truth, tensors, precision, run.judge.table.of_layers()), apart, inputs, kind)


def _emulated(run: CellRun, within: Within, *, sums: bool) -> Done:
    """The stage that emulates the roundings of the layers, with ``sums`` those of terms in their type, too."""
    task = graph_tasks.emulate_layers(run.tasks, run.model, within.apart, within.inputs, within.kind, sums=sums)
    return run.obtain("emulate", task)


def _named(kind: str, *, sums: bool) -> str:
    return f"{kind}-sums" if sums else kind


def _with_mutants(run: CellRun, within: Within, results: NarrowLayers, judged: Comparison) -> Comparison | None:
    """The verdict with what its rule notices of the mutants of the layers; None where these fail, with a flag."""
    done = run.obtain("mutants", layer_tasks.mutated(run.tasks, run.model, within.apart, within.inputs, branches=True))
    if done.failure:
        run.log.flag(f"mutants of the layers could not be run: {done.failure.message}")
        return None
    noticed, unchanged = results.mutants(done)
    return replace(judged, numbers={**judged.numbers, "mutants": noticed, "mutants_unchanged": unchanged})
