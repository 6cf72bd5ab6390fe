"""The conformance of quantised models: against their own graph, or against what was read back from the artefact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bench_plugin.checks.compiled.compiling import Compiled, CompiledModels
from bench_plugin.checks.equivalence import as_model, layers, own_noise, prequantised, stored, whole
from bench_plugin.checks.equivalence.own_noise import by_approximation
from bench_plugin.compare.converted import CONVERTER, compare_ranges, cut_ranges, masked_range, measured_ranges
from bench_plugin.compare.quantised import (
    compare_by_approximation,
    compare_shapes,
)
from bench_plugin.compare.verdict import AGREE, MISMATCH, UNVERIFIED, Comparison, unverified
from bench_plugin.domain.outcome import Failure, Unverified
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.judging.judge import ReferenceOutputs
from bench_plugin.pipeline.judging.judge_noise import choices, signal_to_noise
from bench_plugin.pipeline.judging.judge_quantised import numbered, only_in_whole
from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.tasks import layer_tasks

CUT = 8  # ranges that leave out values, which are tried one by one


def conformance(
    run: CellRun, models: CompiledModels, found: Compiled, ran: Done, plain: ReferenceOutputs
) -> Comparison:
    """The verdict on a quantised model; ``plain`` is the float64 reference of the unrounded one."""
    if run.cell.graph:
        return prequantised.judged(run, models, found, ran, plain)
    return _quantised_by_tool(run, models, found, ran, plain)


def _quantised_by_tool(
    run: CellRun, models: CompiledModels, found: Compiled, ran: Done, plain: ReferenceOutputs
) -> Comparison:
    """For a model that the tool quantised: what its converter wrote, and its kernels on what was read back."""
    shapes = compare_shapes(plain.outputs, numbered(ran.arrays))
    if shapes.status == MISMATCH:
        return shapes
    if found.subject.batch > 1:
        run.log.flag(f"layers are compared one by one at batch 1, not at {found.subject.batch}")
        return by_approximation(run, models, found, ran, plain)
    rebuilt = layers.read_back(run, models, found)
    if isinstance(rebuilt, str):
        run.log.flag(f"nothing was read back from the artefact: {rebuilt}")
        return by_approximation(run, models, found, ran, plain)
    said = rebuilt.meta["rebuild"]
    matched = stored.matched_with_file(run, found, rebuilt) if said["constants"] else None
    if said["unread"]:
        run.log.flag(f"not read back: {'; '.join(said['unread'][:3])}")
    if said["results"]:
        kernels = _kernels(run, models, found, ran, rebuilt)
    else:
        kernels = stored.weight_only(run, models, found, ran, matched, plain)
    converter = stored.constants(run, rebuilt, matched)
    if kernels.status == MISMATCH:
        return _with_constants(kernels, converter)
    artefact = whole.ReadBack(run, models, found, ran, plain, rebuilt, matched) if matched is not None else None
    if artefact is not None and converter.status == AGREE:
        floats = as_model.floats(artefact)
        converter = replace(floats, numbers={**converter.numbers, **floats.numbers})
    if artefact is not None and converter.status == AGREE and said["results"]:
        converter = _ranges(artefact, converter)
    numbers = {**kernels.numbers, **converter.numbers}
    if converter.status == MISMATCH:
        return replace(converter, numbers=numbers)
    if kernels.status == UNVERIFIED or said["unread"] or converter.status == UNVERIFIED or not _complete(converter):
        right = converter.status == AGREE and _complete(converter) and not said["unread"]
        if right and kernels.kind is Unverified.ILL_CONDITIONED:
            # With its own weights the run is as near as float32 can tell: more noise than ours is no mistake of it.
            noise = own_noise.noise(run, models, found, ran, plain)
            if noise.status == MISMATCH:
                return replace(kernels, numbers={**numbers, **noise.numbers})
        rest = by_approximation(run, models, found, ran, plain)
        rest = replace(rest, numbers={**numbers, **rest.numbers})
        if rest.status != MISMATCH and right and said["results"] and artefact is not None:
            return as_model.other_layers(artefact, rest)
        return rest
    if not said["results"] or artefact is None:
        return replace(kernels, numbers=numbers)
    return as_model.right_layers(artefact, replace(kernels, numbers=numbers))


def _with_constants(kernels: Comparison, converter: Comparison) -> Comparison:
    """The mismatch of kernels, with the wrong constants in front of it: a tool's fast arithmetic must not hide them."""
    if converter.status != MISMATCH:
        return kernels
    reason = f"{converter.reason}; {kernels.reason}"
    return replace(kernels, reason=reason, numbers={**kernels.numbers, **converter.numbers})


