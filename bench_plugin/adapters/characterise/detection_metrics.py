"""Average precision of detections by COCO's rules: by faster-coco-eval, and by pycocotools to check it."""

from __future__ import annotations

import dataclasses
import importlib
from dataclasses import dataclass
from typing import Any, Dict, List, Tuple

from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.contract import Call
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "detection_metrics",
    "kind": "tool",
    "toolchain": "detection",
    "title": "Metrics of detection",
    "distribution": "faster-coco-eval",
    "operations": ["score"],
    "errors": [{"package": "faster_coco_eval"}, {"package": "pycocotools"}],
}

FASTER, STOCK = "faster-coco-eval", "pycocotools"
MAP, MAP50 = 0, 1  # places in COCO's twelve figures: over overlaps 0.5 to 0.95, and at 0.5
ALL_AREAS, HUNDRED = 0, -1  # the range of sizes that counts, and the largest number of detections in an image
DIGITS = 4  # of the curves, which are pictures


@dataclass(frozen=True, eq=False, repr=False)
class ScoreCall(Call):
    """Score detections: arrays ``objects`` int64 [N, M, 5] (class below 0: none, x1, y1, x2, y2), and of D detections
    ``image`` and ``label`` int64 [D], ``score`` float64 [D], ``boxes`` float64 [D, 4] (x1, y1, x2, y2).

    classes: the names of the classes, in their order.
    by: faster-coco-eval or pycocotools.
    """

    operation = "score"

    classes: Tuple[str, ...]
    by: str = dataclasses.field(default=FASTER)

    def array(self, name: str) -> Any:
        """An array of the call by name."""
        return self._array(name)


CALLS = {"score": ScoreCall}


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed(FASTER, STOCK, "numpy")

    def reset(self) -> None:
        """Nothing to forget."""

    def score(self, call: ScoreCall) -> Reply:
        """``map``, ``map50``, ``average_precision`` over overlaps, ``recall_precision`` at 0.5 and ``map_of_classes``.

        All are shares of 1; a class without an object is left out of the curves. Raises ValueError for another ``by``.
        """
        import numpy as np

        call.stage("check")
        objects = call.array("objects")
        found = np.concatenate(
            [call.array("image")[:, None] + 1.0, _wide(call.array("boxes")), call.array("score")[:, None],
             call.array("label")[:, None] + 1.0], axis=1,
        )  # fmt: skip
        truth = _truth(objects, call.classes)
        counts = [int((objects[..., 0] == label).sum()) for label in range(len(call.classes))]
        figures = {"inputs": len(objects), "objects": sum(counts)}
        if not len(found):
            return Reply({**figures, "map": 0.0, "map50": 0.0})
        evaluated = _by_faster(truth, found) if call.by == FASTER else _by_stock(truth, found, call.by)
        said: Dict[str, Any] = {"map": float(evaluated.stats[MAP]), "map50": float(evaluated.stats[MAP50])}
        # [overlaps, recalls, classes]; -1 for a class without an object
        precision = np.asarray(evaluated.eval["precision"])[:, :, :, ALL_AREAS, HUNDRED]
        overlaps, recalls = np.asarray(evaluated.params.iouThrs), np.asarray(evaluated.params.recThrs)
        known = [label for label, count in enumerate(counts) if count]
        of_overlaps = precision[:, :, known].mean(axis=(1, 2))
        said["average_precision"] = {
            "overlap": [round(float(value), 2) for value in overlaps], "mean": [float(value) for value in of_overlaps],
        }  # fmt: skip
        said["map_of_classes"] = {call.classes[label]: float(precision[:, :, label].mean()) for label in known}
        shown = [round(float(value), DIGITS) for value in recalls]
        said["recall_precision"] = {
            call.classes[label]: {"recall": shown, "precision": np.round(precision[0, :, label], DIGITS).tolist()}
            for label in known
        }
        return Reply({**figures, **said})


def _wide(boxes: Any) -> Any:
    """Boxes x1, y1, x2, y2 as COCO has them: x, y, width, height."""
    import numpy as np

    return np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], axis=1)


def _truth(objects: Any, classes: Tuple[str, ...]) -> Dict[str, Any]:
    """The objects as COCO's annotations; images, classes and objects are numbered from 1."""
    annotations: List[Dict[str, Any]] = []
    for image, rows in enumerate(objects.tolist(), 1):
        for label, x1, y1, x2, y2 in rows:
            if label < 0:
                continue
            wide, high = x2 - x1, y2 - y1
            annotations.append({
                "id": len(annotations) + 1, "image_id": image, "category_id": label + 1, "iscrowd": 0,
                "bbox": [x1, y1, wide, high], "area": wide * high,
            })  # fmt: skip
    return {
        "info": {}, "licenses": [], "images": [{"id": image} for image in range(1, len(objects) + 1)],
        "categories": [{"id": number, "name": name} for number, name in enumerate(classes, 1)],
        "annotations": annotations,
    }  # fmt: skip


def _by_faster(truth: Dict[str, Any], found: Any) -> Any:
    module = importlib.import_module("faster_coco_eval")
    annotated = module.COCO(truth)
    evaluated = module.COCOeval_faster(annotated, annotated.loadRes(found), iouType="bbox", print_function=_quiet)
    return _run(evaluated)


def _by_stock(truth: Dict[str, Any], found: Any, by: str) -> Any:
    if by != STOCK:
        raise ValueError("by is %r; expected %s or %s" % (by, FASTER, STOCK))
    annotated = importlib.import_module("pycocotools.coco").COCO()
    annotated.dataset = truth
    annotated.createIndex()
    return _run(importlib.import_module("pycocotools.cocoeval").COCOeval(annotated, annotated.loadRes(found), "bbox"))


def _run(evaluated: Any) -> Any:
    evaluated.evaluate()
    evaluated.accumulate()
    evaluated.summarize()
    return evaluated


def _quiet(*_: object) -> None:
    """What the tool would print stands in its figures."""
