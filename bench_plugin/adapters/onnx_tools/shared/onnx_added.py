"""Terms added one by one in the order in which they are, each sum rounded to a format: what a plain loop gives.

Where terms are alike, as those of a mean over a smooth image, the roundings of their sums have one sign, and are no
chance that could be drawn: they add up to several times as much.
"""

from __future__ import annotations

from typing import Any

from bench_plugin.adapters.onnx_tools.shared.onnx_formats import ROUNDINGS
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_added",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Terms added in their order",
    "distribution": "onnx",
    "operations": [],
    "uses": ["onnx_formats"],
}

MOST = 1 << 16  # terms of one sum; more than these take seconds


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def error_in_order(terms: Any, format: str) -> Any:
    """How far the sums of terms [..., K] of float64 are off, [...], when they are added one by one.

    Zeros where there are more than MOST terms, or where a sum leaves the range of the format.
    """
    import numpy as np

    in_front = np.ascontiguousarray(np.moveaxis(terms, -1, 0))
    total, rounded = np.zeros(in_front.shape[1:]), ROUNDINGS[format]
    if len(in_front) > MOST:
        return total
    with np.errstate(invalid="ignore"):
        for one in in_front:
            total = rounded(total + one)
        error = total - in_front.sum(axis=0)
    return error if np.isfinite(error).all() else np.zeros_like(error)


def larger(drawn: Any, in_order: Any) -> Any:
    """Of two errors [...] of one tensor the one with the larger Euclidean norm."""
    import numpy as np

    return in_order if np.linalg.norm(in_order) > np.linalg.norm(drawn) else drawn


def reduced(x: Any, axes: Any) -> Any:
    """The terms of a reduction of x over these axes, or over all, as [..., K]: the axes that stay, then the terms."""
    import numpy as np

    over = sorted({int(axis) % x.ndim for axis in np.ravel(axes)}) if axes is not None else list(range(x.ndim))
    ends = np.moveaxis(x, over, range(x.ndim - len(over), x.ndim))
    return ends.reshape(*ends.shape[: x.ndim - len(over)], -1)


def windows(x: Any, kernel: Any, strides: Any, pads: Any) -> Any:
    """The terms of a pooling of x [N, C, ...] as [N, C, ..., K]; what is padded is zero, which adds nothing."""
    import numpy as np

    rank = len(kernel)
    begins, ends = list(pads)[:rank] or [0] * rank, list(pads)[rank:] or [0] * rank
    padded = np.pad(x, [(0, 0), (0, 0), *zip(begins, ends)])
    seen = np.lib.stride_tricks.sliding_window_view(padded, tuple(kernel), axis=tuple(range(2, 2 + rank)))
    steps = tuple(slice(None, None, step) for step in list(strides) or [1] * rank)
    seen = seen[(slice(None), slice(None), *steps)]
    return seen.reshape(*seen.shape[: 2 + rank], -1)
