"""Two results files side by side: :func:`compare` is a pure function of their rows, which page and summary show.

Cells are paired by their axes. What of each changed is found by the modules beside this one: its status (direction.py),
its numbers (errors.py), its time (times.py), its instructions and bytes (counts.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench_plugin.domain.texts.messages import useful_line
from bench_plugin.domain.thresholds import FASTER, NOT_COMPARABLE, SLOWER, TOO_NOISY, Thresholds
from bench_plugin.report.comparison import counts, errors, times
from bench_plugin.report.comparison.direction import OTHER, PROGRESS, REGRESSION, UNDECLARED, direction
from bench_plugin.report.comparison.paired import Pair, pairs, versions_of
from bench_plugin.report.entries import Entry, header_of, place_of
from bench_plugin.results.rows import Row

DIRECTIONS = (REGRESSION, OTHER, UNDECLARED, PROGRESS)  # in the order in which they are shown


@dataclass(frozen=True)
class StatusChange:
    """A cell whose status, or pytest's result, changed. ``direction`` is regression, progress, other or
    undeclared.

    ``before`` and ``after`` are statuses as a person reads them, ``stage_after`` where it stands now. ``versions`` maps
    the distributions of the cell that changed to (before, after). ``repro`` are pytest's arguments that repeat it.
    """

    direction: str
    cell: Mapping[str, Any]
    before: str
    after: str
    stage_before: str
    stage_after: str
    reason: str
    key: str
    versions: Mapping[str, tuple[str, str]]
    repro: tuple[str, ...] = ()


@dataclass(frozen=True)
class Listed:
    """A cell that only one of the two runs has a row of."""

    cell: Mapping[str, Any]
    status: str
    reason: str
    key: str


@dataclass(frozen=True)
class Comparison:
    """What changed from ``base`` to ``head``, which are the headers of the two runs.

    Each list has what is for the worse first. ``times`` has every cell that both runs timed, whatever its verdict;
    ``same`` counts cells of both runs of which nothing changed, and ``paired`` all cells of both.
    """

    base: Mapping[str, Any]
    head: Mapping[str, Any]
    statuses: tuple[StatusChange, ...]
    numbers: tuple[errors.NumberChange, ...]
    times: tuple[times.TimeChange, ...]
    counts: tuple[counts.CountChange, ...]
    added: tuple[Listed, ...]
    removed: tuple[Listed, ...]
    versions: Mapping[str, tuple[str, str]]
    same: int
    paired: int

    @property
    def regressions(self) -> int:
        """How many changes are for the worse, of any kind."""
        return (
            sum(one.direction == REGRESSION for one in self.statuses)
            + sum(one.direction == REGRESSION for one in self.numbers)
            + sum(one.verdict == SLOWER for one in self.times)
            + sum(one.direction == REGRESSION for one in self.counts)
        )

    @property
    def progress(self) -> int:
        """How many changes are for the better, of any kind."""
        return (
            sum(one.direction == PROGRESS for one in self.statuses)
            + sum(one.direction == PROGRESS for one in self.numbers)
            + sum(one.verdict == FASTER for one in self.times)
            + sum(one.direction == PROGRESS for one in self.counts)
        )

    @property
    def undecided(self) -> str:
        """Why nothing can be said although nothing is worse; empty where something can.

        That is so where the runs have no cell in common, where a time is too noisy to say, and where no time at all
        could be compared.
        """
        if not self.paired:
            return "the two runs have no cell in common"
        noisy = sum(one.verdict == TOO_NOISY for one in self.times)
        if noisy:
            return f"{noisy} of {len(self.times)} times are too noisy to say"
        if self.times and all(one.verdict == NOT_COMPARABLE for one in self.times):
            return f"none of {len(self.times)} times is comparable: {self.times[0].reason}"
        return ""

    def plain(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "base": _about(self.base), "head": _about(self.head), "regressions": self.regressions,
            "progress": self.progress, "undecided": self.undecided, "same": self.same, "paired": self.paired,
            **{
                name: [asdict(one) for one in getattr(self, name)]
                for name in ("statuses", "numbers", "times", "counts", "added", "removed")
            },
            "versions": {name: list(pair) for name, pair in self.versions.items()},
        }  # fmt: skip


def compare(
    base: Sequence[Row], head: Sequence[Row], thresholds: Thresholds | None = None, *, factor: float = errors.FACTOR,
    timed: bool = True,
) -> Comparison:  # fmt: skip
    """What changed from the rows of ``base`` to those of ``head``; a cell that was only declared counts too.

    ``factor`` is the ratio of errors from which a movement counts, above 1. Without ``timed`` no time is compared.
    """
    limits = thresholds or Thresholds()
    headers = header_of(base), header_of(head)
    both, removed, added = pairs(base, head)
    differing = [pair for pair in both if pair.differs]
    statuses = list(_status_changes(differing))
    steady = [one for one in differing if not direction(one.base, one.head)]  # another status has other numbers anyway
    numbers = [change for pair in steady for change in errors.changes(pair, factor)]
    both_timed = [pair for pair in both if timed and pair.timed]
    timings = [one for pair in both_timed if (one := times.change(pair, limits, headers)) is not None]
    counted = [change for pair in differing for change in counts.changes(pair, limits)]
    timings.sort(key=lambda one: (times.ORDER.index(one.verdict), -abs(one.d or 0.0)))
    moved = [one for one in timings if one.verdict in (SLOWER, FASTER)]
    changed = {place_of(one.cell) for part in (statuses, numbers, moved, counted) for one in part}
    return Comparison(
        *headers, _ordered(statuses), _ordered(numbers), tuple(timings), _ordered(counted),
        tuple(map(_listed, added)), tuple(map(_listed, removed)), versions_of(*headers),
        same=len(both) - len(changed), paired=len(both),
    )  # fmt: skip


def _status_changes(both: Sequence[Pair]) -> Iterator[StatusChange]:
    for pair in both:
        way = direction(pair.base, pair.head)
        if not way:
            continue
        yield StatusChange(
            way, pair.head.cell, said(pair.base), said(pair.head), pair.base.stage, pair.head.stage,
            useful_line(pair.head.reason), pair.head.key, pair.versions, tuple(pair.head_row.get("repro") or ()),
        )  # fmt: skip


def said(one: Entry) -> str:
    """A status as a person reads it: with pytest's word where that is not what the status says by itself."""
    plain = one.result not in ("xfailed",) and one.shown == one.status
    where = f" at {one.stage}" if one.stage and one.status in ("ERROR", "unsupported") else ""
    return f"{one.status}{where}" if plain else f"{one.status}{where} ({one.result})"


def _listed(one: Entry) -> Listed:
    return Listed(one.cell, said(one), useful_line(one.reason), one.key)


def _ordered(found: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(sorted(found, key=lambda one: DIRECTIONS.index(one.direction)))


def _about(header: Mapping[str, Any]) -> dict[str, Any]:
    return {name: header.get(name, "") for name in ("run", "started", "commit", "command")}
