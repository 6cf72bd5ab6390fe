"""DuckDB, which the extra ``history`` brings: connections without a network, and lines put into tables in bulk."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bench_plugin.domain.errors import EnvironmentMissing
from bench_plugin.results.tables.columns import Column, Type

if TYPE_CHECKING:
    import duckdb

    Connection = duckdb.DuckDBPyConnection

SQL: Mapping[Type, str] = {
    Type.TEXT: "VARCHAR", Type.WHOLE: "BIGINT", Type.NUMBER: "DOUBLE", Type.BOOLEAN: "BOOLEAN", Type.JSON: "VARCHAR",
}  # fmt: skip
# Nothing is fetched from a network: what is needed is compiled into the wheel.
CONFIGURATION = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
LARGEST = 2**30  # bytes of one line
ENCODER = json.JSONEncoder(allow_nan=False)


def require_duckdb() -> Any:
    """The module. Raises EnvironmentMissing, with the command that installs it."""
    try:
        import duckdb
    except ImportError as error:
        raise EnvironmentMissing(
            f"DuckDB cannot be imported ({error}); it comes with: pip install 'bench-plugin[history]'"
        ) from error
    return duckdb


@contextmanager
def in_memory() -> Iterator[Connection]:
    """A database that is in memory alone. Raises EnvironmentMissing where there is no DuckDB."""
    connection = require_duckdb().connect(":memory:", config=CONFIGURATION)
    try:
        yield connection
    finally:
        connection.close()


class Spool:
    """Lines of a table in a temporary file, which DuckDB reads a hundred times as fast as it takes a statement each."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = columns
        self._names = frozenset(column.name for column in columns)
        self.count = 0
        self._file = tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="ascii")  # noqa: SIM115

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, line: Mapping[str, Any]) -> None:
        """Add a line; columns that it does not have are empty. Raises ValueError for a number that is not finite."""
        known = {name: value for name, value in line.items() if value is not None and name in self._names}
        self._file.write(ENCODER.encode(known) + "\n")
        self.count += 1

    def source(self) -> str:
        """What stands behind FROM to read the lines, in their order."""
        self._file.flush()
        return (
            f"read_json({literal(self._file.name)}, format='newline_delimited', maximum_object_size={LARGEST}, "
            f"columns={typed(self.columns)})"
        )


def typed(columns: Iterable[Column]) -> str:
    """Columns with their types, as DuckDB's readers take them."""
    return "{" + ", ".join(f"{literal(one.name)}: '{SQL[one.type]}'" for one in columns) + "}"


def names(columns: Iterable[Column]) -> str:
    """The names of columns, for a SELECT."""
    return ", ".join(f'"{one.name}"' for one in columns)


def literal(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"
