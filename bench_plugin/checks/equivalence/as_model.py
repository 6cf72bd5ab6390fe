"""Whether the layers of an artefact are the model: the verdict on them as one whole, and on what stayed in floats."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from bench_plugin.agent.contract.rebuilt import NOT_THE_FILES
from bench_plugin.checks.equivalence import own_noise, whole
from bench_plugin.checks.equivalence.whole import ReadBack
from bench_plugin.compare.converted import compare_corrected, compare_floats
from bench_plugin.compare.verdict import AGREE, MISMATCH, Comparison, unverified
from bench_plugin.domain.outcome import Unverified
from bench_plugin.pipeline.judging.judge_quantised import mistakes_in_whole
from bench_plugin.pipeline.stages import Done

WELL_DB = 1.0  # under our own quantisation: where what was corrected and what was rounded are about as much together
CORRECTED = 0.5  # of the error of our own quantisation: how far biases that a tool has corrected may move the outputs


class Whole(NamedTuple):
    """The layers of an artefact as one whole, without any rounding; ``wrong`` says why they are not the model.

    ``error`` is their E. Where biases may have been corrected it is with those of the file, and ``corrected`` with the
    artefact's own.
    """

    error: float
    corrected: float | None = None
    wrong: str = ""

    @property
    def numbers(self) -> dict[str, Any]:
        """What the row has of it."""
        return {"whole_E": self.error} | ({} if self.corrected is None else {"corrected_E": self.corrected})


def right_layers(artefact: ReadBack, kernels: Comparison) -> Comparison:
    """The verdict on layers that are right one by one (``kernels``), and that have to be the whole model.

    Where they cannot be put together, the result must not be further off than our own quantisation may be.
    """
    found = _whole(artefact)
    if isinstance(found, Whole):
        numbers = {**kernels.numbers, **found.numbers}
        if not found.wrong:
            return replace(kernels, numbers=numbers)
        return Comparison(MISMATCH, f"the layers are right one by one, but are not the model: {found.wrong}", numbers)
    noise = own_noise.noise(artefact.run, artefact.models, artefact.found, artefact.ran, artefact.plain)
    if noise.status != MISMATCH:
        return replace(
            kernels, notes=(*kernels.notes, f"whether the layers are the whole model was not proven: {found}")
        )
    reason = f"the layers are right one by one, but whether they are the model is not known ({found}): {noise.reason}"
    return unverified(Unverified.NO_REFERENCE, reason, {**kernels.numbers, **noise.numbers})


def other_layers(artefact: ReadBack, rest: Comparison) -> Comparison:
    """The mismatch of layers that cannot be compared one by one, but put together are not the model; else ``rest``."""
    found = _whole(artefact)
    if isinstance(found, str):
        return rest
    numbers = {**rest.numbers, **found.numbers}
    if not found.wrong:
        return replace(rest, numbers=numbers)
    return Comparison(MISMATCH, f"the layers of the artefact are not the model: {found.wrong}", numbers)


def _whole(artefact: ReadBack) -> Whole | str:
    """The layers as one whole, against their limits; a text says why it is unknown what they give."""
    own = whole.error(artefact, as_corrected=True)
    if isinstance(own, str):
        return own
    least = least_limit(artefact)
    if own <= least:
        return Whole(own)
    if not _knows_biases(artefact):
        return Whole(own, wrong=_beyond(own, corrected_limit(artefact)))
    if not _corrects(artefact):
        return Whole(own, wrong=_beyond(own, least))
    error = whole.error(artefact)
    if isinstance(error, str):
        return error
    wrong = _beyond(error, least, " and with the biases of the file")
    if not wrong and not _corrected_well(artefact):
        wrong = _beyond(own, corrected_limit(artefact))
    return Whole(error, own, wrong)


def _corrected_well(artefact: ReadBack) -> bool:
    """Whether the outputs with corrected biases are about as near to the model as our own quantisation.

    Zeros in place of a bias are no correction, which takes away more than it adds.
    """
    noise = own_noise.noise(artefact.run, artefact.models, artefact.found, artefact.ran, artefact.plain)
    short = noise.numbers.get("short_of_own_db")
    return noise.status == AGREE and short is not None and bool(short <= WELL_DB)


def _beyond(error: float, limit: float, more: str = "") -> str:
    return f"E {error:.2e} without any rounding{more}" if error > limit else ""


def _knows_biases(artefact: ReadBack) -> bool:
    """Whether each bias of the artefact, corrected or not, is beside what the file has in its place."""
    said = artefact.rebuilt.meta["rebuild"]
    biases = [row for row in said["constants"] if row["kind"] == "bias"]
    known = {row["name"] for row in artefact.matched.meta["match"]["matches"] if row["tensor"]}
    return all(not row.get("corrected") or row["name"] in known for row in biases) and bool(biases or said["complete"])


def _corrects(artefact: ReadBack) -> bool:
    return any(row.get("corrected") for row in artefact.rebuilt.meta["rebuild"]["constants"])


def corrected_limit(artefact: ReadBack) -> float:
    """The largest E of the layers as one whole with the artefact's own biases, which a tool may have corrected.

    It may correct them by half of what our own quantisation is from the model: it takes away the mean of the error
    alone.
    """
    least = max(least_limit(artefact), artefact.run.judge.table.converter_whole)
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
    numbers = {row["name"] for row in said["constants"] if row["kind"] in NOT_THE_FILES}
    if not said.get("complete") or not numbers <= found:
        return table.converter_whole
    return max(table.converter_exact, _of_float32(artefact))


def floats(artefact: ReadBack) -> Comparison:
    """The verdict on the constants of the artefact that stayed in floating point.

    What a converter may make of constants is not known in full. So one that is not the file's is right where the layers
    as one whole are the model to what float32 changes. Where the whole is not known, one that is like a constant of the
    file is a mismatch, and one that is like none leaves the verdict open.
    """
    run = artefact.run
    constants, matches = artefact.rebuilt.meta["rebuild"]["constants"], artefact.matched.meta["match"]["matches"]
    own, written = _arrays(artefact.rebuilt, "const"), _arrays(artefact.matched, "file")
    biases = compare_corrected(constants, matches, own, written)
    if biases.status == MISMATCH:
        return biases
    comparison = compare_floats(constants, matches, table=run.judge.table)
    comparison = replace(comparison, numbers={**biases.numbers, **comparison.numbers})
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


def _arrays(done: Done, kind: str) -> dict[str, Any]:
    """The constants of a stage by name; ``kind`` is "const" for those of the artefact, "file" for those of the file."""
    return {name.partition(":")[2]: values for name, values in done.arrays.items() if name.startswith(f"{kind}:")}


def _of_float32(artefact: ReadBack) -> float:
    """The largest E of the layers of an artefact as one whole that float32 explains, by the row of fp32."""
    row = artefact.run.judge.table.row("fp32")
    noise = max((one.E for one in artefact.plain.noise.values()), default=0.0)
    return min(row.cap, max(row.k * noise, row.floor))


def mutants_of_whole(artefact: ReadBack, mutants: Done) -> dict[str, dict[str, Any]]:
    """What the comparison of the whole notices of the ``mutants`` that only it shows.

    A dropped bias is noticed by what a correction may change, where biases may have been corrected.
    """
    made = whole.outputs(artefact)
    chosen = {} if isinstance(made, str) else made.chosen
    biases = compares_biases(artefact.rebuilt)

    def noticed(limit: float, *, biases: bool) -> dict[str, dict[str, Any]]:
        return mistakes_in_whole(artefact.plain, mutants, limit, biases=biases, chosen=chosen)

    found = {} if biases else noticed(corrected_limit(artefact), biases=False)
    return found | (noticed(least_limit(artefact), biases=True) if _knows_biases(artefact) else {})


def compares_biases(rebuilt: Done) -> bool:
    """Whether the artefact has biases that are compared with those of the file one by one."""
    biases = [row for row in rebuilt.meta["rebuild"]["constants"] if row["kind"] == "bias"]
    return bool(biases) and not any(row.get("corrected") for row in biases)
