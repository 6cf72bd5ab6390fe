"""The evidence of a cell inside the page of another tool, compared literally."""

from __future__ import annotations

import pytest

from bench_plugin.report.entries import entry
from bench_plugin.report.formats.fragment import figures, fragment, sparkline
from tests.report.made import Row, equivalence


def timed(launches: list[float]) -> Row:
    return {"compute": {"launch_medians": launches}, "percentiles": {"p50": 0.00123456}}


def test_a_cell_has_its_failure_figures_commands_and_log() -> None:
    one = entry(
        equivalence(
            status="mismatch", repro=["test.py::test[a b]", "-q"], key="0017",
            numbers={"E": 3.14159e-4, "needed": 7.12345, "timing": timed([0.001, 0.003])},
        )
    )  # fmt: skip
    said, log = "<b>off</b> & away", "line 1\n<line 2>"
    label = "median times of 2 launches, 1 ms to 3 ms"
    assert fragment(one, said=said, log=log) == (
        '<div class="bench-cell"><p><strong>&lt;b&gt;off&lt;/b&gt; &amp; away</strong></p>'
        "<p>E 3.14e-04, 7.12 of the tolerance, p50 1.23 ms</p>"
        f'<svg role="img" aria-label="{label}" width="160" height="30"><title>{label}</title>'
        '<polyline fill="none" stroke="currentColor" points="2,28 158,2"/></svg>'
        "<p>repeat: <code>bench repro 0017</code></p>"
        "<p>repeat: <code>pytest &#x27;test.py::test[a b]&#x27; -q</code></p>"
        "<details><summary>end of the log</summary><pre>line 1\n&lt;line 2&gt;</pre></details></div>"
    )


def test_a_cell_without_anything_has_the_command_that_repeats_it() -> None:
    one = entry(equivalence(key="0018"))
    assert figures(one) == []
    assert fragment(one) == '<div class="bench-cell"><p>repeat: <code>bench repro 0018</code></p></div>'


@pytest.mark.parametrize("seconds", [[], [0.001]])
def test_less_than_two_launches_are_no_line(seconds: list[float]) -> None:
    assert sparkline(seconds) == ""


def test_launches_that_took_the_same_are_a_flat_line() -> None:
    assert 'points="2,28 80,28 158,28"' in sparkline([0.002, 0.002, 0.002])


@pytest.mark.parametrize(("count", "points"), [(60, 60), (61, 31), (120, 60), (121, 41)])
def test_of_many_launches_every_so_many_is_left_out(count: int, points: int) -> None:
    line = sparkline([0.001 + 0.001 * (number % 7) for number in range(count)])
    assert line.split('points="')[1].split('"')[0].count(" ") + 1 == points
    assert len(line) < 1000 and f"of {count} launches, 1 ms to 7 ms" in line
