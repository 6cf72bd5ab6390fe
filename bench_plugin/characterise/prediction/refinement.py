"""Factors on predictions: what share of them other models reached on the same platform and datatype.

Two of them: the utilisation, which is one factor for all models, and the factor by size, for which smaller models are
less efficient.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from bench_plugin.characterise.prediction.predict import Prediction
from bench_plugin.characterise.prediction.scores import Basis, Pair, mape

KEPT = "%"  # ends the names of variants of a model with fewer channels
SIZED = 3  # models at least for a factor by size: a line through two of them fits whatever they are


@dataclass(frozen=True)
class Utilisation:
    """The ``factor`` that predictions are multiplied by, and the ``models`` that it was fitted on."""

    factor: float
    models: tuple[str, ...]


@dataclass(frozen=True)
class BySize:
    """The ``factor`` of a model of this size, and the ``slope`` of the line that it lies on.

    The line is that of least squares through the logarithms of efficiency over those of operations per run, in which
    each model counts once. A slope of 0.5 says that a run of a hundredth of the operations reaches a tenth of the
    share.
    """

    factor: float
    slope: float


@dataclass(frozen=True)
class Refined:
    """What factors do on one platform, datatype and basis.

    Each of the ``pairs`` of the ``models`` was predicted with the factor of all other models: ``error`` is the mean
    absolute percentage error of the predictions as they are, ``refined`` with these factors, which lie between
    ``least`` and ``most``. ``sized`` is that error with factors by size; None where one of the models has none.
    """

    target: str
    mode: str
    datatype: str
    basis: Basis
    models: tuple[str, ...]
    pairs: int
    least: float
    most: float
    error: float
    refined: float
    sized: float | None = None


def family(model: str) -> str:
    """What a model and its variants with fewer channels have in common.

    >>> family("ResNet50 80%"), family("mobilenet_v2")
    ('ResNet50', 'mobilenet_v2')
    """
    name, _, kept = model.rpartition(" ")
    return name if name and kept.endswith(KEPT) else model


def utilisation(pairs: Iterable[Pair], one: Prediction, basis: Basis = "compute") -> Utilisation | None:
    """The factor for a prediction: the geometric mean of the efficiencies of other models on its platform and datatype.

    Each model counts once, by the geometric mean of its own pairs. Neither the predicted model nor variants of it are
    among them; None where there is no other.
    """
    others = _others(pairs, one, basis)
    if not others:
        return None
    return Utilisation(_mean([_mean([pair.efficiency for pair in its]) for its in others.values()]), tuple(others))


def by_size(pairs: Iterable[Pair], one: Prediction, basis: Basis = "compute") -> BySize | None:
    """The factor for a prediction on the line through the efficiencies of other models over their operations per run.

    A run outside their sizes gets the factor of the smallest or the largest of them: the line says nothing there.
    None of fewer than three other models, of runs of one size, and where smaller runs are not less efficient.
    """
    others = _others(pairs, one, basis)
    points = [(pair.prediction.operations, pair.efficiency, len(its)) for its in others.values() for pair in its]
    if len(others) < SIZED or len({size for size, _, _ in points}) == 1:
        return None
    sizes, shares, counts = np.array(points).T
    slope, start = np.polyfit(np.log(sizes), np.log(shares), 1, w=counts**-0.5)  # polyfit squares the weights
    if slope <= 0:
        return None
    size = min(max(one.operations, float(sizes.min())), float(sizes.max()))
    return BySize(math.exp(start + slope * math.log(size)), float(slope))


def refinements(pairs: Sequence[Pair]) -> list[Refined]:
    """Every platform, datatype and basis on which at least two models were measured, each model left out of its own
    factor.
    """
    groups: dict[tuple[str, str, str, Basis], list[Pair]] = {}
    for pair in pairs:
        groups.setdefault((*_place(pair.prediction), pair.basis), []).append(pair)
    found = []
    for (target, mode, datatype, basis), own in sorted(groups.items(), key=lambda item: item[0]):
        models = tuple(dict.fromkeys(family(pair.prediction.model) for pair in own))
        fitted = [utilisation(own, pair.prediction, basis) for pair in own]
        factors = [one.factor for one in fitted if one is not None]
        if len(factors) < len(own):
            continue
        plain, measured = [pair.prediction.inputs_per_s for pair in own], [pair.measured for pair in own]
        refined = [value * factor for value, factor in zip(plain, factors, strict=True)]
        lines = [by_size(own, pair.prediction, basis) for pair in own]
        sized = [value * line.factor for value, line in zip(plain, lines, strict=True) if line is not None]
        found.append(
            Refined(
                target, mode, datatype, basis, models, len(own), min(factors), max(factors), mape(plain, measured),
                mape(refined, measured), mape(sized, measured) if len(sized) == len(own) else None,
            )
        )  # fmt: skip
    return found


def _others(pairs: Iterable[Pair], one: Prediction, basis: Basis) -> dict[str, list[Pair]]:
    """The pairs of every model on the prediction's platform and datatype but itself and its variants, by its name."""
    own = family(one.model)
    found: dict[str, list[Pair]] = {}
    for pair in pairs:
        name = family(pair.prediction.model)
        if name != own and pair.basis == basis and _place(pair.prediction) == _place(one):
            found.setdefault(name, []).append(pair)
    return found


def _place(one: Prediction) -> tuple[str, str, str]:
    return one.target, one.mode, one.datatype


def _mean(values: Sequence[float]) -> float:
    """The geometric mean, in which half and double of a figure are equally far from it."""
    return math.exp(math.fsum(math.log(value) for value in values) / len(values))
