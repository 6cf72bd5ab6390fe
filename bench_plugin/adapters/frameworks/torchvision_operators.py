"""torchvision's two compiled operators in plain torch, for a build of torch that they were not compiled for."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any

from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "torchvision_operators",
    "kind": "tool",
    "toolchain": "pytorch",
    "title": "torchvision's operators in torch",
    "operations": [],
}

SHIM = "torchvision: nms and roi_align in plain torch, its compiled operators need another build of torch"


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("torch", "torchvision")

    def reset(self) -> None:
        """Nothing to forget."""


def imported(torch: Any) -> tuple[list[str], list[Any]]:
    """Import torchvision as it is, or with its two compiled operators written in torch.

    Returns the shims that were needed, and what must stay alive.
    """
    try:
        importlib.import_module("torchvision")
        return [], []
    except RuntimeError as error:
        if "torchvision::nms" not in str(error):
            raise
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]
    library = torch.library.Library("torchvision", "DEF")
    library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    library.define(
        "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, "
        "int sampling_ratio, bool aligned) -> Tensor"
    )
    importlib.import_module("torchvision")
    for module in ("torchvision.extension", "torchvision.ops.roi_align"):
        vars(importlib.import_module(module))["_has_ops"] = _has_ops

    def nms(dets: Any, scores: Any, threshold: float) -> Any:
        return torch.from_numpy(_suppressed(dets.detach().numpy(), scores.detach().numpy(), threshold))

    def roi_align(x: Any, rois: Any, scale: float, height: int, width: int, ratio: int, aligned: bool) -> Any:
        return _aligned(torch, x, rois, scale, (height, width), ratio, aligned)

    library.impl("nms", nms, "CPU")
    library.impl("roi_align", roi_align, "CPU")
    return [SHIM], [library]


def _has_ops() -> bool:
    """Stands in for torchvision's; tracing compiles it from source, so it is a plain function."""
    return True


def _aligned(torch: Any, x: Any, rois: Any, scale: float, size: Sequence[int], ratio: int, aligned: bool) -> Any:
    """RoIAlign (He et al. 2017) of x [N, C, H, W] at rois [R, 5]: the mean of ratio x ratio bilinear samples per
    bin.
    """
    if ratio <= 0:
        raise NotImplementedError("roi_align with an adaptive number of samples")
    height, width = x.shape[-2:]
    corners = rois[:, 1:] * scale - (0.5 if aligned else 0.0)
    extent = corners[:, 2:] - corners[:, :2]
    extent = extent if aligned else extent.clamp(min=1.0)
    columns, rows = (
        corners[:, axis, None]
        + (torch.arange(bins * ratio, dtype=x.dtype) + 0.5) * (extent[:, axis, None] / (bins * ratio))
        for axis, bins in ((0, size[1]), (1, size[0]))
    )
    inside = ((rows >= -1) & (rows <= height))[:, :, None] & ((columns >= -1) & (columns <= width))[:, None, :]
    across, down = 2 * columns / max(width - 1, 1) - 1, 2 * rows / max(height - 1, 1) - 1
    shape = (len(rois), rows.shape[1], columns.shape[1])
    grid = torch.stack([across[:, None, :].expand(shape), down[:, :, None].expand(shape)], dim=-1)
    result = x.new_empty((len(rois), x.shape[1], *size))
    for image in range(x.shape[0]):
        mine = torch.nonzero(rois[:, 0] == image).flatten()
        points = grid[mine].reshape(1, -1, shape[2], 2)
        sampled = torch.nn.functional.grid_sample(
            x[image : image + 1], points, padding_mode="border", align_corners=True
        )
        split = sampled.reshape(x.shape[1], len(mine), shape[1], shape[2]).transpose(0, 1) * inside[mine, None]
        result[mine] = torch.nn.functional.avg_pool2d(split, ratio)
    return result


def _suppressed(boxes: Any, scores: Any, threshold: float) -> Any:
    """Greedy non-maximum suppression: indices [kept] of boxes [n, 4], best score first, that overlap no better one."""
    import numpy as np

    order = np.argsort(-scores, kind="stable")
    x1, y1, x2, y2 = boxes[order].T
    areas = (x2 - x1) * (y2 - y1)
    alive = np.ones(len(order), dtype=bool)
    for index in range(len(order)):
        if alive[index]:
            rest = slice(index + 1, None)
            width = np.minimum(x2[index], x2[rest]) - np.maximum(x1[index], x1[rest])
            height = np.minimum(y2[index], y2[rest]) - np.maximum(y1[index], y1[rest])
            common = width.clip(0) * height.clip(0)
            with np.errstate(invalid="ignore"):
                alive[rest] &= ~(common / (areas[index] + areas[rest] - common) > threshold)
    return order[alive].copy()
