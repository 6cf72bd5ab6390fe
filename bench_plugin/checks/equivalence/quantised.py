"""The conformance of quantised models: against their own graph, or against what was read back from the artefact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from bench_plugin.checks.compiled.compiling import Compiled, CompiledModels
from bench_plugin.checks.equivalence import layers, stored, whole
from bench_plugin.checks.equivalence.comparing import compared_in_steps
from bench_plugin.checks.sensitivity import noted
from bench_plugin.compare.converted import compare_floats, compare_ranges, cut_ranges, masked_range, measured_ranges
from bench_plugin.compare.quantised import (
    compare_by_approximation,
    compare_layers,
    compare_shapes,
    compare_stable,
    same_bits,
)
from bench_plugin.compare.strength import Strength
from bench_plugin.compare.verdict import AGREE, MISMATCH, UNVERIFIED, Comparison, unverified
from bench_plugin.domain.outcome import Failure, Outcome, Stage, Unverified
from bench_plugin.domain.precision import FIXED_QDQ, WEIGHTS
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.judge import ReferenceOutputs
from bench_plugin.pipeline.judge_quantised import (
    choices,
    judge_prequantised,
    mistakes_in_whole,
    numbered,
    only_in_whole,
    perturbed,
    signal_to_noise,
    strength_by_noise,
)
from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.tasks import layer_tasks

PERTURBED_RUNS = 2  # perturbed runs of a quantised graph, which find the inputs whose rounding is stable
LAYERED = "qdq"  # the pre-quantised models that can be split at their quantisations
BY_APPROXIMATION = "by approximation"
CORRECTED = 0.5  # of the error of our own quantisation: how far biases that a tool has corrected may move the outputs


def conformance(
    run: CellRun, models: CompiledModels, found: Compiled, ran: Done, plain: ReferenceOutputs
) -> Comparison:
    """The verdict on a quantised model; ``plain`` is the float64 reference of the unrounded one."""
    if run.cell.graph:
        return _prequantised(run, models, found, ran, plain)
    return _quantised_by_tool(run, models, found, ran, plain)


def _prequantised(
    run: CellRun, models: CompiledModels, found: Compiled, ran: Done, plain: ReferenceOutputs
) -> Comparison:
    """For a pre-quantised model: compare with its own graph in float64, in steps of its scales."""
    graph = found.subject
    path = graph.files["model.onnx"]
    reference = run.evaluate(path, graph.origin, found.inputs, perturbed=PERTURBED_RUNS)
    if reference.failure:
        text = f"the quantised graph has no float64 reference: {reference.failure.message}"
        return unverified(Unverified.NO_REFERENCE, text)
    one_by_one = run.cell.graph == LAYERED and graph.batch == 1
    apart = layers.of_graph(run, models, graph) if one_by_one else None
    scales = list(graph.meta["output_scales"])
    if run.cell.graph == FIXED_QDQ and same_bits(numbered(reference.arrays), numbered(ran.arrays)):
        exact = compare_stable(numbered(reference.arrays), [], numbered(ran.arrays), scales, table=run.judge.table)
        return replace(exact, numbers={**exact.numbers, "truth": "quantised graph in float64, bit for bit"})
    results = apart.results if apart else None

    def judged(truth: Done) -> Comparison:
        return judge_prequantised(plain.outputs, truth, ran, scales, results, run.judge.table)

    comparison, reference = compared_in_steps(run, found, reference, judged)
    if apart and comparison.status == MISMATCH and _right_as_a_whole(run, reference, ran, scales):
        inside = layers.in_place(run, models, graph, apart.made, ran)
        if isinstance(inside, str) or not inside.faithful:
            said = inside if isinstance(inside, str) else "exposing the tensors of the model changes its result"
            reason = f"a layer is wrong, but only apart from the model, which agrees ({said}): {comparison.reason}"
            return unverified(Unverified.NO_REFERENCE, reason, comparison.numbers)
        within = judge_prequantised(plain.outputs, reference, ran, scales, inside.results, run.judge.table)
        if within.status != MISMATCH:
            run.log.flag(f"layers are compared within the model; compiled apart: {comparison.reason}")
            apart, comparison = inside, within
    if apart and comparison.status == AGREE:
        layers.note_mutants(run, apart)
    return comparison


def _right_as_a_whole(run: CellRun, reference: Done, ran: Done, scales: Sequence[float | None]) -> bool:
    """Whether a pre-quantised model agrees end to end, where its layers do not."""
    expected, found = numbered(reference.arrays), numbered(ran.arrays)
    return compare_stable(expected, perturbed(reference), found, scales, table=run.judge.table).status == AGREE


def _quantised_by_tool(
    run: CellRun, models: CompiledModels, found: Compiled, ran: Done, plain: ReferenceOutputs
) -> Comparison:
    """For a model that the tool quantised: what its converter wrote, and its kernels on what was read back."""
    shapes = compare_shapes(plain.outputs, numbered(ran.arrays))
    if shapes.status == MISMATCH:
        return shapes
    if found.subject.batch > 1:
        run.log.flag(f"layers are compared one by one at batch 1, not at {found.subject.batch}")
        return _by_approximation(run, models, found, ran, plain)
    rebuilt = layers.read_back(run, models, found)
    if isinstance(rebuilt, str):
        run.log.flag(f"nothing was read back from the artefact: {rebuilt}")
        return _by_approximation(run, models, found, ran, plain)
    said = rebuilt.meta["rebuild"]
    matched = stored.matched_with_file(run, found, rebuilt) if said["constants"] else None
    if said["unread"]:
        run.log.flag(f"not read back: {'; '.join(said['unread'][:3])}")
    if said["results"]:
        kernels = _kernels(run, models, found, ran, rebuilt)
    else:
        kernels = stored.weight_only(run, models, found, ran, matched, plain)
    if kernels.status == MISMATCH:
        return kernels
    converter = stored.constants(run, rebuilt, matched)
    floats = _floats(run, models, found, rebuilt, matched, plain)
    if converter.status == AGREE:
        converter = replace(floats, numbers={**converter.numbers, **floats.numbers})
    if converter.status == AGREE and matched is not None and said["results"]:
        converter = _ranges(run, models, found, rebuilt, matched, plain, converter)
    numbers = {**kernels.numbers, **converter.numbers}
    if converter.status == MISMATCH:
        return replace(converter, numbers=numbers)
    if kernels.status == UNVERIFIED or said["unread"] or converter.status == UNVERIFIED or not _complete(converter):
        rest = _by_approximation(run, models, found, ran, plain)
        rest = replace(rest, numbers={**numbers, **rest.numbers})
        right = converter.status == AGREE and _complete(converter) and not said["unread"]
        if rest.status != MISMATCH and right and said["results"] and matched is not None:
            return _not_the_model(run, models, found, ran, rebuilt, matched, plain, rest)
        return rest
    if not said["results"] or matched is None:
        return replace(kernels, numbers=numbers)
    return _as_a_whole(run, models, found, ran, rebuilt, matched, plain, replace(kernels, numbers=numbers))


def _as_a_whole(
    run: CellRun, models: CompiledModels, found: Compiled, ran: Done, rebuilt: Done, matched: Done,
    plain: ReferenceOutputs, kernels: Comparison,
) -> Comparison:  # fmt: skip
    """The verdict on layers that are right one by one, and that have to be the whole model.

    Where they cannot be put together, the result must not be further off than our own quantisation may be.
    """
    error = whole.error(run, models, found, rebuilt, matched, plain)
    if isinstance(error, float):
        numbers = {**kernels.numbers, "whole_E": error}
        least = _least_limit(run, plain, rebuilt, matched)
        if error <= least or error <= whole_limit(run, models, found, ran, plain, rebuilt, matched):
            return replace(kernels, numbers=numbers)
        reason = f"the layers are right one by one, but are not the model: E {error:.2e} without any rounding"
        return Comparison(MISMATCH, reason, numbers)
    noise = _noise(run, models, found, ran, plain)
    if noise.status != MISMATCH:
        return replace(
            kernels, notes=(*kernels.notes, f"whether the layers are the whole model was not proven: {error}")
        )
    reason = f"the layers are right one by one, but whether they are the model is not known ({error}): {noise.reason}"
    return unverified(Unverified.NO_REFERENCE, reason, {**kernels.numbers, **noise.numbers})


def _not_the_model(
    run: CellRun, models: CompiledModels, found: Compiled, ran: Done, rebuilt: Done, matched: Done,
    plain: ReferenceOutputs, rest: Comparison,
) -> Comparison:  # fmt: skip
    """The mismatch of layers that cannot be compared one by one, but put together are not the model; else ``rest``."""
    error = whole.error(run, models, found, rebuilt, matched, plain)
    if isinstance(error, str):
        return rest
    numbers = {**rest.numbers, "whole_E": error}
    if error <= whole_limit(run, models, found, ran, plain, rebuilt, matched):
        return replace(rest, numbers=numbers)
    return Comparison(
        MISMATCH, f"the layers of the artefact are not the model: E {error:.2e} without any rounding", numbers
    )


def whole_limit(
    run: CellRun, models: CompiledModels, found: Compiled, ran: Done, plain: ReferenceOutputs, rebuilt: Done,
    matched: Done,
) -> float:  # fmt: skip
    """The largest E of the layers of an artefact as one whole, without any rounding, that is no missing part.

    A tool may correct biases that are not compared by half of what our own quantisation is from the model: it takes
    away the mean of the error alone.
    """
    limit = _least_limit(run, plain, rebuilt, matched)
    if _compares_biases(rebuilt):
        return limit
    own = _noise(run, models, found, ran, plain).numbers.get("own_sqnr_db")
    return max(limit, CORRECTED * float(10 ** (-own / 20))) if isinstance(own, (int, float)) else limit


def _least_limit(run: CellRun, plain: ReferenceOutputs, rebuilt: Done, matched: Done) -> float:
    """The limit of what has corrected nothing.

    Where all results are in floating point, the constants of the layers are those of the file but for what float32
    changes; where all constants are compared one by one, but for what a converter computes of several of them.
    """
    if all(row.get("scale") is None for row in rebuilt.meta["rebuild"]["results"]):
        return _of_float32(run, plain)
    said, table = rebuilt.meta["rebuild"], run.judge.table
    found = {row["name"] for row in matched.meta["match"]["matches"] if row["tensor"]}
    numbers = {row["name"] for row in said["constants"] if row["kind"] == "number"}
    return table.converter_exact if said.get("complete") and numbers <= found else table.converter_whole


def _floats(
    run: CellRun, models: CompiledModels, found: Compiled, rebuilt: Done, matched: Done | None, plain: ReferenceOutputs
) -> Comparison:
    """The verdict on the constants of the artefact that stayed in floating point.

    What a converter may make of constants is not known in full. So one that is not the file's is right where the layers
    as one whole are the model to what float32 changes. Where the whole is not known, one that is like a constant of the
    file is a mismatch, and one that is like none leaves the verdict open.
    """
    if matched is None:
        return Comparison(AGREE)
    constants, matches = rebuilt.meta["rebuild"]["constants"], matched.meta["match"]["matches"]
    comparison = compare_floats(constants, matches, table=run.judge.table)
    said = comparison.numbers["converter_floats"]
    missing = said["constants"] - said["compared"]
    if comparison.status == AGREE and not missing:
        return comparison
    error = whole.error(run, models, found, rebuilt, matched, plain)
    if isinstance(error, float) and error <= _of_float32(run, plain):
        return Comparison(AGREE, numbers=comparison.numbers)
    if comparison.status == AGREE:
        run.log.flag(f"{missing} of {said['constants']} constants in floating point have no counterpart in the file")
        if isinstance(error, str):
            return unverified(Unverified.NO_REFERENCE, error, comparison.numbers)
    return comparison


def _of_float32(run: CellRun, plain: ReferenceOutputs) -> float:
    """The largest E of the layers of an artefact as one whole that float32 explains, by the row of fp32."""
    row = run.judge.table.row("fp32")
    noise = max((one.E for one in plain.noise.values()), default=0.0)
    return min(row.cap, max(row.k * noise, row.floor))


def _ranges(
    run: CellRun, models: CompiledModels, found: Compiled, rebuilt: Done, matched: Done, plain: ReferenceOutputs,
    constants: Comparison,
) -> Comparison:  # fmt: skip
    """The verdict on the ranges of activations: those that the calibration gives with the constants of the file."""
    if all(row.get("scale") is None for row in rebuilt.meta["rebuild"]["results"]):
        return constants
    results = [row for row in rebuilt.meta["rebuild"]["results"] if row.get("calibrated")]
    if not results or not models.compile_tasks.quantises(run.cell) or not _complete(constants):
        run.log.flag("ranges of activations were not compared with the calibration")
        return constants
    if layer_tasks.few(found.subject.inputs).parts.get("first"):
        run.log.flag("ranges of activations were not compared with the calibration")
        return constants
    calibration = whole.calibrated(run, models, found, rebuilt)
    if isinstance(calibration, str):
        run.log.flag(f"ranges of activations were not compared with the calibration: {calibration}")
        return constants
    readers = layer_tasks.readers(rebuilt)
    wanted = [row["real"] for row in results]
    wanted += [readers[name] for name in wanted if name in readers]
    task = layer_tasks.joined(run.tasks, run.model, rebuilt, matched, wanted)
    values = whole.evaluated(run, task, rebuilt, calibration)
    if isinstance(values, Failure):
        run.log.flag(f"ranges of activations were not compared with the calibration: {values.message}")
        return constants
    results, measured = measured_ranges(results, values)
    ranges = compare_ranges(results, measured, readers=readers, table=run.judge.table)
    cut = cut_ranges(results, measured, table=run.judge.table)
    if cut and ranges.status == AGREE:
        (low, high), first = measured[cut[0]["real"]], cut[0]
        said = f"the range of {first['layer']} is {first['low']:.4g} to {first['high']:.4g}, which leaves out values "
        said += f"of the calibration ({low:.4g} to {high:.4g})"
        ranges = _cut(run, models, found, rebuilt, matched, plain, cut, replace(ranges, reason=said))
    if masked := masked_range(results):
        run.log.flag(masked)
    return replace(ranges, numbers={**constants.numbers, **ranges.numbers})


def _cut(
    run: CellRun, models: CompiledModels, found: Compiled, rebuilt: Done, matched: Done, plain: ReferenceOutputs,
    cut: Sequence[Mapping[str, Any]], ranges: Comparison,
) -> Comparison:  # fmt: skip
    """The verdict on right ranges that leave out values of the calibration; the reason of ``ranges`` says which.

    What the model gives with these values cut, and nothing else rounded, must not be further off than our own
    quantisation may be. What does not reach the outputs is no matter: the low end in front of a maximum.
    """
    said, agrees = ranges.reason, replace(ranges, reason="")
    made = whole.outputs(run, models, found, rebuilt, matched, plain, cut)
    if isinstance(made, str):
        run.log.flag(f"{said}; what that changes is not known: {made}")
        return agrees
    error = made.error(plain.outputs)
    counted = {**ranges.numbers["converter_ranges"], "cut_E": error}
    agrees = replace(agrees, numbers={**ranges.numbers, "converter_ranges": counted})
    if error <= run.judge.table.converter_exact:
        return agrees
    own = _own(run, models, found)
    if isinstance(own, str):
        return unverified(Unverified.NO_REFERENCE, f"{said}; {own}", agrees.numbers)
    chosen = choices(plain.outputs, found.file.check.meta["check"]["operators"])
    short = {name: truth[: len(made.values[name])] for name, truth in plain.outputs.items()}
    ours = signal_to_noise(plain.outputs, numbered(own.evaluated.arrays), chosen)
    theirs = signal_to_noise(short, made.values, chosen)
    noise = compare_by_approximation(ours, theirs, run.judge.table)
    if noise.status == MISMATCH:
        return Comparison(
            MISMATCH, f"converter: {said}, so that without any other rounding {noise.reason}", agrees.numbers
        )
    if noise.status == UNVERIFIED or noise.numbers["short_of_own_db"] > 0:
        run.log.flag(f"{said}: E {error:.1e} without any other rounding")
    return agrees


def _complete(converter: Comparison) -> bool:
    """Whether every quantised constant of the artefact was compared with one of the file."""
    said = converter.numbers.get("converter", {"constants": 1, "compared": 0})
    return bool(said["compared"] == said["constants"])


def _kernels(run: CellRun, models: CompiledModels, found: Compiled, ran: Done, rebuilt: Done) -> Comparison:
    """The verdict on the kernels: every layer that was read back, on what the tool itself fed it."""
    read = layers.of_artefact(run, models, found, ran, rebuilt)
    if isinstance(read, str):
        run.log.flag(f"the layers were not run: {read}")
        return unverified(Unverified.NO_REFERENCE, read)
    comparison = _layer_by_layer(run, read)
    if comparison.status == MISMATCH and read.results.dynamic:
        read = read.with_noise(run)
        comparison = _layer_by_layer(run, read)
    if not read.faithful:  # the layers are those of another artefact than the one that is judged
        reason = "exposing the tensors of the model changes its result"
        if comparison.status == MISMATCH:
            reason = f"only with its tensors as outputs the artefact is wrong: {comparison.reason}"
            run.log.flag(reason)
        return unverified(Unverified.NO_REFERENCE, reason, comparison.numbers)
    if comparison.status == AGREE:
        layers.note_mutants(run, read)
    truth = {"truth": "layers read back from the artefact, in float64, unrounded"}
    return replace(comparison, numbers={**comparison.numbers, **truth})


def _layer_by_layer(run: CellRun, read: layers.Layers) -> Comparison:
    found = read.results
    return compare_layers(
        found.unrounded, found.actual, found.exceptions,
        dynamic=found.dynamic, noise=found.noise, table=run.judge.table,
    )  # fmt: skip


def _by_approximation(
    run: CellRun, models: CompiledModels, found: Compiled, ran: Done, plain: ReferenceOutputs
) -> Comparison:
    """Where nothing was read back: the noise of the result is all that can be judged."""
    run.log.flag(BY_APPROXIMATION)
    return _noise(run, models, found, ran, plain)


class _Own(NamedTuple):
    """Our own quantisation of a model, evaluated in float64, and the recurrent layers that it does not round."""

    evaluated: Done
    unrounded: Sequence[str]


def _own(run: CellRun, models: CompiledModels, found: Compiled) -> _Own | str:
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
    return _Own(evaluated, list(own.meta["unrounded"]))


def _noise(run: CellRun, models: CompiledModels, found: Compiled, ran: Done, plain: ReferenceOutputs) -> Comparison:
    """The noise of the result against that of our own quantisation of the same model."""
    own = _own(run, models, found)
    if isinstance(own, str):
        return unverified(Unverified.NO_REFERENCE, own)
    operators = found.file.check.meta["check"]["operators"]
    chosen = choices(plain.outputs, operators)
    ours = signal_to_noise(plain.outputs, numbered(own.evaluated.arrays), chosen)
    theirs = signal_to_noise(plain.outputs, numbered(ran.arrays), chosen)
    integers = [name for name, values in plain.outputs.items() if values.dtype.kind != "f"]
    comparison = compare_by_approximation(ours, theirs, run.judge.table, integers=integers, unrounded=own.unrounded)
    truth = {"truth": "the unrounded model, by approximation"}
    return replace(comparison, numbers={**comparison.numbers, **truth})


def whole_mutants(
    run: CellRun, models: CompiledModels, found: Compiled, plain: ReferenceOutputs, ran: Done, mutants: Done
) -> dict[str, dict[str, Any]]:
    """What the comparison of the whole notices of the mutants that only it shows, or in its place that of the noise."""
    rebuilt = layers.read_back(run, models, found)
    biases = not isinstance(rebuilt, str) and _compares_biases(rebuilt)
    if run.log.numbers.get("whole_E") is not None and not isinstance(rebuilt, str):
        matched = stored.matched_with_file(run, found, rebuilt)
        if matched is not None:
            limit = whole_limit(run, models, found, ran, plain, rebuilt, matched)
            made = whole.outputs(run, models, found, rebuilt, matched, plain)
            chosen = {} if isinstance(made, str) else made.chosen
            return mistakes_in_whole(plain, mutants, limit, biases=biases, chosen=chosen)
    own = _noise(run, models, found, ran, plain).numbers.get("own_sqnr_db")
    if own is None:
        return {}
    table = _by_noise(run, models, found, plain, ran, mutants, own).table
    return {name: dict(row) for name, row in table.items() if only_in_whole(name, biases=biases)}


def _compares_biases(rebuilt: Done) -> bool:
    """Whether the artefact has biases that are compared with those of the file."""
    return any(constant["kind"] == "bias" for constant in rebuilt.meta["rebuild"]["constants"])


def insensitive(
    run: CellRun, models: CompiledModels, found: Compiled, plain: ReferenceOutputs, ran: Done
) -> Outcome | None:
    """The outcome of a row by approximation that would agree with a wrong model too; None where it would not."""
    mutants = run.mutants(found.file, found.inputs)
    if mutants.failure:
        reason = f"mutants could not be run: {mutants.failure.message}"
        return run.log.unverified(Unverified.NOT_SENSITIVE, reason, stage=Stage.BUILD)
    return noted(run, _by_noise(run, models, found, plain, ran, mutants, run.log.numbers["own_sqnr_db"]))


def _by_noise(
    run: CellRun, models: CompiledModels, found: Compiled, plain: ReferenceOutputs, ran: Done, mutants: Done, own: float
) -> Strength:
    """What the rule by approximation would notice, where our own quantisation has ``own`` dB."""
    right = _own(run, models, found)
    runs = [ran] if isinstance(right, str) else [ran, right.evaluated]
    chosen = choices(plain.outputs, found.file.check.meta["check"]["operators"])
    least = own - run.judge.table.approximation_db
    return strength_by_noise(plain, runs, mutants, least, chosen, run.judge.table)
