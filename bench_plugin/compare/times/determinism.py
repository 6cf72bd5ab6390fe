"""Determinism and steadiness as figures: bits over launches and threads, tails of latency, and spread over launches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    Series = np.ndarray[Any, np.dtype[np.float64]]

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
