"""How well predictions were borne out: correlation, rank correlation, error and efficiency, by platform and task."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from bench_plugin.characterise.prediction.predict import Prediction

Basis = Literal["compute", "system"]
FEWEST = 3  # pairs that a correlation is computed of; two points always lie on a line
# Why a measured figure may be above the predicted one, by the term that was predicted to bind.
ABOVE = {
    "memory": "the memory term takes every weight across the bus once a run; weights that stay on the chip, or in a "
    "cache, do not",
    "compute": "the peak may be of another mode or clock or of other units (matrix instructions), or the tool needs "
    "fewer operations than are counted (a transformed convolution, skipped zeros)",
}


@dataclass(frozen=True)
class Pair:
    """A prediction beside what was measured, inputs per second.

    ``basis`` says what the measured time spans: ``compute`` the runtime's own call, ``system`` the whole request.
    ``where`` names the measured row: a key, or a line of a published table.
    """

    prediction: Prediction
    task: str
    basis: Basis
    measured: float
    where: str = ""
    compiler: str = ""

    @property
    def efficiency(self) -> float:
        """Measured / predicted."""
        return self.measured / self.prediction.inputs_per_s

    @property
    def explained(self) -> str:
        """Why the efficiency may be above 1; empty where it is not."""
        return ABOVE[self.prediction.bound] if self.efficiency > 1 else ""


@dataclass(frozen=True)
class Score:
    """How well the predictions of one platform and task fit, on one basis.

    Correlations are between predicted and measured inputs per second; None of fewer than three pairs, or of figures
    that are all the same. ``mape`` is the mean absolute percentage error, of the measured figure. ``efficiency`` is the
    median, ``above`` counts pairs over 1.
    """

    platform: str
    task: str
    basis: Basis
    pairs: int
    pearson: float | None
    rank: float | None
    mape: float
    efficiency: float
    least: float
    most: float
    above: int


def scored(pairs: Iterable[Pair]) -> list[Score]:
    """The scores by platform, task and basis, in this order; a platform is a target in a mode."""
    groups: dict[tuple[str, str, Basis], list[Pair]] = {}
    for pair in pairs:
        one = pair.prediction
        platform = f"{one.target} ({one.mode})" if one.mode else one.target
        groups.setdefault((platform, pair.task, pair.basis), []).append(pair)
    return [_score(*key, groups[key]) for key in sorted(groups)]


def _score(platform: str, task: str, basis: Basis, pairs: Sequence[Pair]) -> Score:
    predicted = [pair.prediction.inputs_per_s for pair in pairs]
    measured = [pair.measured for pair in pairs]
    shares = sorted(pair.efficiency for pair in pairs)
    return Score(
        platform, task, basis, len(pairs), pearson(predicted, measured), pearson(ranks(predicted), ranks(measured)),
        mape(predicted, measured), median(shares), shares[0], shares[-1], sum(share > 1 for share in shares),
    )  # fmt: skip


def pearson(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Pearson's correlation of two equally long rows; None of fewer than three pairs, or where one row is constant.

    >>> pearson([1, 2, 3], [2, 4, 6])
    1.0
    """
    if len(xs) < FEWEST:
        return None
    x, y = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    across = math.fsum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True))
    spread = math.sqrt(math.fsum((a - x) ** 2 for a in xs)) * math.sqrt(math.fsum((b - y) ** 2 for b in ys))
    return across / spread if spread else None


def ranks(values: Sequence[float]) -> list[float]:
    """The rank of every value from 1; equal ones share the mean of theirs (Spearman's correlation is Pearson's of it).

    >>> ranks([10, 30, 20, 30])
    [1.0, 3.5, 2.0, 3.5]
    """
    order = sorted(values)
    first = {value: order.index(value) for value in set(order)}
    last = {value: number for number, value in enumerate(order)}
    return [(first[value] + last[value]) / 2 + 1 for value in values]


def mape(predicted: Sequence[float], measured: Sequence[float]) -> float:
    """The mean absolute error of predictions, per cent of what was measured.

    >>> mape([110, 80], [100, 100])
    15.0
    """
    return 100 * math.fsum(abs(a - b) / b for a, b in zip(predicted, measured, strict=True)) / len(predicted)


def median(values: Sequence[float]) -> float:
    """The median of sorted values."""
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def best(pairs: Iterable[Pair], by: Callable[[Pair], object]) -> list[Pair]:
    """Of all pairs that ``by`` gives one key, the one with the highest measured figure, in their order."""
    found: dict[object, Pair] = {}
    for pair in pairs:
        key = by(pair)
        if key not in found or pair.measured > found[key].measured:
            found[key] = pair
    return list(found.values())
