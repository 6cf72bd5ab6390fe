"""Rows into the index, source by source: the rows of a run are replaced in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_plugin.domain.errors import UsageError
from bench_plugin.results.checking.row_types import NOT_RUN
from bench_plugin.results.identity import cell_text
from bench_plugin.results.rows import Row
from bench_plugin.results.tables.columns import CELLS, PLANS, RUNS
from bench_plugin.results.tables.database import Spool, in_memory, require_duckdb
from bench_plugin.results.tables.files import MAIN, first_line, heads_of, provenance, read_table, reader, select
from bench_plugin.results.tables.flat import Line, figures, line_of, row_of

if TYPE_CHECKING:
    from bench_plugin.results.tables.database import Connection

REASON = 300  # characters of a reason in the index; the whole is in the row
# What the index takes of a cell: columns of the table ``cells``, which exports have too.
NAMES = (
    "line", "run", "cell", "key", "status", "result", "stage", "symptom", "reason", "expected", "numbers_E", "p50",
    "instructions", "place", "versions",
)  # fmt: skip
TAKEN = tuple(column for column in CELLS.columns if column.name in NAMES)
DERIVED = frozenset({"line", "cell", "p50", "instructions", "place", "numbers_E"})
# pytest's word; rows of older versions do not say it, but what it followed from.
RESULT = """
CASE WHEN result IS NOT NULL OR key IS NULL THEN result
     WHEN status IN ('ERROR', 'mismatch', 'unsupported') THEN if(expected IS NULL, 'failed', 'xfailed')
     WHEN status = 'supported' THEN if(expected IS NULL, 'passed', 'failed')
     ELSE 'skipped' END
"""
# A row of a cell that no shard computed says nothing of the cell, so the index does not have it.
STAGED = f"""
CREATE OR REPLACE TEMP TABLE staged AS
SELECT run, cell, key, status, {RESULT} AS result, stage, symptom,
       nullif(left(regexp_extract(reason, '\\S[^\\n]*'), {REASON}), '') AS reason,
       numbers_E, p50, instructions, place, versions
FROM {{source}} WHERE status <> '{NOT_RUN}'
QUALIFY row_number() OVER (PARTITION BY run, cell ORDER BY line DESC) = 1
"""
REPLACE = """
BEGIN;
DELETE FROM results WHERE run IN (SELECT runs.id FROM runs JOIN taken USING (run));
DELETE FROM runs WHERE run IN (SELECT run FROM taken);
INSERT INTO runs SELECT id, run, try_cast(started AS TIMESTAMP), source, lines, planned, total, profile, "commit",
    machine, bench_plugin, contributor, licence FROM taken;
INSERT INTO cells SELECT (SELECT coalesce(max(id), 0) FROM cells) + row_number() OVER (ORDER BY cell), cell
    FROM (SELECT DISTINCT cell FROM staged ANTI JOIN cells USING (cell));
INSERT INTO versions SELECT (SELECT coalesce(max(id), 0) FROM versions) + row_number() OVER (ORDER BY versions),
    versions FROM (SELECT DISTINCT versions FROM staged ANTI JOIN versions USING (versions) WHERE versions IS NOT NULL);
INSERT INTO results SELECT runs.id, runs.started, cells.id, status, result, stage, symptom, key, reason, numbers_E,
    p50, instructions, place, versions.id
    FROM staged JOIN taken USING (run) JOIN runs USING (run) JOIN cells USING (cell) LEFT JOIN versions USING (versions)
    ORDER BY runs.id, cells.id;
