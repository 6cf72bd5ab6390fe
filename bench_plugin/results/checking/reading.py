"""Rows of any source: a results file, a folder of such files, or a folder that ``bench export`` wrote as Parquet.

Every row has the id of its run afterwards: those of older versions have it in the header alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from bench_plugin.domain.errors import UsageError
from bench_plugin.results.checking.lines import NotARow, decoded, numbered_lines
from bench_plugin.results.opening import PATTERNS
from bench_plugin.results.rows import KINDS, SCHEMA, Row, of_run
from bench_plugin.results.tables.files import MAIN, read_parquet

Note = Callable[[str], None]


def sources(paths: Iterable[Path]) -> list[Path]:
    """The sources that paths name, each once: results files, and folders of Parquet tables.

    A folder stands for everything below it. Raises UsageError for a path that is nothing of this.
    """
    return list(dict.fromkeys(source for path in paths for source in _sources(path.resolve())))


def read_source(source: Path, note: Note) -> list[Row]:
    """The rows of a source in their order. A line that is cut is left out, and ``note`` is told.

    Raises UsageError for a file that cannot be read, and for what no version of this project writes.
    """
    return read_parquet(source) if source.is_dir() else list(with_run(_rows(source, note), source.stem))


def with_run(rows: Iterable[Row], otherwise: str) -> Iterator[Row]:
    """The rows with the id of their run: their own, that of the header above them, or ``otherwise``."""
    run = otherwise
    for row in rows:
        if row["kind"] == "header":
            run = row.get("run") or otherwise
        yield row if row.get("run") else of_run(row, run)


def _sources(path: Path) -> list[Path]:
    if path.is_file():
        return [path.parent] if path.suffix == ".parquet" else [path]
    if not path.is_dir():
        raise UsageError(f"{path}: there is no such file or folder")
    tables = sorted(found.parent for found in path.rglob(MAIN))
    files = sorted(found for name in PATTERNS for found in path.rglob(name) if not found.name.startswith("."))
    if not tables and not files:
        raise UsageError(
            f"{path}: there is no results file ({' or '.join(PATTERNS)}) and no export ({MAIN}) in this folder"
        )
    return [*tables, *files]


def _rows(path: Path, note: Note) -> Iterator[Row]:
    for line in numbered_lines(path):
        where = f"{path}:{line.number}"
        try:
            row = decoded(line)
        except NotARow as error:
            if str(error).startswith("not "):  # not JSON, not UTF-8: a killed run leaves such a line behind
                note(f"{where}: incomplete or corrupt, and ignored: {error}")
                continue
            raise UsageError(f"{where}: {error}") from error
        if trouble := _trouble(row):
            raise UsageError(f"{where}: {trouble}; bench history check {path} says everything that is wrong")
        yield row


def _trouble(row: Row) -> str:
    """Why a row cannot be used by anything that reads rows; empty where it can."""
    if row.get("kind") not in KINDS:
        return f"not a row of a results file: its kind is {_shown(row.get('kind'))}, and not one of {', '.join(KINDS)}"
    if row.get("schema") != SCHEMA:
        return f"a row of schema {_shown(row.get('schema'))}, this version reads {SCHEMA}"
    if not isinstance(row.get("run", ""), str):
        return f"its run is {_shown(row['run'])}, which is no text"
    if row["kind"] in ("header", "plan"):
        return ""
    cell = row.get("cell")
    if not isinstance(cell, dict) or not isinstance(cell.get("check"), str):
        return "its cell is not the table of its axes"
    return "" if isinstance(row.get("status"), str) else f"its status is {_shown(row.get('status'))}, which is no text"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
