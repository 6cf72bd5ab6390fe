"""The file of the index: its tables, and opening it when several processes want to.

DuckDB lets many processes read a file, or one write it; while one writes, no other can even read. So commands open the
file for as short as they can, wait a bounded time for another one, and then say which process they waited for.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bench_plugin.domain.errors import BenchError, UsageError
from bench_plugin.results.tables.database import CONFIGURATION, require_duckdb
from bench_plugin.results.tables.files import first_line

if TYPE_CHECKING:
    from bench_plugin.results.tables.database import Connection

VERSION = 1  # of the tables below; an index of another version is made again
NAME = "index.duckdb"  # in the folder of the history
WAIT = 10.0  # seconds for which a command waits for another process
LOOK = 0.1  # seconds
LOCKED = re.compile(r"ould not set lock on file(?:.*? held in (?P<program>.*?) ?\(PID (?P<pid>\d+)\))?", re.DOTALL)
NOT_DAMAGE = re.compile(r"Permission denied|No space left|Read-only file system|Too many open files|Is a directory")
SCHEMA = """
CREATE TABLE meta(version INTEGER);
CREATE TABLE sources(path VARCHAR PRIMARY KEY, size BIGINT, changed BIGINT);
CREATE TABLE runs(
    id INTEGER PRIMARY KEY, run VARCHAR UNIQUE, started TIMESTAMP, source VARCHAR, lines INTEGER, planned INTEGER,
    total INTEGER, profile VARCHAR, "commit" VARCHAR, machine VARCHAR, bench_plugin VARCHAR, contributor VARCHAR,
    licence VARCHAR);
CREATE TABLE cells(id INTEGER PRIMARY KEY, cell VARCHAR UNIQUE);
CREATE TABLE versions(id INTEGER PRIMARY KEY, versions VARCHAR UNIQUE);
CREATE TABLE results(
    run INTEGER, started TIMESTAMP, cell INTEGER, status VARCHAR, result VARCHAR, stage VARCHAR, symptom VARCHAR,
    key VARCHAR, reason VARCHAR, E DOUBLE, p50 DOUBLE, instructions BIGINT, place VARCHAR, versions INTEGER);
"""


class IndexInUse(BenchError):
    """Another process has the index open for longer than we waited; the text says which one."""


class IndexDamaged(BenchError):
    """The file is no index, or not any more; the text says how to make it again."""


class IndexFailed(BenchError):
    """The index may not be opened, or could not be read or written then: a full disk, or damage further in."""


class IndexOutdated(BenchError):
    """The index was made by another version of this project; the text says how to make it again."""


@contextmanager
def opened(path: Path, *, write: bool = False, wait: float = WAIT) -> Iterator[Connection]:
    """The index, to be read or written; a new one is made where ``write`` finds none.

    Raises UsageError where there is none to read, and for a database of something else, IndexInUse after ``wait``
    seconds, IndexDamaged for a file that is no index, IndexOutdated for one of another version, and IndexFailed where
    it may not be opened or fails later.
    """
    duckdb = require_duckdb()
    if not write and not path.is_file():
        raise UsageError(f"{path}: there is no index yet; bench history index makes it from the rows of runs")
    try:
        connection = _connected(path, write=write, wait=wait)
    except duckdb.Error as error:
        kind = IndexFailed if NOT_DAMAGE.search(str(error)) else IndexDamaged
        raise kind(_unusable(path, error)) from error
    try:
        try:
            _prepare(connection, path, write=write)
        except duckdb.Error as error:
            raise IndexDamaged(_unusable(path, error)) from error
        try:
            yield connection
        except (duckdb.OperationalError, duckdb.InternalError, duckdb.FatalException) as error:
            raise IndexFailed(_unusable(path, error)) from error
    finally:
        connection.close()


def _unusable(path: Path, error: Exception) -> str:
    return (
        f"{path}: the index cannot be used: {first_line(error)}; bench history index --rebuild makes it again from rows"
    )


def _connected(path: Path, *, write: bool, wait: float) -> Connection:
    """A connection, once no other process is in the way. Raises IndexInUse, and duckdb.Error for a damaged file."""
    duckdb = require_duckdb()
    deadline = time.monotonic() + wait
    while True:
        try:
            return duckdb.connect(str(path), read_only=not write, config=CONFIGURATION)  # type: ignore[no-any-return]
        except duckdb.IOException as error:
            held = LOCKED.search(str(error))
            if held is None:
                raise
            if time.monotonic() > deadline:
                raise IndexInUse(_in_use(path, held, wait)) from error
        time.sleep(LOOK)


def _in_use(path: Path, held: re.Match[str], wait: float) -> str:
    by = f"process {held['pid']} ({Path(held['program']).name})" if held["pid"] else "another process"
    return (
        f"{path}: {by} has the index open, also after {wait:g} s; while one process writes it no other can read it, "
        "and while one reads it none can write. Try again when that process is over"
    )


def _prepare(connection: Connection, path: Path, *, write: bool) -> None:
    """Make the tables of a new index. Raises IndexOutdated for those of another version, UsageError for others."""
    tables = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    if not tables and write:
        connection.execute(f"BEGIN; {SCHEMA} INSERT INTO meta VALUES ({VERSION}); COMMIT")
        return
    if "meta" not in tables:
        raise UsageError(
            f"{path}: a DuckDB database, and not an index of bench history; name another file with --index"
        )
    found = connection.execute("SELECT version FROM meta").fetchone()
    if found is None or found[0] != VERSION:
        version = found[0] if found else "none"
        raise IndexOutdated(
            f"{path}: an index of version {version}, and this bench_plugin makes version {VERSION}; "
            "bench history index --rebuild makes it again from rows"
        )


@contextmanager
def replacement(path: Path) -> Iterator[Path]:
    """The place of a new index, which takes the place of the old one when it is whole, in one step."""
    new = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        yield new
        os.replace(new, path)
        with suppress(FileNotFoundError):  # that of the old file, which says nothing about the new one
            log_of(path).unlink()
    finally:
        for part in (new, log_of(new)):
            part.unlink(missing_ok=True)


def log_of(path: Path) -> Path:
    """The file beside an index with what a killed process had written; DuckDB applies it at the next opening."""
    return path.with_name(f"{path.name}.wal")
