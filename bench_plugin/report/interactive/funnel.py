"""The funnel of stages: how many cells reached each stage, and how many stopped there, by status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench_plugin.domain.outcome import Stage
from bench_plugin.report.entries import Entry
from bench_plugin.report.statuses import ORDER, severity

STAGES = tuple(map(str, Stage))


@dataclass(frozen=True)
class Step:
    """A stage: how many cells ``came`` to it, and how many ``stopped`` at it, as (status, count), the worst first."""

    stage: str
    came: int
    stopped: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Funnel:
    """``declared`` were decided before the run, ``through`` are without a stage at which they stopped, by status."""

    declared: int
    computed: int
    steps: tuple[Step, ...]
    through: tuple[tuple[str, int], ...]


def funnel(entries: Sequence[Entry]) -> Funnel:
    """The funnel of all computed cells. A stage at which none stopped is left out."""
    computed = [one for one in entries if one.key]
    left = len(computed)
    steps = []
    known = [*STAGES, *sorted({one.stage for one in computed} - {*STAGES, ""})]
    for stage in known:
        stopped = _by_status(one for one in computed if one.stage == stage)
        if stopped:
            steps.append(Step(stage, left, stopped))
            left -= sum(count for _, count in stopped)
    through = _by_status(one for one in computed if not one.stage)
    return Funnel(len(entries) - len(computed), len(computed), tuple(steps), through)


def _by_status(entries: Iterable[Entry]) -> tuple[tuple[str, int], ...]:
    counts = Counter(one.shown for one in entries)
    return tuple(sorted(counts.items(), key=lambda pair: (severity(pair[0]), pair[0])))


def statuses(entries: Iterable[Entry]) -> list[tuple[str, int]]:
    """How many cells have each status, in the order of severity."""
    counts = Counter(one.shown for one in entries)
    return [(name, counts[name]) for name in (*ORDER, *sorted(set(counts) - set(ORDER))) if counts[name]]