COMMIT
"""


def put_rows(index: Connection, rows: Sequence[Row], source: Path) -> Mapping[str, int]:
    """Put the rows of a source into the index; returns how many cells of each run were put.

    A run that another source has more cells of stays as it is.
    """
    with Spool(TAKEN) as spool:
        for number, row in enumerate(rows, 1):
            if row["kind"] in ("declared", "cell"):
                spool.add(_taken(row, number))
        index.execute(STAGED.format(source=spool.source()))
    return _replace(index, _described(rows), source)


def put_export(index: Connection, folder: Path) -> Mapping[str, int]:
    """Put an export as Parquet into the index, as :func:`put_rows`. Raises UsageError for files that are no export."""
    duckdb = require_duckdb()
    try:
        rows = _heads(folder)
        there = heads_of(index, folder / MAIN)
        values = ", ".join(select(one) if one.name in there else f'NULL AS "{one.name}"' for one in TAKEN)
        index.execute(STAGED.format(source=f"(SELECT {values} FROM {reader(folder / MAIN)})"))
    except duckdb.Error as error:
        raise UsageError(f"{folder}: not what bench export wrote: {first_line(error)}") from error
    return _replace(index, _described(rows), folder)


def _taken(row: Row, number: int) -> Line:
    """What the index takes of a row, without the work that an export of the whole row is."""
    numbers = row.get("numbers")
    error = numbers.get("E") if isinstance(numbers, dict) else None
    short = {
        "kind": row["kind"], "cell": row["cell"], "numbers": {"E": error},
        **{name: row[name] for name in NAMES if name in row and name not in DERIVED},
    }  # fmt: skip
    return line_of(short, {}, number) | figures(row) | {"cell": cell_text(row["cell"])}


def _heads(folder: Path) -> list[Row]:
    """The headers and plans of an export as Parquet. Raises duckdb.Error for files that are no export."""
    found: list[Line] = []
    with in_memory() as connection:
        for table in (RUNS, PLANS):
            found += read_table(connection, folder / f"{table.name}.parquet", table.columns)
    return [row_of(line) for line in sorted(found, key=lambda line: line["line"])]


def _described(rows: Sequence[Row]) -> Mapping[str, Line]:
    """What the table ``runs`` says of each run that has a header or a plan."""
    found: dict[str, Line] = {}
    for row in rows:
        if row["kind"] == "header":
            found[row["run"]] = provenance(row) | found.get(row["run"], {})
        elif row["kind"] == "plan":
            selection = row.get("selection")
            profile = selection.get("profile") if isinstance(selection, Mapping) else None
            own = {"planned": _whole(row.get("count")), "total": _whole(row.get("total")), "profile": profile}
            found[row["run"]] = found.get(row["run"], {}) | own
    return found


def _replace(index: Connection, about: Mapping[str, Line], source: Path) -> Mapping[str, int]:
    """Replace the runs that are staged; returns the number of cells of those that were."""
    counts = dict(index.execute("SELECT run, count(*) FROM staged GROUP BY run").fetchall())
    known = {run: (lines, path) for run, lines, path in index.execute("SELECT run, lines, source FROM runs").fetchall()}
    runs = [run for run in dict.fromkeys([*about, *counts]) if _counts(known.get(run), counts.get(run, 0), source)]
    index.execute(
        "CREATE OR REPLACE TEMP TABLE taken(id INTEGER, run VARCHAR, source VARCHAR, lines INTEGER, started VARCHAR, "
        'planned INTEGER, total INTEGER, profile VARCHAR, "commit" VARCHAR, machine VARCHAR, bench_plugin VARCHAR, '
        "contributor VARCHAR, licence VARCHAR)"
    )
    first = _single(index.execute("SELECT coalesce(max(id), 0) + 1 FROM runs").fetchone())
    for number, run in enumerate(runs, first):
        said = about.get(run, {})
        values = (said.get(name) for name in ("planned", "total", "profile", "commit", "machine", "bench_plugin",
                                              "contributor", "licence"))  # fmt: skip
        started = said.get("started") or _from_id(run)
        index.execute(
            f"INSERT INTO taken VALUES ({', '.join('?' * 13)})",
            [number, run, str(source), counts.get(run, 0), started, *values],
        )
    try:
        index.execute(REPLACE)
    except require_duckdb().Error:
        index.execute("ROLLBACK")
        raise
    return {run: counts.get(run, 0) for run in runs}


def _counts(known: tuple[int, str] | None, cells: int, source: Path) -> bool:
    """Whether a source's cells of a run are taken: of two sources, the one with more cells of it counts."""
    return known is None or known[1] == str(source) or cells >= known[0]


def _from_id(run: str) -> str | None:
    """The begin of a run that does not say it, from its id: 20261121-204952-1a2b3c."""
    digits = run[:8] + run[9:15]
    if len(run) < 15 or run[8] != "-" or not digits.isdecimal():
        return None
    return f"{run[:4]}-{run[4:6]}-{run[6:8]}T{run[9:11]}:{run[11:13]}:{run[13:15]}Z"


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and abs(value) < 2**31 else None


def _single(row: tuple[Any, ...] | None) -> Any:
    assert row is not None  # an aggregate has one line
    return row[0]
