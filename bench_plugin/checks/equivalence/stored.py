"""The weights that an artefact holds: compared with those of the file, and the result with the file that has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bench_plugin.agent.contract.rebuilt import NOT_THE_FILES
from bench_plugin.checks.compiled.compiling import Compiled, CompiledModels
from bench_plugin.checks.equivalence import layers
from bench_plugin.checks.equivalence.comparing import compared_by_own_row
from bench_plugin.compare.converted import compare_constants
from bench_plugin.compare.noise import larger
from bench_plugin.compare.verdict import AGREE, MISMATCH, Comparison, unverified
from bench_plugin.domain.outcome import Unverified
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.judging.judge import ReferenceOutputs, by_position
from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.tasks import layer_tasks

UNPLACED = "weights of the artefact cannot be put into the file"  # the end of a flag


def rounded_weights(
    run: CellRun, models: CompiledModels, found: Compiled, ran: Done, plain: ReferenceOutputs
) -> Comparison | None:
    """The verdict on weights that the tool rounded to a narrower floating-point type, by those that its artefact holds.

    None where the adapter reads none back, and, with a flag of the cell, where they do not decide.
    """
    if not models.compile_tasks.rebuilds(run.cell):
        return None
    rebuilt = layers.read_back(run, models, found)
    if isinstance(rebuilt, str):
        run.log.flag(f"the weights of the artefact were not read back: {rebuilt}")
        return None
    if rebuilt.meta["rebuild"]["results"]:
        return None
    matched = matched_with_file(run, found, rebuilt)
    if matched is None or rebuilt.meta["rebuild"]["unread"]:
        return None
    rows = matched.meta["match"]["matches"]
    missing = sum(not _is_found(row, rebuilt, run) for row in rows)
    if missing:
        run.log.flag(f"{missing} of {len(rows)} {UNPLACED}")
        return None
    comparison = constants(run, rebuilt, matched)
    if comparison.status == MISMATCH:
        return comparison
    kernels = weight_only(run, models, found, ran, matched, plain)
    left = matched.meta["match"].get("unmatched", ())
    if kernels.status == MISMATCH and left:  # the tool may have rounded what was not read back
        run.log.flag(f"{len(left)} constants of the file were not read back from the artefact")
        return None
    shared = sorted({row["tensor"] for row in rows if row.get("shared")})
    if kernels.status == MISMATCH and shared:  # the tool may have rounded what one node reads, and not the other
        run.log.flag(f"{', '.join(shared[:3])}: read several times in the file, and rounded once in the artefact")
        return None
    return replace(kernels, numbers={**kernels.numbers, **comparison.numbers})


def _is_found(match: Mapping[str, Any], rebuilt: Done, run: CellRun) -> bool:
    """Whether a constant is one of the file's, which is replaced by it.

    Vectors of numbers near 1 are all alike: only an equal one counts.
    """
    equal = bool(match["steps"] <= run.judge.table.converter_weights)
    return bool(match.get("replaced")) and (equal or rebuilt.arrays[f"const:{match['name']}"].ndim > 1)


def matched_with_file(run: CellRun, found: Compiled, rebuilt: Done) -> Done | None:
    """The stage that found what was read back among the constants of the file; None where it failed."""
    file = found.original.files["model.onnx"]
    done = run.obtain("match", layer_tasks.matched(run.tasks, run.model, rebuilt, file, found.original.origin))
    if done.failure:
        run.log.flag(f"what the converter wrote was not compared with the file: {done.failure.message}")
        return None
    return done


def constants(run: CellRun, rebuilt: Done, matched: Done | None) -> Comparison:
    """The verdict on what the converter wrote: constants within half a step of the file's."""
    if matched is None:
        return Comparison(AGREE)
    rows, matches = rebuilt.meta["rebuild"]["constants"], matched.meta["match"]["matches"]
    comparison = compare_constants(rows, matches, bits=run.cell.types.weight_bits, table=run.judge.table)
    said = comparison.numbers["converter"]
    missing = said["constants"] - said["compared"]
    if missing:
        run.log.flag(f"{missing} of {said['constants']} quantised constants have no counterpart in the file")
    known = {match["name"] for match in matches if match["tensor"]}
    numbers = [row["layer"] for row in rows if row["kind"] in NOT_THE_FILES and row["name"] not in known]
    if numbers:
        run.log.flag(f"a number of {', '.join(numbers[:3])} has no counterpart in the file")
    return comparison


def weight_only(
    run: CellRun, models: CompiledModels, found: Compiled, ran: Done, matched: Done | None, plain: ReferenceOutputs
) -> Comparison:
    """The verdict where only weights are rounded: the file with the weights that were read back, by its own row.

    Rounded weights change little of what float32 loses, so that the noise of the unrounded model counts as well: a
    single perturbed run does not show what sums of many terms lose, as runs of the framework do.
    """
    matches = matched.meta["match"]["matches"] if matched else []
    if not matches or not all(row["tensor"] for row in matches):
        return unverified(Unverified.NO_REFERENCE, "not every weight that was read back is one of the file")
    assert matched is not None
    comparison = _with_rebuilt(run, models, found, ran, matched, plain)
    twins = matched.meta["match"].get("twins", {})
    if comparison.status != MISMATCH or not twins:
        return comparison
    return _without_twins(run, models, found, ran, plain, twins) or comparison


def _without_twins(
    run: CellRun, models: CompiledModels, found: Compiled, ran: Done, plain: ReferenceOutputs, twins: Mapping[str, str]
) -> Comparison | None:
    """The verdict by the file that has what was read back under one name alone; None where it does not agree either.

    An exporter writes an Identity of a weight that a loop or a module reads again. A tool may round the weight itself,
    and leave what the Identity gives as it is.
    """
    rebuilt = layers.read_back(run, models, found)
    if isinstance(rebuilt, str):
        return None
    file = found.original.files["model.onnx"]
    once = run.obtain(
        "match", layer_tasks.matched(run.tasks, run.model, rebuilt, file, found.original.origin, twins=False)
    )
    comparison = None if once.failure else _with_rebuilt(run, models, found, ran, once, plain)
    if comparison is None or comparison.status != AGREE:
        return None
    names = sorted(set(twins.values()))
    run.log.flag(
        f"{', '.join(names[:3])}: rounded where it is read by this name, and not where the file has a copy of it"
    )
    return comparison


def _with_rebuilt(
    run: CellRun, models: CompiledModels, found: Compiled, ran: Done, matched: Done, plain: ReferenceOutputs
) -> Comparison:
    evaluated = run.evaluate(matched.given["rebuilt.onnx"], matched.key, found.inputs, perturbed=1)
    if evaluated.failure:
        return unverified(
            Unverified.NO_REFERENCE, f"the rebuilt file has no float64 reference: {evaluated.failure.message}"
        )
    expected = run.judge.file_reference(run.model, evaluated, None)
    noise = larger(expected.noise, by_position(plain.noise, expected.outputs))
    expected = replace(expected, noise=noise, origin="file with the weights that were read back, in float64")
    return compared_by_own_row(run, models, found, ran, expected, plain, of_file=True)
