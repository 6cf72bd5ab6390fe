"""The values of generated graphs: between bounds, of the whole range of a type of integers, or near other values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

APART = 2**32  # so far from each other, two numbers of 64 bits are one where only 32 bits are computed


def filled(dtype: str, shape: Sequence[int], low: float, high: float, seed: int, edges: Sequence[Any]) -> Array:
    """An array [*shape] of ``dtype`` with values from ``low`` to ``high``: a ramp for seed 0, else random by the seed.

    ``edges`` are pairs (place, value), whose places count the elements in C order.
    """
    size = math.prod(shape)
    flat: Array
    if dtype == "bool":
        flat = np.arange(size) % 2 == 0 if seed == 0 else np.random.default_rng(seed).random(size) < 0.5
    else:
        part = (np.arange(size) + 1) / (size + 1) if seed == 0 else np.random.default_rng(seed).random(size)
        spread = low + part * (high - low)
        flat = (np.rint(spread) if np.dtype(dtype).kind in "iu" else spread).astype(dtype)
    for place, value in edges:
        if size:
            flat[place % size] = value
    return flat.reshape(shape)


def spread(dtype: str, shape: Sequence[int], low: int, high: int, seed: int, edges: Sequence[Any]) -> Array:
    """An array [*shape] of the integer type ``dtype``: half of the numbers are equally likely from ``low`` to ``high``,
    the others have any number of bits with equal likelihood, so that small ones appear beside large ones. Mostly one of
    them is in the eighth of the range beside one of its ends, for tensors are small. The smallest or the largest one
    has a rival in front of it (:data:`APART`), which a tool that computes in another type takes for the same number.

    ``edges`` are as in :func:`filled`. No number passes through floating point, which holds no integer of 64 bits.
    """
    generator, size, kind = np.random.default_rng(seed), math.prod(shape), np.dtype(dtype)
    flat = generator.integers(low, high, size, dtype=kind.type, endpoint=True)
    largest = max(abs(low), abs(high)).bit_length()
    for place in np.flatnonzero(generator.random(size) < 0.5).tolist():
        bits = int(generator.integers(0, largest, endpoint=True))
        value = int(generator.integers(0, 2**bits - 1, dtype=np.uint64, endpoint=True))
        negative = low < 0 and (high <= 0 or bool(generator.integers(0, 2)))
        flat[place] = min(max(-value if negative else value, low), high)
    if size and generator.random() < 0.75:
        inward = int(generator.integers(0, (high - low) // 8, dtype=np.uint64, endpoint=True))
        flat[generator.integers(0, size)] = low + inward if low < 0 and generator.random() < 0.5 else high - inward
    if size:
        _set_rival(flat, low, high, generator)
    for place, value in edges:
        if size:
            flat[place % size] = value
    return flat.reshape(shape)


def beside(values: Array, others: Array, seed: int) -> Array:
    """``values`` of which about half are those of ``others`` that they are compared with when both are broadcast: the
    same number, the next one, or one that is :data:`APART` from it. Both hold the same type, integers or floats.
    """
    if not values.size or not others.size:
        return values
    generator = np.random.default_rng(seed)
    whole = np.broadcast_to(others, np.broadcast_shapes(values.shape, others.shape))
    whole = whole[(0,) * (whole.ndim - values.ndim)]  # leading dimensions that ``values`` does not have
    same = whole[tuple(slice(0, size) for size in values.shape)]
    found = values.copy()
    for place in np.ndindex(values.shape):
        if _coin(generator):
            found[place] = _neighbour(same[place], generator)
    return found


def _neighbour(value: Any, generator: Any) -> Any:
    if value.dtype.kind == "f":
        way = value.dtype.type(generator.choice([-math.inf, math.inf]))
        with np.errstate(over="ignore"):  # the largest number is beside infinity
            return np.nextafter(value, way) if _coin(generator) else value
    limits = np.iinfo(value.dtype)
    moved = int(value) + int(generator.choice([0, 1, -1, *(way * _apart(value.dtype) for way in (1, -1))]))
    return value.dtype.type(moved) if limits.min <= moved <= limits.max else value


def _set_rival(flat: Array, low: int, high: int, generator: Any) -> None:
    """Put the smallest or largest of the integers behind another one that is as near to it as :data:`APART` says.

    It takes the place of one that is neither: the numbers keep both ends of their range.
    """
    ends = (int(flat.argmin()), int(flat.argmax()))
    place = ends[int(generator.integers(0, 2))]
    best = int(flat[place])
    step = _apart(flat.dtype) if _coin(generator) else 1
    rival = best + step if place == ends[0] else best - step
    others = [one for one in range(len(flat)) if one not in ends]
    if not others or not low <= rival <= high:
        return
    taken = others[int(generator.integers(0, len(others)))]
    flat[max(place, taken)], flat[min(place, taken)] = best, rival


def _apart(dtype: Any) -> int:
    return APART if dtype.itemsize == 8 else 1


def _coin(generator: Any) -> bool:
    return bool(generator.random() < 0.5)
