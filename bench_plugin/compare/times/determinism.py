"""Determinism and steadiness as figures: bits over launches, threads and positions, tails of latency, spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    Series = np.ndarray[Any, np.dtype[np.float64]]
    Arrays = Mapping[str, np.ndarray[Any, Any]]

P99 = 1000  # samples that a 99th percentile needs


def across(digests: Mapping[str, str]) -> dict[str, Any]:
    """Whether runs gave the same bits: ``digests`` of their outputs by what differs between them, such as threads.

    ``identical`` is absent for less than two; ``groups`` are the runs with equal bits, where there are several groups.

    >>> across({"1 thread": "a", "2 threads": "b", "3 threads": "a"})["groups"]
    [['1 thread', '3 threads'], ['2 threads']]
    """
    groups: dict[str, list[str]] = {}
    for name, digest in digests.items():
        groups.setdefault(digest, []).append(name)
    found: dict[str, Any] = {"compared": len(digests)}
    if len(digests) > 1:
        found["identical"] = len(groups) == 1
    if len(groups) > 1:
        found["groups"] = list(groups.values())
    return found


def moved(arrays: Arrays, batch: int) -> dict[str, np.ndarray[Any, Any]]:
    """Samples [N, ...], N a multiple of ``batch``, of which each stands one place further in its batch, the last first.

    >>> moved({"x": np.arange(6)}, 3)["x"].tolist()
    [2, 0, 1, 5, 3, 4]
    """
    return {name: _rolled(values, batch, 1) for name, values in arrays.items()}


def over_positions(outputs: Arrays, of_moved: Arrays, batch: int) -> dict[str, Any]:
    """Whether samples gave equal bits at two positions of their batch: ``outputs`` [N, ...], and those of moved ones.

    ``compared`` samples, ``identical``, and of how many the bits ``differ``, if any do. Nothing where the two have not
    the same shapes, or not a row for each sample, so that it is not known which rows are a sample's.
    """
    shapes = {name: (values.shape, values.dtype) for name, values in outputs.items()}
    counts = {len(values) if values.ndim else 0 for values in outputs.values()}
    count = next(iter(counts), 0)
    if {name: (values.shape, values.dtype) for name, values in of_moved.items()} != shapes:
        return {}
    if len(counts) != 1 or not count or count % batch:
        return {}
    differ = np.zeros(count, dtype=bool)
    for name, values in outputs.items():
        back = _rolled(of_moved[name], batch, -1)
        differ |= np.array([one.tobytes() != other.tobytes() for one, other in zip(values, back, strict=True)])
    found: dict[str, Any] = {"compared": count, "identical": not differ.any()}
    return {**found, "differ": int(differ.sum())} if differ.any() else found


def _rolled(values: np.ndarray[Any, Any], batch: int, places: int) -> np.ndarray[Any, Any]:
    """Samples [N, ...] moved so many places within each batch."""
    return np.roll(values.reshape(-1, batch, *values.shape[1:]), places, axis=1).reshape(values.shape)


def tails(singles: Series) -> dict[str, float]:
    """``max_p50`` and ``p99_p50`` of single calls [n] in seconds; the latter from 1,000 of them, else absent.

    Nothing for no samples, and for a median of 0, which a coarse clock gives.
    """
    if not len(singles):
        return {}
    median = float(np.median(singles))
    if median <= 0:
        return {}
    found = {"max_p50": float(singles.max()) / median}
    if len(singles) >= P99:
        rank = int(np.ceil(0.99 * len(singles) - 1e-9))
        found["p99_p50"] = float(np.sort(singles)[rank - 1]) / median
    return found


def over_launches(medians: Sequence[float]) -> dict[str, float]:
    """Spread of launch medians [n], n > 1, as shares of their mean: ``sd`` (of the sample) and ``range``.

    Nothing for less than two launches, or a mean of 0.
    """
    values = np.asarray(medians, dtype=np.float64)
    if len(values) < 2 or not values.mean():
        return {}
    mean = float(values.mean())
    return {"sd": float(values.std(ddof=1)) / mean, "range": float(np.ptp(values)) / mean}
