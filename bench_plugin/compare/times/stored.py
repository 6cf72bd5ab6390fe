"""Statistics of comparing the times of two stored runs: launches resampled, the machine's drift taken out.

All are pure functions of seconds. Between two runs the machine may have become slower or faster; a calibration workload
that is timed in the same processes says by how much. It does not see all of it: docs/comparison.md has the rates of
false alarms and of detections that were measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from bench_plugin.compare.times.turns import verdict, welch
from bench_plugin.domain.thresholds import MAX_SLOWDOWN, SAME, TOO_NOISY

if TYPE_CHECKING:
    Series = np.ndarray[Any, np.dtype[np.float64]]

RESAMPLES = 2000
ALPHA = 0.05
MOST_DRIFT = 0.25  # the calibration changed by more than this: such a machine is in another state, and nothing is said


@dataclass(frozen=True)
class StoredComparison:
    """Head against base: ``d`` and ``half_width`` as in turns.py, ``p`` of exchanged launches.

    ``drift`` is the logarithm of the ratio of the calibrations, already taken out of ``d``; None without calibration.
    """

    d: float
    half_width: float
    p: float
    drift: float | None
    verdict: str


def compared(
    base: Sequence[float], head: Sequence[float], *, base_calibration: Sequence[float] = (),
    head_calibration: Sequence[float] = (), effect: float = MAX_SLOWDOWN, seed: int = 0,
) -> StoredComparison:  # fmt: skip
    """Two stored runs from the seconds of their launches [n], [m], and those of the calibration in each launch.

    Calibrations count where both runs have those of two launches at least; what they are unsure of is a part of the
    half-width. Less than four launches a side are never enough for ``slower``: too few divisions differ from the one
    that was measured. Raises ValueError for less than two launches.
    """
    old, new = np.log(np.asarray(base, dtype=np.float64)), np.log(np.asarray(head, dtype=np.float64))
    d, half_width = welch(old, new)
    drift = None
    if min(len(base_calibration), len(head_calibration)) > 1:
        before, after = (np.log(np.asarray(one, dtype=np.float64)) for one in (base_calibration, head_calibration))
        drift, unsure = welch(before, after)
        d, half_width, new = d - drift, float(np.hypot(half_width, unsure)), new - drift
    p = exchanged(old, new, seed=seed)
    said = verdict(d, half_width, effect)
    drifted = drift is not None and abs(drift) > MOST_DRIFT
    if drifted or (said != SAME and p > ALPHA):
        said = TOO_NOISY
    return StoredComparison(d, half_width, p, drift, said)


def exchanged(base: Series, head: Series, *, seed: int = 0) -> float:
    """How often launches that are dealt to the two sides anew differ as much as they do: a permutation test.

    ``base`` [n] and ``head`` [m] are values of launches. All divisions are tried where they are few, else RESAMPLES.
    """
    values = np.concatenate([base, head])
    count, total = len(base), len(values)
    observed = abs(float(head.mean() - base.mean()))
    if comb(total, count) <= RESAMPLES:
        chosen = np.array(list(combinations(range(total), count)))
    else:
        rng = np.random.default_rng(seed)
        chosen = np.array([rng.permutation(total)[:count] for _ in range(RESAMPLES)])
    sums = values[chosen].sum(axis=1)
    means = (values.sum() - sums) / (total - count) - sums / count
    return float(np.mean(np.abs(means) >= observed - 1e-12))
