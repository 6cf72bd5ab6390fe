"""Every picture is drawn without a browser, with the marks that its rows ask for, readable in light and dark."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import vl_convert

from bench_plugin.compare.quality import classification
from bench_plugin.domain.errors import EnvironmentMissing
from bench_plugin.report.pictures import svg, themes
from bench_plugin.report.pictures.deployment import deployment, specifications
from bench_plugin.report.pictures.heatmap import INK
from bench_plugin.report.pictures.picture import PictureModule, with_rows
from bench_plugin.report.pictures.registry import PICTURES, embedded
from bench_plugin.report.pictures.traces import Trace
from tests.report.pictures.drawing import labels, marks, shapes, texts
from tests.report.pictures.made import TITLES, axes, entries, equivalence, everything, quality, timing

ALL = entries(*everything())
# Two models, three platforms and two precisions make 12 deployments, each with three settings of five launches.
DRAWN = {
    "throughput": {"rect": 12, "text": 12},
    "relative-throughput": {"rect": 12, "text": 12},
    "latency-throughput": {"symbol": 36, "line": 12},
    "settings": {"symbol": 36, "rect": 24},  # a box and its median for each deployment
    "repetitions": {"symbol": 180, "rect": 24},
    "latency-parts": {"rect": 24, "text": 12},
    "power": {"rect": 36, "text": 12},
    "accuracy-throughput": {"symbol": 36, "line": 2},
    "accuracy-latency": {"symbol": 36, "line": 2},
    "errors": {"rect": 13, "text": 14},  # a cell that ended in an error has a sign and no colour
    "funnel": {"rect": 10, "text": 10},
}
FORKS = "Detected faceted independent scales that union domain of the same fields"
OF_A_THEME = ("labelColor", "titleColor", "gridColor", "domainColor", "tickColor", "background")


def deployment_pictures() -> list[dict[str, Any]]:
    """Every picture of one deployment, with rows."""
    numbers = {
        **classification(np.eye(2)[[0, 1, 1]], np.array([0, 0, 1]), 2),
        "recall_precision": {"all": {"recall": [0.0, 1.0], "precision": [1.0, 0.5]}},
        "average_precision": {"overlap": [0.5, 0.95], "mean": [0.8, 0.2]},
    }
    (judged,) = entries(quality(axes(), 0.5, numbers=numbers))
    (timed,) = entries(timing(axes()))
    series = {
        name: Trace(name, unit, "", 3, 2.0, 1.0, 2.0, (1.0, 2.0, 3.0, 4.0), (1.0, None, 3.0, 2.0))
        for name, unit in (("cpu", "%"), ("memory.rss", "MiB"), ("compute", "ms"))
    }
    rows = {**deployment(judged).rows, **deployment(timed, series).rows}
    return [one | {"rows": rows[one["name"]]} for one in specifications()]


@pytest.mark.parametrize("module", PICTURES, ids=lambda module: module.NAME)
def test_a_picture_has_the_marks_of_its_rows(module: PictureModule) -> None:
    drawn = svg.svg(module, ALL, TITLES)
    found = marks(drawn)
    assert {kind: found[kind] for kind in DRAWN[module.NAME]} == DRAWN[module.NAME]
    assert "NaN" not in drawn and "undefined" not in drawn


@pytest.mark.parametrize("module", PICTURES, ids=lambda module: module.NAME)
def test_a_picture_says_what_it_shows_and_has_no_colours_of_a_theme(module: PictureModule) -> None:
    specification = module.specification()
    written = json.dumps(specification)
    assert specification["$schema"].endswith("/vega-lite/v6.json") and specification["data"] == {"name": "rows"}
    assert len(specification["description"]) > 60 and specification["description"].endswith(".")
    assert module.QUESTION.endswith("?") and module.TITLE and module.NAME.islower()
    assert not [word for word in OF_A_THEME if word in written] and "config" not in specification
    assert f'aria-label="{specification["description"][:40]}' in svg.svg(module, ALL, TITLES)


@pytest.mark.parametrize("picture", [*embedded(ALL, TITLES), *deployment_pictures()], ids=lambda one: str(one["name"]))
def test_vega_lite_has_no_remark_but_that_layers_are_forks_of_the_same_data_which_they_are(
    picture: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    vl_convert.vegalite_to_svg(with_rows(picture["specification"], picture["rows"]), show_warnings=True)
    said = capfd.readouterr()
    remarks = [line for line in (said.out + said.err).splitlines() if line and FORKS not in line]
    assert not remarks


@pytest.mark.parametrize("name", ["settings", "repetitions", "latency-throughput", "accuracy-latency"])
def test_a_wrong_result_has_a_shape_of_its_own(name: str) -> None:
    module = {one.NAME: one for one in PICTURES}[name]
    right, wrong = (
        svg.svg(module, entries(*swept(status), quality(axes(), 0.5)), TITLES) for status in ("supported", "mismatch")
    )
    assert marks(right)["symbol"] == marks(wrong)["symbol"] > 0
    assert not set(shapes(right)) & set(shapes(wrong))


def swept(status: str) -> list[dict[str, Any]]:
    """One deployment with two settings."""
    return [timing(axes(**more), status=status) for more in ({}, {"batch": 2})]


def test_a_sign_without_a_number_has_the_colour_of_text_because_nothing_is_behind_it() -> None:
    module = next(one for one in PICTURES if one.NAME == "errors")
    rows = entries(equivalence(axes(), None, None, "ERROR"), equivalence(axes("b"), 1e-6, 1e-5))
    colours = {one.text: one.get("fill") for one in labels(svg.svg(module, rows, TITLES)) if one.text in ("!", "0.1")}
    assert colours == {"!": themes.LIGHT["text"]["color"], "0.1": INK}


def test_a_picture_has_a_name_of_its_own_and_twelve_compilers_have_colours_of_their_own() -> None:
    assert len({module.NAME for module in PICTURES}) == len(PICTURES) == len(DRAWN)
    schemes = json.dumps([module.specification() for module in PICTURES if "platform" in str(module.specification())])
    assert "tableau20" in schemes and "category10" not in schemes and "tableau10" not in schemes


def test_text_of_the_page_takes_the_colours_of_the_theme() -> None:
    picture = next(one for one in embedded(ALL, TITLES) if one["name"] == "latency-throughput")
    light = svg.drawn(picture["specification"], picture["rows"])
    dark = svg.drawn(picture["specification"], picture["rows"], themes.DARK)
    ink, paper = themes.DARK["axis"]["labelColor"], themes.DARK["background"]
    assert ink in dark and paper in dark and ink not in light
    assert light.count(themes.LIGHT["axis"]["labelColor"]) == dark.count(ink)


def test_nothing_is_shown_where_there_is_nothing() -> None:
    assert embedded([]) == [] and svg.svg(PICTURES[0], []) == ""


def test_every_picture_is_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "of/a/run/pictures"
    paths = svg.write(folder, ALL, {"titles": TITLES})
    assert [path.stem for path in paths] == [module.NAME for module in PICTURES]
    assert all(path.read_text("utf-8").startswith('<svg role="img" aria-label="') for path in paths)
    assert {"Digits", "MobileNet"} <= set(texts((folder / "settings.svg").read_text("utf-8")))
    assert svg.write(folder, ALL, {"titles": TITLES}) == paths, "a folder that is there is written to again"


def test_without_the_tool_that_draws_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(EnvironmentMissing, match=r"pip install 'bench-plugin\[report\]'") as raised:
        svg.svg(PICTURES[0], ALL, TITLES)
    assert raised.value.exit_code == 4
    assert str(raised.value) == (
        "pictures are drawn by vl-convert-python, which is not installed: pip install 'bench-plugin[report]'"
    )


def test_a_description_with_quotes_is_one_attribute_of_the_first_element() -> None:
    specification = {"$schema": PICTURES[0].specification()["$schema"], "description": 'a "bar" & a <line>',
                     "mark": "bar", "data": {"name": "rows"}, "encoding": {"x": {"field": "x"}}}  # fmt: skip
    drawn = svg.drawn(specification, [{"x": 1}])
    assert drawn.startswith('<svg role="img" aria-label="a &quot;bar&quot; &amp; a &lt;line&gt;" ')
    without = {key: value for key, value in specification.items() if key != "description"}
    assert svg.drawn(without, [{"x": 1}]).startswith('<svg role="img" aria-label="" ')


def test_titles_of_models_are_those_that_were_given() -> None:
    module = next(one for one in PICTURES if one.NAME == "settings")
    assert "Digits" in texts(svg.svg(module, ALL, TITLES)) and "Digits" not in texts(svg.svg(module, ALL))


def test_what_a_page_embeds_is_plain_data() -> None:
    found: list[dict[str, Any]] = json.loads(json.dumps(embedded(ALL, TITLES), allow_nan=False))
    keys = ["name", "title", "question", "specification", "rows", "others", "one_of", "again"]
    assert all(list(one) == keys for one in found)
