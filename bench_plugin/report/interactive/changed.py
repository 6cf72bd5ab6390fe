"""What changed since the run before, per cell, in the page's words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bench_plugin.report.difference import ADDED, BETTER, GONE, OTHER, WORSE, Change, by_factor, compare_rows
from bench_plugin.report.interactive.reading import Source

FACTOR = 2.0
BROKE, GREW, CHANGED, FIXED, SHRANK, NEW = "broke", "error grew", "changed", "got better", "error shrank", "new"
WORDS = (BROKE, GREW, CHANGED, FIXED, SHRANK, NEW)  # the order of the page, the most urgent first
MEANINGS = {
    BROKE: "it passed, or gave no answer, in the run before and fails now",
    GREW: f"the same status, but E is at least {FACTOR:g} times what it was",
    CHANGED: "another status that is neither better nor worse",
    FIXED: "it failed, or gave no answer, in the run before and does better now",
    SHRANK: f"the same status, and E is at most 1/{FACTOR:g} of what it was",
    NEW: "the run before has no row of this cell",
}


@dataclass(frozen=True)
class Movement:
    """How a cell moved: one of WORDS, the status before, and both errors (E, ratios without a unit)."""

    word: str
    before: str
    error_before: float | None


@dataclass(frozen=True)
class Changed:
    """The movements of a results file by the place of the cell, cells that are gone, and versions that differ.

    ``versions`` maps "toolchain distribution" to (before, now). ``previous`` is the header of the run before.
    """

    movements: Mapping[str, Movement] = field(default_factory=dict)
    gone: tuple[Mapping[str, Any], ...] = ()
    versions: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    previous: Mapping[str, Any] | None = None
    why_not: str = ""


def changed_since(source: Source) -> Changed:
    """What changed between a results file and the run before it; empty with a reason where there is none."""
    if source.previous is None:
        return Changed(why_not=source.why_not)
    found = compare_rows(source.previous.rows, source.rows, by_factor(FACTOR))
    moved = {str(sorted(one.cell.items())): _movement(one) for one in found.changes if one.kind != GONE}
    gone = tuple(one.cell for one in found.changes if one.kind == GONE)
    return Changed(moved, gone, found.versions, source.previous.header)


def _movement(change: Change) -> Movement:
    return Movement(_word(change), change.before if change.kind != ADDED else "", change.error_before)


def _word(change: Change) -> str:
    if change.before == change.after:
        return GREW if change.kind == WORSE else SHRANK
    return {WORSE: BROKE, BETTER: FIXED, OTHER: CHANGED, ADDED: NEW}[change.kind]
