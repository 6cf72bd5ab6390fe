"""Parts of an output whose values are far smaller than the others, such as scores beside boxes in pixels.

The distances of docs/numbers.md are in units of the whole output, in which a small part may be wrong unseen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench_plugin.compare.measures import mean_over_inputs

Array = np.ndarray[Any, Any]

SMALLER = 30.0  # times smaller than the largest: a part that is judged by itself
# A part of so many numbers is judged by itself from APART times smaller on: where all that is 20 times smaller is
# wrong, the whole is a twentieth off, which is within a tolerance of 16 bits. Of fewer numbers some are so small by
# chance, and their noise is chance, too.
MANY = 64
SILENT = 1e-5  # of the largest: what changes less than that is nothing that a model says
MOST = 3  # parts of one output; where more places are small, their sizes are a matter of degree
# How many times smaller than every other place a part is. Of a thousand logits some are small on a few inputs by
# chance, and others are nearly as small.
APART = 5.0


@dataclass(frozen=True)
class Part:
    """The elements from ``start`` to before ``stop`` of an axis, which is counted from the end (-1 is the last).

    ``smaller`` is how many times smaller their largest change over the inputs is than that of the whole output.
    """

    axis: int
    start: int
    stop: int
    smaller: float = field(compare=False)

    def of(self, values: Array) -> Array:
        """The part of an output [N, ...] of any number of inputs."""
        places = [slice(None)] * values.ndim
        places[self.axis] = slice(self.start, self.stop)
        return values[tuple(places)]

    def __str__(self) -> str:
        return (
            f"elements {self.start} to {self.stop - 1} of axis {self.axis}, which are {self.smaller:.0f} times smaller"
        )


def parts_of(truth: Array) -> tuple[Part, ...]:
    """The parts of a truth [N, ...] of floats that are judged by themselves, too; none of most outputs.

    The change over the inputs, as a root mean square at each place of an axis, is compared with the largest one.
    """
    values = np.asarray(truth, dtype=np.float64)
    if values.ndim < 2 or len(values) < 2 or not values.size or not np.isfinite(values).all():
        return ()
    changes = (values - mean_over_inputs(values)) ** 2
    for axis in range(1, values.ndim):
        others = tuple(place for place in range(values.ndim) if place != axis)
        sizes = np.sqrt(changes.mean(axis=others))
        each = values.size // len(sizes)
        more = (part for part in _small(sizes, axis - values.ndim, APART) if each * (part.stop - part.start) >= MANY)
        found = tuple(dict.fromkeys((*_small(sizes, axis - values.ndim, SMALLER), *more)))
        if found:
            return found
    return ()


def _small(sizes: Array, axis: int, times: float) -> tuple[Part, ...]:
    """The runs of places that are so many ``times`` smaller than the largest one.

    None where there are more than ``MOST``, or where another place is nearly as small, too (``APART``).
    """
    largest = float(sizes.max())
    small = sizes * times < largest
    if small.any() and float(sizes[small].max()) * APART > float(sizes[~small].min(initial=largest)):
        return ()
    edges = np.flatnonzero(np.diff(np.concatenate([[0], small.astype(np.int8), [0]])))
    runs = [(int(start), int(stop)) for start, stop in edges.reshape(-1, 2)]
    if largest <= 0 or len(runs) > MOST:
        return ()
    parts = (Part(axis, start, stop, largest / max(float(sizes[start:stop].max()), 1e-300)) for start, stop in runs)
    return tuple(part for part in parts if part.smaller < 1 / SILENT)
