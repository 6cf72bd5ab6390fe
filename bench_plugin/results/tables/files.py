"""Tables as files, CSV or Parquet, written by DuckDB from lines that are never all in memory; and read back as rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

from bench_plugin.domain.errors import UsageError
from bench_plugin.results.rows import Row
from bench_plugin.results.tables.columns import LOSSLESS, OF_KIND, SERIES, STAGES, TABLES, TIMINGS, Table
from bench_plugin.results.tables.database import Spool, in_memory, literal, names, require_duckdb, typed
from bench_plugin.results.tables.flat import Line, line_of, row_of, series_lines, stage_lines, timing_lines

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
                connection.execute(f"SELECT {names(table.columns)} FROM {_reader(path, table, form)}")
                found = connection.fetchall()
            except duckdb.Error as error:
                raise UsageError(f"{path}: not a table that bench export wrote: {first_line(error)}") from error
            heads = [column.name for column in table.columns]
            lines += (dict(zip(heads, values, strict=True)) for values in found)
    lines.sort(key=lambda line: line["line"] or 0)
    try:
        return [row_of(line) for line in lines]
    except (ValueError, KeyError) as error:
        raise UsageError(f"{folder}: a line of its tables is none that bench export wrote: {error}") from error


def first_line(error: Exception) -> str:
    """What an error of DuckDB says, without the places in a query that follow."""
    return str(error).strip().splitlines()[0]


def _reader(path: Path, table: Table, form: Format) -> str:
    if form == "parquet":
        return f"read_parquet({literal(str(path))})"
    # An empty field is null and a quoted empty one is an empty text.
    return (
        f"read_csv({literal(str(path))}, header=true, delim=',', quote='\"', escape='\"', allow_quoted_nulls=false, "
        f"columns={typed(table.columns)})"
    )


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
