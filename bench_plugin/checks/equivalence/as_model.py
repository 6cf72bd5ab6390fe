"""Whether the layers of an artefact are the model: the verdict on them as one whole, and on what stayed in floats."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bench_plugin.checks.equivalence import own_noise, whole
from bench_plugin.checks.equivalence.whole import ReadBack
from bench_plugin.compare.converted import compare_floats
from bench_plugin.compare.verdict import AGREE, MISMATCH, Comparison, unverified
from bench_plugin.domain.outcome import Unverified
from bench_plugin.pipeline.judge_quantised import mistakes_in_whole
from bench_plugin.pipeline.stages import Done

CORRECTED = 0.5  # of the error of our own quantisation: how far biases that a tool has corrected may move the outputs


def right_layers(artefact: ReadBack, kernels: Comparison) -> Comparison:
    """The verdict on layers that are right one by one (``kernels``), and that have to be the whole model.

    Where they cannot be put together, the result must not be further off than our own quantisation may be.
    """
    error = whole.error(artefact)
    if isinstance(error, float):
        numbers = {**kernels.numbers, "whole_E": error}
        if error <= least_limit(artefact) or error <= limit(artefact):
            return replace(kernels, numbers=numbers)
        reason = f"the layers are right one by one, but are not the model: E {error:.2e} without any rounding"
        return Comparison(MISMATCH, reason, numbers)
    noise = own_noise.noise(artefact.run, artefact.models, artefact.found, artefact.ran, artefact.plain)
    if noise.status != MISMATCH:
        return replace(
            kernels, notes=(*kernels.notes, f"whether the layers are the whole model was not proven: {error}")
        )
    reason = f"the layers are right one by one, but whether they are the model is not known ({error}): {noise.reason}"
    return unverified(Unverified.NO_REFERENCE, reason, {**kernels.numbers, **noise.numbers})


def other_layers(artefact: ReadBack, rest: Comparison) -> Comparison:
    """The mismatch of layers that cannot be compared one by one, but put together are not the model; else ``rest``."""
    error = whole.error(artefact)
    if isinstance(error, str):
        return rest
    numbers = {**rest.numbers, "whole_E": error}
    if error <= limit(artefact):
        return replace(rest, numbers=numbers)
    return Comparison(
        MISMATCH, f"the layers of the artefact are not the model: E {error:.2e} without any rounding", numbers
    )


def limit(artefact: ReadBack) -> float:
    """The largest E of the layers of an artefact as one whole, without any rounding, that is no missing part.

    A tool may correct biases that are not compared by half of what our own quantisation is from the model: it takes
    away the mean of the error alone.
    """
    least = least_limit(artefact)
    if compares_biases(artefact.rebuilt):
        return least
    noise = own_noise.noise(artefact.run, artefact.models, artefact.found, artefact.ran, artefact.plain)
    own = noise.numbers.get("own_sqnr_db")
    return max(least, CORRECTED * float(10 ** (-own / 20))) if isinstance(own, (int, float)) else least


def least_limit(artefact: ReadBack) -> float:
    """The limit of what has corrected nothing.

    Where all results are in floating point, the constants of the layers are those of the file but for what float32
    changes; where all constants are compared one by one, but for what a converter computes of several of them.
    """
    said, table = artefact.rebuilt.meta["rebuild"], artefact.run.judge.table
    if all(row.get("scale") is None for row in said["results"]):
        return _of_float32(artefact)
    found = {row["name"] for row in artefact.matched.meta["match"]["matches"] if row["tensor"]}
    numbers = {row["name"] for row in said["constants"] if row["kind"] == "number"}
    return table.converter_exact if said.get("complete") and numbers <= found else table.converter_whole


def floats(artefact: ReadBack) -> Comparison:
    """The verdict on the constants of the artefact that stayed in floating point.

    What a converter may make of constants is not known in full. So one that is not the file's is right where the layers
    as one whole are the model to what float32 changes. Where the whole is not known, one that is like a constant of the
    file is a mismatch, and one that is like none leaves the verdict open.
    """
    run = artefact.run
    constants, matches = artefact.rebuilt.meta["rebuild"]["constants"], artefact.matched.meta["match"]["matches"]
    comparison = compare_floats(constants, matches, table=run.judge.table)
    said = comparison.numbers["converter_floats"]
    missing = said["constants"] - said["compared"]
    if comparison.status == AGREE and not missing:
        return comparison
    error = whole.error(artefact)
    if isinstance(error, float) and error <= _of_float32(artefact):
        return Comparison(AGREE, numbers=comparison.numbers)
    if comparison.status == AGREE:
        run.log.flag(f"{missing} of {said['constants']} constants in floating point have no counterpart in the file")
        if isinstance(error, str):
            return unverified(Unverified.NO_REFERENCE, error, comparison.numbers)
    return comparison


def _of_float32(artefact: ReadBack) -> float:
    """The largest E of the layers of an artefact as one whole that float32 explains, by the row of fp32."""
    row = artefact.run.judge.table.row("fp32")
    noise = max((one.E for one in artefact.plain.noise.values()), default=0.0)
    return min(row.cap, max(row.k * noise, row.floor))


def mutants_of_whole(artefact: ReadBack, mutants: Done) -> dict[str, dict[str, Any]]:
    """What the comparison of the whole notices of the ``mutants`` that only it shows."""
    made = whole.outputs(artefact)
    chosen = {} if isinstance(made, str) else made.chosen
    biases = compares_biases(artefact.rebuilt)
    return mistakes_in_whole(artefact.plain, mutants, limit(artefact), biases=biases, chosen=chosen)


def compares_biases(rebuilt: Done) -> bool:
    """Whether the artefact has biases that are compared with those of the file."""
    return any(constant["kind"] == "bias" for constant in rebuilt.meta["rebuild"]["constants"])
