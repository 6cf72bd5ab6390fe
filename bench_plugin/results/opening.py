"""Opening files of rows: as a run writes them (``*.jsonl``), or kept compressed with gzip (``*.jsonl.gz``).

A run appends to its file, so that it only ever writes the first kind.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

COMPRESSED = ".gz"
PATTERNS = ("*.jsonl", f"*.jsonl{COMPRESSED}")  # names of files of rows in a folder


def is_compressed(path: Path) -> bool:
    """Whether the name says that the rows are compressed."""
    return path.suffix == COMPRESSED


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The bytes of the lines of a file of rows.

    Raises OSError, whose ``strerror`` says so for a compressed file that is damaged, or ends before its end.
    """
    if not is_compressed(path):
        with path.open("rb") as plain:
            yield plain
        return
    try:
        with gzip.open(path, "rb") as file:
            yield cast(BinaryIO, file)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise OSError(0, f"it is no whole gzip file ({error}); fetch or compress it again", str(path)) from error


@contextmanager
def written(path: Path) -> Iterator[BinaryIO]:
    """A new file of rows for its bytes; the same rows always give the same bytes. Raises OSError."""
    with path.open("wb") as plain:
        if not is_compressed(path):
            yield plain
            return
        with gzip.GzipFile(filename="", mode="wb", fileobj=plain, mtime=0) as file:
            yield cast(BinaryIO, file)


def replace_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write a file of rows in one step, so that a reader sees the old file or the new one. Raises OSError."""
    partial = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        with written(partial) as file:
            file.writelines(f"{json.dumps(row, allow_nan=False)}\n".encode() for row in rows)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
