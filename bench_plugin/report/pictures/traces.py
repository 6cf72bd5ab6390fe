"""Series over time of one deployment, short enough for a page: the extremes stay, most values in between go."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_plugin.report.entries import Entry
from bench_plugin.report.pictures.reading import digits, inner, number, numbers, text
from bench_plugin.results.series import SeriesUnreadable, read

if TYPE_CHECKING:
    import numpy as np

    Values = np.ndarray[Any, Any]

MOST = 500  # values of a trace
GAP = 5.0
TABLE_ONLY = ("cpu.", "clock.")  # names of series that no picture shows: their statistics are in the row
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


def decimated(values: Values, most: int) -> list[int]:
    """The places, in their order, of at most ``most`` of the values [n]: the least and the largest of each stretch.

    >>> import numpy as np
    >>> decimated(np.array([1.0, 9.0, 1.0, 1.0, 0.0, 1.0]), 4)
    [0, 1, 3, 4]
    """
    if len(values) <= most:
        return list(range(len(values)))
    stretches, kept = max(most // 2, 1), []
    for stretch in range(stretches):
        first, end = (place * len(values) // stretches for place in (stretch, stretch + 1))
        low, high = (first + int(place) for place in (values[first:end].argmin(), values[first:end].argmax()))
        kept += sorted({low, high if high != low else end - 1})
    return kept


def gaps(times: Values) -> list[float]:
    """The middles of stretches without a value, five times as long as what usually lies between two of ``times`` [n].

    >>> import numpy as np
    >>> gaps(np.array([0.0, 1.0, 2.0, 3.0, 33.0, 34.0]))
    [18.0]
    """
    if len(times) < 3:
        return []
    steps = times[1:] - times[:-1]
    usual = float(sorted(steps)[len(steps) // 2])
    found = (steps > GAP * usual).nonzero()[0] if usual > 0 else ()
    return [float(times[place] + times[place + 1]) / 2 for place in found]


def launch_numbers(entry: Entry, samples: Sequence[float]) -> list[int]:
    """The launch, from 1, that each sample of ``compute`` is of, by its number from 1; 1 where the row does not say."""
    ends = list(accumulate(numbers(inner(entry.numbers, "timing", "compute", "launch_samples"))))
    return [min(bisect_left(ends, sample), max(len(ends) - 1, 0)) + 1 for sample in samples]


def _trace(results: Path, name: str, about: Mapping[str, Any], most: int) -> Trace:
    figures = _figures(name, about)
    if not text(about, "file") or (name.startswith(TABLE_ONLY) and figures.mean is not None):
        return figures
    try:
        values, times = _read(results, about)
    except (SeriesUnreadable, TypeError, ValueError) as error:
        return replace(figures, trouble=str(error))
    values = values / _unit(name, about)[1]
    middles = gaps(times) if "times" in about else []
    places = decimated(values, most - len(middles))
    points: list[tuple[float, float | None]] = [(float(times[place]), digits(values[place])) for place in places]
    points = sorted([*points, *((middle, None) for middle in middles)], key=lambda point: point[0])
    mean, sd, middle = _statistics(values)
    return replace(
        figures, samples=len(values), mean=mean, sd=sd, median=middle,
        times=tuple(round(when, 3) for when, _ in points), values=tuple(value for _, value in points),
    )  # fmt: skip


def _read(results: Path, about: Mapping[str, Any]) -> tuple[Values, Values]:
    """The finite values [n] of a series and their times [n], which are the numbers from 1 where the row has none."""
    import numpy as np

    values = read(results, about).astype(np.float64).reshape(-1)
    timed = "times" in about
    times = read(results, about, "times").astype(np.float64).reshape(-1) if timed else np.arange(1.0, len(values) + 1)
    count = min(len(values), len(times))
    whole = np.isfinite(values[:count]) & np.isfinite(times[:count])
    return values[:count][whole], times[:count][whole]


def _statistics(values: Values) -> tuple[float | None, float | None, float | None]:
    """Mean, standard deviation and median of values [n]."""
    import numpy as np

    if not len(values):
        return None, None, None
    spread = float(values.std(ddof=1)) if len(values) > 1 else None
    return float(values.mean()), spread, float(np.median(values))


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
