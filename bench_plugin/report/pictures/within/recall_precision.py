"""Recall against precision of a detection model, a curve per class.

Rows have it as ``numbers["recall_precision"]``: by class (or ``all``) the lists ``recall`` and ``precision``.
"""

from __future__ import annotations

from collections.abc import Mapping

from bench_plugin.report.entries import Entry
from bench_plugin.report.pictures.picture import Record, Specification, vega_lite
from bench_plugin.report.pictures.reading import numbers
from bench_plugin.report.pictures.traces import Trace

NAME = "recall-precision"
TITLE = "Recall and precision"
QUESTION = "How much precision does each class lose when more of its objects are to be found?"
KEY = "recall_precision"
DESCRIPTION = "Line chart of precision against recall of a detection model, a line per class; up and right is better."


def rows(entry: Entry, traces: Mapping[str, Trace]) -> list[Record]:
    """A record per class, with the lists ``recall`` and ``precision`` of equal length."""
    said = entry.numbers.get(KEY)
    curves = said.items() if isinstance(said, Mapping) else ()
    found = [(str(name), numbers(curve, "recall"), numbers(curve, "precision")) for name, curve in curves]
    return [
        {"class": name, "recall": recall, "precision": precision}
        for name, recall, precision in found
        if recall and len(recall) == len(precision)
    ]


def specification() -> Specification:
    """Both axes go from 0 to 1."""
    share = {"type": "quantitative", "scale": {"domain": [0, 1]}, "axis": {"format": ".0%"}}
    return vega_lite(
        DESCRIPTION,
        transform=[{"flatten": ["recall", "precision"]}],
        width=360,
        height=280,
        mark={"type": "line", "aria": False, "strokeWidth": 1.5, "interpolate": "step-before"},
        encoding={
            "x": {"field": "recall", "title": "recall", **share},
            "y": {"field": "precision", "title": "precision", **share},
            "color": {"field": "class", "type": "nominal", "scale": {"scheme": "tableau20"}},
            "order": {"field": "recall"},
            "tooltip": [
                {"field": "class"},
                {"field": "recall", "format": ".2%"},
                {"field": "precision", "format": ".2%"},
            ],
        },
    )
