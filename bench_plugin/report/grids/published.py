"""The grid as it was published in 2021, shipped as data, to show what changed since."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).parent / "data" / "published_onnx_grid.csv"

# The published page calls models by other names than ours.
NAMES = {
    "DenseNet201": "densenet201",
    "MobileNetV2": "mobilenet_v2",
    "ResNet50": "resnet50",
    "VGG16": "vgg16",
    "DeepLabV3 ResNet50": "deeplabv3",
    "Faster R-CNN ResNet50 FPN": "faster_rcnn",
    "Mask R-CNN": "mask_rcnn",
}


@dataclass(frozen=True)
class Published:
    """``cells[model][framework]`` is ``export / import``; ``versions[framework]`` as published; ``source`` a
    citation.
    """

    cells: Mapping[str, Mapping[str, str]]
    versions: Mapping[str, str]
    source: str

    def cell(self, model: str, framework: str) -> str:
        """The published text, empty where the model or framework was not in the table."""
        return self.cells.get(model, {}).get(framework, "")


def published_grid() -> Published:
    """Read the shipped table (comment line first, then model x framework)."""
    lines = DATA.read_text("utf-8").splitlines()
    source = lines[0].lstrip("# ")
    table = list(csv.reader(lines[1:]))
    heads = [head.split(" ", 1) for head in table[0][1:]]
    cells = {NAMES[row[0]]: {head[0]: text for head, text in zip(heads, row[1:], strict=True)} for row in table[1:]}
    return Published(cells, {head[0]: head[1] for head in heads}, source)
