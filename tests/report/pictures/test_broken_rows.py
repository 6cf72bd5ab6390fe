"""A row that is broken, or has NaN where a figure should be, breaks no picture: the others are shown as without it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from bench_plugin.report.entries import entry
from bench_plugin.report.pictures import svg
from bench_plugin.report.pictures.deployment import deployment
from bench_plugin.report.pictures.registry import PICTURES, embedded
from bench_plugin.report.pictures.results import Results
from tests.report.made import Row
from tests.report.pictures.made import TITLES, axes, entries, equivalence, everything, power, quality, timing

JUNK: tuple[Any, ...] = (
    None, float("nan"), float("inf"), -1.0, 0, 10**400, "text", "", True, [], [None, "x", float("nan")], {}, {"x": 1},
)  # fmt: skip
WHOLE = [
    timing(axes("digits", "broken"), numbers=power(1.0, 2.0, 3.0)), quality(axes("digits", "broken"), 0.5),
    equivalence(axes("digits", "broken"), 1e-6, 1e-5),
]  # fmt: skip


def places(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The path of every value below a row's ``cell``, ``numbers`` and the like."""
    for key, inner in value.items() if isinstance(value, dict) else ():
        if (*path, key) not in {
            ("kind",),
            ("status",),
            ("cell", "check"),
            ("cell",),
            ("key",),
            ("schema",),
            ("check",),
        }:
            yield (*path, key)
        yield from places(inner, (*path, key))


def broken(row: Row, path: tuple[str, ...], junk: Any) -> Row:
    """The row with ``junk`` at the path."""
    copy = deepcopy(row)
    inner = copy
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = junk
    return copy


@pytest.mark.parametrize("module", PICTURES, ids=lambda module: module.NAME)
def test_junk_at_any_place_of_a_row_leaves_the_records_of_the_others(module: Any) -> None:
    rows = entries(*(broken(row, ("cell", "compiler"), "tvm") for row in WHOLE), timing(axes(batch=2)))
    expected = [json.dumps(unplaced(record)) for record in module.rows(Results(rows, TITLES))]
    for row in WHOLE:
        for path in places(row):
            for junk in JUNK:
                try:
                    one = entry(broken(row, path, junk))
                except (TypeError, ValueError, AttributeError):
                    continue  # such a row is no entry for anybody
                found = module.rows(Results([*rows, one], TITLES))
                text = json.dumps(found, allow_nan=False)
                assert "Infinity" not in text
                if module.NAME != "funnel":  # that one counts all rows together
                    kept = {json.dumps(unplaced(record)) for record in found}
                    missing = [record for record in expected if record not in kept]
                    assert not missing, (path, junk, missing[:1])


def unplaced(record: dict[str, Any]) -> dict[str, Any]:
    """A record without its place in the picture, and without its label, for which others may take the room."""
    return {
        key: value for key, value in record.items() if not key.endswith("order") and key not in ("label", "frontier")
    }


def test_a_picture_with_broken_rows_is_drawn() -> None:
    rows = everything()
    paths = (("numbers", "timing", "compute", "median"), ("numbers", "timing"), ("cell", "model"))
    for number, junk in enumerate(JUNK):
        rows.append(broken(timing(axes(compiler=f"broken{number}")), paths[number % len(paths)], junk))
    for picture in embedded(entries(*rows), TITLES):
        assert "NaN" not in svg.drawn(picture["specification"], picture["rows"])


def test_the_page_of_a_broken_deployment_is_made() -> None:
    for row in WHOLE:
        for path in places(row):
            for junk in JUNK:
                try:
                    one = entry(broken(row, path, junk))
                except (TypeError, ValueError, AttributeError):
                    continue
                json.dumps(deployment(one).data(), allow_nan=False)
