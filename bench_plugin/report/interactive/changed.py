"""What changed since the run before, per cell, in the page's words: a view of report/comparison/changes.py."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench_plugin.domain.thresholds import FASTER
from bench_plugin.domain.thresholds import SLOWER as SLOWER_TIME
from bench_plugin.report.comparison.changes import Comparison, compare
from bench_plugin.report.comparison.direction import OTHER, PROGRESS, REGRESSION, UNDECLARED
from bench_plugin.report.entries import Place, place_of
from bench_plugin.report.figures import duration
from bench_plugin.report.interactive.reading import Source

BROKE, SLOWER, WORSE, CHANGED = "broke", "slower", "figures worse", "changed"
FIXED, BETTER, NEW = "got further", "figures better", "new"
WORDS = (BROKE, SLOWER, WORSE, CHANGED, UNDECLARED, FIXED, BETTER, NEW)  # the order of the page, the most urgent first
MEANINGS = {
    BROKE: "it fell back: it was supported and is not, or it fails earlier or worse than in the run before",
    SLOWER: "the same status, but its time grew by more than is allowed and than the machine varies",
    WORSE: "the same status, but an error grew, or it takes more instructions or memory",
    UNDECLARED: "it fails as before, and its known failure is declared for another version of the tool",
    CHANGED: "another status that is neither better nor worse",
    FIXED: "it is supported and was not, or it fails later or less badly than in the run before",
    BETTER: "the same status, and an error shrank, it is faster, or it takes less",
    NEW: "the run before has no row of this cell",
}
OF_STATUS = {REGRESSION: BROKE, OTHER: CHANGED, UNDECLARED: UNDECLARED, PROGRESS: FIXED}
OF_FIGURE = {REGRESSION: WORSE, PROGRESS: BETTER, OTHER: CHANGED}
OF_TIME = {SLOWER_TIME: SLOWER, FASTER: BETTER}


@dataclass(frozen=True)
class Movement:
    """How a cell moved: the most urgent of WORDS, the status before where it changed, and all that moved in sentences.

    ``versions`` are those of the cell's own distributions that changed, as texts.
    """

    word: str
    before: str
    said: tuple[str, ...]
    versions: tuple[str, ...]


@dataclass(frozen=True)
class Changed:
    """The movements of a results file by the place of the cell, cells that are gone, and versions that differ.

    ``versions`` maps "toolchain distribution" to (before, now). ``previous`` is the header of the run before.
    """

    movements: Mapping[Place, Movement] = field(default_factory=dict)
    gone: int = 0
    versions: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    previous: Mapping[str, Any] | None = None
    why_not: str = ""


def changed_since(source: Source) -> Changed:
    """What changed between a results file and the run before it; empty with a reason where there is none."""
    if source.previous is None:
        return Changed(why_not=source.why_not)
    found = compare(source.previous.rows, source.rows)
    movements: dict[Place, Movement] = {}
    for cell, movement in _movements(found):
        place = place_of(cell)
        movements[place] = _joined(movements.get(place), movement)
    return Changed(movements, len(found.removed), found.versions, source.previous.header)


def said_versions(versions: Mapping[str, tuple[str, str]]) -> tuple[str, ...]:
    """Versions that changed, as texts."""
    return tuple(f"{name} {before or 'absent'} → {now or 'absent'}" for name, (before, now) in versions.items())


def _movements(found: Comparison) -> Iterator[tuple[Mapping[str, Any], Movement]]:
    """Every change of a cell, one by one."""
    for one in found.statuses:
        text = f"{one.before} → {one.after}"
        yield one.cell, Movement(OF_STATUS[one.direction], one.before, (text,), said_versions(one.versions))
    for number in found.numbers:
        text = f"{number.measure}: {number.before:.3g} → {number.after:.3g}"
        yield number.cell, Movement(OF_FIGURE[number.direction], "", (text,), said_versions(number.versions))
    for time in found.times:
        if time.verdict in OF_TIME:
            share = "" if time.d is None else f" ({math.expm1(time.d):+.1%})"
            text = f"{time.verdict}: {duration(time.before)} → {duration(time.after)}{share}"
            yield time.cell, Movement(OF_TIME[time.verdict], "", (text,), said_versions(time.versions))
    for count in found.counts:
        text = f"{count.measure}: {count.before:,} → {count.after:,}"
        yield count.cell, Movement(OF_FIGURE[count.direction], "", (text,), said_versions(count.versions))
    for added in found.added:
        yield added.cell, Movement(NEW, "", (), ())


def _joined(first: Movement | None, other: Movement) -> Movement:
    """Two movements of one cell: the more urgent word, and both sentences."""
    if first is None:
        return other
    word = min(first.word, other.word, key=WORDS.index)
    versions = tuple(dict.fromkeys((*first.versions, *other.versions)))
    return Movement(word, first.before or other.before, (*first.said, *other.said), versions)
