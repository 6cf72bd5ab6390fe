"""A utilisation factor on predictions: what share of them other models reached on the same platform and datatype."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench_plugin.characterise.prediction.predict import Prediction
from bench_plugin.characterise.prediction.scores import Basis, Pair, mape

KEPT = "%"  # ends the names of variants of a model with fewer channels


@dataclass(frozen=True)
class Utilisation:
    """The ``factor`` that predictions are multiplied by, and the ``models`` that it was fitted on."""

    factor: float
    models: tuple[str, ...]


@dataclass(frozen=True)
class Refined:
    """What a factor does on one platform, datatype and basis.

    Each of the ``pairs`` of the ``models`` was predicted with the factor of all other models: ``error`` is the mean
    absolute percentage error of the predictions as they are, ``refined`` with these factors, which lie between
    ``least`` and ``most``.
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
    own = family(one.model)
    shares: dict[str, list[float]] = {}
    for pair in pairs:
        name = family(pair.prediction.model)
        if name != own and pair.basis == basis and _place(pair.prediction) == _place(one):
            shares.setdefault(name, []).append(pair.efficiency)
    if not shares:
        return None
    return Utilisation(_mean([_mean(values) for values in shares.values()]), tuple(shares))


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
        found.append(
            Refined(
                target, mode, datatype, basis, models, len(own), min(factors), max(factors), mape(plain, measured),
                mape(refined, measured),
            )
        )  # fmt: skip
    return found


def _place(one: Prediction) -> tuple[str, str, str]:
    return one.target, one.mode, one.datatype


def _mean(values: Sequence[float]) -> float:
    """The geometric mean, in which half and double of a figure are equally far from it."""
    return math.exp(math.fsum(math.log(value) for value in values) / len(values))
