"""What changed between two results files, and what of it is for the worse."""

from __future__ import annotations

import json

import pytest

from bench_plugin.report.difference import Difference, by_factor, compare_rows
from tests.report.made import Row, declared, export, header

KNOWN = {"result": "xfailed", "expected": {"reason": "bug"}}


def between(before: Row | None, after: Row | None, factor: float = 2.0) -> Difference:
    sides = [[header(), *([row] if row else [])] for row in (before, after)]
    return compare_rows(sides[0], sides[1], by_factor(factor))


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (export(), export(status="ERROR"), "worse"),
        (export(), export(status="unverified"), "worse"),
        (export(), export(status="mismatch", **KNOWN), "worse"),
        (export(status="mismatch", **KNOWN), export(status="mismatch"), "worse"),
        (export(status="unverified"), export(status="mismatch", **KNOWN), "worse"),
        (export(status="ERROR"), export(), "better"),
        (export(status="ERROR"), export(status="ERROR", **KNOWN), "better"),
        (export(status="ERROR"), export(status="mismatch"), "other"),
        (export(numbers={"E": 1e-6}), export(numbers={"E": 3e-6}), "worse"),
        (export(numbers={"E": 3e-6}), export(numbers={"E": 1e-6}), "better"),
        (export(numbers={"E": 0.0}), export(numbers={"E": 1e-6}), "worse"),
        (None, export(status="ERROR"), "added"),
        (export(), None, "gone"),
    ],
)
def test_a_change_is_judged(before: Row | None, after: Row | None, kind: str) -> None:
    found = between(before, after)
    assert [change.kind for change in found.changes] == [kind]
    assert found.worse == (kind == "worse")
    assert found.same == 0
    json.dumps(found.plain(), allow_nan=False)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (export(), export()),
        (export(numbers={"E": 1e-6}), export(numbers={"E": 1.9e-6})),
        (export(numbers={"E": 0.0}), export(numbers={"E": 0.0})),
        (export(numbers={"E": 1e-9, "noise_E": 1e-7}), export(numbers={"E": 9e-8, "noise_E": 1e-7})),
        (declared({"check": "export"}, "Not provided"), declared({"check": "export"}, "Not provided")),
    ],
)
def test_what_is_the_same_is_no_change(before: Row, after: Row) -> None:
    found = between(before, after)
    assert (found.changes, found.same) == ((), 1)


def test_the_ratio_is_that_of_the_errors_and_the_factor_is_the_users() -> None:
    rows = export(numbers={"E": 1e-6}), export(numbers={"E": 3e-6})
    assert between(*rows).changes[0].ratio == pytest.approx(3.0)
    assert between(*rows, factor=4).changes == ()


def test_versions_that_changed_are_named() -> None:
    sides = header(), header(versions={"iree": {"iree-base": "3.12"}}, python="3.12.1")
    found = compare_rows([sides[0]], [sides[1]], by_factor(2))
    assert found.versions == {"iree iree-base": ("3.11", "3.12"), "python": ("3.11.7", "3.12.1")}


def test_the_worse_comes_first() -> None:
    before = [header(), export("lstm", status="ERROR"), export("vgg16")]
    after = [header(), export("lstm"), export("vgg16", status="ERROR")]
    assert [change.kind for change in compare_rows(before, after, by_factor(2)).changes] == ["worse", "better"]


def test_all_that_differs_as_plain_data() -> None:
    before = [
        header(), export("lstm", numbers={"E": 2e-6}), export("vgg16", status="ERROR", **KNOWN),
        export("gone", numbers={"E": 0.5}, reason="was there"), export("same"),
    ]  # fmt: skip
    after = [
        header(run="run-2", commit="def", machine={"cpu": "Other CPU", "cpus": 2}, versions={"tvm": {"tvm": "1"}}),
        export("lstm", numbers={"E": 4e-6}, reason="worse"), export("vgg16", result="failed"), export("same"),
        export("new", numbers={"E": 0.25}, reason="is new"),
    ]  # fmt: skip
    found = compare_rows(before, after, by_factor(2)).plain()
    axes = {"check": "export", "framework": "pytorch", "exporter": "dynamo", "opset": 17}
    changes = [{**change, "cell": {**change["cell"]}} for change in found.pop("changes")]
    for change in changes:
        del change["key"]
    assert changes == [
        {"kind": "worse", "cell": axes | {"model": "lstm"}, "before": "supported", "after": "supported",
         "error_before": 2e-6, "error_after": 4e-6, "ratio": 2.0, "reason": "worse"},
        {"kind": "worse", "cell": axes | {"model": "vgg16"}, "before": "ERROR (xfailed)", "after": "supported (failed)",
         "error_before": None, "error_after": None, "ratio": None, "reason": ""},
        {"kind": "added", "cell": axes | {"model": "new"}, "before": "no row", "after": "supported",
         "error_before": None, "error_after": 0.25, "ratio": None, "reason": "is new"},
        {"kind": "gone", "cell": axes | {"model": "gone"}, "before": "supported", "after": "no row",
         "error_before": 0.5, "error_after": None, "ratio": None, "reason": "was there"},
    ]  # fmt: skip
    about = {"run": "20261121-204952-1a2b3c", "started": "2026-11-21T20:49:52Z", "commit": "abc123"}
    about["command"] = "pytest suites"
    assert found == {
        "before": about, "after": about | {"run": "run-2", "commit": "def"}, "same": 1, "worse": 2,
        "versions": {"iree iree-base": ["3.11", ""], "machine cpu": ["Some CPU", "Other CPU"], "tvm tvm": ["", "1"]},
    }  # fmt: skip


def test_half_the_error_is_a_movement_and_a_rank_that_nobody_knows_is_in_the_middle() -> None:
    assert between(export(numbers={"E": 4e-6}), export(numbers={"E": 2e-6})).changes[0].kind == "better"
    assert between(export(result="passed"), export(result="rerun")).changes[0].kind == "worse"
    assert between(export(result="rerun", status="ERROR"), export()).changes[0].kind == "better"
