"""A heat map with the number in every field, one for each task."""

from __future__ import annotations

from typing import Any

from bench_plugin.report.pictures.picture import Specification, specification

COLUMN, LINE = 52, 22  # the size of a field in pixels
# From light to middle blue, so that dark text can be read on every field, on a light and on a dark page.
COLOURS = ("#f2f8fd", "#5fa8d8")
INK = "#101418"
TOOLTIP = ("platform", "mode", "datatype", "column", "status", "setting", "source", "key")


def heatmap(
    description: str, *, title: str, number: str, log: bool, tooltip: tuple[str, ...] = TOOLTIP
) -> Specification:
    """Records have ``task``, ``line``, ``column``, their orders, ``value``, and ``mark``, which stands before it.

    ``title`` is that of the colours, ``number`` how the numbers are written (d3-format).
    """
    scale: dict[str, Any] = {"range": list(COLOURS), "interpolate": "lab", **({"type": "log"} if log else {})}
    label = f"datum.mark + (datum.mark ? ' ' : '') + format(datum.value, '{number}')"
    field = {"x": _axis("column", labelAngle=-45, orient="bottom"), "y": _axis("line")}
    shown = [{"field": "value", "title": title, "format": number}, *({"field": name} for name in tooltip)]
    return specification(
        description,
        transform=[{"calculate": label, "as": "label"}],
        facet={"field": "task", "type": "nominal", "title": None, "header": {"labelAnchor": "start"}},
        columns=1,
        spec={
            "width": {"step": COLUMN},
            "height": {"step": LINE},
            "encoding": field,
            "layer": [
                {
                    "mark": {"type": "rect", "aria": False, "stroke": None},
                    "encoding": {
                        "color": {
                            "field": "value",
                            "type": "quantitative",
                            "title": title,
                            "scale": scale,
                            "legend": {"gradientLength": 90, "format": number},
                        },
                        "tooltip": shown,
                    },
                },
                {
                    "mark": {"type": "text", "aria": False, "color": INK, "fontSize": 11},
                    "encoding": {"text": {"field": "label"}, "tooltip": shown},
                },
            ],
        },
        resolve={"scale": {"x": "independent", "y": "independent", "color": "independent"}},
    )


def _axis(field: str, **axis: Any) -> dict[str, Any]:
    order = {"field": f"{field}_order", "op": "min", "order": "ascending"}
    return {"field": field, "type": "nominal", "title": None, "sort": order, "axis": {"ticks": False, **axis}}
