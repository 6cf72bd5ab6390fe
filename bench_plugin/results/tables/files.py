"""Tables as files, CSV or Parquet, written by DuckDB from lines that are never all in memory; and read back as rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bench_plugin.domain.errors import UsageError
from bench_plugin.results.rows import Row
from bench_plugin.results.tables.columns import (
    LOSSLESS,
    OF_KIND,
    SERIES,
    STAGES,
    TABLES,
    TIMINGS,
    WHERE,
    Column,
    Table,
    Type,
)
from bench_plugin.results.tables.database import SQL, Spool, in_memory, literal, names, require_duckdb
from bench_plugin.results.tables.flat import Line, line_of, row_of, series_lines, stage_lines, timing_lines

if TYPE_CHECKING:
    from bench_plugin.results.tables.database import Connection

Format = Literal["csv", "parquet"]
FORMATS: Mapping[Format, str] = {
    "csv": "FORMAT csv, HEADER, DELIMITER ','",
    "parquet": "FORMAT parquet, COMPRESSION zstd",
}
MAIN = "cells.parquet"  # a folder with this file is an export
PARTIAL = ".partial"


def provenance(header: Mapping[str, Any]) -> Line:
    """The columns of a cell that its run's header says (columns.PROVENANCE)."""
    machine = header.get("machine")
    return {
        name: value if isinstance(value := header.get(name), str) else None
        for name in ("started", "commit", "bench_plugin", "contributor", "licence")
    } | {"machine": _machine(machine if isinstance(machine, Mapping) else {}) or None}


def write_tables(rows: Iterable[Row], folder: Path, form: Format, tables: Iterable[Table] = TABLES) -> dict[str, Path]:
    """Write the tables of rows into a folder, one file each; returns the files by the names of their tables.

    Every file is written beside its place and then moved there. Each row must have its run, and its header before it.
    Raises OSError, and EnvironmentMissing without DuckDB.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        spools = {table.name: stack.enter_context(Spool(table.columns)) for table in tables}
        for name, line in _lines(rows):
            if name in spools:
                spools[name].add(line)
        connection = stack.enter_context(in_memory())
        written = {name: folder / f"{name}.{form}" for name in spools}
        for name, path in written.items():
            partial = path.with_name(f"{path.name}.{os.getpid()}{PARTIAL}")
            try:
                connection.execute(
                    f"COPY (SELECT {names(spools[name].columns)} FROM {spools[name].source()}) "
                    f"TO {literal(str(partial))} ({FORMATS[form]})"
                )
                partial.replace(path)
            finally:
                partial.unlink(missing_ok=True)
        return written


def read_parquet(folder: Path) -> list[Row]:
    """The rows of an export as Parquet, in their order. Raises UsageError for files that are not such an export."""
    return _read(folder, "parquet")


def read_csv(folder: Path) -> list[Row]:
    """The rows of an export as CSV, in their order. Raises UsageError for files that are not such an export."""
    return _read(folder, "csv")


def _read(folder: Path, form: Format) -> list[Row]:
    duckdb = require_duckdb()
    lines: list[Line] = []
    with in_memory() as connection:
        for table in LOSSLESS:
            path = folder / f"{table.name}.{form}"
            try:
                lines += read_table(connection, path, table.columns)
            except duckdb.Error as error:
                raise UsageError(f"{path}: not a table that bench export wrote: {first_line(error)}") from error
    lines.sort(key=lambda line: line["line"] or 0)
    try:
        return [row_of(line) for line in lines]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(f"{folder}: a line of its tables is none that bench export wrote: {error!r}") from error


def read_table(connection: Connection, path: Path, columns: Iterable[Column]) -> list[Line]:
    """The lines of a table. A column that a file of an older version does not have is absent.

    Raises duckdb.Error for a file that is no such table, and UsageError for one of a newer version.
    """
    known = {column.name: column for column in columns}
    there = [name for name in heads_of(connection, path) if name in known]
    values = ", ".join(select(known[name]) for name in there)
    found = connection.execute(f"SELECT {values} FROM {reader(path)}").fetchall()
    return [dict(zip(there, line, strict=True)) for line in found]


def heads_of(connection: Connection, path: Path) -> list[str]:
    """The columns of a table. Raises duckdb.Error, and UsageError where one of them is not of this version."""
    heads = [line[0] for line in connection.execute(f"DESCRIBE SELECT * FROM {reader(path)}").fetchall()]
    (table,) = (table for table in TABLES if table.name == path.stem)
    names = {column.name for column in table.columns}
    if newer := sorted(set(heads) - names):
        raise UsageError(
            f"{path}: columns that this bench_plugin does not know: {', '.join(newer[:5])}; a newer one wrote them"
        )
    if missing := sorted({column.name for column in WHERE} & names - set(heads)):
        raise UsageError(f"{path}: not a table that bench export wrote: it has no column {missing[0]}")
    return heads


def select(column: Column) -> str:
    """A column in its declared type, whatever the file has; a number that is not finite is none."""
    value = f'CAST("{column.name}" AS {SQL[column.type]})'
    value = f"if(isfinite({value}), {value}, NULL)" if column.type is Type.NUMBER else value
    return f'{value} AS "{column.name}"'


def reader(path: Path) -> str:
    """What stands behind FROM to read a table; in CSV, an empty field is null and a quoted one an empty text."""
    if path.suffix == ".parquet":
        return f"read_parquet({literal(str(path))})"
    return (
        f"read_csv({literal(str(path))}, header=true, delim=',', quote='\"', escape='\"', allow_quoted_nulls=false, "
        "all_varchar=true)"
    )


def first_line(error: Exception) -> str:
    """What an error of DuckDB says, without the places in a query that follow."""
    return str(error).strip().splitlines()[0]


def _lines(rows: Iterable[Row]) -> Iterator[tuple[str, Line]]:
    """(table, line) of every row, and of what its smaller tables hold."""
    about: dict[str, Line] = {}
    for number, row in enumerate(rows, 1):
        run, kind = row["run"], row["kind"]
        if kind == "header":
            about[run] = provenance(row)
        yield OF_KIND[kind].name, line_of(row, about.get(run, {}), number)
        if kind == "cell":
            yield from ((STAGES.name, line) for line in stage_lines(row))
            yield from ((TIMINGS.name, line) for line in timing_lines(row))
            yield from ((SERIES.name, line) for line in series_lines(row, SERIES.columns))


def _machine(machine: Mapping[str, Any]) -> str:
    cpus = machine.get("cpus")
    parts = (machine.get("cpu"), machine.get("architecture"), f"{cpus} cores" if cpus else "")
    return ", ".join(str(part) for part in parts if part)
