"""What changed between two results files, and what of it is for the worse."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench_plugin.domain.thresholds import Threshold, Thresholds
from bench_plugin.report.comparison.changes import compare
from tests.report.comparison.runs import BASE_RUN, KNOWN, LAUNCHES, between, timed
from tests.report.made import Row, declared, equivalence, export, header

REGRESSION, PROGRESS, OTHER, UNDECLARED = "regression", "progress", "other", "undeclared"


def at(stage: str, status: str = "ERROR", **more: Any) -> Row:
    return export(status=status, stage=stage, result=more.pop("result", "failed"), **more)


@pytest.mark.parametrize(
    ("before", "after", "direction"),
    [
        (export(), at("compile"), REGRESSION),
        (export(), export(status="unverified"), REGRESSION),
        (export(), export(status="Not provided"), REGRESSION),
        (export(), at("compare", "mismatch", **KNOWN), REGRESSION),
        (at("compile"), export(), PROGRESS),
        (at("compile"), at("run"), PROGRESS),
        (at("run"), at("compile"), REGRESSION),
        (at("run"), at("compare", "mismatch"), PROGRESS),
        (at("compare", "mismatch"), at("export", "unsupported"), REGRESSION),
        (at("compile", "unsupported"), at("compile"), REGRESSION),
        (at("compile"), at("compile", "unsupported"), PROGRESS),
        (at("compile", symptom="crash"), at("compile", symptom="exception"), OTHER),
        (at("compare", "mismatch", **KNOWN), at("compare", "mismatch"), REGRESSION),
        (at("compare", "mismatch"), at("compare", "mismatch", **KNOWN), OTHER),
        (export(status="unverified", stage="compare"), at("compare", "mismatch", **KNOWN), REGRESSION),
        (export(status="unverified"), at("run"), REGRESSION),
        (export(status="Not provided"), at("run"), OTHER),
        (at("run"), export(status="board-lost"), OTHER),
        (export(status="outside our bound"), at("compare", "mismatch"), REGRESSION),
        (at("compare", "mismatch"), export(status="outside our bound"), PROGRESS),
        (export(result="passed"), export(result="failed"), OTHER),
        (export(result="failed"), export(result="passed"), PROGRESS),
    ],
)
def test_stages_and_statuses_decide_the_direction(before: Row, after: Row, direction: str) -> None:
    found = between(before, after)
    assert [change.direction for change in found.statuses] == [direction]
    assert (found.regressions, found.progress) == (direction == REGRESSION, direction == PROGRESS)
    assert (found.same, found.paired) == (0, 1)
    json.dumps(found.plain(), allow_nan=False)


OLD, NEW = {"versions": {"mnn": "3.6.1"}}, {"versions": {"mnn": "3.5.0"}}
OFF = {
    "symptom": "mismatch",
    "reason": "output 0: out of 1 ULP: 2 of 5 elements, at [0] 0 for -2",
    "numbers": {"needed": 2.0},
}


@pytest.mark.parametrize(
    ("before", "after", "direction"),
    [
        (at("run", reason="no Neg, 666", **KNOWN, **OLD), at("run", reason="no Neg, 602", **NEW), UNDECLARED),
        (at("run", reason="no Neg", **KNOWN, **OLD), at("run", reason="no Not", **NEW), REGRESSION),
        (at("run", reason="no Neg", **KNOWN, **OLD), at("run", reason="no Neg", **OLD), REGRESSION),
        (at("compare", "mismatch", **OFF, **KNOWN, **OLD), at("compare", "mismatch", **OFF, **NEW), UNDECLARED),
        (
            at("compare", "mismatch", **OFF, **KNOWN, **OLD),
            at("compare", "mismatch", **{**OFF, "numbers": {"needed": 6.1}}, **NEW),
            REGRESSION,
        ),
    ],
)
def test_a_failure_that_only_another_version_is_known_for_is_no_regression(
    before: Row, after: Row, direction: str
) -> None:
    found = between(before, {**after, "result": "failed"})
    assert [change.direction for change in found.statuses] == [direction]
    assert found.regressions == (direction == REGRESSION)


def test_a_change_has_the_versions_that_changed_beside_it_and_how_to_repeat_it() -> None:
    before = export(versions={"torch": "2.12", "onnx": "1.23"})
    after = at(
        "export", versions={"torch": "2.13", "onnx": "1.23"}, reason="boom\n  at line 3", repro=["test.py::t[a b]"]
    )
    change = between(before, after).statuses[0]
    assert change.versions == {"torch": ("2.12", "2.13")}
    assert (change.before, change.after, change.reason) == ("supported", "ERROR at export", "boom")
    assert change.repro == ("test.py::t[a b]",)


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({"E": 1e-6}, {"E": 3e-6}, ("E", REGRESSION)),
        ({"E": 3e-6}, {"E": 1e-6}, ("E", PROGRESS)),
        ({"E": 0.0}, {"E": 1e-6}, ("E", REGRESSION)),
        ({"E": 1e-6}, {"E": 1.9e-6}, None),
        ({"E": 0.0}, {"E": 0.0}, None),
        ({"E": 1e-9, "noise_E": 1e-7}, {"E": 9e-8, "noise_E": 1e-7}, None),
        ({"approximation": {"sqnr_db": 40.0}}, {"approximation": {"sqnr_db": 30.0}}, ("sqnr_db", REGRESSION)),
        ({"approximation": {"sqnr_db": 40.0}}, {"approximation": {"sqnr_db": 37.0}}, None),
        ({"worst_steps": 1.0}, {"worst_steps": 4.0}, ("worst_steps", REGRESSION)),
        ({"accuracy": 0.97}, {"accuracy": 0.93}, ("accuracy", REGRESSION)),
    ],
)
def test_numbers_above_the_noise_count(before: Row, after: Row, found: tuple[str, str] | None) -> None:
    changes = between(export(numbers=before), export(numbers=after)).numbers
    assert [(one.measure, one.direction) for one in changes] == ([found] if found else [])


def test_a_ratio_of_errors_is_said_in_decibels_too_and_the_factor_is_the_users() -> None:
    rows = export(numbers={"E": 1e-6}), export(numbers={"E": 1e-5})
    change = between(*rows).numbers[0]
    assert (change.ratio, change.decibels) == (pytest.approx(10), pytest.approx(20))
    assert between(*rows, factor=11).numbers == ()


def test_cells_of_one_run_only_are_listed_and_no_regression() -> None:
    found = compare([header(), export("lstm")], [header(), export("vgg16", status="ERROR")])
    assert [one.cell["model"] for one in found.removed] == ["lstm"]
    assert [(one.cell["model"], one.status) for one in found.added] == [("vgg16", "ERROR")]
    assert (found.regressions, found.paired, found.undecided) == (0, 0, "the two runs have no cell in common")


def test_what_was_declared_the_same_is_the_same() -> None:
    row = declared({"check": "export"}, "Not provided")
    assert (between(row, row).same, between(row, row).statuses) == (1, ())


def test_versions_that_changed_are_named() -> None:
    sides = header(), header(versions={"iree": {"iree-base": "3.12"}}, python="3.12.1")
    found = compare([sides[0]], [sides[1]])
    assert found.versions == {"iree iree-base": ("3.11", "3.12"), "python": ("3.11.7", "3.12.1")}


def test_what_is_worse_comes_first() -> None:
    before = [header(), at("run"), export("vgg16")]
    after = [header(), export(), export("vgg16", status="ERROR")]
    assert [change.direction for change in compare(before, after).statuses] == [REGRESSION, PROGRESS]


@pytest.mark.parametrize(
    ("head", "verdict"),
    [
        (timed(1.10), "slower"),
        (timed(0.90), "faster"),
        (timed(1.02), "same"),
        (timed(launches=[1e-3, 1.2e-3, 0.9e-3, 1.1e-3, 0.8e-3]), "too noisy to say"),
        (timed(1.10, launches=LAUNCHES[:1]), "too noisy to say"),
        (timed(1.10, host="bbb"), "not comparable"),
        (timed(1.10, threads=1), "not comparable"),
    ],
)
def test_times_have_a_verdict(head: Row, verdict: str) -> None:
    found = between(timed(), head)
    (change,) = found.times
    assert change.verdict == verdict, change
    assert found.regressions == (verdict == "slower")
    assert bool(found.undecided) == (verdict in ("too noisy to say", "not comparable"))
    assert bool(change.reason) == bool(found.undecided)
    json.dumps(found.plain(), allow_nan=False)


def test_what_differs_between_two_machines_is_named() -> None:
    facts = {"digest": "aaa", "processor": "Intel 6", "cores": 2}, {"digest": "bbb", "processor": "Intel 7", "cores": 2}
    base, head = ([header(host=one), timed(host=one["digest"])] for one in facts)
    assert compare(base, head).times[0].reason == "host processor: Intel 6 and Intel 7"
    boards = [timed(placement={"board": {"name": name, "kind": "ssh"}}) for name in ("pi-1", "pi-2")]
    assert between(*boards).times[0].reason == "board name: pi-1 and pi-2"


def test_the_calibration_takes_the_drift_of_the_machine_out() -> None:
    drifted = between(timed(calibration=1e-4), timed(1.10, calibration=1.1e-4)).times[0]
    assert drifted.verdict == "same" and drifted.drift == pytest.approx(0.0953, abs=1e-3)
    assert between(timed(calibration=1e-4), timed(1.10, calibration=1e-4)).times[0].verdict == "slower"
    assert between(timed(), timed(1.10, calibration=1.1e-4)).times[0].verdict == "slower", "one alone says nothing"
    lost = between(timed(calibration=1e-4), timed(2.0, calibration=2e-4)).times[0]
    assert lost.verdict == "too noisy to say" and "the machine is in another state" in lost.reason


def test_thresholds_are_those_of_the_marker_then_of_the_last_row_that_selects_the_cell() -> None:
    rows = Thresholds((
        Threshold({"check": ("timing",)}, max_slowdown=0.2),
        Threshold({"compiler": ("onnxruntime",)}, max_slowdown=0.15),
        Threshold({"compiler": ("iree",)}, max_slowdown=0.5),
    ))  # fmt: skip
    assert between(timed(), timed(1.10), thresholds=rows).times[0].verdict == "same"
    assert between(timed(), timed(1.18), thresholds=rows).times[0].verdict == "slower"
    marked = timed(1.10, settings={"max_slowdown": 0.05})
    assert between(timed(), marked, thresholds=rows).times[0].verdict == "slower"


def test_a_time_that_was_measured_in_turn_with_this_base_is_the_answer() -> None:
    said = {
        "run": BASE_RUN, "verdict": "same", "d": 0.001, "half_width": 0.01, "launches": 4, "effect": 0.03,
        "base": {"median": 1e-3}, "head": {"median": 1e-3},
    }  # fmt: skip
    assert between(timed(), timed(1.1, against=said)).times[0].verdict == "same"
    assert between(timed(), timed(1.1, against=said)).times[0].how == "in turn"
    assert between(timed(), timed(1.1, against={**said, "run": "another"})).times[0].verdict == "slower"


def test_no_times_are_compared_where_nobody_wants_them() -> None:
    assert between(timed(), timed(1.10), timed=False).times == ()


@pytest.mark.parametrize(("after", "direction"), [(1001, REGRESSION), (999, PROGRESS), (1000, None)])
def test_instructions_are_compared_exactly(after: int, direction: str | None) -> None:
    found = between(*(_counted(count) for count in (1000, after)))
    assert [(one.measure, one.direction) for one in found.counts] == (
        [("instructions", direction)] if direction else []
    )


def test_bytes_may_grow_as_far_as_a_threshold_says() -> None:
    rows = Thresholds((Threshold({"check": ("timing",)}, max_growth=0.1),))
    before, after = (equivalence(check="timing", artefacts={"memory": {"flash_bytes": size}}) for size in (1000, 1100))
    assert between(before, after).counts[0].measure == "flash_bytes"
    assert between(before, after, thresholds=rows).counts == ()


def test_counts_of_another_board_are_no_regression() -> None:
    found = between(_counted(1000), _counted(2000, name="other"))
    assert found.counts[0].direction == OTHER and "board name" in found.counts[0].reason


def _counted(count: int, name: str = "m3") -> Row:
    place = {"timing": "emulated", "board": {"name": name, "kind": "uart"}}
    return equivalence(check="timing", numbers={"timing": {"instructions": {"median": count}}}, placement=place)
