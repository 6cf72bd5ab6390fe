"""Whether pruning and quantisation are orthogonal: what one of them saves is what it saves after the other, too.

A is the original, B quantised, C pruned, D both. Pruning gives p1 = C/A before quantisation and p2 = D/B after it;
quantisation gives q1 = B/A and q2 = D/C. Then p2/p1 = q2/q1, which is 1 where the two are orthogonal.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from bench_plugin.characterise.pruning.variants import USUAL, Variant
from bench_plugin.domain.cell import WHOLE

FIGURES: Mapping[str, str] = {"seconds": "time", "size": "size", "metric": "task metric"}


@dataclass(frozen=True)
class Orthogonality:
    """One figure of the four variants; ``half_width`` is that of the ratio's 95 % interval as a share, if it is known.

    ``wrong`` names the variants whose outputs or task metric a check did not support: the figures of a wrong result.
    """

    of: Mapping[str, str]
    precision: str
    kept: int
    figure: str
    a: float
    b: float
    c: float
    d: float
    half_width: float | None = None
    wrong: tuple[str, ...] = ()

    @property
    def p1(self) -> float:
        """What pruning leaves of the original."""
        return self.c / self.a

    @property
    def p2(self) -> float:
        """What pruning leaves of the quantised model."""
        return self.d / self.b

    @property
    def q1(self) -> float:
        """What quantisation leaves of the original."""
        return self.b / self.a

    @property
    def q2(self) -> float:
        """What quantisation leaves of the pruned model."""
        return self.d / self.c

    @property
    def ratio(self) -> float:
        """p2/p1, which is q2/q1: 1 is orthogonal."""
        return self.p2 / self.p1

    @property
    def orthogonal(self) -> bool | None:
        """Whether 1 lies in the interval of the ratio; None where no interval is known."""
        return None if self.half_width is None else abs(math.log(self.ratio)) <= self.half_width


def orthogonality(variants: Iterable[Variant]) -> list[Orthogonality]:
    """Every figure of every pruned and quantised variant whose other three have it too, and none of them is 0."""
    by_place = {(one.group, one.precision, one.kept): one for one in variants}
    return [found for one in by_place.values() for found in _of(one, by_place)]


def _of(d: Variant, by_place: Mapping[tuple[tuple[str, ...], str, int], Variant]) -> Iterator[Orthogonality]:
    if d.kept == WHOLE or d.precision == USUAL:
        return
    places = ((d.group, USUAL, WHOLE), (d.group, d.precision, WHOLE), (d.group, USUAL, d.kept))
    if not all(place in by_place for place in places):
        return
    four = {"A": by_place[places[0]], "B": by_place[places[1]], "C": by_place[places[2]], "D": d}
    wrong = tuple(name for name, one in four.items() if one.wrong)
    for field, figure in FIGURES.items():
        values = [getattr(one, field) for one in four.values()]
        if all(values):
            a, b, c, both = (float(value) for value in values)
            width = _width(four.values()) if field == "seconds" else None
            yield Orthogonality(d.of, d.precision, d.kept, figure, a, b, c, both, width, wrong)


def _width(four: Iterable[Variant]) -> float | None:
    """The half-width of a product of four independent times, as a share; None where one of them has none."""
    widths = [one.half_width for one in four]
    known = [width for width in widths if width is not None]
    return math.hypot(*known) if len(known) == len(widths) else None
