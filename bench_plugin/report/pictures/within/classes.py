"""Precision and sensitivity of every class of a classifier."""

from __future__ import annotations

from collections.abc import Mapping

from bench_plugin.report.entries import Entry
from bench_plugin.report.pictures.picture import Record, Specification, vega_lite
from bench_plugin.report.pictures.reading import numbers
from bench_plugin.report.pictures.traces import Trace

NAME = "classes"
TITLE = "Precision and sensitivity of classes"
QUESTION = "Which classes does the classifier find, and how often is it right when it names them?"
MOST = 50
FIGURES = ("precision", "sensitivity")
DESCRIPTION = (
    "Dot plot of precision (how many of the inputs that got a class are of it) and sensitivity (how many inputs of a "
    "class got it), a line per class. Circles are precision, triangles sensitivity."
)


def rows(entry: Entry, traces: Mapping[str, Trace]) -> list[Record]:
    """A record per class and figure, as a share of 1."""
    found = {name: numbers(entry.numbers, name) for name in FIGURES}
    if max(map(len, found.values())) > MOST:
        return []
    return [
        {"class": place, "figure": name, "value": round(value, 6)}
        for name, values in found.items()
        for place, value in enumerate(values)
    ]


def specification() -> Specification:
    """The axis begins where the figures do."""
    return vega_lite(
        DESCRIPTION,
        width=360,
        height={"step": 18},
        mark={"type": "point", "aria": False, "filled": True, "size": 60, "opacity": 0.9},
        encoding={
            "y": {"field": "class", "type": "ordinal", "title": "class", "axis": {"grid": True}},
            "x": {
                "field": "value", "type": "quantitative", "title": None, "scale": {"zero": False, "nice": True},
                "axis": {"format": ".0%"},
            },
            "shape": {
                "field": "figure", "type": "nominal", "title": None,
                "scale": {"domain": list(FIGURES), "range": ["circle", "triangle"]},
            },
            "color": {
                "field": "figure", "type": "nominal", "title": None,
                "scale": {"domain": list(FIGURES), "range": ["#4c78a8", "#f58518"]},
            },
            "tooltip": [{"field": "class"}, {"field": "figure"}, {"field": "value", "format": ".2%"}],
        },
    )  # fmt: skip
