"""Files that are quantised, run in float32: what it loses may round an integer to the other side of a tie."""

from __future__ import annotations

from collections.abc import Callable

from bench_plugin.compare.verdict import MISMATCH, Comparison
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.judging.judge import STEPS, ReferenceOutputs
from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.tasks import graph_tasks
from bench_plugin.pipeline.tasks.subjects import Subject

QUANTIZE = "QuantizeLinear"


def quantises(check: Done) -> bool:
    """Whether the file of this check rounds something to integers."""
    return QUANTIZE in check.meta["check"]["operators"]


def compared_with_ties(
    run: CellRun, subject: Subject, check: Done, expected: ReferenceOutputs, plain: ReferenceOutputs,
    comparison: Comparison, precision: str, judged: Callable[[ReferenceOutputs], Comparison],
) -> Comparison:  # fmt: skip
    """The comparison of a run in float32 of a file that is quantised, where a mismatch may be a tie.

    One integer on the other side is a whole step, and whether a run with perturbed inputs meets one is chance. So what
    is rounded is moved up and down by what float32 may lose, and what that changes is noise: where no tie is near it is
    none, and otherwise the model is ill-conditioned. ``plain`` is the reference of the file of ``subject``.
    """
    if comparison.status != MISMATCH or precision != "fp32" or run.model.detections or not quantises(check):
        return comparison
    for kind in STEPS:
        moved = run.obtain("emulate", graph_tasks.emulate(run.tasks, run.model, subject, check, only=kind))
        if moved.failure:
            run.log.flag(f"which integers the rounding of float32 decides is not known: {moved.failure.message}")
            return comparison
        expected = run.judge.with_moved_steps(expected, plain, moved, kind)
    return judged(expected)
