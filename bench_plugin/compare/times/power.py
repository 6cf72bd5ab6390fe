"""Power: base (board on), idle (model loaded) and full (inferences), and the energy of one inference.

A figure is over a window of at least ten seconds with at least a hundred readings, at steady temperature. Where that is
not so there is no figure, and the exception says why. Times are in seconds, power in watts, energy in joules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    Series = np.ndarray[Any, np.dtype[np.float64]]

SECONDS = 10.0  # of a window, at least
ROUNDING = 1e-6  # seconds by which the difference of two times may be less
READINGS = 100  # in a window, at least
STEADY = 1.0  # degrees Celsius between the means of its first and its last quarter, at most
BUSY = 0.95  # share of the window of ``full`` that inferences must fill, for an energy per inference


class NoFigure(ValueError):
    """A figure cannot be given; the text says why."""


@dataclass(frozen=True)
class Window:
    """A part of the recording, from ``begin`` to ``end``."""

    begin: float
    end: float

    @property
    def seconds(self) -> float:
        """How long it is."""
        return self.end - self.begin

    def of(self, times: Series) -> Any:
        """Which of ``times`` [n] are in it: bool [n]."""
        return (times >= self.begin) & (times <= self.end)


def figure(times: Series, watts: Series, window: Window) -> dict[str, float]:
    """``mean``, ``min`` and ``max`` of the readings [n] in a window, their number and its length.

    Raises NoFigure for a window that is too short, has too few readings, or where the meter ended before it.
    """
    if window.seconds < SECONDS - ROUNDING:
        raise NoFigure(f"the window is {window.seconds:.1f} s long; a figure needs {SECONDS:g} s")
    values = watts[window.of(times)]
    if len(values) < READINGS:
        raise NoFigure(f"{len(values)} readings in {window.seconds:.1f} s; a figure needs {READINGS}")
    _check_covered(times, window)
    return {
        "mean": float(values.mean()), "min": float(values.min()), "max": float(values.max()),
        "readings": len(values), "seconds": window.seconds,
    }  # fmt: skip


def drift(times: Series, celsius: Series, window: Window) -> float:
    """The change of a temperature [n] over a window: the mean of its last quarter less that of its first.

    Raises NoFigure where a quarter has no reading.
    """
    quarter = window.seconds / 4
    first = celsius[Window(window.begin, window.begin + quarter).of(times)]
    last = celsius[Window(window.end - quarter, window.end).of(times)]
    if not len(first) or not len(last):
        raise NoFigure("no reading of the temperature at the beginning or at the end of the window")
    return float(last.mean() - first.mean())


def steady_part(temperatures: Mapping[str, tuple[Series, Series]], window: Window) -> Window:
    """The longest of a window, its second half and its last ten seconds over which no temperature changes.

    Temperatures are (times [n], values [n]) by name. Raises NoFigure where each of them changes over every part.
    """
    half, last = Window(window.begin + window.seconds / 2, window.end), Window(window.end - SECONDS, window.end)
    parts = [window, *(part for part in (half, last) if SECONDS - ROUNDING <= part.seconds < window.seconds)]
    for part in parts[:-1]:
        try:
            check_steady(temperatures, part)
        except NoFigure:
            continue
        return part
    check_steady(temperatures, parts[-1])
    return parts[-1]


def check_steady(temperatures: Mapping[str, tuple[Series, Series]], window: Window) -> None:
    """Raises NoFigure where one of the temperatures, each (times [n], values [n]), changes over the window."""
    for name, (times, celsius) in temperatures.items():
        change = drift(times, celsius, window)
        if abs(change) > STEADY:
            raise NoFigure(f"{name} changed by {change:+.1f} degC over the window; at most {STEADY:g} is steady")


def energy(times: Series, watts: Series, window: Window) -> float:
    """The energy of a window: the integral of the readings [n] by trapezoids, with the power at its ends interpolated.

    Raises NoFigure where the readings do not cover the window.
    """
    _check_covered(times, window)
    inside = (times > window.begin) & (times < window.end)
    ends = np.interp([window.begin, window.end], times, watts)
    at = np.concatenate([[window.begin], times[inside], [window.end]])
    power = np.concatenate([ends[:1], watts[inside], ends[1:]])
    return float((np.diff(at) * (power[1:] + power[:-1]) / 2).sum())


def per_inference(
    times: Series, watts: Series, window: Window, *, inferences: int, busy: float, idle: float | None
) -> dict[str, float]:
    """The energy of one of the ``inferences`` of a window of which they fill ``busy`` seconds, from readings [n].

    ``with_idle`` is all energy of the window; ``above_idle`` is without ``idle`` watts, where they are known. Raises
    NoFigure where the window is not aligned with the inferences, so that its energy is not theirs.
    """
    if inferences <= 0:
        raise NoFigure("no inference in the window")
    if busy < BUSY * window.seconds:
        share = busy / window.seconds
        raise NoFigure(f"inferences fill {share:.0%} of the window; an energy of one needs {BUSY:.0%}")
    total = energy(times, watts, window)
    found = {"with_idle": total / inferences, "inferences": float(inferences)}
    if idle is not None:
        found["above_idle"] = (total - idle * window.seconds) / inferences
    return found


def _check_covered(times: Series, window: Window) -> None:
    """Raises NoFigure where readings begin after a window, end before its end, or have a gap of a tenth of it."""
    edges = np.concatenate([[window.begin], times[window.of(times)], [window.end]])
    gap = float(np.diff(edges).max())
    if gap > window.seconds / 10:
        raise NoFigure(f"the meter has no reading for {gap:.1f} s of the window's {window.seconds:.1f} s")
