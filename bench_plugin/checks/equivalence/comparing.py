"""The comparison of a run with its reference, whose noise an emulation of the file widens where it has to."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from bench_plugin.checks.compiled.compiling import Compiled, CompiledModels
from bench_plugin.checks.emulating import emulated
from bench_plugin.checks.sums import compared_with_sums
from bench_plugin.compare.verdict import AGREE, MISMATCH, Comparison, unverified
from bench_plugin.domain.outcome import Unverified
from bench_plugin.domain.precision import PRECISIONS
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.judging.judge import NUDGED, OWN, ReferenceOutputs
from bench_plugin.pipeline.judging.judge_quantised import with_single_rounding
from bench_plugin.pipeline.stages import Done


def compared(
    run: CellRun, models: CompiledModels, found: Compiled, ran: Done, expected: ReferenceOutputs,
    plain: ReferenceOutputs, precision: str, *, of_file: bool, own: bool = False,
) -> Comparison:  # fmt: skip
    """Compare a run with ``expected`` by the row of ``precision``; ``plain`` is the reference of the unrounded file.

    ``own`` says that it is the file that sets the precision.

    The noise ``of_file`` alone is that of perturbed inputs and weights. Where a run does not agree by it, the noise of
    rounding every result to float32 is added, and the run is compared again. Where a run is a mismatch still, the noise
    of adding terms one by one is added, too (checks/sums.py).
    """
    loose = models.compile_tasks.fast_math(run.cell)

    def judged(reference: ReferenceOutputs) -> Comparison:
        return run.judge.compare(run.model, reference, ran, precision=precision, loose=loose)

    comparison = judged(expected)
    if comparison.status == AGREE or run.model.detections:
        return comparison
    if precision == "fp32" and of_file:
        rounded = emulated(run, found.original, found.file.check)
        if rounded.failure:
            run.log.flag(f"what rounding to float32 adds to the noise is not known: {rounded.failure.message}")
        else:
            expected = run.judge.with_single_rounding(expected, plain, rounded)
            comparison = judged(expected)
    return compared_with_sums(
        run, found.original, found.file.check, expected, plain, comparison, precision, judged, own=own
    )


def compared_by_own_row(
    run: CellRun, models: CompiledModels, found: Compiled, ran: Done, expected: ReferenceOutputs,
    plain: ReferenceOutputs, *, of_file: bool,
) -> Comparison:  # fmt: skip
    """The same by the row of the type that the file computes in, with the emulated noise of it where it is narrow."""
    own = found.file.computes
    if not PRECISIONS[own].reduced:
        return compared(run, models, found, ran, expected, plain, "fp32", of_file=of_file)
    narrow = emulated(run, found.original, found.file.check, OWN)
    if narrow.failure:
        return unverified(Unverified.NO_REFERENCE, f"{own} could not be emulated: {narrow.failure.message}")
    expected = run.judge.with_own_types(expected, plain, narrow)
    return compared(run, models, found, ran, expected, plain, own, of_file=of_file, own=True)


def compared_in_steps(
    run: CellRun, found: Compiled, reference: Done, judged: Callable[[Done], Comparison]
) -> tuple[Comparison, Done]:
    """What ``judged`` says of a pre-quantised graph by its ``reference``, and the reference that it went by.

    Stable are the inputs whose integers do not depend on perturbed inputs and weights. Where a run is a mismatch, those
    that rounding every result to float32 changes are stable no longer, and the run is compared again.
    """
    comparison = judged(reference)
    if comparison.status != MISMATCH:
        return comparison, reference
    rounded = emulated(run, found.subject, found.file.check, *NUDGED)
    if rounded.failure:
        run.log.flag(f"which integers the rounding of float32 decides is not known: {rounded.failure.message}")
        return comparison, reference
    wider = with_single_rounding(reference, rounded)
    again = judged(wider)
    before, after = (int(one.numbers.get("stable_inputs", 0)) for one in (comparison, again))
    if after < before:
        reached = [len(values) for name, values in rounded.arrays.items() if name.startswith(NUDGED)]
        decides = "may decide" if min(reached, default=math.inf) < len(reference.arrays["out0"]) else "decides"
        note = f"float32's own rounding {decides} the integers of {before - after} inputs, which are not compared"
        again = replace(again, notes=(*again.notes, note))
    return again, wider
