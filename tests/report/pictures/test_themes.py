"""The colours that pictures are drawn in, literally: every word, line and mark has one."""

from __future__ import annotations

from bench_plugin.report.pictures import themes

FONT = "system-ui, sans-serif"
WORDS = {
    "labelColor": "red", "titleColor": "red", "labelFont": FONT, "titleFont": FONT, "titleFontWeight": "normal",
}  # fmt: skip


def test_every_word_line_and_mark_has_its_colour() -> None:
    assert themes.theme(text="red", line="green", background="blue") == {
        "background": "blue", "font": FONT, "view": {"stroke": "green"},
        "axis": {**WORDS, "gridColor": "green", "gridOpacity": 0.6, "domainColor": "green", "tickColor": "green",
                 "labelLimit": 260},
        "legend": {**WORDS, "symbolBaseStrokeColor": "red", "symbolBaseFillColor": "red", "labelLimit": 260},
        "header": {**WORDS, "labelFontWeight": "bold", "labelFontSize": 12, "labelLimit": 640},
        "title": {"color": "red", "subtitleColor": "red", "font": FONT, "subtitleFont": FONT, "anchor": "start"},
        "text": {"color": "red", "font": FONT}, "rule": {"color": "red"},
        "boxplot": {"rule": {"color": "red"}, "median": {"color": "red"}}, "point": {"color": "red"},
    }  # fmt: skip


def test_light_and_dark_are_themes_of_their_own_colours() -> None:
    assert themes.theme(text="#1f2328", line="#d1d9e0", background="#ffffff") == themes.LIGHT
    assert themes.theme(text="#f0f6fc", line="#3d444d", background="#0d1117") == themes.DARK
