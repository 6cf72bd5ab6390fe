"""Whether the error of a run is the effect of a mistake, which may be smaller than the tolerance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench_plugin.compare.table import Table

Array = np.ndarray[Any, Any]
Outputs = Mapping[str, Array]

FEWEST = 16  # elements of an output: fewer may point in one direction by chance


@dataclass(frozen=True)
class Likeness:
    """An error e and the effect d of a mistake, both of one output: the products ``ee``, ``ed`` and ``dd``.

    All three have the square of the unit of the output.
    """

    ee: float
    ed: float
    dd: float

    @property
    def cosine(self) -> float:
        """The cosine of the angle between both; 0 where one of them is zero."""
        size = math.sqrt(self.ee * self.dd)
        return self.ed / size if size > 0 else 0.0

    @property
    def size(self) -> float:
        """The size of the error in units of the effect; 0 where there is no effect."""
        return math.sqrt(self.ee / self.dd) if self.dd > 0 else 0.0

    def with_effect(self) -> Likeness:
        """The likeness of the error e + d, which a run would have that made the mistake as well."""
        return Likeness(self.ee + 2 * self.ed + self.dd, self.ed + self.dd, self.dd)

    def alike(self, table: Table) -> bool:
        """Whether the error is this effect, in direction and size."""
        return self.cosine >= table.alike and 1 / table.alike_size <= self.size <= table.alike_size


def likenesses(truth: Outputs, run: Outputs, original: Outputs, mutant: Outputs) -> list[Likeness]:
    """The likeness of the error of a run (run minus truth) to the effect of a mistake (mutant minus original).

    All hold outputs [n, ...] of the same n inputs and are matched by position; ``original`` and ``mutant`` are outputs
    of one runtime. Left out are outputs of other types than floating point, of fewer than :data:`FEWEST` elements, and
    those that are not finite or have other shapes.
    """
    outputs = zip(truth.values(), run.values(), original.values(), mutant.values(), strict=False)
    return [_likeness(*one) for one in outputs if _comparable(*one)]


def _comparable(*arrays: Array) -> bool:
    first = arrays[0]
    if first.size < FEWEST or any(one.shape != first.shape or one.dtype.kind != "f" for one in arrays):
        return False
    return all(bool(np.isfinite(one).all()) for one in arrays)


def _likeness(truth: Array, run: Array, before: Array, after: Array) -> Likeness:
    error = (run.astype(np.float64) - truth).reshape(-1)
    effect = (after.astype(np.float64) - before).reshape(-1)
    return Likeness(float(error @ error), float(error @ effect), float(effect @ effect))
