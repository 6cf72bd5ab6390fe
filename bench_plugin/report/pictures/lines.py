"""Pictures with a line of marks per deployment, one picture for each model: boxes and stacked bars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from bench_plugin.report.pictures.picture import Record, Specification, vega_lite

WIDTH, LINE = 300, 20  # pixels: of one picture, and of one line of it
MOST_POINTS = 40  # of one line
# A wrong result is told by its shape: the colour is for other things.
AGREE, WRONG = "agree", "wrong result"
OUTPUTS = {
    "field": "outputs", "type": "nominal", "title": "outputs",
    "scale": {"domain": [AGREE, WRONG], "range": ["circle", "cross"]},
}  # fmt: skip


def per_model(description: str, layers: Sequence[dict[str, Any]], *, lists: Sequence[str] = ()) -> Specification:
    """Records have ``model``, and ``line`` with ``line_order``; the layers say what stands on a line."""
    order = {"field": "line_order", "op": "min", "order": "ascending"}
    return vega_lite(
        description,
        **({"transform": [{"flatten": list(lists)}]} if lists else {}),
        facet={"field": "model", "type": "nominal", "title": None, "header": {"labelAnchor": "start"}},
        columns=2,
        spec={
            "width": WIDTH,
            "height": {"step": LINE},
            "encoding": {"y": {"field": "line", "type": "nominal", "title": None, "sort": order}},
            "layer": list(layers),
        },
        resolve={"scale": {"x": "independent", "y": "independent"}},
    )


def boxes(
    description: str, x: dict[str, Any], tooltip: Sequence[dict[str, Any]], lists: Sequence[str] = ()
) -> Specification:
    """A box (quartiles, median, whiskers of 1.5 quartile ranges) for each line, with every value as a point on it.

    ``lists`` are the fields of a record that are lists of equal length, one value for each point. Records without
    ``points`` have none, because there are too many on their line.
    """
    colour = {"field": "precision", "type": "nominal", "scale": {"scheme": "tableau20"}}
    return per_model(
        description,
        [
            {
                "mark": {"type": "boxplot", "extent": 1.5, "size": 11, "outliers": False, "opacity": 0.75},
                "encoding": {"x": x, "color": colour},
            },
            {
                "transform": [{"filter": "datum.points"}],
                "mark": {"type": "point", "aria": False, "size": 16, "filled": True, "opacity": 0.9},
                "encoding": {"x": x, "shape": OUTPUTS, "tooltip": list(tooltip)},
            },
        ],
        lists=lists,
    )


def with_points(records: Sequence[Record], count: Callable[[Record], int]) -> list[Record]:
    """The records with ``points``: whether all values on their line are few enough to be shown one by one.

    ``count`` says how many values a record has.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for one in records:
        counts[one["model"], one["line"]] += count(one)
    return [one | {"points": counts[one["model"], one["line"]] <= MOST_POINTS} for one in records]


def stacked(
    description: str, *, title: str, parts: Sequence[str], colours: Sequence[str], tooltip: Sequence[dict[str, Any]]
) -> Specification:
    """A bar for each line, of the ``parts`` in their order, with its whole length as text behind it.

    Records have ``part`` and ``part_order``, ``value``, and ``end``, the whole length, with ``total``, its text.
    """
    colour = {
        "field": "part", "type": "nominal", "title": None, "scale": {"domain": list(parts), "range": list(colours)},
        "legend": {"orient": "top", "columns": 1},
    }  # fmt: skip
    x = {"field": "value", "type": "quantitative", "stack": "zero", "title": title}
    return per_model(
        description,
        [
            {
                "mark": {"type": "bar", "aria": False},
                "encoding": {"x": x, "color": colour, "order": {"field": "part_order"}, "tooltip": list(tooltip)},
            },
            {
                "transform": [{"filter": "datum.part_order == 0"}],
                "mark": {"type": "text", "aria": False, "align": "left", "dx": 4, "fontSize": 11},
                "encoding": {"x": {"field": "end", "type": "quantitative"}, "text": {"field": "total"}},
            },
        ],
    )
