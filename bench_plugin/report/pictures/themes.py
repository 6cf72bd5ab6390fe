"""Colours of text, axes, legends and rules in light and dark: the configuration that a picture is drawn with."""

from __future__ import annotations

from typing import Any

FONT = "system-ui, sans-serif"


def theme(*, text: str, line: str, background: str) -> dict[str, Any]:
    """A Vega-Lite configuration in the colours of a page: any CSS colours.

    ``text`` is for words and for marks that stand for a middle or an end, ``line`` for the lines behind the data.
    """
    words = {"labelColor": text, "titleColor": text, "labelFont": FONT, "titleFont": FONT, "titleFontWeight": "normal"}
    return {
        "background": background,
        "font": FONT,
        "view": {"stroke": line},
        "axis": {
            **words,
            "gridColor": line,
            "gridOpacity": 0.6,
            "domainColor": line,
            "tickColor": line,
            "labelLimit": 260,
        },
        "legend": {**words, "symbolBaseStrokeColor": text, "symbolBaseFillColor": text, "labelLimit": 260},
        "header": {**words, "labelFontWeight": "bold", "labelFontSize": 12, "labelLimit": 640},
        "title": {"color": text, "subtitleColor": text, "font": FONT, "subtitleFont": FONT, "anchor": "start"},
        "text": {"color": text, "font": FONT},
        "rule": {"color": text},
        "boxplot": {"rule": {"color": text}, "median": {"color": text}},
        "point": {"color": text},
    }


LIGHT = theme(text="#1f2328", line="#d1d9e0", background="#ffffff")
DARK = theme(text="#f0f6fc", line="#3d444d", background="#0d1117")
