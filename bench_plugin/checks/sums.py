"""Sums of a run that were added one by one in the type of the results, which ONNX leaves open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bench_plugin.checks.ties import compared_with_ties
from bench_plugin.compare.operators.strict import LOW_ACCUMULATOR
from bench_plugin.compare.verdict import AGREE, MISMATCH, Comparison
from bench_plugin.domain.outcome import Unverified
from bench_plugin.domain.precision import PRECISIONS
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.judging.judge import FILE, OWN, ReferenceOutputs
from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.tasks import graph_tasks
from bench_plugin.pipeline.tasks.subjects import Subject

BY_SUMS = "the noise is that of terms that are added one by one, since the run does not agree without it"
ONE_BY_ONE = "one-by-one sums"  # the note of what is right if float32 terms are added one by one


def compared_with_sums(
    run: CellRun, subject: Subject, check: Done, expected: ReferenceOutputs, plain: ReferenceOutputs,
    comparison: Comparison, precision: str, judged: Callable[[ReferenceOutputs], Comparison], *, own: bool = False,
) -> Comparison:  # fmt: skip
    """The comparison of a run, where a mismatch may be how sums were added: none that ONNX forbids.

    ONNX leaves open in which type and order the terms of a product or a mean are added. A run that agrees by the noise
    of adding them one by one in the type of its results is right, with a note, as it is in an operator's own case.
    Where that noise is beyond the cap, nothing is proven. ``subject`` is the file that is emulated, ``plain`` its
    reference; ``judged`` compares the run with a reference of more noise than ``expected``. With ``own`` terms are
    added in the types that the file itself has. At fp32 the reference has to be the file's own: beside a framework's,
    the emulation would also have what is wrong with the file.

    Where a run is a mismatch still, ties of a file that is quantised are looked at (checks/ties.py).
    """
    if comparison.status != MISMATCH or run.model.detections:
        return comparison
    if not PRECISIONS[precision].reduced and plain.origin != FILE:  # what the file does wrong would count as noise
        return comparison
    kind = OWN if own else precision
    summed = run.obtain("emulate", graph_tasks.emulate(run.tasks, run.model, subject, check, sums=kind))
    if summed.failure:
        run.log.flag(f"what sums in {precision} add to the noise is not known: {summed.failure.message}")
        return comparison
    expected = run.judge.with_sums(expected, plain, summed, kind)
    again = judged(expected)
    if again.status == AGREE:
        note = LOW_ACCUMULATOR if PRECISIONS[precision].reduced else ONE_BY_ONE
        return replace(again, notes=(*again.notes, note))
    if again.kind is Unverified.ILL_CONDITIONED:
        again = replace(again, reason=f"{again.reason} ({BY_SUMS})")
    # Ill-conditioned where such sums may be as far off; a mismatch by the wider limit, which decides.
    return compared_with_ties(run, subject, check, expected, plain, again, precision, judged)
