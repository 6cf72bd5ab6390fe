"""Distances between an output and its truth, over N inputs on axis 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Scale:
    """What changes over the inputs: norm and root mean square of T - mean over inputs of T."""

    norm: float
    rms: float


@dataclass(frozen=True)
class Distance:
    """E and M as docs/numbers.md defines them, and the figures that people ask for beside them."""

    E: float
    M: float
    max_abs: float
    max_rel: float
    cosine: float


def scale_of(truth: Array) -> Scale:
    """Centred over axis 0: against max|T| a constant answer would look almost right, centred it is off by 1."""
    values = np.asarray(truth, dtype=np.float64)
    centred = values - mean_over_inputs(values)
    norm = float(np.sqrt(np.einsum("i,i->", centred.reshape(-1), centred.reshape(-1))))
    return Scale(norm, norm / float(np.sqrt(max(values.size, 1))))


def mean_over_inputs(truth: Array) -> Array:
    """[1, ...]; of equal numbers exactly that number, where a plain sum may be off by an ulp."""
    values = np.asarray(truth, dtype=np.float64)
    first = values[:1]
    mean: Array = first + (values - first).mean(axis=0, keepdims=True)
    return mean


def distance(actual: Array, truth: Array, scale: Scale) -> Distance:
    """Distance of ``actual`` from ``truth`` (equal shapes, finite), in units of ``scale``; inf where it is zero."""
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
    """Share of equal argmax over the last axis, where T's margin exceeds twice the tolerance; and the excluded share.

    ``tolerance`` is absolute. Of inputs that are all excluded no agreement can be said: None.
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


def _ratio(value: float, unit: float) -> float:
    return value / unit if unit > 0 else (0.0 if value == 0 else float("inf"))


def _cosine(y: Array, t: Array) -> float:
    norms = float(np.linalg.norm(y) * np.linalg.norm(t))
    return float(np.dot(y, t)) / norms if norms > 0 else float(bool((y == t).all()))
