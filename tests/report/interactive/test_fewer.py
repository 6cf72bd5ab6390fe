"""Pictures of the cells that the filters leave: in Chromium, against the records that Python makes of those cells."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bench_plugin.report.entries import Entry
from bench_plugin.report.interactive.page import ASSETS
from bench_plugin.report.pictures.registry import PICTURES, embedded
from bench_plugin.report.pictures.results import Results
from tests.report.interactive.conftest import Open, report
from tests.report.interactive.scene import write_runs
from tests.report.made import Row
from tests.report.pictures.made import TITLES, axes, entries, equivalence, everything, timing

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.timeout(120)
# What depends on all records together: their places and colours, and which labels have room.
LEFT_OUT = ("number", "line_order", "column_order", "points", "first", "swept")
LABELS_BY_ROOM = "latency-throughput"
KEPT: dict[str, Callable[[Entry], bool]] = {
    "nothing left out": lambda one: True,
    "one batch": lambda one: one.cell.get("batch") in (1, None),
    "the slower settings": lambda one: one.cell.get("batch") != 16,
    "one compiler": lambda one: one.cell.get("compiler") == "tvm",
    "one model": lambda one: one.cell.get("model") == "mobile",
    "wrong results": lambda one: one.status != "supported",
    "right results": lambda one: one.status == "supported",
    "one check": lambda one: one.cell.get("check") == "equivalence",
    "nothing": lambda one: False,
}


def rows() -> list[Row]:
    """Rows of every picture, among them fields with several cells of which the worst, or the fastest, is shown."""
    more = [equivalence(axes("digits", "tvm", opset=opset), 1e-6 * opset, 1e-5) for opset in (11, 13, 21)]
    more += [equivalence(axes("digits", "tvm", opset=9), 1.0, 1e-5, "mismatch", stage="compare", timings={"run": 1.0})]
    more += [timing(axes("digits", "ncnn", batch=n), per_second=9e4, status="mismatch") for n in (1, 2)]
    return [*everything(), *more]


@pytest.mark.parametrize("kept", KEPT)
def test_the_records_of_fewer_cells_are_those_that_python_makes_of_them(browser: Browser, kept: str) -> None:
    found = entries(*rows())
    among = [int(KEPT[kept](one)) for one in found]
    left = [one for one in found if KEPT[kept](one)]
    page = browser.new_page()
    script = f"([pictures, among]) => {{ {(ASSETS / 'fewer.js').read_text('utf-8')}\n"
    script += "return pictures.map(picture => rowsOfFewer(picture, among)); }"
    pictures = json.loads(json.dumps(embedded(found, TITLES)))
    assert [picture["name"] for picture in pictures] == [module.NAME for module in PICTURES]
    drawn = page.evaluate(script, [pictures, among])
    page.close()
    for module, records in zip(PICTURES, drawn, strict=True):
        # The accuracy of a timed artefact is known, also where the cell that judged it is left out.
        judged = [one for one in found if one.cell["check"] == "quality" and one not in left]
        expected = module.rows(Results(left if module.NAME == "funnel" else [*left, *judged], TITLES))
        if module.NAME == "settings" and not expected:
            continue  # Python leaves the picture out where one setting is left; the page shows boxes of one point
        assert comparable(module.NAME, records) == comparable(module.NAME, expected), module.NAME


def comparable(name: str, records: Sequence[Row]) -> list[str]:
    left_out = (*LEFT_OUT, *(["label", "line"] if name == LABELS_BY_ROOM else []))
    if name == "funnel":  # a stage that none of fewer cells took stays on the page, with as many as before it
        records = [one for one in records if one["lost"]]
    # A percentage of a percentage: both have five digits, so that four of the ratio are right.
    numbers_alike = json.loads(
        json.dumps(records), parse_int=float, parse_float=lambda said: float(f"{float(said):.4g}")
    )
    return sorted(json.dumps({key: one[key] for key in sorted(one) if key not in left_out}) for one in numbers_alike)


@pytest.fixture(scope="module")
def pictured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with every picture."""
    return report(write_runs(tmp_path_factory.mktemp("pictured"), rows()))


def test_pictures_follow_the_filters(opened: Open, pictured: Path) -> None:
    page = opened(pictured).page
    number, canvas = place_of(page, "throughput")
    page.locator("#picture-throughput").scroll_into_view_if_needed()
    page.wait_for_selector(f"{canvas}[data-drawn=yes] svg")
    whole = page.inner_text("#pictures-said")
    assert whole == f"All {len(rows())} cells." and "ncnn" in page.text_content(canvas)
    page.evaluate("window.scrollY = document.getElementById('search').scrollIntoView()")
    page.fill("#search", "tvm")
    assert "ncnn" not in page.inner_text("#rows")
    said = page.inner_text("#pictures-said")
    assert said.startswith("The ") and said.endswith(f" of {len(rows())} cells that the filters leave.")
    page.locator("#picture-throughput").scroll_into_view_if_needed()
    page.wait_for_function(f"() => !document.querySelector('{canvas}').textContent.includes('ncnn')")
    assert "tvm" in page.text_content(canvas)
    page.locator(f"[data-picture='{number}'] [data-do=table]").click()
    assert "ncnn" not in page.inner_text(f"[data-picture='{number}'] .as-table")
    page.uncheck("#pictures-follow")
    page.wait_for_function(f"() => document.querySelector('{canvas}').textContent.includes('ncnn')")
    assert page.inner_text("#pictures-said") == f"All {len(rows())} cells, whatever the filters leave."
    page.wait_for_function("() => document.querySelector('.as-table').textContent.includes('ncnn')")


def test_a_picture_of_none_of_the_cells_says_so(opened: Open, pictured: Path) -> None:
    page = opened(pictured, "#check=equivalence").page
    _, canvas = place_of(page, "throughput")
    page.locator("#picture-throughput").scroll_into_view_if_needed()
    page.wait_for_selector(f"{canvas}[data-drawn=yes]")
    assert page.inner_text(canvas) == "None of the cells that the filters leave has what this picture shows."
    assert page.is_disabled("#picture-throughput [data-do=svg]")
    page.click("#reset")
    page.locator("#picture-throughput").scroll_into_view_if_needed()
    page.wait_for_selector(f"{canvas} svg")
    assert page.is_enabled("#picture-throughput [data-do=svg]")


def test_pictures_out_of_sight_are_not_drawn_again(opened: Open, pictured: Path) -> None:
    """The filters stay quick: nothing is drawn while they change, and later only what can be seen."""
    page = opened(pictured).page
    _, canvas = place_of(page, "throughput")
    page.locator("#picture-throughput").scroll_into_view_if_needed()
    page.wait_for_selector(f"{canvas}[data-drawn=yes] svg")
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_function("() => scrollY === 0")
    page.evaluate(f"document.querySelector('{canvas} svg').dataset.before = 'yes'")
    for text in ("t", "tv", "tvm"):
        page.fill("#search", text)
    page.wait_for_timeout(600)
    assert page.locator(f"{canvas} svg[data-before=yes]").count() == 1
    page.locator("#picture-throughput").scroll_into_view_if_needed()
    page.wait_for_selector(f"{canvas} svg:not([data-before])")


def place_of(page: Any, name: str) -> tuple[int, str]:
    """The number of a picture, and the selector of what is drawn of it."""
    return int(page.get_attribute(f"#picture-{name}", "data-picture")), f"#picture-{name} .canvas"
