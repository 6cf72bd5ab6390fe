"""How statuses and changes look: a symbol and a tone each, so that colour is never the only sign."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench_plugin.domain.outcome import Status
from bench_plugin.report.comparison.direction import UNDECLARED
from bench_plugin.report.interactive import changed
from bench_plugin.report.interactive.changed import BETTER, BROKE, CHANGED, FIXED, MEANINGS, NEW, WORSE
from bench_plugin.report.statuses import NOT_RUN, ORDER, PROGRESS, SLOWER, STYLES

# status -> (symbol, tone); the colours of a tone are in page.css, for light and dark
STATUSES: Mapping[str, tuple[str, str]] = {
    Status.ERROR: ("✖", "bad"),
    Status.MISMATCH: ("≠", "wrong"),
    Status.UNSUPPORTED: ("⊘", "refused"),
    PROGRESS: ("!", "odd"),
    SLOWER: ("»", "wrong"),
    Status.BOARD_LOST: ("⚠", "bad"),
    Status.UNVERIFIED: ("?", "doubt"),
    Status.OUTSIDE_BOUND: ("≈", "doubt"),
    Status.VERSION_SKEW: ("↕", "skew"),
    NOT_RUN: ("…", "absent"),
    Status.NOT_PROVIDED: ("–", "absent"),
    Status.SUPPORTED: ("✓", "good"),
}
CHANGES: Mapping[str, tuple[str, str]] = {
    BROKE: ("▼", "bad"),
    changed.SLOWER: ("»", "wrong"),
    WORSE: ("↗", "wrong"),
    CHANGED: ("●", "doubt"),
    UNDECLARED: ("=", "doubt"),
    FIXED: ("▲", "good"),
    BETTER: ("↘", "good"),
    NEW: ("+", "skew"),
}
UNKNOWN = ("·", "absent")


def looks() -> dict[str, dict[str, dict[str, str]]]:
    """Symbol, tone and meaning of every status and of every change, as plain data for the page."""
    meanings = {name: STYLES[name].meaning for name in ORDER}
    return {"status": _plain(STATUSES, meanings), "change": _plain(CHANGES, MEANINGS)}


def badge(kind: Mapping[str, tuple[str, str]], word: str) -> tuple[str, str]:
    """The symbol and the tone of a word; of one that is unknown, those of an absent cell."""
    return kind.get(word, UNKNOWN)


def _plain(kind: Mapping[str, tuple[str, str]], meanings: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    return {
        str(word): {"symbol": symbol, "tone": tone, "meaning": str(meanings.get(word, ""))}
        for word, (symbol, tone) in kind.items()
    }
