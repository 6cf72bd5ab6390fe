"""The task of detectors: from their outputs on the test images to detections, and their average precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bench_plugin.compare.detecting.suppression import Found, suppressed
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.tasks import detection_tasks

BOXES, SCORES = "out0", "out1"


class NoDetections(Exception):
    """Outputs that are no boxes and scores of places; the message says what they are."""


class NotScored(Exception):
    """Detections that could not be scored, because the stage that does it failed."""


@dataclass(frozen=True)
class Scored:
    """Detections with their figures: ``map``, ``map50``, curves ... (adapters/characterise/detection_metrics.py)."""

    found: Found
    figures: dict[str, Any]


def scored(run: CellRun, workspace: Workspace, ran: Done, dataset: Done) -> Scored:
    """The detections of a stage that ran on the test images, with their figures.

    Raises NoDetections for outputs of another kind, NotScored where the tool failed.
    """
    count = len(dataset.arrays["y_test"])
    if BOXES not in ran.arrays or SCORES not in ran.arrays:
        raise NoDetections(f"the outputs are {', '.join(ran.arrays)}; expected boxes and scores")
    try:
        found = suppressed(ran.arrays[BOXES][:count], ran.arrays[SCORES][:count])
    except ValueError as error:
        raise NoDetections(str(error)) from error
    task = detection_tasks.score(run.tasks, run.model, dataset, found, ran.content, class_names(run, workspace))
    done = run.obtain("metrics", task)
    if done.failure:
        raise NotScored(done.failure.message)
    return Scored(found, dict(done.meta["score"]))


def class_names(run: CellRun, workspace: Workspace) -> tuple[str, ...]:
    """What the classes of the model's dataset are called; their numbers where they have no names."""
    said = workspace.catalog[run.model.dataset].declaration
    return tuple(said.get("names") or (str(number) for number in range(int(said["classes"]))))
