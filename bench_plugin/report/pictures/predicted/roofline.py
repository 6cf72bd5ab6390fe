"""Rooflines: operations per second against operations per byte, a roof per datatype and mode, a line per model."""

from __future__ import annotations

from typing import Any

from bench_plugin.report.pictures.picture import Specification, vega_lite

NAME = "roofline"
DESCRIPTION = (
    "Rooflines, one picture for each target: operations per second against operations per byte of traffic, both axes "
    "logarithmic. A grey roof for each datatype and mode rises with the memory bandwidth up to the peak; each coloured "
    "line joins the points of one model, where it meets the roof of each datatype."
)
WIDTH, HEIGHT = 420, 280
ROOF = "datum.kind == 'roof'"
MODEL = "datum.kind == 'model'"


def specification() -> Specification:
    """Records have ``target``, ``kind`` (roof or model), ``name``, ``datatype``, ``intensity``, ``ops_per_s``.

    Of a roof ``end`` is true for the point that its name stands at, and ``known`` false where no bandwidth is known.
    """
    return vega_lite(
        DESCRIPTION,
        facet={"field": "target", "type": "nominal", "title": None, "header": {"labelAnchor": "start"}},
        columns=2,
        spec={
            "width": WIDTH, "height": HEIGHT,
            "encoding": {
                "x": _axis("intensity", "operations per byte"), "y": _axis("ops_per_s", "operations per second"),
            },
            "layer": [
                {
                    "transform": [{"filter": ROOF}],
                    "mark": {"type": "line", "color": "#8a94a0", "strokeWidth": 1.5},
                    "encoding": {
                        "detail": {"field": "name"},
                        "strokeDash": {
                            "field": "known", "type": "nominal", "legend": None,
                            "scale": {"domain": [True, False], "range": [[1, 0], [4, 3]]},
                        },
                    },
                },
                {
                    "transform": [{"filter": f"{ROOF} && datum.end"}],
                    "mark": {"type": "text", "align": "right", "baseline": "bottom", "dy": -3, "fontSize": 10},
                    "encoding": {"text": {"field": "name"}},
                },
                {
                    "transform": [{"filter": MODEL}],
                    "mark": {"type": "line", "point": True, "strokeWidth": 1.5},
                    "encoding": {
                        "color": {
                            "field": "name", "type": "nominal", "title": "model", "scale": {"scheme": "tableau20"},
                        },
                        "detail": {"field": "mode"}, "order": {"field": "intensity", "type": "quantitative"},
                        "tooltip": [
                            {"field": field} for field in ("name", "datatype", "mode", "intensity", "ops_per_s")
                        ],
                    },
                },
            ],
        },
        resolve={"scale": {"x": "independent", "y": "independent"}},
    )  # fmt: skip


def _axis(field: str, title: str) -> dict[str, Any]:
    return {
        "field": field, "type": "quantitative", "title": title, "scale": {"type": "log", "zero": False},
        "axis": {"format": "~s", "tickCount": 5},
    }  # fmt: skip
