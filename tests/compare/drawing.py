"""What the laws are tried on: seeded arrays, and how often."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

Array = np.ndarray[Any, Any]
SEEDS = st.integers(0, 2**32 - 1)
LAW = settings(max_examples=30, deadline=None)


def drawn(seed: int, shape: tuple[int, ...] = (8, 12)) -> Array:
    """Normal numbers: by default 12 outputs of 8 inputs."""
    return np.random.default_rng(seed).normal(size=shape)


def alike_first(count: int) -> Array:
    """The results [16, 1000] of a model whose first ``count`` inputs are nearly alike, all of about one size."""
    truth = 2 + drawn(0, (16, 1000))
    truth[1:count] = truth[0] + 0.01 * drawn(1, (count - 1, 1000))
    return truth
