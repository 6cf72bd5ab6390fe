"""Verdicts of other targets on the page of compiled models, with what rows of timing say of the same cells."""

from __future__ import annotations

from typing import Any

import pytest

from bench_plugin.report.blocks import Table
from bench_plugin.report.figures import duration
from bench_plugin.report.formats import markdown
from bench_plugin.report.pages import compiled
from bench_plugin.report.pages.page import Page
from bench_plugin.report.pages.registry import build_pages
from tests.report.made import Row, cell, header

MEDIAN = {"compute": {"median": 0.0123456}, "system": {"median": 0.02}}
EMULATED = {"timing": "emulated", "board": {"name": "unicorn-m3", "kind": "uart"}}
SSH = {"board": {"name": "pi4", "kind": "ssh"}}


def on(target: str, check: str = "equivalence", status: str = "supported", compiler: str = "iree", **more: Any) -> Row:
    axes = {"check": check, "model": "lstm", "framework": "pytorch", "exporter": "dynamo", "opset": 17}
    return cell(axes | {"compiler": compiler, "precision": "fp32", "target": target}, status, **more)


def page_of(*rows: Row) -> Page:
    return next(page for page in build_pages([header(), *rows]) if page.name == compiled.NAME)


def texts(page: Page, heading: str) -> list[list[str]]:
    """The rows of a grid of a page."""
    table: Table = dict(page.grids)[heading]
    return [[one.text for one in row] for row in table.rows]


def test_a_board_has_its_verdict_with_the_time_that_was_taken_on_it() -> None:
    page = page_of(
        on("pi4", numbers={"E": 1.5e-7}, placement=SSH),
        on("pi4", "timing", numbers={"timing": MEDIAN}, placement=SSH),
    )
    assert texts(page, "Target: pi4") == [["LSTM", "fp32", "supported (1.5e-07) 12.3 ms"]]
    assert "Ran on pi4 (ssh)." in markdown.render(page.document)


def test_instructions_of_an_emulator_are_shown_and_never_its_seconds() -> None:
    timing = {**MEDIAN, "instructions": {"median": 48_213}}
    memory, stack = {"flash_bytes": 123_456, "ram_bytes": 7_890}, {"stack_bytes": 512}
    page = page_of(
        on("cortex-m3", numbers={"E": 1.5e-7}, placement=EMULATED | stack, artefacts={"memory": memory}),
        on("cortex-m3", "timing", numbers={"timing": timing}, placement=EMULATED),
    )
    shown = "supported (1.5e-07) 48,213 instructions emulated"
    assert texts(page, "Target: cortex-m3") == [["LSTM", "fp32", shown]]
    [line] = texts(page, "Instructions and memory")
    assert line[0] == "cortex-m3" and line[5:] == ["supported", "48,213", "123.5", "7.9", "0.5"]
    assert "12.3 ms" not in markdown.render(page.document)
    assert "its time is no latency of the device" in markdown.render(page.document)


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        (on("armhf", status="unverified", unverified="not run", converted=True), "compiled, not run"),
        (on("armhf", status="unverified", unverified="blocked", reason="export failed"), "unverified"),
        (on("armhf", status="mismatch", numbers={"E": 0.5}, symptom="mismatch"), "mismatch (5.0e-01)"),
        (on("armhf", status="board-lost", stage="run", symptom="board-lost"), "board-lost"),
    ],
)
def test_what_was_not_compared_is_not_supported(row: Row, shown: str) -> None:
    page = page_of(row)
    assert texts(page, "Target: armhf") == [["LSTM", "fp32", shown]]
    hardware = markdown.render(page.document).partition("## Hardware by compiler")[2]
    assert "D P" not in hardware.partition("## ")[0]


def test_the_timing_check_alone_judges_a_target_where_equivalence_has_no_row() -> None:
    page = page_of(
        on("local"),
        on("pi4", "timing", numbers={"E": 1e-6, "timing": MEDIAN}, placement=SSH),
    )
    assert texts(page, "Target: pi4") == [["LSTM", "fp32", "supported (1.0e-06) 12.3 ms"]]


def test_a_wrong_timed_run_is_not_hidden_by_the_run_that_was_right() -> None:
    wrong = {"stage": "compare", "symptom": "mismatch", "reason": "off while it was timed"}
    page = page_of(
        on("pi4", numbers={"E": 1e-7}),
        on("pi4", "timing", "mismatch", numbers={"E": 0.5, "timing": MEDIAN}, **wrong),
    )
    assert texts(page, "Target: pi4") == [["LSTM", "fp32", "mismatch (5.0e-01) 12.3 ms"]]


def test_times_of_this_machine_stand_beside_its_verdicts() -> None:
    page = page_of(on("local", numbers={"E": 2e-7}), on("local", "timing", numbers={"timing": MEDIAN}))
    assert texts(page, "Compiled models")[0][3:] == ["supported (2.0e-07) 12.3 ms"]
    assert "| LSTM | fp32 | supported 12.3 ms |" in markdown.render(page.document)


def test_every_board_of_a_pool_has_its_line() -> None:
    boards = {
        "pi4-1": {"status": "supported", "reason": "", "E": 1e-7, "timing": MEDIAN},
        "pi4-2": {"status": "mismatch", "reason": "out0: E 0.5", "E": 0.5},
        "pi4-3": {"status": "unverified", "reason": "no runtime", "unverified": "not run"},
    }
    page = page_of(on("aarch64", status="mismatch", numbers={"E": 0.5, "boards": boards}, symptom="mismatch"))
    text = markdown.render(page.document)
    assert "| LSTM | fp32 | IREE 3.11 | pi4-1 | supported (1.0e-07) 12.3 ms |" in text
    assert "| LSTM | fp32 | IREE 3.11 | pi4-2 | mismatch (5.0e-01) |" in text
    assert "| LSTM | fp32 | IREE 3.11 | pi4-3 | compiled, not run |" in text
    assert texts(page, "Target: aarch64") == [["LSTM", "fp32", "mismatch (5.0e-01)"]]


def test_every_combination_of_many_boards_fits_a_page() -> None:
    rows = [
        {**on(f"board-{board}", compiler=compiler, numbers={"E": 1e-7}, placement=SSH), "cell": {
            **on(f"board-{board}", compiler=compiler)["cell"], "model": f"model_{model}"}}
        for board in range(12) for compiler in ("iree", "onnxruntime") for model in range(40)
    ]  # fmt: skip
    page = page_of(*rows)
    for document in (page.document, *page.details.values()):
        assert len(markdown.render(document)) < 100_000


@pytest.mark.parametrize(
    ("seconds", "text"), [(1.5, "1.5 s"), (0.0123456, "12.3 ms"), (4.2e-6, "4.2 us"), (3e-9, "3 ns"), (0.0, "0 ns")]
)
def test_a_duration_has_three_digits_and_a_unit(seconds: float, text: str) -> None:
    assert duration(seconds) == text
