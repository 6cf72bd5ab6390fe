"""Does a compiled model still do its task as well as the model that it was made from?"""

from __future__ import annotations

from collections.abc import Mapping

from bench_plugin.checks.compiled.compiling import Compiled, Compiling
from bench_plugin.compare.quality import classification, paired_drop
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.outcome import Outcome, Stage, Status, Symptom
from bench_plugin.inventory.models import Model
from bench_plugin.pipeline.cell_log import Trail

MOST_DROP = 0.02  # of top-1, at the lower bound of its paired interval


class Quality:
    """Judges compiled models by their task. ``run`` is safe to call from several threads."""

    checks = frozenset({Check.QUALITY})

    def __init__(self, compiling: Compiling) -> None:
        self._compiling = compiling

    def run(self, cell: Cell, overrides: Mapping[str, float]) -> Outcome:
        """Compute the cell; tolerances have no say in it."""
        return self._compiling.carry(cell, self._quality)

    def _quality(self, cell: Cell, model: Model, trail: Trail, found: Compiled) -> Outcome:
        """Accuracy on the test set; the status says whether it lost more than chance and two points explain."""
        if not model.training(cell.framework):
            return trail.outcome(Status.UNVERIFIED, f"{model.name} is not trained in {cell.framework}")
        ran = self._compiling.ran(cell, model, trail, found)
        if ran.failure:
            return trail.failed(ran.failure)
        dataset = self._compiling.steps.take(cell, trail, "dataset", self._compiling.tasks.dataset(model))
        reference = self._compiling.steps.take(
            cell,
            trail,
            "reference",
            self._compiling.compile_tasks.predict(cell, model, found.file, found.drawn, dataset),
        )
        if reference.failure:
            return trail.outcome(Status.UNVERIFIED, f"no reference: {reference.failure.message}")
        labels = dataset.arrays["y_test"]
        scores, expected = (done.arrays["out0"] for done in (ran, reference))
        if scores.shape != expected.shape:
            reason = f"shape {list(scores.shape)}, expected {list(expected.shape)}"
            return trail.outcome(Status.MISMATCH, reason, stage=Stage.COMPARE, symptom=Symptom.MISMATCH)
        classes = int(self._compiling.workspace.catalog[model.dataset].declaration["classes"])
        drop = paired_drop(expected.argmax(axis=1), scores.argmax(axis=1), labels)
        trail.numbers.update(classification(scores, labels, classes))
        trail.numbers["reference_accuracy"] = float((expected.argmax(axis=1) == labels).mean())
        trail.numbers["drop"] = {
            "top1": drop.drop, "lower": drop.lower, "upper": drop.upper, "agreement": drop.agreement,
            "mcnemar_p": drop.mcnemar_p,
        }  # fmt: skip
        if drop.lower > MOST_DROP:
            reason = f"top-1 fell by {drop.drop:.1%} (at least {drop.lower:.1%}, McNemar p {drop.mcnemar_p:.1g})"
            return trail.outcome(Status.MISMATCH, reason, stage=Stage.COMPARE, symptom=Symptom.MISMATCH)
        return trail.outcome(Status.SUPPORTED)
