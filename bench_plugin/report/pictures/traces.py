"""Series over time of one deployment, short enough for a page: the extremes stay, most values in between go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

from bench_plugin.report.entries import Entry
from bench_plugin.report.pictures.reading import digits, inner, number, numbers, text
from bench_plugin.results.series import SeriesUnreadable, read

MOST = 500  # values of a trace
GAP = 10.0
SECONDS = ("compute", "system", "handshake")  # samples of latency, which have no unit and no times in their rows
UNITS: Mapping[str, tuple[str, float]] = {
    "B": ("MiB", 2.0**20), "Hz": ("GHz", 1e9), "degC": ("°C", 1.0), "s": ("ms", 1e-3),
}  # fmt: skip


@dataclass(frozen=True)
class Trace:
    """A series: statistics of all its values, and at most MOST of them, in ``unit``.

    ``times`` [n] are in seconds since the first launch began, ``values`` [n]; a value of None divides two stretches,
    between which nothing was recorded. For samples of latency ``times`` are the numbers of the samples, from 1.
    ``trouble`` says why there are no values although the row names some.
    """

    name: str
    unit: str
    place: str
    samples: int
    mean: float | None
    sd: float | None
    median: float | None
    times: tuple[float, ...] = ()
    values: tuple[float | None, ...] = ()
    trouble: str = ""


def traces(results: Path, entry: Entry, most: int = MOST) -> dict[str, Trace]:
    """The traces of every series of a row of the file ``results``, from the side files that it names.

    A side file that is missing or damaged leaves a trace without values, which says so.
    """
    said = entry.numbers.get("series")
    if not isinstance(said, Mapping):
        return {}
    return {name: _trace(results, name, about, most) for name, about in said.items() if isinstance(about, Mapping)}


def without_files(entry: Entry) -> dict[str, Trace]:
    """The same from the row alone: statistics without values."""
    said = entry.numbers.get("series")
    if not isinstance(said, Mapping):
        return {}
    return {name: _figures(name, about) for name, about in said.items() if isinstance(about, Mapping)}


def decimated(times: Sequence[float], values: Sequence[float], most: int) -> tuple[list[float], list[float]]:
    """At most ``most`` of the points, with the least and the largest value of each stretch, in their order.

    >>> decimated([0, 1, 2, 3, 4, 5], [1, 9, 1, 1, 0, 1], 4)
    ([0, 1, 4, 5], [1, 9, 0, 1])
    """
    count = min(len(times), len(values))
    if count <= most:
        return list(times[:count]), list(values[:count])
    stretches, kept = most // 2, []
    for stretch in range(stretches):
        places = range(stretch * count // stretches, (stretch + 1) * count // stretches)
        low, high = min(places, key=values.__getitem__), max(places, key=values.__getitem__)
        kept += sorted({low, high} if low != high else {low, places[-1]})
    return [times[place] for place in kept], [values[place] for place in kept]


def gaps(times: Sequence[float]) -> list[float]:
    """The middles of stretches without a value, which are ten times as long as what usually lies between two.

    >>> gaps([0, 1, 2, 3, 33, 34])
    [18.0]
    """
    steps = [after - before for before, after in pairwise(times)]
    limit = GAP * median(steps) if steps else 0.0
    return [(before + after) / 2 for before, after in pairwise(times) if after - before > limit > 0]


def with_gaps(
    times: Sequence[float], values: Sequence[float], middles: Sequence[float]
) -> list[tuple[float, float | None]]:
    """The points, with None at the middle of every gap."""
    points: list[tuple[float, float | None]] = [
        *zip(times, values, strict=True),
        *((middle, None) for middle in middles),
    ]
    return sorted(points, key=lambda point: point[0])


def _trace(results: Path, name: str, about: Mapping[str, Any], most: int) -> Trace:
    figures = _figures(name, about)
    if not text(about, "file"):
        return figures
    try:
        values = [float(one) for one in read(results, about).reshape(-1)]
        timed = "times" in about
        times = (
            [float(one) for one in read(results, about, "times").reshape(-1)] if timed else range(1, len(values) + 1)
        )
    except (SeriesUnreadable, TypeError, ValueError) as error:
        return Trace(**{**vars(figures), "trouble": str(error)})
    pairs = [(when, one) for when, one in zip(times, values, strict=False) if number(one) is not None]
    size = _unit(name, about)[1]
    shown = [one / size for _, one in pairs]
    few_times, few = decimated([when for when, _ in pairs], shown, most)
    whole = with_gaps(few_times, few, gaps([when for when, _ in pairs]))
    return Trace(
        name=name, unit=figures.unit, place=figures.place, samples=len(values), mean=fmean(shown) if shown else None,
        sd=stdev(shown) if len(shown) > 1 else None, median=median(shown) if shown else None,
        times=tuple(round(when, 3) for when, _ in whole),
        values=tuple(None if one is None else digits(one) for _, one in whole),
    )  # fmt: skip


def _figures(name: str, about: Mapping[str, Any]) -> Trace:
    """The statistics that the row itself has."""
    unit, size = _unit(name, about)
    mean, sd, middle = (
        None if (found := number(about, key)) is None else found / size for key in ("mean", "sd", "median")
    )
    return Trace(name, unit, text(about, "place"), int(number(about, "samples") or 0), mean, sd, middle)


def _unit(name: str, about: Mapping[str, Any]) -> tuple[str, float]:
    """The unit that is shown, and how much of the row's unit it is."""
    said = text(about, "unit") or ("s" if name in SECONDS else "")
    return UNITS.get(said, (said, 1.0))


def launch_of(entry: Entry, sample: float) -> int:
    """The launch, from 1, that a sample of ``compute`` is of, by its number from 1; 1 where the row does not say."""
    counts = numbers(inner(entry.numbers, "timing", "compute", "launch_samples"))
    end = 0.0
    for launch, count in enumerate(counts, 1):
        end += count
        if sample <= end:
            return launch
    return max(len(counts), 1)
