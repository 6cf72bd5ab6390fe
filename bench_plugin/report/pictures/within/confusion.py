"""The confusion matrix of a classifier."""

from __future__ import annotations

from collections.abc import Mapping

from bench_plugin.report.entries import Entry
from bench_plugin.report.pictures.heatmap import BLUES, INK
from bench_plugin.report.pictures.picture import Record, Specification, vega_lite
from bench_plugin.report.pictures.reading import numbers
from bench_plugin.report.pictures.traces import Trace

NAME = "confusion"
TITLE = "Confusion matrix"
QUESTION = "Which classes are taken for which others?"
MOST = 50  # classes: a picture of more cannot be read
DESCRIPTION = (
    "Confusion matrix: a line per right class, a column per class that was answered. Every field has its number of "
    "inputs; the share of the inputs of its class colours it."
)


def rows(entry: Entry, traces: Mapping[str, Trace]) -> list[Record]:
    """A record per right class, with lists of equal length; none for a matrix that is not square or of many classes."""
    said = entry.numbers.get("confusion")
    matrix = [numbers(line) for line in said] if isinstance(said, list | tuple) else []
    if not 0 < len(matrix) <= MOST or any(len(line) != len(matrix) for line in matrix):
        return []
    return [
        {
            "right": right, "called": list(range(len(matrix))), "count": [int(one) for one in line],
            "share": [round(one / max(sum(line), 1.0), 4) for one in line],
        }
        for right, line in enumerate(matrix)
    ]  # fmt: skip


def specification() -> Specification:
    """Fields without an input are empty."""
    x = {"field": "called", "type": "ordinal", "title": "class that was answered", "axis": {"labelAngle": 0}}
    y = {"field": "right", "type": "ordinal", "title": "right class"}
    colour = {
        "field": "share", "type": "quantitative", "title": "share of the class",
        "scale": {"domain": [0, 1], "range": list(BLUES), "interpolate": "lab"},
        "legend": {"format": ".0%", "gradientLength": 90},
    }  # fmt: skip
    tooltip = [
        {"field": "right", "title": "right class"}, {"field": "called", "title": "answered"},
        {"field": "count", "title": "inputs"}, {"field": "share", "format": ".1%"},
    ]  # fmt: skip
    return vega_lite(
        DESCRIPTION,
        transform=[{"flatten": ["called", "count", "share"]}, {"filter": "datum.count > 0"}],
        width={"step": 32},
        height={"step": 22},
        encoding={"x": x, "y": y, "tooltip": tooltip},
        layer=[
            {"mark": {"type": "rect", "aria": False}, "encoding": {"color": colour}},
            {
                "mark": {"type": "text", "aria": False, "color": INK, "fontSize": 11},
                "encoding": {"text": {"field": "count"}},
            },
        ],
    )
