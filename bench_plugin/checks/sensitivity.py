"""The gate of every supported verdict: the same comparison has to notice the mutants of the cell's own file."""

from __future__ import annotations

from collections.abc import Callable

from bench_plugin.compare.strength import Strength
from bench_plugin.compare.verdict import MISMATCH, Comparison
from bench_plugin.domain.outcome import Failure, Outcome, Stage, Unverified
from bench_plugin.pipeline.cell_run import CellRun, OnnxFile
from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.tasks.generated_inputs import GeneratedInputs


def insensitive(
    run: CellRun, file: OnnxFile, inputs: GeneratedInputs, measured: Callable[[Done], Strength]
) -> Outcome | None:
    """The outcome of a cell that agrees but would agree with a wrong model too; None where it would not.

    ``measured`` says what the cell's comparison notices of the mutants. Its figures go to the row, and a weak verdict
    is flagged. Detections are matched object by object, which has a gate of its own (compare/detecting/detections.py).
    """
    if run.model.detections:
        return None
    mutants = run.mutants(file, inputs)
    if mutants.failure:
        return without_mutants(run, mutants.failure)
    return noted(run, measured(mutants))


def without_mutants(run: CellRun, failure: Failure) -> Outcome:
    """The outcome of a cell that agrees and whose mutants failed: that it would notice an error is not known."""
    reason = f"mutants could not be run: {failure.message}"
    return run.log.unverified(Unverified.HARNESS, reason, stage=Stage.BUILD)


def noted(run: CellRun, found: Strength) -> Outcome | None:
    """Add the figures of a strength to the row; the outcome where it refuses the verdict, else None.

    It does where the error of the run is that of a mistake, and where too few mistakes would be noticed. What the
    inputs do not exercise is a flag and no reason to refuse: a mask that masks nothing is such a part.
    """
    run.log.numbers.update(found.numbers)
    if found.unexercised:
        run.log.flag(found.unexercised)
    if found.made:
        return run.log.compared(Comparison(MISMATCH, found.made))
    if found.reason:
        return run.log.unverified(Unverified.NOT_SENSITIVE, found.reason, stage=Stage.BUILD)
    if found.weak:
        run.log.flag(found.weak)
    return None
