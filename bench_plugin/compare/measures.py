"""Distances between an output and its truth (docs/numbers.md, "Two distances").

Axis 0 of every array counts the N inputs. All arithmetic is done in float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

INTEGERS = "iub"  # the kinds of dtypes that have no rounding of their own: integers and booleans


@dataclass(frozen=True)
class Scale:
    """How much a truth T changes over the inputs: Euclidean norm and root mean square of T - mean of T over the inputs.

    Both have the unit of T.
    """

    norm: float
    rms: float


@dataclass(frozen=True)
class Distance:
    """E and M as docs/numbers.md defines them, and three common figures beside them.

    ``E``, ``M``, ``max_rel`` (the largest absolute error over the largest absolute value of the truth) and ``cosine``
    (of the angle between the flattened arrays) have no unit; ``max_abs`` has the unit of the outputs.
    """

    E: float
    M: float
    max_abs: float
    max_rel: float
    cosine: float


def scale_of(truth: Array) -> Scale:
    """The scale of a truth [N, ...] of any real type, centred over the inputs on axis 0.

    In units of max|T| a constant answer would look almost right; in units of the centred norm its E is 1 or more.
    """
    values = np.asarray(truth, dtype=np.float64)
    centred = values - mean_over_inputs(values)
    norm = float(np.sqrt(np.einsum("i,i->", centred.reshape(-1), centred.reshape(-1))))
    return Scale(norm, norm / float(np.sqrt(max(values.size, 1))))


def scale_of_first(part: Array, whole: Array) -> Scale:
    """The scale for ``part`` [n, ...], the first n inputs of a truth ``whole`` [N, ...].

    It is that of all N inputs, in proportion to how large the results of the n are. What changes over a few inputs is a
    matter of chance, and the mean of n contains each of them; how large results are, and with them roundings, is not.
    """
    scale = scale_of(whole)
    if len(part) == len(whole):
        return scale
    own, every = (_root_mean_square(values) for values in (part, whole))
    rms = scale.rms * own / every if every > 0 else scale.rms
    return Scale(rms * float(np.sqrt(part.size)), rms)


def mean_over_inputs(truth: Array) -> Array:
    """The mean over the inputs of a truth [N, ...], as float64 [1, ...].

    The mean of N equal numbers is exactly that number; a plain sum divided by N may be off by a unit in the last place.
    """
    values = np.asarray(truth, dtype=np.float64)
    first = values[:1]
    mean: Array = first + (values - first).mean(axis=0, keepdims=True)
    return mean


def differing(actual: Array, truth: Array) -> float:
    """The share (of 1) of the elements that differ, of two arrays [...] of one shape; 0 of none."""
    return float(np.count_nonzero(actual != truth)) / max(truth.size, 1)


def distance(actual: Array, truth: Array, scale: Scale) -> Distance:
    """Distance of ``actual`` from ``truth``, in units of ``scale``. Both are [N, ...] of equal shape and finite.

    A unit of zero makes the distance infinite, or 0 where there is no error.
    """
    t = np.asarray(truth, dtype=np.float64).reshape(-1)
    y = np.asarray(actual, dtype=np.float64).reshape(-1)
    error = y - t
    norm = float(np.sqrt(np.einsum("i,i->", error, error)))
    largest = float(np.abs(error).max(initial=0.0))
    peak = float(np.abs(t).max(initial=0.0))
    return Distance(
        E=_ratio(norm, scale.norm), M=_ratio(largest, scale.rms), max_abs=largest, max_rel=_ratio(largest, peak),
        cosine=_cosine(y, t),
    )  # fmt: skip


def top_agreement(actual: Array, truth: Array, tolerance: float) -> tuple[float | None, float]:
    """How often the largest element along the last axis is the same one: (agreement, excluded), both shares of 1.

    ``actual`` and ``truth`` are [N, ..., C] of equal shape. Rows where the largest and the second largest element of
    the truth are no more than twice ``tolerance`` apart are excluded; ``tolerance`` has the unit of the outputs.
    The agreement is None where every row is excluded.
    """
    if truth.ndim < 2 or truth.shape[-1] < 2 or truth.size == 0:
        return None, 1.0
    rows = np.asarray(truth, dtype=np.float64).reshape(-1, truth.shape[-1])
    top = np.partition(rows, -2, axis=-1)[:, -2:]
    clear = top.max(axis=-1) - top.min(axis=-1) > 2 * tolerance
    excluded = 1.0 - float(clear.mean())
    if not clear.any():
        return None, excluded
    mine = np.asarray(actual, dtype=np.float64).reshape(rows.shape)
    return float((mine.argmax(axis=-1) == rows.argmax(axis=-1))[clear].mean()), excluded


def _root_mean_square(values: Array) -> float:
    flat = np.asarray(values, dtype=np.float64).reshape(-1)
    return float(np.sqrt(np.einsum("i,i->", flat, flat) / max(flat.size, 1)))


def _ratio(value: float, unit: float) -> float:
    return value / unit if unit > 0 else (0.0 if value == 0 else float("inf"))


def _cosine(y: Array, t: Array) -> float:
    norms = float(np.linalg.norm(y) * np.linalg.norm(t))
    return float(np.dot(y, t)) / norms if norms > 0 else float(bool((y == t).all()))
