"""Instructions of a cell against those of another run: an emulated board counts them, so they are compared exactly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench_plugin.checks.performance.against.base import Missing
from bench_plugin.domain.thresholds import FASTER, SAME, SLOWER

COUNTED = "counted"
SAME_BOARD = ("name", "kind", "machine")  # of a board: what its counts depend on


def compared(
    row: Mapping[str, Any], now: float, placement: Mapping[str, Any], growth: float, base: str
) -> dict[str, Any]:
    """What a row says of its instructions (of one inference) beside those of the base's ``row``.

    They may grow by the share ``growth``. Raises Missing where the base counted none, or on another board.
    """
    before = (((row.get("numbers") or {}).get("timing") or {}).get("instructions") or {}).get("median")
    if not isinstance(before, int | float) or isinstance(before, bool) or before <= 0:
        raise Missing(f"the row in run {base} counted no instructions")
    boards = [_board(row.get("placement") or {}), _board(placement)]
    if boards[0] != boards[1]:
        words = [" ".join(one.values()) or "no board" for one in boards]
        raise Missing(
            f"run {base} counted on {words[0]}, this one on {words[1]}: those are two numbers of instructions"
        )
    verdict = SLOWER if now > before * (1 + growth) else FASTER if now < before else SAME
    found: dict[str, Any] = {
        "verdict": verdict, "base": {"instructions": int(before)}, "head": {"instructions": int(now)},
    }  # fmt: skip
    if verdict == SLOWER:
        found["text"] = (
            f"more instructions than in run {base}: {before:,.0f} → {now:,.0f} of one inference "
            f"({now / before - 1:+.2%}), counted on {boards[1].get('name', 'the same board')}; {growth:.1%} is allowed"
        )
    return found


def _board(placement: Mapping[str, Any]) -> dict[str, str]:
    said = placement.get("board") or {}
    return {name: str(said[name]) for name in SAME_BOARD if said.get(name)}
