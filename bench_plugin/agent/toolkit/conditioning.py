"""Weights that let a network show its errors, the same for every framework.

Freshly initialised networks shrink their outputs to nothing or blow them up, and hide every mistake. BatchNorm scales
are drawn from N(1, 0.1) and shifts from N(0, 0.1), biases that are all equal from N(0, 0.05), and the statistics of
every BatchNorm are those of one pass over seeded images.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Values = np.ndarray[Any, Any]

SCALE_SPREAD = 0.1
SHIFT_SPREAD = 0.1
BIAS_SPREAD = 0.05
CALIBRATION_IMAGES = 8
ULP = 2.0**-24  # half a unit in the last place of float32


class Weights:
    """Seeded draws, one stream per parameter name: they do not depend on the order of parameters."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def scale(self, name: str, like: Values) -> Values:
        """A BatchNorm scale."""
        return self._normal(name, like, 1.0, SCALE_SPREAD)

    def shift(self, name: str, like: Values) -> Values:
        """A BatchNorm shift."""
        return self._normal(name, like, 0.0, SHIFT_SPREAD)

    def bias(self, name: str, like: Values) -> Values:
        """A bias: what it is, or drawn where every element is equal (equal ones are merged by exporters)."""
        if like.size and not (like == like.reshape(-1)[0]).all():
            return like
        drawn: Values = self._normal(name, like, 0.0, BIAS_SPREAD)
        return drawn + like

    def kernel(self, name: str, like: Values) -> Values:
        """The kernel of a layer in front of a ReLU, inputs on all axes but the last: variance 2 / inputs (He et al.
        2015).
        """
        inputs = like.size // like.shape[-1]
        return self._normal(name, like, 0.0, float((2.0 / inputs) ** 0.5))

    def _normal(self, name: str, like: Values, mean: float, spread: float) -> Values:
        import numpy as np

        rng = np.random.default_rng([self._seed, zlib.crc32(name.encode())])
        values: Values = np.asarray(mean + spread * rng.standard_normal(like.shape), dtype=like.dtype)
        return values


class Perturbation:
    """Values times (1 +- 2^-24), signs seeded: what rounding to float32 may do to them."""

    def __init__(self, seed: int) -> None:
        import numpy as np

        self._rng = np.random.default_rng([seed, 0x01B])

    def __call__(self, values: Values) -> Values:
        if values.dtype.kind != "f":
            return values
        signs = self._rng.integers(0, 2, values.shape, dtype="int8") * 2 - 1
        reach = 2 * ULP if values.dtype.name == "float32" else ULP  # less would be rounded away again
        off: Values = (values * (1.0 + signs * reach)).astype(values.dtype)
        return off
