"""The conformance of quantised models: against their own graph, or against what was read back from the artefact."""

from __future__ import annotations

from dataclasses import replace

from bench_plugin.checks.compiled.compiling import Compiled, CompiledModels
from bench_plugin.checks.equivalence import layers
from bench_plugin.compare.quantised import compare_by_approximation, compare_layers
from bench_plugin.compare.verdict import AGREE, UNVERIFIED, Comparison, unverified
from bench_plugin.domain.outcome import Failure, Unverified
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.judge import ReferenceOutputs
from bench_plugin.pipeline.judge_quantised import judge_prequantised, numbered, signal_to_noise
from bench_plugin.pipeline.stages import Done

PERTURBED_RUNS = 2  # perturbed runs of a quantised graph, which find the inputs whose rounding is stable
LAYERED = "qdq"  # the pre-quantised models that can be split at their quantisations
BY_APPROXIMATION = "by approximation"


def conformance(
    run: CellRun, models: CompiledModels, found: Compiled, ran: Done, plain: ReferenceOutputs
) -> Comparison:
    """The verdict on a quantised model; ``plain`` is the float64 reference of the unrounded one."""
    if run.cell.graph:
        return _prequantised(run, models, found, ran)
    return _quantised_by_tool(run, models, found, ran, plain)


def _prequantised(run: CellRun, models: CompiledModels, found: Compiled, ran: Done) -> Comparison:
    """For a pre-quantised model: compare with its own graph in float64, in steps of its scales."""
    graph = found.subject
    path = graph.files["model.onnx"]
    reference = run.evaluate(path, graph.origin, found.inputs, perturbed=PERTURBED_RUNS)
    if reference.failure:
        text = f"the quantised graph has no float64 reference: {reference.failure.message}"
        return unverified(Unverified.NO_REFERENCE, text)
    apart = layers.of_graph(run, models, graph) if run.cell.graph == LAYERED else None
    scales = list(graph.meta["output_scales"])
    comparison = judge_prequantised(reference, ran, scales, apart.results if apart else None, run.judge.table)
    if apart and comparison.status == AGREE:
        layers.note_mutants(run, apart)
    return comparison


def _quantised_by_tool(
    run: CellRun, models: CompiledModels, found: Compiled, ran: Done, plain: ReferenceOutputs
) -> Comparison:
    """For a model that the tool quantised: its kernels layer by layer, then what its converter wrote."""
    read = layers.of_artefact(run, models, found, ran)
    if isinstance(read, str):
        run.log.flag(f"nothing was read back from the artefact: {read}")
        return _by_approximation(run, models, found, ran, plain)
    results = read.results
    kernels = compare_layers(
        results.unrounded, results.actual, results.exceptions, dynamic=results.dynamic, table=run.judge.table
    )
    comparison = replace(kernels, numbers={**kernels.numbers, "truth": "layers read back, in float64, unrounded"})
    unread = list(read.rebuilt.meta["rebuild"]["unread"]) if read.rebuilt else []
    if unread:
        run.log.flag(f"not read back: {'; '.join(unread[:3])}")
    if comparison.status == AGREE:
        layers.note_mutants(run, read)
    if comparison.status == UNVERIFIED or (comparison.status == AGREE and unread):
        rest = _by_approximation(run, models, found, ran, plain)
        return replace(rest, numbers={**comparison.numbers, **rest.numbers})
    return comparison


def _by_approximation(
    run: CellRun, models: CompiledModels, found: Compiled, ran: Done, plain: ReferenceOutputs
) -> Comparison:
    """Where nothing was read back: the noise of the result against that of our own quantisation of the same model."""
    run.log.flag(BY_APPROXIMATION)
    own = models.prepared(run, found.original, models.calibration(run, found.original), LAYERED)
    if isinstance(own, Failure):
        return unverified(
            Unverified.NO_REFERENCE, f"no quantisation of our own to compare the noise with: {own.message}"
        )
    evaluated = run.evaluate(own.files["model.onnx"], own.origin, found.inputs)
    if evaluated.failure:
        return unverified(
            Unverified.NO_REFERENCE, f"our own quantisation has no float64 reference: {evaluated.failure.message}"
        )
    ours = signal_to_noise(plain.outputs, numbered(evaluated.arrays))
    theirs = signal_to_noise(plain.outputs, numbered(ran.arrays))
    comparison = compare_by_approximation(ours, theirs, run.judge.table)
    truth = {"truth": "the unrounded model, by approximation"}
    return replace(comparison, numbers={**comparison.numbers, **truth})
