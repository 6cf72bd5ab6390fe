"""The inputs of a timed run: those whose outputs are compared, and variations of them, so that no cache holds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bench_plugin.pipeline.array_sets import ArraySet, identified
from bench_plugin.pipeline.tasks.subjects import InputSet

if TYPE_CHECKING:
    Arrays = Mapping[str, np.ndarray[Any, Any]]

SPREAD = 0.05


def rotating(given: InputSet, count: int, seed: int) -> InputSet:
    """The N samples of a set, followed by variations of them up to ``count`` samples.

    Floating-point numbers of a variation are those of a sample times 1 + 0.05 U(-1, 1), seeded; others are its copies.
    A set for a single run stays as it is.
    """
    if given.once:
        return given

    def arrays() -> Arrays:
        return {name: _varied(values, count, seed) for name, values in given.arrays().items()}

    identity = ("rotating", count, seed, tuple(sorted(given.arrays.digests().items())))
    several: ArraySet = identified(identity, arrays)
    return replace(given, arrays=several, parts={**given.parts, "rotating": count})


def _varied(values: np.ndarray[Any, Any], count: int, seed: int) -> np.ndarray[Any, Any]:
    """Samples [max(N, count), ...], of which the first N are ``values`` [N, ...]."""
    have = len(values)
    if not have or have >= count:
        return values
    more = values[np.arange(count - have) % have]
    if values.dtype.kind == "f":
        rng = np.random.default_rng([seed, have])
        factors = 1 + SPREAD * (2 * rng.random(more.shape, dtype=np.float32) - 1)
        more = (more * factors).astype(values.dtype)
    return np.concatenate([values, more])
