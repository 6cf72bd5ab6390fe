"""Statistics of times: intervals over launches and within one, percentiles, drift, autocorrelation, spread.

All are pure functions of samples in seconds. The unit of replication is the launch: within one process samples are not
independent, and address layout, allocator and tuning are the same for all of them (docs/timing.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    Samples = np.ndarray[Any, np.dtype[np.float64]]

OVER_LAUNCHES, WITHIN_RUN = "over launches", "within-run"
CONFIDENCE = 0.95
# Percentiles, each with the number of single-call samples from which it is stated.
PERCENTILES: Mapping[str, tuple[float, int]] = {
    "p50": (50.0, 1), "p90": (90.0, 100), "p99": (99.0, 1_000), "p99.9": (99.9, 10_000),
}  # fmt: skip
# Quantiles of Student's t for a two-sided interval of 95 %, by degrees of freedom from 1 to 30.
T_95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
T_LARGE = 1.960
RESAMPLES = 2000


@dataclass(frozen=True)
class Interval:
    """A 95 % interval in seconds around ``centre``; ``kind`` says what was replicated."""

    centre: float
    low: float
    high: float
    kind: str

    @property
    def half_width(self) -> float:
        """Half the width as a share of the centre; infinite where the centre is 0."""
        return (self.high - self.low) / 2 / abs(self.centre) if self.centre else float("inf")

    def plain(self) -> dict[str, Any]:
        """As plain data for a row: seconds, and ``half_width`` as a share of ``centre``."""
        return {
            "centre": self.centre, "low": self.low, "high": self.high, "half_width": self.half_width,
            "kind": self.kind, "confidence": CONFIDENCE,
        }  # fmt: skip


def student_t(freedom: int) -> float:
    """The 97.5 % quantile of Student's t. Raises ValueError for less than one degree of freedom."""
    if freedom < 1:
        raise ValueError(f"{freedom} degrees of freedom; at least 1 is needed")
    return T_95[freedom - 1] if freedom <= len(T_95) else T_LARGE * (1 + 1.2 / freedom)


def over_launches(medians: Sequence[float]) -> Interval:
    """The t interval of the mean of launch medians [n]. Raises ValueError for less than two launches."""
    if len(medians) < 2:
        raise ValueError(f"{len(medians)} launches; a t interval needs at least 2")
    values = np.asarray(medians, dtype=np.float64)
    centre = float(values.mean())
    half = student_t(len(values) - 1) * float(values.std(ddof=1)) / len(values) ** 0.5
    return Interval(centre, centre - half, centre + half, OVER_LAUNCHES)


def within_run(samples: Samples, *, seed: int = 0) -> Interval:
    """The interval of the median of one launch's samples [n], by a bootstrap of blocks of about n^(1/3) neighbours.

    It does not cover what differs from launch to launch, which its ``kind`` says. Raises ValueError without samples.
    """
    values = np.asarray(samples, dtype=np.float64)
    if not len(values):
        raise ValueError("no samples")
    length = max(1, round(len(values) ** (1 / 3)))
    count = -(-len(values) // length)
    rng = np.random.default_rng(seed)
    starts = rng.integers(0, len(values) - length + 1, (RESAMPLES, count))
    drawn = values[(starts[:, :, None] + np.arange(length)).reshape(RESAMPLES, -1)[:, : len(values)]]
    low, high = np.quantile(np.median(drawn, axis=1), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Interval(float(np.median(values)), float(low), float(high), WITHIN_RUN)


def interval(launches: Sequence[float], samples: Samples) -> Interval:
    """Over the medians of ``launches`` where there are two at least, else within the only one by its samples [n]."""
    return over_launches(launches) if len(launches) > 1 else within_run(samples)


def percentiles(singles: Samples) -> dict[str, float]:
    """The percentiles that so many samples [n] of single calls carry, in seconds, by nearest rank upwards.

    Fewer samples have none at all of what they do not carry: no estimate is put in its place.
    """
    values = np.sort(np.asarray(singles, dtype=np.float64))
    found = {}
    for name, (percent, least) in PERCENTILES.items():
        if len(values) >= least:
            rank = int(np.ceil(percent / 100 * len(values) - 1e-9))
            found[name] = float(values[max(rank, 1) - 1])
    return found


def spread(samples: Samples) -> float:
    """The median absolute deviation from the median of samples [n], in seconds, not scaled; 0 without samples."""
    values = np.asarray(samples, dtype=np.float64)
    return float(np.median(np.abs(values - np.median(values)))) if len(values) else 0.0


def drift(medians: Sequence[float]) -> float | None:
    """The change from the first block to the last as a share of their median: Theil and Sen's slope times the blocks.

    None for less than three blocks.
    """
    values = np.asarray(medians, dtype=np.float64)
    if len(values) < 3 or not np.median(values):
        return None
    first, second = np.triu_indices(len(values), 1)
    slope = float(np.median((values[second] - values[first]) / (second - first)))
    return slope * (len(values) - 1) / float(np.median(values))


def autocorrelation(samples: Samples) -> float | None:
    """The correlation of samples [n] with their successors; None for less than three samples or for equal ones."""
    values = np.asarray(samples, dtype=np.float64)
    if len(values) < 3:
        return None
    centred = values - values.mean()
    total = float(centred @ centred)
    return float(centred[:-1] @ centred[1:]) / total if total > 0 else None


def enough(medians: Sequence[float], *, least: int, wanted: float) -> bool:
    """Whether launches may end: there are ``least`` of them, and the interval's half-width is at most ``wanted``."""
    return len(medians) >= max(least, 2) and over_launches(medians).half_width <= wanted
