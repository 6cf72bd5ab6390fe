"""The task that scores detections against the objects of a test set, by an agent (docs/detection.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bench_plugin.compare.detecting.suppression import Found
from bench_plugin.domain.outcome import Stage
from bench_plugin.inventory.models import Model
from bench_plugin.pipeline.array_sets import identified
from bench_plugin.pipeline.stages import CallSpec, Done, Task
from bench_plugin.pipeline.tasks.model_tasks import Tasks

if TYPE_CHECKING:
    import numpy as np

METRICS = "detection_metrics"


def score(tasks: Tasks, model: Model, dataset: Done, found: Found, origin: str, names: tuple[str, ...]) -> Task:
    """The average precision of detections in the test images; ``origin`` identifies the outputs that they are of."""

    def arrays() -> Mapping[str, np.ndarray[Any, Any]]:
        return {"objects": dataset.arrays["y_test"], **found.arrays()}

    given = identified(("score", origin, dataset.content), arrays)
    call = CallSpec("score", {"classes": list(names)}, given)
    parts = {"dataset": dataset.key, "outputs": origin}
    return Task(Stage.CHECK, METRICS, (call,), parts, tasks.limits(model, METRICS))
