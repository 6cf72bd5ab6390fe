"""The error of every tensor along a graph as bars: on the terminal, and as a page that needs nothing else."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

WIDTH = 40
NAME = 34
ROW, LEFT, SPAN = 16, 330, 520


@dataclass(frozen=True)
class Bar:
    """One tensor: ``error`` may be None where nothing was measured; ``wrong`` says that it is out of tolerance."""

    name: str
    operator: str
    error: float | None
    wrong: bool


def text_bars(bars: Sequence[Bar], unit: str) -> Iterator[str]:
    """A line per tensor; the scale is logarithmic, # is out of tolerance."""
    scale = _Scale(bars)
    for bar in bars:
        size = round(scale.share(bar.error) * WIDTH)
        drawn = ("#" if bar.wrong else "=") * max(size, 1 if bar.error else 0)
        figure = "-" if bar.error is None else f"{bar.error:.2e}" if unit == "E" else f"{bar.error:g}"
        yield f"{_short(bar.operator, 18):18} {_short(bar.name, NAME):{NAME}} {figure:>9} {drawn}"


def page(bars: Sequence[Bar], *, title: str, unit: str) -> str:
    """A page with one picture, without scripts and without anything from elsewhere."""
    scale = _Scale(bars)
    rows = []
    for index, bar in enumerate(bars):
        y = index * ROW
        label = html.escape(f"{bar.operator} {_short(bar.name, NAME)}")
        figure = "" if bar.error is None else f"{bar.error:.2e}" if unit == "E" else f"{bar.error:g}"
        size = max(scale.share(bar.error) * SPAN, 1 if bar.error else 0)
        colour = "#b00020" if bar.wrong else "#4a7ab5"
        rows.append(
            f'<g><title>{html.escape(bar.name)}: {figure} {unit}</title><text x="{LEFT - 6}" y="{y + 12}" '
            f'text-anchor="end">{label}</text><rect x="{LEFT}" y="{y + 2}" width="{size:.1f}" height="{ROW - 4}" '
            f'fill="{colour}"/><text x="{LEFT + size + 4:.1f}" y="{y + 12}">{figure}</text></g>'
        )
    height = len(bars) * ROW + 4
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>\n'
        "<style>body{font:14px sans-serif;margin:1.5em}svg text{font:11px sans-serif}</style></head>\n"
        f"<body><h1>{html.escape(title)}</h1>\n<p>{unit} of every tensor end to end, in the order of the graph; "
        "logarithmic; red is out of tolerance.</p>\n"
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + SPAN + 80}" height="{height}" role="img">\n'
        + "\n".join(rows)
        + "\n</svg></body></html>\n"
    )


class _Scale:
    def __init__(self, bars: Sequence[Bar]) -> None:
        logs = [math.log10(bar.error) for bar in bars if bar.error and math.isfinite(bar.error)]
        self._low = min(logs, default=0.0) - 0.5
        self._high = max(logs, default=1.0)

    def share(self, error: float | None) -> float:
        """Between 0 and 1."""
        if not error or math.isnan(error):
            return 0.0
        place = self._high if math.isinf(error) else math.log10(error)
        return min(1.0, (place - self._low) / max(self._high - self._low, 1e-9))


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else "..." + text[3 - most :]
