"""A heat map with a text in every field, one for each task, compiler or whatever it is divided by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench_plugin.report.pictures.picture import Specification, vega_lite

COLUMN, LINE = 52, 22  # the size of a field in pixels
# From light to middle blue, so that dark text can be read on every field, on a light and on a dark page.
BLUES = ("#f2f8fd", "#5fa8d8")
INK = "#101418"
VALID = "isValid(datum.value)"
TOOLTIP = ("platform", "mode", "datatype", "column", "status", "setting", "source", "key")


def heatmap(
    description: str,
    *,
    divided_by: str,
    scale: dict[str, Any],
    legend: dict[str, Any],
    tooltip: Sequence[str] = TOOLTIP,
    columns: int = 1,
    key: str = "",
) -> Specification:
    """Records have the field that it is ``divided_by``, and ``line``, ``column``, their orders, ``value``, ``label``.

    ``value`` colours the field and may be None, ``label`` stands in it. ``scale`` and ``legend`` are those of the
    colours, ``columns`` the number of maps beside each other, ``key`` a line above them. Where the scale has a
    ``domain``, all maps share it and one legend.
    """
    shown = [{"field": "label", "title": legend["title"]}, *({"field": name} for name in tooltip)]
    colour = "shared" if "domain" in scale else "independent"
    return vega_lite(
        description,
        **({"title": {"text": key, "fontWeight": "normal", "fontSize": 11}} if key else {}),
        facet={"field": divided_by, "type": "nominal", "title": None, "header": {"labelAnchor": "start"}},
        columns=columns,
        spec={
            "width": {"step": COLUMN},
            "height": {"step": LINE},
            "encoding": {"x": _axis("column", labelAngle=-45, orient="bottom"), "y": _axis("line")},
            "layer": [
                {
                    "mark": {"type": "rect", "aria": False, "invalid": "filter"},
                    "encoding": {
                        "color": {
                            "field": "value", "type": "quantitative", "title": legend["title"],
                            "scale": {"interpolate": "lab", **scale}, "legend": {"gradientLength": 90, **legend},
                        },
                        "tooltip": shown,
                    },
                },
                {
                    "mark": {"type": "text", "aria": False, "fontSize": 11},
                    "encoding": {
                        "text": {"field": "label"}, "color": {"condition": {"test": VALID, "value": INK}},
                        "tooltip": shown,
                    },
                },
            ],
        },
        resolve={"scale": {"x": "independent", "y": "independent", "color": colour}},
    )  # fmt: skip


def _axis(field: str, **axis: Any) -> dict[str, Any]:
    order = {"field": f"{field}_order", "op": "min", "order": "ascending"}
    return {"field": field, "type": "nominal", "title": None, "sort": order, "axis": {"ticks": False, **axis}}
