"""Rows as lines of tables: nothing is lost, whatever a row holds, and every column has the type that is declared."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench_plugin.domain.errors import UsageError
from bench_plugin.results.checking.reading import with_run
from bench_plugin.results.numbers import NUMBERS
from bench_plugin.results.tables.columns import CELLS, OF_KIND, SCALARS, TABLES, Type
from bench_plugin.results.tables.files import read_csv, read_parquet, write_tables
from bench_plugin.results.tables.flat import TOP, line_of, row_of
from tests.results.nights import axes, decided, failed, header, night, passed, timed

TEXTS = st.text(max_size=6) | st.sampled_from(["", "NULL", "null", 'a "quoted", text', "line\nbreak", "\x00", "\ud800"])
NUMBERS_OF_ROWS = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS_OF_ROWS | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
KEYS = sorted({"check", *(column.key for columns in TOP.values() for column in columns)} - {"kind", "run"})
AXES_OF_ROWS = st.fixed_dictionaries(
    {"check": st.sampled_from(["export", "timing", "none such"])},
    optional=dict.fromkeys(("model", "opset", "precision", "new_axis"), ANYTHING),
)
MEASURED = st.dictionaries(st.sampled_from([one.name for one in NUMBERS]) | st.text(max_size=3), ANYTHING, max_size=4)
ROWS = st.builds(
    lambda kind, rest, more, cell, numbers: {
        **rest, **more, "kind": kind, "run": "r1", **({"cell": cell} if kind in ("declared", "cell") else {}),
        **({"numbers": numbers} if numbers is not None else {}),
    },
    st.sampled_from(sorted(TOP)), st.dictionaries(st.sampled_from(KEYS), ANYTHING, max_size=5),
    st.dictionaries(st.text(max_size=4).filter(lambda key: key not in ("kind", "run", "cell")), ANYTHING, max_size=2),
    AXES_OF_ROWS, st.none() | MEASURED,
)  # fmt: skip
WHOLE = [
    *night(1, passed(axes(), E=1e-7, M=0, outputs=[{"name": "out0"}]), failed(axes("vgg"), reason=""),
           decided(axes("b")), timed(axes(), 0.002), licence="CC-BY-4.0"),
    *night(2, failed(axes(), known=True), passed(axes("vgg"), deterministic=True)),
]  # fmt: skip


@given(st.lists(ROWS, min_size=1, max_size=4))
def test_any_row_comes_back_from_its_line(rows: list[dict[str, Any]]) -> None:
    for number, row in enumerate(rows, 1):
        line = line_of(row, {}, number)
        assert row_of(json.loads(json.dumps(line))) == row
        for column in OF_KIND[row["kind"]].columns:
            value = line.get(column.name)
            kinds = {Type.TEXT: str, Type.JSON: str, Type.WHOLE: int, Type.NUMBER: int | float, Type.BOOLEAN: bool}
            assert value is None or isinstance(value, kinds[column.type])


@pytest.mark.parametrize(("form", "read"), [("parquet", read_parquet), ("csv", read_csv)])
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(ROWS, min_size=1, max_size=4))
def test_any_rows_come_back_from_files(tmp_path: Path, form: Any, read: Any, rows: list[dict[str, Any]]) -> None:
    write_tables(rows, tmp_path, form)
    assert read(tmp_path) == rows


@pytest.mark.parametrize(("form", "read"), [("parquet", read_parquet), ("csv", read_csv)])
def test_half_a_character_of_a_header_is_no_obstacle_to_the_cells_behind_it(
    tmp_path: Path, form: Any, read: Any
) -> None:
    header = {"kind": "header", "run": "r1", "bench_plugin": "\ud800"}
    rows = [header, {"kind": "cell", "run": "r1", "cell": {"check": "export"}}]
    write_tables(rows, tmp_path, form)
    assert read(tmp_path) == rows


@pytest.mark.parametrize(("form", "read"), [("parquet", read_parquet), ("csv", read_csv)])
def test_whole_rows_come_back_and_leave_nothing_behind(tmp_path: Path, form: Any, read: Any) -> None:
    written = write_tables(WHOLE, tmp_path, form)
    assert read(tmp_path) == WHOLE
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(f"{table.name}.{form}" for table in TABLES)
    assert set(written) == {table.name for table in TABLES}


def test_rows_of_this_version_need_no_column_for_the_rest() -> None:
    assert [line_of(row, {}, 1)["more"] for row in WHOLE] == [None] * len(WHOLE)


def test_a_value_stands_in_the_column_of_its_key_with_where_it_comes_from() -> None:
    about = {"started": "2026-11-01T02:00:00Z", "commit": "c1", "licence": "CC-BY-4.0", "contributor": "a lab"}
    also = {"numbers_E": 1e-7, "p50": 0.002, "place": "abcdef012345"}
    line = line_of(timed(axes(precision="fp16"), 0.002) | {"run": "r1"}, about, 7)
    said = {"line": 7, "run": "r1", "model": "lstm", "opset": 17, "precision": "fp16", "status": "supported",
            "commit": "c1", "licence": "CC-BY-4.0", **also}  # fmt: skip
    assert {name: line[name] for name in said} == said
    assert json.loads(line["timings"]) == {"compile": 1.5, "run": 0.25}
    assert set(json.loads(line["numbers"])) == {"timing", "series"}


@pytest.mark.parametrize(
    ("more", "place", "p50"),
    [
        ({}, "abcdef012345", 0.002),
        ({"settings": {"threads": 4}}, "abcdef012345 threads=4", 0.002),
        ({"placement": {"board": {"name": "rpi", "machine_id": "m1"}}}, "m1", 0.002),
        ({"placement": {"board": {"name": "rpi"}, "timing": "emulated"}}, "rpi", None),
    ],
)
def test_the_place_of_a_time_says_what_it_compares_with(more: dict[str, Any], place: str, p50: float | None) -> None:
    line = line_of(timed(axes(), 0.002, **more) | {"run": "r1"}, {}, 1)
    assert (line["place"], line["p50"]) == (place, p50)


def test_the_smaller_tables_have_a_line_for_each_stage_timing_and_series(tmp_path: Path) -> None:
    import duckdb

    written = write_tables(WHOLE, tmp_path, "csv")
    stages = duckdb.sql(f"SELECT stage, seconds, peak_bytes FROM '{written['stages']}' WHERE cell LIKE '%timing%'")
    assert stages.fetchall() == [("compile", 1.5, 1000), ("run", 0.25, None), ("check", None, 2000)]
    timings = duckdb.sql(f"SELECT p50, p90, median, launches, emulated FROM '{written['timings']}'")
    assert timings.fetchall() == [(0.002, 0.0025, pytest.approx(0.00202), 5, False)]
    assert duckdb.sql(f"SELECT name, file, mean, hz FROM '{written['series']}'").fetchall() == [
        ("cpu", "series/abc.npy", 50.0, 5.0)
    ]


def test_rows_of_older_versions_get_the_run_of_the_header_above_them() -> None:
    rows = [header(1), passed(axes()), header(2), passed(axes())]
    runs = [row["run"] for row in with_run(rows, "stem")]
    assert runs == [header(1)["run"]] * 2 + [header(2)["run"]] * 2
    assert [row["run"] for row in with_run([passed(axes())], "stem")] == ["stem"]


def test_every_scalar_that_is_declared_is_a_number_of_rows() -> None:
    assert set(SCALARS) <= {one.name for one in NUMBERS}


def test_a_column_is_declared_once() -> None:
    for table in TABLES:
        names = [column.name for column in table.columns]
        assert len(names) == len(set(names)), table.name
    assert {"line", "cell", "run", "more"} <= {column.name for column in CELLS.columns}


def test_an_export_of_an_older_version_lacks_columns_and_its_rows_the_keys(tmp_path: Path) -> None:
    import duckdb

    write_tables(WHOLE, tmp_path, "parquet")
    older = f"SELECT * EXCLUDE (opset, settings, numbers_M) FROM read_parquet('{tmp_path}/cells.parquet')"
    duckdb.sql(f"COPY ({older}) TO '{tmp_path}/older.parquet' (FORMAT parquet)")
    (tmp_path / "older.parquet").replace(tmp_path / "cells.parquet")
    rows = read_parquet(tmp_path)
    assert [row["status"] for row in rows if row["kind"] == "cell"] == [
        row["status"] for row in WHOLE if row["kind"] == "cell"
    ]
    assert not any("settings" in row or "opset" in row.get("cell", {}) for row in rows)


SPOILT = {
    "line::VARCHAR || 'x' AS line": "cells.parquet: not a table that bench export wrote: Conversion Error",
    "'{' AS more": "a line of its tables is none that bench export wrote: JSONDecodeError",
    """'{"rest": {"a": NaN}}' AS more""": "NaN is no number of JSON",
    "repeat('[', 100000) AS more": "RecursionError",
    "'sell' AS kind": "a line of its tables is none that bench export wrote: KeyError",
}


@pytest.mark.parametrize("spoilt", SPOILT)
def test_a_hostile_export_is_a_message(tmp_path: Path, spoilt: str) -> None:
    import duckdb

    write_tables(WHOLE, tmp_path, "parquet")
    name = spoilt.rpartition(" AS ")[2]
    rows = f"SELECT * EXCLUDE ({name}), {spoilt} FROM read_parquet('{tmp_path}/cells.parquet')"
    duckdb.sql(f"COPY ({rows}) TO '{tmp_path}/spoilt.parquet' (FORMAT parquet)")
    (tmp_path / "spoilt.parquet").replace(tmp_path / "cells.parquet")
    with pytest.raises(UsageError, match=re.escape(SPOILT[spoilt])):
        read_parquet(tmp_path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("*, 1 AS quantum", "columns that this bench_plugin does not know: quantum; a newer one wrote them"),
        ("* EXCLUDE (run)", "not a table that bench export wrote: it has no column run"),
    ],
)
def test_an_export_of_a_newer_version_is_refused(tmp_path: Path, change: str, said: str) -> None:
    import duckdb

    write_tables(WHOLE, tmp_path, "parquet")
    rows = f"SELECT {change} FROM read_parquet('{tmp_path}/cells.parquet')"
    duckdb.sql(f"COPY ({rows}) TO '{tmp_path}/newer.parquet' (FORMAT parquet)")
    (tmp_path / "newer.parquet").replace(tmp_path / "cells.parquet")
    with pytest.raises(UsageError, match=said):
        read_parquet(tmp_path)


def test_a_number_that_is_not_finite_is_none(tmp_path: Path) -> None:
    import duckdb

    write_tables(WHOLE, tmp_path, "parquet")
    rows = f"SELECT * REPLACE ('NaN'::DOUBLE AS numbers_E) FROM read_parquet('{tmp_path}/cells.parquet')"
    duckdb.sql(f"COPY ({rows}) TO '{tmp_path}/nan.parquet' (FORMAT parquet)")
    (tmp_path / "nan.parquet").replace(tmp_path / "cells.parquet")
    assert {row["numbers"]["E"] for row in read_parquet(tmp_path) if row["kind"] == "cell"} == {None}


@pytest.mark.parametrize(("form", "read"), [("parquet", read_parquet), ("csv", read_csv)])
def test_half_a_character_comes_back(tmp_path: Path, form: Any, read: Any) -> None:
    rows = night(1, failed(axes(), reason="half \ud800 a character"))
    write_tables(rows, tmp_path, form)
    assert read(tmp_path) == rows