def _ranges(artefact: whole.ReadBack, constants: Comparison) -> Comparison:
    """The verdict on the ranges of activations: those that the calibration gives with the constants of the file."""
    run, models, found, rebuilt = artefact.run, artefact.models, artefact.found, artefact.rebuilt
    if run.cell.types.weight_only or all(row.get("scale") is None for row in rebuilt.meta["rebuild"]["results"]):
        return constants
    results = [row for row in rebuilt.meta["rebuild"]["results"] if row.get("calibrated")]
    if not results or not models.compile_tasks.quantises(run.cell) or not _complete(constants):
        run.log.flag("ranges of activations were not compared with the calibration")
        return constants
    if layer_tasks.few(found.subject.inputs).parts.get("first"):
        run.log.flag("ranges of activations were not compared with the calibration")
        return constants
    calibration = whole.calibrated(artefact)
    if isinstance(calibration, str):
        run.log.flag(f"ranges of activations were not compared with the calibration: {calibration}")
        return constants
    readers = layer_tasks.readers(rebuilt)
    wanted = [row["real"] for row in results]
    wanted += [readers[name] for name in wanted if name in readers]
    task = layer_tasks.joined(run.tasks, run.model, rebuilt, artefact.matched, wanted)
    values = whole.evaluated(run, task, rebuilt, calibration)
    if isinstance(values, Failure):
        run.log.flag(f"ranges of activations were not compared with the calibration: {values.message}")
        return constants
    results, measured = measured_ranges(results, values)
    ranges = compare_ranges(results, measured, readers=readers, table=run.judge.table)
    cut = cut_ranges(results, measured, table=run.judge.table)
    if cut and ranges.status == AGREE:
        worst = _most_harmful(artefact, cut)
        low, high = measured[worst["real"]]
        said = f"the range of {worst['layer']} is {worst['low']:.4g} to {worst['high']:.4g}, which leaves out values "
        said += f"of the calibration ({low:.4g} to {high:.4g})"
        ranges = _cut(artefact, cut, replace(ranges, reason=said))
    if masked := masked_range(results):
        run.log.flag(masked)
    return replace(ranges, numbers={**constants.numbers, **ranges.numbers})


