"""The comparison of a run in floating point with its reference, and the emulation that widens its noise."""

from __future__ import annotations

from bench_plugin.checks.compiled.compiling import Compiled, CompiledModels
from bench_plugin.compare.verdict import AGREE, Comparison
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.judge import ReferenceOutputs
from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.tasks import graph_tasks


def compared(
    run: CellRun, models: CompiledModels, found: Compiled, ran: Done, expected: ReferenceOutputs,
    plain: ReferenceOutputs, precision: str, *, of_file: bool,
) -> Comparison:  # fmt: skip
    """Compare a run with ``expected`` by the row of ``precision``; ``plain`` is the reference of the unrounded file.

    The noise ``of_file`` alone is that of perturbed inputs and weights. Where a run does not agree by it, the noise of
    rounding every result to float32 is added, and the run is compared again.
    """
    loose = models.compile_tasks.fast_math(run.cell)
    comparison = run.judge.compare(run.model, expected, ran, precision=precision, loose=loose)
    if comparison.status == AGREE or precision != "fp32" or not of_file or run.model.detections:
        return comparison
    rounded = emulated(run, found)
    if rounded.failure:
        run.log.flag(f"what rounding to float32 adds to the noise is not known: {rounded.failure.message}")
        return comparison
    wider = run.judge.with_single_rounding(expected, plain, rounded)
    return run.judge.compare(run.model, wider, ran, precision=precision, loose=loose)


def emulated(run: CellRun, found: Compiled) -> Done:
    """The stage that emulates every precision on the file."""
    return run.obtain("emulate", graph_tasks.emulate(run.tasks, run.model, found.original, found.file.check))
