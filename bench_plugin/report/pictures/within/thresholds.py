"""Mean average precision of a detection model over thresholds of overlap.

Rows have it as ``numbers["average_precision"]``: the lists ``overlap`` (0.5 to 0.95) and ``mean`` (over the classes).
"""

from __future__ import annotations

from collections.abc import Mapping

from bench_plugin.report.entries import Entry
from bench_plugin.report.pictures.picture import Record, Specification, vega_lite
from bench_plugin.report.pictures.reading import numbers
from bench_plugin.report.pictures.traces import Trace

NAME = "thresholds"
TITLE = "Mean average precision over thresholds"
QUESTION = "How exactly do boxes lie on their objects?"
KEY = "average_precision"
DESCRIPTION = "Line chart of mean average precision against the overlap from which a box counts as found."


def rows(entry: Entry, traces: Mapping[str, Trace]) -> list[Record]:
    """A record per threshold."""
    overlaps, means = numbers(entry.numbers, KEY, "overlap"), numbers(entry.numbers, KEY, "mean")
    if len(overlaps) != len(means):
        return []
    return [{"overlap": overlap, "mean": mean} for overlap, mean in zip(overlaps, means, strict=True)]


def specification() -> Specification:
    """The axis of the mean goes from 0 to 1."""
    return vega_lite(
        DESCRIPTION,
        width=360,
        height=220,
        mark={"type": "line", "aria": False, "point": True, "color": "#4c78a8"},
        encoding={
            "x": {
                "field": "overlap", "type": "quantitative", "title": "overlap (intersection over union)",
                "scale": {"zero": False},
            },
            "y": {
                "field": "mean", "type": "quantitative", "title": "mean average precision",
                "scale": {"domain": [0, 1]}, "axis": {"format": ".0%"},
            },
            "tooltip": [{"field": "overlap", "format": ".2f"}, {"field": "mean", "format": ".2%"}],
        },
    )  # fmt: skip
