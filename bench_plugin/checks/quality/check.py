"""The quality check: does a compiled model do its task as well as the model that it was made from?"""

from __future__ import annotations

from bench_plugin.checks.compiled.compiling import Compiled, CompiledModels
from bench_plugin.checks.protocol import Checker, Parts, Request
from bench_plugin.checks.sensitivity import noted
from bench_plugin.compare.quality import judged, strength_of_answers
from bench_plugin.compare.verdict import AGREE
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.outcome import Outcome, Unverified
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.schedule import Need
from bench_plugin.pipeline.tasks import graph_tasks, subjects


class Quality:
    """Judges compiled models by their task. ``run`` is safe to call from several threads."""

    checks = frozenset({Check.QUALITY})

    def __init__(self, parts: Parts) -> None:
        self._models = CompiledModels(parts, on_test_set=True)

    def need(self, cell: Cell) -> Need:
        """What the cell of a compiled model occupies."""
        return self._models.need(cell)

    def run(self, request: Request) -> Outcome:
        """Compute the cell. Tolerances do not change its verdict."""
        return self._models.run(request, self._judged)

    def _judged(self, run: CellRun, found: Compiled) -> Outcome:
        """Accuracy on the test set, and what it lost: compare/quality.py."""
        if not run.model.training(run.cell.framework):
            reason = f"{run.model.name} is not trained in {run.cell.framework}"
            return run.log.unverified(Unverified.NO_REFERENCE, reason)
        ran = self._models.ran(run, found)
        if ran.failure:
            return run.failed(ran.failure)
        dataset = run.obtain("dataset", run.tasks.dataset(run.model))
        original = subjects.of_file(run.cell, run.model, found.file, found.inputs)
        images = subjects.test_set(run.model, original, dataset)
        reference = run.obtain("reference", graph_tasks.predict(run.tasks, run.model, found.file, images))
        if reference.failure:
            return run.log.unverified(Unverified.NO_REFERENCE, f"no reference: {reference.failure.message}")
        scores, expected = (done.arrays["out0"] for done in (ran, reference))
        classes = int(self._models.workspace.catalog[run.model.dataset].declaration["classes"])
        labels = dataset.arrays["y_test"]
        comparison = judged(scores, expected, labels, classes)
        run.log.note_comparison(comparison)
        blind = None
        if comparison.status == AGREE:
            blind = noted(run, strength_of_answers(expected.argmax(axis=1), scores.argmax(axis=1), labels))
        return blind or run.log.compared(comparison)


def checker(parts: Parts) -> Checker:
    """The checker of this folder, for registry.py."""
    return Quality(parts)
