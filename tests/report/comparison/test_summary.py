"""The summary for a pull request: what broke comes first, and it always fits."""

from __future__ import annotations

import pytest

from bench_plugin.report.comparison.changes import compare
from bench_plugin.report.comparison.document import one_of
from bench_plugin.report.comparison.summary import MOST_BYTES, summary
from bench_plugin.report.entries import entry
from tests.report.comparison.runs import KNOWN, between, timed
from tests.report.made import cell, export, header


def test_regressions_come_first_with_reason_versions_and_command() -> None:
    after = export(
        status="ERROR", stage="export", reason="ValueError: <no> `good` @somebody\nmore", versions={"torch": "2.13"},
        repro=["suites/test.py::test[a b]", "--bench-models=lstm"],
    )  # fmt: skip
    found = between(export(versions={"torch": "2.12"}), after)
    text = summary(found, [entry(after)])
    lines = text.splitlines()
    assert lines[0] == "## 1 regression"
    assert "### Regressions (1)" in text and "torch 2.12 → 2.13" in text
    assert "supported → ERROR at export" in text
    assert "ValueError: &lt;no> \\`good\\` @&#8203;somebody" in text
    assert "`pytest 'suites/test.py::test[a b]' --bench-models=lstm`" in text
    assert text.index("### Regressions") < text.index("### Counts")
    assert "| export | 1 |" in text


def test_a_slower_cell_stands_with_its_times() -> None:
    text = summary(between(timed(), timed(1.1)), [])
    assert "slower, 1 ms → 1.1 ms (+10.0% ±" in text and text.startswith("## 1 regression in time\n")


def test_changes_come_first_and_then_what_is_slower() -> None:
    before, after = export(), export(status="ERROR", stage="export", reason="boom")
    rows = [header(), before, timed()], [header(), after, timed(1.1)]
    lines = summary(compare(*rows), []).splitlines()
    assert lines[0] == "## 2 regressions, 1 of them in time"
    titles = [line for line in lines if line.startswith("###")]
    assert titles == ["### Regressions (1)", "### Slower (1)", "### Counts"]
    [item] = [line for line in lines if ": slower, " in line]
    assert lines.index(item) > lines.index("### Slower (1)") > lines.index("### Regressions (1)")


def test_cells_that_fail_for_one_cause_stand_together() -> None:
    axes = [{"check": "operator", "model": f"test_{name}", "framework": "onnx", "compiler": "x"} for name in "abcd"]
    before = [header(), *(cell(one) for one in axes)]
    reasons = ["no Neg, 1", "no Neg, 2", "no Abs", "no Neg, 3"]
    after = [cell(one, "ERROR", reason=said, stage="run") for one, said in zip(axes, reasons, strict=True)]
    text = summary(compare(before, [header(), *after]), [])
    assert "### Regressions (4)" in text
    assert "**operator test\\_a onnx x** and 2 more: supported → ERROR at run" in text
    assert "The same of: test\\_b, test\\_d\n" in text
    assert text.index("no Neg, 1") < text.index("no Abs") and "no Neg, 2" not in text


def test_failures_that_are_known_for_another_version_are_counted() -> None:
    rows = [
        [
            header(),
            *(export(model, status="ERROR", stage="run", reason="no Neg", **more) for model in ("lstm", "vgg16")),
        ]
        for more in ({**KNOWN, "versions": {"mnn": "3.6.1"}}, {"result": "failed", "versions": {"mnn": "3.5.0"}})
    ]
    text = summary(compare(*rows), [])
    assert text.startswith("## No regression\n")
    assert "### Failures as before, known for other versions only (2)\n\n- mnn 3.6.1 → 3.5.0: 2 ERROR at run" in text


def test_without_an_earlier_run_there_are_the_counts_alone() -> None:
    text = summary(None, [entry(export())])
    assert "There is no earlier run to compare with." in text and "| export | 1 |" in text


def test_it_is_always_shorter_than_sixty_thousand_bytes_and_says_what_was_left_out() -> None:
    axes = [{"check": "operator", "model": f"test_{number}_ü", "framework": "onnx"} for number in range(500)]
    before = [header(), *(cell(one) for one in axes)]
    long = "é" * 3000
    after = [
        header(versions={"t": {f"package-{number}": "1" for number in range(2000)}}),
        *(cell(one, "ERROR", reason=long, stage="run", repro=[f"test.py::test[{long}]"]) for one in axes[:400]),
        *(cell({**one, "model": f"new_{long}_{one['model']}"}, "ERROR") for one in axes[:200]),
    ]
    found = compare(before, after)
    text = summary(found, [entry(row) for row in after if row["kind"] == "cell"])
    assert 0.9 * MOST_BYTES < len(text.encode()) <= MOST_BYTES
    assert "### Regressions (400)" in text and "### Counts" in text and "### Versions that changed (2001)" in text
    assert "are left out of this summary; `bench compare` lists all of them." in text


@pytest.mark.parametrize(
    ("name", "one"), [("regressions", "regression"), ("other changes", "other change"), ("not comparable",) * 2]
)
def test_one_of_something_is_in_the_singular(name: str, one: str) -> None:
    assert (one_of(name, 1), one_of(name, 2)) == (one, name)
