"""Terms added one by one in the order in which they are, each sum rounded to a format: what a plain loop gives.

Where terms are alike, as those of a mean over a smooth image, the roundings of their sums have one sign, and are no
chance that could be drawn: they add up to several times as much.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
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


def error_in_order(terms: Sequence[Any], format: str) -> Any:
    """How far the sum of K terms of float64, each [...], is off, [...], when they are added one by one.

    Zeros where there are more than MOST terms, or where a sum leaves the range of the format.
    """
    import numpy as np

    total, exact, rounded = np.zeros(np.shape(terms[0])), np.zeros(np.shape(terms[0])), ROUNDINGS[format]
    if len(terms) > MOST:
        return total
    with np.errstate(invalid="ignore"):
        for one in terms:
            total, exact = rounded(total + one), exact + one
        error = total - exact
    return error if np.isfinite(error).all() else np.zeros_like(error)


def larger(drawn: Any, in_order: Any) -> Any:
    """Of two errors [...] of one tensor the one with the larger Euclidean norm."""
    import numpy as np

    return in_order if np.linalg.norm(in_order) > np.linalg.norm(drawn) else drawn


def reduced(x: Any, axes: Any) -> Any:
    """The terms of a reduction of x over these axes, or over all, as [K, ...]: the terms, then the axes that stay."""
    import numpy as np

    over = sorted({int(axis) % x.ndim for axis in np.ravel(axes)}) if axes is not None else list(range(x.ndim))
    front = np.moveaxis(x, over, range(len(over)))
    return front.reshape(-1, *front.shape[len(over) :])


def windows(x: Any, kernel: Sequence[int], strides: Sequence[int], pads: Sequence[int]) -> list[Any]:
    """The terms of a pooling of x [N, C, ...], each [N, C, ...]; what is padded is zero, which adds nothing."""
    import numpy as np

    rank = len(kernel)
    steps, begins, ends = strides or [1] * rank, pads[:rank] or [0] * rank, pads[rank:] or [0] * rank
    padded = np.pad(x, [(0, 0), (0, 0), *zip(begins, ends)])
    counts = [(size - one) // step + 1 for size, one, step in zip(padded.shape[2:], kernel, steps)]
    found = []
    for place in itertools.product(*map(range, kernel)):
        parts = (slice(at, at + (count - 1) * step + 1, step) for at, count, step in zip(place, counts, steps))
        found.append(padded[(slice(None), slice(None), *parts)])
    return found
