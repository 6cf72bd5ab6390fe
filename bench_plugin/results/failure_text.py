"""The text of a failed cell for a person: one screen, with the cause first and the command to repeat it last."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap
from typing import Any

from bench_plugin.domain.cell import Cell
from bench_plugin.domain.outcome import Outcome

DETAIL_LINES = 14
WIDTH = 160
REASON_LINES = 8
REMARK_LINES = 8


def failure_text(cell: Cell, outcome: Outcome, *, key: str, remark: str = "") -> str:
    """The text of a failed pytest item; ``remark`` is the sentence that an expectation adds."""
    lines = [f"{cell.check} {cell.id}", headline(outcome)]
    lines += _wrapped(remark, REMARK_LINES)
    lines += ["", *_wrapped(outcome.reason, REASON_LINES)]
    if outcome.detail and outcome.detail.strip() != outcome.reason.strip():
        lines += ["", *("  | " + line for line in _tail(outcome.detail))]
    if outcome.numbers:
        lines += ["", numbers_line(outcome.numbers)]
    if outcome.retry.get("symptom"):
        lines.append(f"repeated in a fresh agent: {outcome.retry.get('fresh')} (first: {outcome.retry.get('first')})")
    if outcome.retry.get("confirmed"):
        lines.append("it came twice in fresh processes and is stored; --bench-refresh tries it again")
    lines += ["", "versions: " + ", ".join(f"{name} {version}" for name, version in sorted(outcome.versions.items()))]
    if outcome.log:
        lines.append(f"log: {outcome.log}")
    lines.append(f"repeat: bench repro {key}")
    return "\n".join(line[:WIDTH] for line in lines)


def headline(outcome: Outcome) -> str:
    """Status, stage and symptom in a few words."""
    where = f" at {outcome.stage}" if outcome.stage else ""
    how = f": {outcome.symptom}" if outcome.symptom and str(outcome.symptom) != str(outcome.status) else ""
    return f"{outcome.status}{where}{how}"


def numbers_line(numbers: Mapping[str, Any]) -> str:
    """E and M with their tolerances on one line; empty where they were not measured."""
    parts = []
    for name in ("E", "M"):
        if numbers.get(name) is not None:
            limit = numbers.get(f"tolerance_{name}")
            parts.append(f"{name} {numbers[name]:.2e}" + (f" (tolerance {limit:.2e})" if limit is not None else ""))
    if numbers.get("truth"):
        parts.append(f"reference: {numbers['truth']}")
    return "numbers: " + (", ".join(parts) if parts else "nothing was compared")


def _wrapped(text: str, most: int) -> list[str]:
    """The lines of a text, of which none is cut before it says what is wrong; at most ``most`` of them."""
    lines = [part for line in text.strip().splitlines() for part in wrap(line, WIDTH, break_on_hyphens=False) or [""]]
    return lines[:most]


def _tail(text: str) -> list[str]:
    lines = [line for line in text.rstrip().splitlines() if line.strip()]
    left_out = len(lines) - DETAIL_LINES
    return ([f"... {left_out} lines above are in the log"] if left_out > 0 else []) + lines[-DETAIL_LINES:]
