"""Average precision by faster-coco-eval, by pycocotools and by our own functions: the same numbers."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.compare.detecting.average_precision import mean_average_precision, ranked
from bench_plugin.compare.detecting.suppression import Found
from bench_plugin.reach.environments.toolchains import Toolchains
from bench_plugin.report.entries import entry
from bench_plugin.report.pictures.deployment import deployment
from tests.adapters.real import ROOT

IMAGES, CLASSES = 40, 3
SCRIPT = """
import json, sys
import numpy as np
from bench_plugin.adapters.characterise import detection_metrics
from bench_plugin.agent.arrays import from_numpy
from bench_plugin.agent.contract import Place
given = {name: from_numpy(values) for name, values in np.load(sys.argv[1]).items()}
said = {}
for by in sys.argv[2:]:
    call = detection_metrics.ScoreCall(("a", "b", "c"), by).at(Place("", {}, given, lambda stage: None))
    said[by] = detection_metrics.Adapter().score(call).meta
print(json.dumps(said))
"""


def drawn(seed: int) -> tuple[np.ndarray[Any, Any], Found]:
    """Objects, and detections that are near them, doubled, of another class, or nowhere."""
    rng = np.random.default_rng(seed)
    objects = np.full((IMAGES, 4, 5), -1)
    rows = []
    for image in range(IMAGES):
        for place in range(int(rng.integers(0, 5))):
            x, y, wide, high = (int(value) for value in (*rng.integers(0, 60, 2), *rng.integers(5, 40, 2)))
            label = int(rng.integers(CLASSES))
            objects[image, place] = (label, x, y, x + wide, y + high)
            for _ in range(int(rng.integers(0, 3))):
                box = np.array([x, y, x + wide, y + high]) + rng.normal(0, 2, 4)
                rows.append((image, label if rng.random() < 0.9 else int(rng.integers(CLASSES)), rng.random(), box))
        rows += [(image, int(rng.integers(CLASSES)), rng.random() / 2, np.array([0.0, 0.0, 9.0, 9.0]))]
    rows.sort(key=lambda row: (row[0], row[1], -row[2]))
    image, label, score, boxes = (np.array(column) for column in zip(*rows, strict=True))
    return objects, Found(IMAGES, image, label, score, boxes)


def scored(folder: Path, objects: Any, found: Found, *by: str) -> dict[str, Any]:
    np.savez(folder / "given.npz", objects=objects, **found.arrays())
    command = [str(Toolchains().ensure("detection")), "-c", SCRIPT, str(folder / "given.npz"), *by]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-3000:]
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


def test_three_implementations_agree(tmp_path: Path) -> None:
    objects, found = drawn(0)
    said = scored(tmp_path, objects, found, "faster-coco-eval", "pycocotools")
    faster, stock = said["faster-coco-eval"], said["pycocotools"]
    assert 0.05 < faster["map"] < faster["map50"] < 0.95, "neither all right nor all wrong"
    for key in ("map", "map50"):
        assert faster[key] == pytest.approx(stock[key], abs=1e-12)
    assert faster["average_precision"]["mean"] == pytest.approx(stock["average_precision"]["mean"], abs=1e-12)
    assert faster["recall_precision"] == stock["recall_precision"]
    whole = np.ones((1, IMAGES), dtype=int)
    ours = [
        mean_average_precision(ranked(found, objects, CLASSES, [least]), whole)[0]
        for least in np.linspace(0.5, 0.95, 10)
    ]
    assert ours == pytest.approx(faster["average_precision"]["mean"], abs=1e-9)
    assert mean_average_precision(ranked(found, objects, CLASSES), whole)[0] == pytest.approx(faster["map"], abs=1e-9)
    assert faster["average_precision"]["overlap"] == [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]
    assert sum(faster["map_of_classes"].values()) / CLASSES == pytest.approx(faster["map"])
    assert faster["objects"] == int((objects[..., 0] >= 0).sum()) and faster["inputs"] == IMAGES


def test_reports_draw_the_curves_of_a_row(tmp_path: Path) -> None:
    objects, found = drawn(1)
    said = scored(tmp_path, objects, found, "faster-coco-eval")["faster-coco-eval"]
    numbers = {**said, "reference_map": said["map"], "drop": {"map": 0.01, "lower": 0.0, "upper": 0.02}}
    cell = {"check": "quality", "model": "net", "framework": "pytorch", "compiler": "onnxruntime"}
    page = deployment(entry({"kind": "cell", "status": "supported", "cell": cell, "numbers": numbers}))
    assert [row["class"] for row in page.rows["recall-precision"]] == ["a", "b", "c"]
    assert len(page.rows["recall-precision"][0]["recall"]) == 101 and len(page.rows["thresholds"]) == 10
    facts = dict(page.facts)
    assert facts["mean average precision at an overlap of 0.5"] == f"{said['map50']:.2%}"
    assert facts["mean average precision lost"] == "+1.00%"


def test_no_detection_scores_nothing(tmp_path: Path) -> None:
    objects, _ = drawn(0)
    nothing = Found(IMAGES, *(np.zeros(0, dtype=np.int64) for _ in range(2)), np.zeros(0), np.zeros((0, 4)))
    said = scored(tmp_path, objects, nothing, "faster-coco-eval")["faster-coco-eval"]
    assert (said["map"], said["map50"]) == (0.0, 0.0)
