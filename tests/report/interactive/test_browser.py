"""The interactive page as a reader uses it: in Chromium, from disk, with the mouse and with the keyboard alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.report.interactive.conftest import Open
from tests.report.interactive.scene import (
    BIG,
    BROKEN_KEY,
    HOSTILE,
    HOSTILE_KEY,
    NOW,
    PROFILE_KEY,
    TIMED_KEY,
    computed,
    failure,
    write_runs,
)

pytestmark = pytest.mark.timeout(120)
STATUS = "#rows tr[data-at] td:first-child"


def test_the_opening_says_what_broke_and_why(opened: Open, written: Path) -> None:
    page = opened(written).page
    assert page.inner_text("#summary h2") == "▼ 1 cell broke since the previous run"
    group = page.locator("#summary .groups li").first.inner_text()
    assert "mismatch" in group and "1 cell of tvm" in group and "before: supported" in group
    assert "out0: E 2.0e-03 > 1.0e-05" in group and "tvm apache-tvm 0.26.0 → 0.27.0" in group
    page.click("#summary .groups li a")
    page.wait_for_selector("dialog[open]")
    assert page.url.endswith(f"#cell={BROKEN_KEY}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_broke_and_why_is_on_the_first_screen_of_a_phone(opened: Open, written: Path, scheme: str) -> None:
    page = opened(written, width=390, height=844, scheme=scheme).page
    group = page.locator("#summary .groups li").first
    for part in (group.locator(".line"), group.locator(".versions"), group.locator("a")):
        box = part.bounding_box()
        assert box and box["y"] + box["height"] < 660, "below the head of the page, above the bars of a browser"
    first, *_ = page.locator("#summary > *").evaluate_all("all => all.map(one => one.textContent.trim())")
    assert first == "▼ 1 cell broke since the previous run"
    link = group.locator("a").bounding_box()
    assert link and link["height"] >= 24, "large enough for a finger"


def test_the_rest_of_a_group_is_a_link_to_its_cells(opened: Open, tmp_path: Path) -> None:
    from tests.report.interactive.conftest import report

    rows = [failure(n, "ERROR", "run", "crash", "it died") if n % 3 == 2 else computed(n) for n in range(30)]
    before = write_runs(tmp_path / "before", [computed(n) for n in range(30)])
    page = opened(report(write_runs(tmp_path / "now", rows), "--against", str(before))).page
    page.click("#summary .groups a:has-text('and 5 more')")
    # As a function: the page's Content-Security-Policy refuses an expression that is not true at first.
    page.wait_for_function("() => document.getElementById('count').textContent === '10 of 30 cells'")
    shown = page.locator("#rows tr[data-at]").all_inner_texts()
    assert len(shown) == 10 and all("ERROR" in text and "broke" in text and "tvm" in text for text in shown)


def test_the_opening_needs_no_script(browser: object, written: Path) -> None:
    context = browser.new_context(java_script_enabled=False)  # type: ignore[attr-defined]
    page = context.new_page()
    page.goto(written.as_uri())
    assert "1 cell broke" in page.inner_text("#summary h2")
    assert "need JavaScript" in page.inner_text("#cells")
    context.close()


def test_filter_sort_and_search(opened: Open, written: Path) -> None:
    page = opened(written).page
    assert page.inner_text("#count") == "12 cells"
    assert "broke" in page.locator("#rows tr[data-at='0']").inner_text(), "the most urgent cell comes first"
    page.click("#chips button[data-column=status]:has-text('ERROR')")
    assert page.inner_text("#count") == "2 of 12 cells"
    assert all("ERROR" in text for text in page.locator(STATUS).all_inner_texts())
    page.click("#reset")
    page.fill("#search", "always COMPILE")
    assert page.inner_text("#count") == "1 of 12 cells"
    page.click("#reset")
    page.click("#filters-box summary")
    page.select_option("#filters select[data-column=compiler]", label="tvm")
    assert page.inner_text("#count") == "4 of 12 cells"
    page.click("#reset")
    errors = "[...document.querySelectorAll('#rows tr[data-at]')].map(row => row.cells[{}].textContent)"
    at = page.evaluate(
        "[...document.querySelectorAll('#heads th')].findIndex(head => head.dataset.column === 'needed')"
    )
    page.click("#heads th[data-column=needed] button")
    up = [float(text) for text in page.evaluate(errors.format(at)) if text]
    page.click("#heads th[data-column=needed] button")
    texts = page.evaluate(errors.format(at))
    assert up == sorted(up) and [float(text) for text in texts if text] == up[::-1]
    assert texts[-1] == "", "cells without a figure come last in both directions"
    assert page.get_attribute("#heads th[data-column=needed]", "aria-sort") == "descending"


def test_the_evidence_of_a_cell(opened: Open, written: Path) -> None:
    page = opened(written, f"#cell={BROKEN_KEY}").page
    text = page.inner_text("#evidence")
    for said in (
        "compare: mismatch", "out0: E 2.0e-03 > 1.0e-05", "supported → mismatch", "tvm apache-tvm 0.26.0 → 0.27.0",
        f"bench repro {BROKEN_KEY} --results", "pytest 'suites/test_x.py::test_x[2]' --bench-models=model0",
        "lowered wrongly", "logs/tvm-1.log", "torch", "2.13.0", "compile", "500 ms", "128 MiB",
    ):  # fmt: skip
        assert said in text, said
    page.click("#evidence details:has-text('The end of the log') summary")
    log = page.inner_text("#evidence details:has-text('The end of the log') pre")
    assert "last words of TVM" in log and "HF_TOKEN=***" in log


def test_the_expectation_of_a_known_failure_is_a_link(opened: Open, written: Path) -> None:
    page = opened(written, "#result=xfailed&q=einsum").page
    page.click("#rows tr[data-at='0']")
    page.wait_for_selector("dialog[open]")
    assert "it sums in float16" in page.inner_text("#evidence")
    assert page.get_attribute("#evidence a", "href") == "https://example.org/issue/7"


def test_a_declared_cell_has_evidence_too(opened: Open, written: Path) -> None:
    page = opened(written, "#status=Not+provided").page
    page.click("#rows tr[data-at='0']")
    page.wait_for_selector("dialog[open]")
    text = page.inner_text("#evidence")
    assert "MXNet has no such model" in text and "Declared: it was decided before the run" in text


def test_a_cell_over_runs(opened: Open, written: Path) -> None:
    page = opened(written, f"#cell={BROKEN_KEY}").page
    assert page.get_attribute("#evidence p[role=img]", "aria-label") == (
        "The last 2 runs, oldest first: supported, mismatch"
    )
    said = page.inner_text("#trend-said")
    assert said == f"mismatch since 2026-11-21, run {NOW}; supported before."
    assert page.locator("#evidence svg.sparkline").count() == 0, "it was not timed"


def test_the_times_of_a_cell_over_runs_are_a_line(opened: Open, written: Path) -> None:
    page = opened(written, f"#cell={TIMED_KEY}").page
    assert page.inner_text("#trend-said") == "supported in each of the last 2 runs."
    label = page.get_attribute("#evidence svg.sparkline", "aria-label")
    assert label == "Time of the last 2 runs on the same machine or board: from 2 ms to 2 ms"


def test_the_error_profile_marks_what_is_wrong_in_words(opened: Open, written: Path) -> None:
    page = opened(written, f"#cell={PROFILE_KEY}").page
    assert "Error profile: largest distance in steps" in page.inner_text("#evidence")
    assert page.locator(".profile > span:has-text('wrong')").all_inner_texts() == ["1 ✖ wrong"]


def test_a_timed_cell_shows_its_deployment(opened: Open, written: Path) -> None:
    page = opened(written, f"#cell={TIMED_KEY}").page
    text = page.inner_text("#evidence")
    assert "first inference\n50 ms" in text and "compute, median\n2 ms" in text and "480 inputs/s" in text
    assert "98.5" in page.inner_text("#evidence .plain:has-text('series')")


def test_the_keyboard_alone(opened: Open, written: Path) -> None:
    page = opened(written).page
    page.keyboard.press("/")
    page.keyboard.type("model0")
    assert page.inner_text("#count") == "6 of 12 cells"
    page.focus("#table")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.get_attribute("#table", "aria-activedescendant") == "row-2"
    page.keyboard.press("End")
    assert page.get_attribute("#rows tr.active", "aria-rowindex") == "7"
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    assert page.evaluate("document.activeElement.id") == "evidence-close"
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.querySelector('.evidence-top .quiet').textContent === '2 of 6'")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog:not([open])", state="attached")
    assert page.evaluate("document.activeElement.id") == "table"
    assert page.get_attribute("#table", "aria-activedescendant") == "row-1", "the table follows the evidence"


def test_links_keep_the_state(opened: Open, written: Path) -> None:
    page = opened(written).page
    page.fill("#search", "tvm")
    page.click("#heads th[data-column=model] button")
    page.click("#rows tr[data-at='0']")
    page.wait_for_selector("dialog[open]")
    hash = "#" + page.url.split("#", 1)[1]
    again = opened(written, hash).page
    assert again.input_value("#search") == "tvm"
    assert again.get_attribute("#heads th[data-column=model]", "aria-sort") == "ascending"
    assert again.inner_text("#evidence-title") == page.inner_text("#evidence-title")
    unknown = opened(written, "#cell=ffff").page
    assert "does not have" in unknown.inner_text("#count")


def test_hostile_texts_stay_texts(opened: Open, written: Path) -> None:
    page = opened(written, f"#cell={HOSTILE_KEY}").page
    assert HOSTILE.replace(" \u2028 ", "") in page.inner_text("#evidence").replace(" \u2028 ", "").replace(" \n ", "")
    assert page.evaluate("window.broken") is None
    assert page.locator("#evidence a[href^=javascript]").count() == 0
    assert page.locator("img, iframe").count() == 0
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog:not([open])", state="attached")
    assert not page.url.endswith("#"), "colours of pictures are named by the address, and would not be found"
    page.click("#print")
    page.click("#print")
    page.click("#view-grid")
    assert page.evaluate("window.broken") is None


def test_the_grid(opened: Open, written: Path) -> None:
    page = opened(written).page
    page.click("#view-grid")
    place = page.locator(".crossed button[title^='model0, tvm']")
    assert place.inner_text() == "≠ 1/2"
    place.focus()
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.title").startswith("model0, onnxruntime")
    place.click()
    assert page.inner_text("#count") == "2 of 12 cells" and page.is_visible("#table-view")


def test_only_rows_in_sight_are_in_the_document(opened: Open, big: Path) -> None:
    page = opened(big).page
    assert page.inner_text("#count") == f"{BIG} cells"
    assert page.locator("#rows tr[data-at]").count() < 80
    assert page.get_attribute("#table", "aria-rowcount") == str(BIG + 1)
    page.focus("#table")
    page.keyboard.press("End")
    page.wait_for_function(f"() => document.querySelector('#rows tr.active')?.dataset.at === '{BIG - 1}'")
    assert page.locator("#rows tr[data-at]").count() < 80
    page.click(f"#rows tr[data-at='{BIG - 1}']")
    page.wait_for_selector("dialog[open]")
    assert f"{BIG} of {BIG}" in page.inner_text(".evidence-top")


def test_the_print_view_has_every_cell(opened: Open, big: Path) -> None:
    page = opened(big).page
    page.click("#print")
    assert page.locator("#printed tbody tr").count() == BIG
    page.click("#print")
    assert page.locator("#printed tbody tr").count() == 0
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#printed tbody tr").count() == BIG, "the browser's own command prints every cell too"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("#printed tbody tr").count() == 0


def test_pictures_are_drawn_in_light_and_dark(opened: Open, written: Path) -> None:
    for scheme in ("light", "dark"):
        page = opened(written, scheme=scheme).page
        figures = page.locator(".picture")
        assert figures.count() >= 1
        for number in range(figures.count()):
            figures.nth(number).scroll_into_view_if_needed()
            page.wait_for_selector(f"[data-picture='{number}'] .canvas[data-drawn=yes] svg", timeout=60_000)
        marks = page.locator(".picture svg path, .picture svg text").count()
        assert marks > 10
        page.click("#theme")
        figures.first.locator("[data-do=table]").click()
        page.wait_for_selector(".as-table tbody tr")
    with page.expect_download() as download:
        figures.first.locator("[data-do=svg]").click()
    assert Path(download.value.path()).read_text("utf-8").startswith("<svg")


def test_a_page_without_details(opened: Open, tmp_path: Path) -> None:
    from tests.report.interactive.conftest import report

    path = report(write_runs(tmp_path), "--without-details")
    page = opened(path, f"#cell={BROKEN_KEY}").page
    text = page.inner_text("#evidence")
    assert "out0: E 2.0e-03 > 1.0e-05" in text and "--without-details" in text


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_serious(opened: Open, written: Path, scheme: str, width: int) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="comes with the extra browser")
    page = opened(written, width=width, scheme=scheme).page
    states = {"opening": lambda: None, "grid": lambda: page.click("#view-grid"), "evidence": lambda: _evidence(page)}
    for name, reach in states.items():
        reach()
        found = axe.Axe().run(page).response["violations"]
        serious = [
            (one["id"], one["nodes"][0]["html"][:200]) for one in found if one["impact"] in ("serious", "critical")
        ]
        assert serious == [], name
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing sticks out to the side"


def _evidence(page: object) -> None:
    page.evaluate(f"location.hash = 'cell={BROKEN_KEY}'")  # type: ignore[attr-defined]
    page.wait_for_selector("dialog[open]")  # type: ignore[attr-defined]
