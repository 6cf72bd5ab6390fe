"""Our own quantisation of a model: how far it is from the model bounds the noise of what a tool quantised by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from bench_plugin.checks.compiled.compiling import Compiled, CompiledModels
from bench_plugin.checks.sensitivity import noted, without_mutants
from bench_plugin.compare.quantised import compare_by_approximation
from bench_plugin.compare.strength import Strength
from bench_plugin.compare.verdict import Comparison, unverified
from bench_plugin.domain.outcome import Failure, Outcome, Unverified
from bench_plugin.domain.precision import WEIGHTS
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.judging.judge import ReferenceOutputs
from bench_plugin.pipeline.judging.judge_noise import choices, signal_to_noise, strength_by_noise
from bench_plugin.pipeline.judging.judge_quantised import numbered
from bench_plugin.pipeline.stages import Done

LAYERED = "qdq"  # the pre-quantised models that can be split at their quantisations
DYNAMIC = "dynamic"  # those that are quantised as they run, whose layers are judged within the model alone
BY_APPROXIMATION = "by approximation"
OTHERWISE = (
    "put together, the layers that were read back are the model, but once they are outputs the artefact runs otherwise"
)


class Own(NamedTuple):
    """Our own quantisation of a model, evaluated in float64, and the recurrent layers that it does not round."""

    evaluated: Done
    unrounded: Sequence[str]


def of_model(run: CellRun, models: CompiledModels, found: Compiled) -> Own | str:
    """Our own quantisation of the model; a text says why there is none."""
    weight_only = run.cell.types.weight_only
    graph = WEIGHTS if weight_only else LAYERED
    calibration = models.calibration(run, found.original)
    own = models.prepared(run, found.original, calibration, graph, every_contraction=weight_only)
    if isinstance(own, Failure):
        return f"no quantisation of our own to compare the noise with: {own.message}"
    evaluated = run.evaluate(own.files["model.onnx"], own.origin, found.inputs)
    if evaluated.failure:
        return f"our own quantisation has no float64 reference: {evaluated.failure.message}"
    return Own(evaluated, list(own.meta["unrounded"]))


def noise(run: CellRun, models: CompiledModels, found: Compiled, ran: Done, plain: ReferenceOutputs) -> Comparison:
    """The noise of the result against that of our own quantisation of the same model."""
    own = of_model(run, models, found)
    if isinstance(own, str):
        return unverified(Unverified.NO_REFERENCE, own)
    return against(run, found, ran, plain, own.evaluated, own.unrounded)


def against(
    run: CellRun, found: Compiled, ran: Done, plain: ReferenceOutputs, own: Done, unrounded: Sequence[str] = ()
) -> Comparison:
    """The noise of the result against that of ``own``, a quantised graph of the model in float64."""
    operators = found.file.check.meta["check"]["operators"]
    chosen = choices(plain.outputs, operators)
    ours = signal_to_noise(plain.outputs, numbered(own.arrays), chosen, own=True)
    theirs = signal_to_noise(plain.outputs, numbered(ran.arrays), chosen)
    integers = [name for name, values in plain.outputs.items() if values.dtype.kind != "f"]
    table = run.judge.table
    comparison = compare_by_approximation(
        ours, theirs, table, integers=integers, unrounded=unrounded, far=table.approximation_far
    )
    truth = {"truth": "the unrounded model, by approximation"}
    return replace(comparison, numbers={**comparison.numbers, **truth})


def by_approximation(
    run: CellRun, models: CompiledModels, found: Compiled, ran: Done, plain: ReferenceOutputs
) -> Comparison:
    """Where nothing was read back: the noise of the result is all that can be judged."""
    run.log.flag(BY_APPROXIMATION)
    return noise(run, models, found, ran, plain)


def insensitive(
    run: CellRun, models: CompiledModels, found: Compiled, plain: ReferenceOutputs, ran: Done
) -> Outcome | None:
    """The outcome of a row by approximation that would agree with a wrong model too; None where it would not."""
    mutants = run.mutants(found.file, found.inputs)
    if mutants.failure:
        return without_mutants(run, mutants.failure)
    measured = strength(run, models, found, plain, ran, mutants, run.log.numbers["own_sqnr_db"])
    if measured.reason and run.log.numbers.get("whole_E") is not None:
        measured = replace(measured, reason=f"{measured.reason}; {OTHERWISE}")
    return noted(run, measured)


def strength(
    run: CellRun, models: CompiledModels, found: Compiled, plain: ReferenceOutputs, ran: Done, mutants: Done, own: float
) -> Strength:
    """What the rule by approximation would notice, where our own quantisation has ``own`` dB."""
    right = of_model(run, models, found)
    runs = [ran] if isinstance(right, str) else [ran, right.evaluated]
    chosen = choices(plain.outputs, found.file.check.meta["check"]["operators"])
    least = own - run.judge.table.approximation_db
    return strength_by_noise(plain, runs, mutants, least, chosen, run.judge.table)
