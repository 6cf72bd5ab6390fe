"""A cell as a fragment of HTML, which the page of another tool holds: what went wrong, its figures, its log's end."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from html import escape

from bench_plugin.report.entries import Entry
from bench_plugin.report.figures import duration
from bench_plugin.report.timed import of_launches, p50

WIDTH, HEIGHT, MARGIN = 160, 30, 2  # of a sparkline, in pixels
MOST_POINTS = 60  # of a sparkline, which keeps it below 1,000 bytes


def fragment(one: Entry, *, said: str = "", log: str = "") -> str:
    """The evidence of a cell; every text of it is escaped.

    ``said`` is the first useful line of one that is not supported, and ``log`` the end of its log.
    """
    commands = [f"bench repro {one.key}", *([f"pytest {shlex.join(one.repro)}"] if one.repro else [])]
    parts = [
        f"<p><strong>{escape(said)}</strong></p>" if said else "",
        f"<p>{escape(', '.join(figures(one)))}</p>" if figures(one) else "",
        sparkline(of_launches(one)),
        *(f"<p>repeat: <code>{escape(command)}</code></p>" for command in commands),
        f"<details><summary>end of the log</summary><pre>{escape(log)}</pre></details>" if log else "",
    ]
    return f'<div class="bench-cell">{"".join(parts)}</div>'


def figures(one: Entry) -> list[str]:
    """E, the share of its tolerance and the time as short texts, as far as there are such."""
    seconds = p50(one)
    return [
        *([f"E {scientific(one.error)}"] if one.error is not None else []),
        *([f"{share(one.needed)} of the tolerance"] if one.needed is not None else []),
        *([f"p50 {duration(seconds)}"] if seconds is not None else []),
    ]


def scientific(value: float) -> str:
    """An error with three digits."""
    return f"{value:.2e}"


def share(value: float) -> str:
    """A share of the tolerance with three digits."""
    return f"{value:.3g}"


def sparkline(seconds: Sequence[float]) -> str:
    """The times of launches as a line of SVG, below 1,000 bytes; empty for less than two.

    Of more than MOST_POINTS launches every so many is left out.
    """
    if len(seconds) < 2:
        return ""
    shown = seconds[:: -(-len(seconds) // MOST_POINTS)]
    low, high = min(shown), max(shown)
    step, scale = (WIDTH - 2 * MARGIN) / max(len(shown) - 1, 1), (HEIGHT - 2 * MARGIN) / ((high - low) or 1.0)
    points = " ".join(
        f"{MARGIN + index * step:.0f},{HEIGHT - MARGIN - (value - low) * scale:.0f}"
        for index, value in enumerate(shown)
    )
    label = f"median times of {len(seconds)} launches, {duration(min(seconds))} to {duration(max(seconds))}"
    return (
        f'<svg role="img" aria-label="{label}" width="{WIDTH}" height="{HEIGHT}"><title>{label}</title>'
        f'<polyline fill="none" stroke="currentColor" points="{points}"/></svg>'
    )
