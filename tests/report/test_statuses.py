"""The one table of statuses: complete, one order, one colour each, wherever a status is shown."""

from __future__ import annotations

import pytest

from bench_plugin.domain.outcome import Status
from bench_plugin.report.blocks import Document, Table, TableCell
from bench_plugin.report.formats import html
from bench_plugin.report.statuses import (
    FAILED,
    NOT_RUN,
    ORDER,
    PROGRESS,
    SLOWER,
    css_class,
    legend,
    severity,
    terminal_colour,
    worst,
)


def test_every_status_of_an_outcome_is_in_the_table_once() -> None:
    assert sorted(ORDER) == sorted([*map(str, Status), NOT_RUN, PROGRESS, SLOWER])


def test_what_pytest_fails_is_worse_than_everything_else() -> None:
    red = {*FAILED, PROGRESS}
    assert {name for name in ORDER if severity(name) < len(red)} == red
    assert max(ORDER, key=severity) == "supported"


def test_the_worst_of_several() -> None:
    assert worst(["supported", "unverified", "mismatch"]) == "mismatch"
    assert worst(["supported", "a status of another version"]) == "a status of another version"
    with pytest.raises(ValueError):
        worst([])


def test_a_legend_speaks_of_what_is_there() -> None:
    assert [name for name, _ in legend(["ERROR", "supported"])] == ["supported", "ERROR"]


@pytest.mark.parametrize("status", ORDER)
def test_a_page_has_a_rule_for_the_class_of_every_status(status: str) -> None:
    text = html.render(Document("t", (Table(("a",), ((TableCell("x", status),),)),)))
    assert f'<td class="{css_class(status)}">' in text
    assert f"td.{css_class(status)} {{" in text


def test_green_is_for_supported_alone() -> None:
    assert [name for name in ORDER if terminal_colour(name) == "green"] == ["supported"]
