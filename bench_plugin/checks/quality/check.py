"""The quality check: does a compiled model do its task as well as the model that it was made from?"""

from __future__ import annotations

from bench_plugin.checks.compiled.compiling import Compiled, CompiledModels
from bench_plugin.checks.compiled.detection import NoDetections, NotScored, class_names, scored
from bench_plugin.checks.protocol import Checker, Parts, Request
from bench_plugin.checks.sensitivity import noted
from bench_plugin.compare.detecting import detection_quality
from bench_plugin.compare.quality import judged, strength_of_answers
from bench_plugin.compare.verdict import AGREE
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.outcome import Outcome, Stage, Status, Symptom, Unverified
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.schedule import Need
from bench_plugin.pipeline.stages import Done
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
        if run.model.boxes_of_places:
            return self._detector(run, ran, reference, dataset)
        scores, expected = (done.arrays["out0"] for done in (ran, reference))
        classes = int(self._models.workspace.catalog[run.model.dataset].declaration["classes"])
        labels = dataset.arrays["y_test"]
        comparison = judged(scores, expected, labels, classes)
        run.log.note_comparison(comparison)
        blind = None
        if comparison.status == AGREE:
            blind = noted(run, strength_of_answers(expected.argmax(axis=1), scores.argmax(axis=1), labels))
        return blind or run.log.compared(comparison)

    def _detector(self, run: CellRun, ran: Done, reference: Done, dataset: Done) -> Outcome:
        """The verdict on a detector: its mean average precision, and what it lost (compare/detecting)."""
        workspace, objects = self._models.workspace, dataset.arrays["y_test"]
        try:
            mine, its = (scored(run, workspace, one, dataset) for one in (ran, reference))
        except NoDetections as wrong:
            return run.log.outcome(Status.MISMATCH, str(wrong), stage=Stage.COMPARE, symptom=Symptom.MISMATCH)
        except NotScored as failed:
            return run.log.unverified(Unverified.NO_REFERENCE, f"no average precision: {failed}")
        images = detection_quality.Resampled(objects, len(class_names(run, workspace)))
        before = images.values(its.found)
        loss = detection_quality.loss(before, images.values(mine.found))
        comparison = detection_quality.judged(loss, mine.figures, its.figures)
        run.log.note_comparison(comparison)
        blind = None
        if comparison.status == AGREE:
            blind = noted(run, detection_quality.strength_of_detections(images, before, mine.found))
        return blind or run.log.compared(comparison)


def checker(parts: Parts) -> Checker:
    """The checker of this folder, for registry.py."""
    return Quality(parts)
