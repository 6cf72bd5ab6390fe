"""Which constant of an ONNX file numbers of an artefact are most like, and by how many of their steps they are off."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from bench_plugin.adapters.onnx_tools.matching import onnx_chains
from bench_plugin.adapters.onnx_tools.matching.onnx_candidates import Candidate, Found
from bench_plugin.adapters.onnx_tools.matching.onnx_chains import CONTRACTIONS
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_alike",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Constants that are alike",
    "distribution": "onnx",
    "operations": [],
    "uses": ["onnx_candidates", "onnx_chains"],
}

ALIKE = 0.9  # cosine from which on two constants are the same one, right or wrong
SPREAD = 0.25  # relative difference of norms up to which constants are compared at all
EQUAL = 1e-12  # difference of two such cosines that only the order of summation makes
MOST = 0.5  # share of the channels of a weight that make it one, right or wrong, where it has FEWEST at least
FEWEST = 4
HALF = 0.501  # steps up to which a constant is the rounded one
TINY = 2.0**-149  # the smallest number of float32
SINGLE = 1e-6  # what float32 arithmetic may change, as a share of the largest value
REPEATING = "ones of an Expand"  # where a constant of the file is named
PART = 1 << 20  # elements that are compared at once


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def outputs_of(graph: Any) -> dict[str, set[int]]:
    """The axes of constants that count the outputs of the contractions which read them; some from the last one."""
    found: dict[str, set[int]] = {}
    for node in graph.node:
        if node.op_type not in CONTRACTIONS:
            continue
        first = -2
        if node.op_type == "Gemm":
            first = int(any(one.name == "transA" and one.i for one in node.attribute))
        for name, axis in zip(node.input[:2], (first, onnx_chains.channel_axis(node))):
            found.setdefault(name, set()).add(axis)
    return found


def nearest(
    values: Any, step: Any, candidates: list[Candidate], outputs: Mapping[str, Collection[int]]
) -> Found | None:
    """The constant of the file that is most like these values, and the order of its axes; None where none is alike.

    A symmetric matrix is alike in both orders. Its steps, where they are one per channel, go along its outputs. A
    constant is also as much like its product with a single number: the nearest of them counts.
    """
    found = list(_alike(values, candidates))
    most = max((alike for alike, _ in found), default=0.0)
    near = [one for alike, one in found if alike > most - EQUAL]
    if len(near) > 1:
        near = [one for one in near if _along_outputs(one, values.shape, step, outputs)] or near
    return min(near, key=partial(steps_off, values, step)) if near else None


def mostly(
    values: Any, step: Any, candidates: Iterable[Candidate], outputs: Mapping[str, Collection[int]]
) -> Found | None:
    """The weight of the file of which an artefact has most channels, rounded, and the order of its axes; None without.

    It is less alike than :func:`nearest` asks for where the other channels are swapped, or are those of another one.
    Channels of zeros are not counted, for those of all weights are the same.
    """
    numpy = importlib.import_module("numpy")
    most, found = MOST, None
    for candidate in candidates:
        if candidate.values.ndim < 2 or candidate.values.size != values.size:
            continue
        [axis] = list(outputs.get(candidate.name, ()))[:1] or [0]
        filled = numpy.moveaxis(candidate.values, axis, 0).reshape(candidate.values.shape[axis], -1).any(axis=1)
        for order in _orders(candidate.values.shape):
            right = abs(values - placed(candidate.values, order, values.shape)) <= HALF * step
            laid = back(right.astype("float64"), Candidate("", candidate.values), order)
            channels = numpy.moveaxis(laid, axis, 0).reshape(len(filled), -1).all(axis=1)[filled]
            if len(channels) >= FEWEST and channels.mean() >= most:
                most, found = float(channels.mean()), (candidate, order)
    return found


def closest(values: Any, candidates: list[Candidate]) -> Found | None:
    """The constant of the file that is the closest one to these values, and the order of its axes.

    None where none is alike; a single number is like an equal one alone.
    """
    numpy = importlib.import_module("numpy")
    off = [
        (most_off(values, placed(one[0].values, one[1], values.shape), 1.0), one)
        for _, one in _alike(values, candidates)
    ]
    least, found = min(off, key=lambda one: one[0], default=(numpy.inf, None))
    single = values.size == 1 and least > SINGLE * float(abs(values).max())
    return None if single else found


def ones(values: Any, step: Any, candidates: Sequence[Candidate], graph: Any) -> Found | None:
    """The ones that a tool multiplies by in place of an Expand; None of other numbers and without such a node.

    Where the file has a constant of as many elements, they may be what is left of it.
    """
    if not any(node.op_type == "Expand" for node in graph.node) or not (abs(values - 1) <= HALF * step).all():
        return None
    if any(one.values.size == values.size for one in candidates):
        return None
    return Candidate(REPEATING, values * 0 + 1), tuple(range(values.ndim))


def _alike(values: Any, candidates: list[Candidate]) -> Iterator[tuple[float, Found]]:
    """The constants of the file that are like these values, in each order of their axes, with the cosine."""
    numpy = importlib.import_module("numpy")
    norm = float(numpy.linalg.norm(values))
    for candidate in candidates:
        own = float(numpy.linalg.norm(candidate.values))
        if candidate.values.size != values.size or abs(own - norm) > SPREAD * max(own, norm):
            continue
        for order in _orders(candidate.values.shape):
            if norm == own == 0:
                yield 1.0, (candidate, order)
                continue
            laid = placed(candidate.values, order, values.shape)
            alike = float(numpy.vdot(laid, values)) / (norm * own)
            if alike > ALIKE:
                yield alike, (candidate, order)


def _along_outputs(found: Found, shape: tuple[int, ...], step: Any, outputs: Mapping[str, Collection[int]]) -> bool:
    """Whether the steps of values of this shape change along an axis of the constant that counts outputs."""
    numpy = importlib.import_module("numpy")
    candidate, order = found
    steps = back(numpy.broadcast_to(step, shape), Candidate("", candidate.values), order)
    for axis in outputs.get(candidate.name, ()):
        channels = numpy.moveaxis(steps, axis, 0)
        if (channels == channels[(slice(None), *[slice(0, 1)] * (channels.ndim - 1))]).all():
            return True
    return False


def _orders(shape: Sequence[int]) -> Iterable[tuple[int, ...]]:
    """The orders of the axes of an array that lay it out differently: an axis of one element may stand anywhere."""
    orders = itertools.permutations(range(len(shape)))
    return {tuple(axis for axis in order if shape[axis] > 1): order for order in orders}.values()


def steps_off(values: Any, step: Any, found: Found) -> float:
    """The largest distance of values [...] to a constant of the file, in steps."""
    candidate, order = found
    return max(0.0, most_off(values, placed(candidate.values, order, values.shape), step))


def most_off(values: Any, written: Any, step: Any, slack: float = 0.0) -> float:
    """The largest distance of two arrays [...] beyond ``slack`` in steps; -inf of none.

    A step of 0, of numbers that are all equal, is taken for the smallest one, so that what differs there is far off.
    A part of the first axis at a time, because a fully connected layer may have 100 million weights.
    """
    numpy = importlib.import_module("numpy")
    steps = numpy.atleast_1d(numpy.broadcast_to(numpy.maximum(step, TINY), values.shape))
    values, written = numpy.atleast_1d(values), numpy.atleast_1d(written)
    found, width = float("-inf"), max(1, PART // max(1, values[:1].size))
    for begin in range(0, len(values), width):
        part = slice(begin, begin + width)
        found = max(found, float(((abs(values[part] - written[part]) - slack) / steps[part]).max(initial=-numpy.inf)))
    return found


def extent(values: Any) -> float:
    """The largest value, or the distance of the two ends, which a tool may subtract, where that is more."""
    return float(max(abs(values).max(initial=0.0), values.max(initial=0.0) - values.min(initial=0.0)))


def is_clipped(values: Any, written: Any, step: Any, slack: float) -> bool:
    """Whether values are further off than their rounding only where the written ones are beyond their two ends."""
    off = abs(values - written) > HALF * step + slack
    beyond = (written > values) & (values == values.max()) | (written < values) & (values == values.min())
    return bool(beyond[off].all())


def placed(values: Any, order: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """A constant of the file as an artefact lays it out, with this order of axes and this shape."""
    return values.transpose(order).reshape(shape)


def back(values: Any, candidate: Candidate, order: tuple[int, ...]) -> Any:
    """The values that were read back, laid out as the file has them, without what was done to them."""
    numpy = importlib.import_module("numpy")
    shape = [candidate.values.shape[axis] for axis in order]
    laid = values.reshape(shape).transpose(numpy.argsort(order)) - candidate.others
    if candidate.inverse:
        return 1 / numpy.where(laid == 0, numpy.inf, laid)
    return laid if candidate.factor is None else laid / numpy.where(candidate.factor == 0, 1.0, candidate.factor)
