"""The task metric of what was timed: accuracy or mean average precision, of the same artefact by its hash."""

from __future__ import annotations

from typing import Any

from bench_plugin.checks.compiled.batches import only_first, whole_batches
from bench_plugin.checks.compiled.compiling import Compiled, CompiledModels
from bench_plugin.checks.compiled.detection import NoDetections, NotScored, scored
from bench_plugin.compare.quality import classification
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.tasks import subjects
from bench_plugin.results.artefact import digest_of


def timed_digest(found: Compiled) -> str:
    """The hash of the artefact that is timed; empty for a compiler that leaves none."""
    return "" if found.ran is not None else _digest(found.compiled)


def task_metric(run: CellRun, models: CompiledModels, found: Compiled) -> dict[str, Any]:
    """``numbers["task"]`` of a row: accuracy, or mean average precision, over the test set.

    It is empty for a model that is not trained for a task.

    The artefact computes it in a run of its own, on the same target, as the quality check does; where the run fails, a
    flag says why and there is no metric.
    """
    if not run.model.training(run.cell.framework):
        return {}
    dataset = run.uncredited(run.tasks.dataset(run.model))
    if dataset.failure:
        run.log.flag(f"no task metric: {dataset.failure.message}")
        return {}
    images = subjects.test_set(run.model, found.subject, dataset)
    ran = _ran(run, models, found, whole_batches(images, found.subject.batch))
    if ran.failure:
        run.log.flag(f"no task metric: {ran.failure.message}")
        return {}
    artefact = _digest(found.compiled) if found.ran is None else ""
    if run.model.boxes_of_places:
        return _average_precision(run, models, ran, dataset, artefact)
    labels = dataset.arrays["y_test"]
    scores = only_first(ran.arrays, len(labels))["out0"]
    classes = int(models.workspace.catalog[run.model.dataset].declaration["classes"])
    figures = classification(scores, labels, classes)
    kept = {key: figures[key] for key in ("accuracy", "top5", "inputs")}
    return {"metric": "accuracy", **kept, "artefact": artefact}


def _average_precision(run: CellRun, models: CompiledModels, ran: Done, dataset: Done, artefact: str) -> dict[str, Any]:
    """The figures of a detector; none with a flag where its outputs are no detections, or could not be scored."""
    try:
        figures = scored(run, models.workspace, ran, dataset).figures
    except (NoDetections, NotScored) as error:
        run.log.flag(f"no task metric: {error}")
        return {}
    kept = {key: figures[key] for key in ("map", "map50", "inputs")}
    return {"metric": "mean average precision", **kept, "artefact": artefact}


def other_artefact(timed: str, judged: str) -> str:
    """Why a metric is not that of what was timed, by the hashes of both artefacts; empty where they are the same."""
    if timed == judged:
        return ""
    return (
        f"the accuracy is of another artefact than the time: {judged[:12] or 'none'} was judged, "
        f"{timed[:12] or 'none'} was timed; compute both again (--bench-refresh)"
    )


def _ran(run: CellRun, models: CompiledModels, found: Compiled, images: subjects.InputSet) -> Done:
    tasks, limits = models.compile_tasks, models.limits(run)
    if tasks.in_one_process(run.cell):
        task = tasks.compile_and_run(run.cell, found.subject, limits, calibration=found.calibration, inputs=images)
    else:
        task = tasks.run(run.cell, found.subject, found.compiled, limits, inputs=images)
    return run.obtain("task", task)


def _digest(compiled: Done) -> str:
    return digest_of({name: compiled.digests.get(name, "") for name in compiled.files})
