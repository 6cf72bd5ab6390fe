"""The form of a specification, with its data by name and inside."""

from __future__ import annotations

from bench_plugin.report.pictures.picture import SCHEMA, vega_lite, with_rows


def test_a_specification_names_its_data_and_takes_them_in() -> None:
    drawing = vega_lite("a line", mark="line", width=3)
    assert drawing == {
        "$schema": SCHEMA, "description": "a line", "data": {"name": "rows"}, "mark": "line", "width": 3,
    }  # fmt: skip
    assert with_rows(drawing, [{"x": 1}, {"x": 2}]) == drawing | {
        "data": {"name": "rows", "values": [{"x": 1}, {"x": 2}]},
    }  # fmt: skip