def _most_harmful(artefact: whole.ReadBack, cut: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Of ranges that leave out values the one that changes the outputs most alone; of many the first are tried."""
    if len(cut) == 1:
        return cut[0]
    harm = []
    for row in cut[:CUT]:
        made = whole.outputs(artefact, [row])
        harm.append(0.0 if isinstance(made, str) else made.error(artefact.plain.outputs))
    return cut[harm.index(max(harm))]


def _cut(artefact: whole.ReadBack, cut: Sequence[Mapping[str, Any]], ranges: Comparison) -> Comparison:
    """The verdict on right ranges that leave out values of the calibration; the reason of ``ranges`` says which.

    What the model gives with these values cut, and nothing else rounded, must not be further off than our own
    quantisation may be. What does not reach the outputs is no matter: the low end in front of a maximum.
    """
    run, found, plain = artefact.run, artefact.found, artefact.plain
    said, agrees = ranges.reason, replace(ranges, reason="")
    made = whole.outputs(artefact, cut)
    if isinstance(made, str):
        run.log.flag(f"{said}; what that changes is not known: {made}")
        return agrees
    error = made.error(plain.outputs)
    counted = {**ranges.numbers["converter_ranges"], "cut_E": error}
    agrees = replace(agrees, numbers={**ranges.numbers, "converter_ranges": counted})
    if error <= run.judge.table.converter_exact:
        return agrees
    own = own_noise.of_model(run, artefact.models, found)
    if isinstance(own, str):
        return unverified(Unverified.NO_REFERENCE, f"{said}; {own}", agrees.numbers)
    chosen = choices(plain.outputs, found.file.check.meta["check"]["operators"])
    short = {name: truth[: len(made.values[name])] for name, truth in plain.outputs.items()}
    ours = signal_to_noise(plain.outputs, numbered(own.evaluated.arrays), chosen, own=True)
    theirs = signal_to_noise(short, made.values, chosen)
    noise = compare_by_approximation(ours, theirs, run.judge.table)
    if noise.status == MISMATCH:
        return Comparison(
            MISMATCH, f"{CONVERTER}{said}, so that without any other rounding {noise.reason}", agrees.numbers
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
    read, comparison = layers.compared(run, read)
    if not read.faithful and (fused := _with_fused_sums(run, models, found, ran)):
        read, comparison = fused
    if not layers.flagged(run, faithful=read.faithful):  # they are of another artefact than the one that is judged
        reason = layers.UNFAITHFUL
        if comparison.status == MISMATCH:
            reason = f"only with its tensors as outputs the artefact is wrong: {comparison.reason}"
            run.log.flag(reason)
        return unverified(Unverified.NO_REFERENCE, reason, comparison.numbers)
    if comparison.status == AGREE:
        layers.note_mutants(run, read)
    truth = {"truth": "layers read back from the artefact, in float64, unrounded"}
    return replace(comparison, numbers={**comparison.numbers, **truth})


def _with_fused_sums(
    run: CellRun, models: CompiledModels, found: Compiled, ran: Done
) -> tuple[layers.Layers, Comparison] | None:
    """The layers and the verdict on them where what is added to something is no output; None if that is no help.

    It is none where the tool has no such sums, where the artefact runs another way all the same, and where the layers
    are not right: which rounding a tool leaves out in a sum is not read, but known of its present version. A flag of
    the cell says why, but for the first.
    """
    rebuilt = layers.read_back(run, models, found, fused_sums=True)
    if isinstance(rebuilt, str):
        run.log.flag(f"with sums as they are nothing was read back: {rebuilt}")
        return None
    inside = rebuilt.meta["rebuild"]["inside"]
    if not inside:
        return None
    read = layers.of_artefact(run, models, found, ran, rebuilt)
    if isinstance(read, str) or not read.faithful:
        run.log.flag(
            f"with sums as they are the layers were not run: {read if isinstance(read, str) else layers.UNFAITHFUL}"
        )
        return None
    read, comparison = layers.compared(run, read)
    if comparison.status == MISMATCH:
        run.log.flag(f"with sums as they are a layer is wrong: {comparison.reason}")
        return None
    return read, replace(comparison, numbers={**comparison.numbers, "inside": inside})


def whole_mutants(
    run: CellRun, models: CompiledModels, found: Compiled, plain: ReferenceOutputs, ran: Done, mutants: Done
) -> dict[str, dict[str, Any]]:
    """What the comparison of the whole notices of the mutants that only it shows, or in its place that of the noise."""
    rebuilt = layers.read_back(run, models, found)
    biases = not isinstance(rebuilt, str) and as_model.compares_biases(rebuilt)
    if run.log.numbers.get("whole_E") is not None and not isinstance(rebuilt, str):
        matched = stored.matched_with_file(run, found, rebuilt)
        if matched is not None:
            return as_model.mutants_of_whole(whole.ReadBack(run, models, found, ran, plain, rebuilt, matched), mutants)
    own = own_noise.noise(run, models, found, ran, plain).numbers.get("own_sqnr_db")
    if own is None:
        return {}
    table = own_noise.strength(run, models, found, plain, ran, mutants, own).table
    return {name: dict(row) for name, row in table.items() if only_in_whole(name, biases=biases)}
