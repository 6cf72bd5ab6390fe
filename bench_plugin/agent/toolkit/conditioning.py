"""Seeded weights that make a network sensitive to errors, the same for every framework (docs/numbers.md).

Freshly initialised networks shrink their outputs to almost nothing or let them grow without bound, which hides errors.
So BatchNorm scales are generated from N(1, 0.1) and shifts from N(0, 0.1), biases that are all equal from N(0, 0.05),
and the statistics of every BatchNorm are those of one pass over seeded inputs. Every other vector that is still what it
was initialised to (all 1, all 0, or tiny, as LayerScale's 1e-6) is generated too: it hides its branch, or the swap of
two channels.
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
TINY = 1e-3  # a vector without a larger element is a scale that switches its branch off
NEAR_ONE = 0.05
CALIBRATION_IMAGES = 8
ULP = 2.0**-24  # half a unit in the last place of float32
DETECTION_ROUNDINGS = 10  # factor k of the tolerances of fp32: a detection that k times the noise moves is not stable


class Weights:
    """Seeded weights, from one random stream per parameter name, so that the order of parameters does not matter.

    Every method returns an array of the shape [...] and dtype of ``like``.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def scale(self, name: str, like: Values) -> Values:
        """A BatchNorm scale, from N(1, 0.1)."""
        return self._normal(name, like, 1.0, SCALE_SPREAD)

    def shift(self, name: str, like: Values) -> Values:
        """A BatchNorm shift, from N(0, 0.1)."""
        return self._normal(name, like, 0.0, SHIFT_SPREAD)

    def bias(self, name: str, like: Values) -> Values:
        """A bias: ``like``, or from N(0, 0.05) if all its elements are equal, because exporters merge equal ones."""
        if like.size and not (like == like.reshape(-1)[0]).all():
            return like
        drawn: Values = self._normal(name, like, 0.0, BIAS_SPREAD)
        return drawn + like

    def vector(self, name: str, like: Values) -> Values:
        """A vector or scalar that is neither a bias nor BatchNorm's: from N(1, 0.1) where ``like`` is near 1 or tiny.

        Zeros, which may be a scale or an offset, become N(0, 0.1). Anything else is ``like``: matrices, other types
        than floating point, and what is spread already.
        """
        import numpy as np

        if like.dtype.kind != "f" or not like.size or like.size != max(like.shape, default=1):
            return like
        largest = float(np.abs(like).max())
        if largest == 0:
            return self.shift(name, like)
        if largest < TINY or bool((np.abs(like - 1) < NEAR_ONE).all()):
            return self.scale(name, like)
        return like

    def kernel(self, name: str, like: Values) -> Values:
        """The kernel [..., outputs] of a layer before a ReLU, with variance 2 / inputs (He et al., 2015).

        Its inputs are the product of all axes but the last.
        """
        inputs = like.size // like.shape[-1]
        return self._normal(name, like, 0.0, float((2.0 / inputs) ** 0.5))

    def _normal(self, name: str, like: Values, mean: float, spread: float) -> Values:
        import numpy as np

        rng = np.random.default_rng([self._seed, zlib.crc32(name.encode())])
        values: Values = np.asarray(mean + spread * rng.standard_normal(like.shape), dtype=like.dtype)
        return values


class Perturbation:
    """Multiplies values by (1 +- 2^-24) with seeded signs, as rounding to float32 may change them.

    A negative seed has the opposite signs of the positive one. ``roundings`` is how many times as far values are moved.
    """

    def __init__(self, seed: int, roundings: int = 1) -> None:
        import numpy as np

        self._rng = np.random.default_rng([abs(seed), 0x01B])
        self._towards = -roundings if seed < 0 else roundings

    def __call__(self, values: Values) -> Values:
        if values.dtype.kind != "f":
            return values
        signs = self._rng.integers(0, 2, values.shape, dtype="int8") * 2 - 1
        reach = 2 * ULP if values.dtype.name == "float32" else ULP  # a smaller one would be lost when rounded
        off: Values = (values * (1.0 + self._towards * signs * reach)).astype(values.dtype)
        return off

    def given(self, values: Values) -> Values:
        """The same for an input [...] of a model; a mask stays as it is.

        Zeros and ones are exact in every type. Moved, a mask that is subtracted from 1 and multiplied by -10,000 would
        make noise that no tool has.
        """
        import numpy as np

        return values if np.isin(values, (0, 1)).all() else self(values)
