"""The lines of a file of rows, read within bounds: a hostile file costs a message, not memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from bench_plugin.domain.errors import UsageError
from bench_plugin.results.opening import opened

LONGEST = 64 * 2**20  # bytes of a line; the rows of this project have up to 2 MB
DEEPEST = 64  # levels of tables and lists in a row; those of this project have 9
CHUNK = 2**20  # bytes that are skipped at a time in a line that is too long


class NotARow(ValueError):
    """What is wrong with a line, and what would be right."""


@dataclass(frozen=True)
class NumberedLine:
    """A line that is not empty: its number in the file, from 1, and its bytes; None for one that is too long.

    ``ended`` says that it ends with a line break; one that does not may be cut.
    """

    number: int
    data: bytes | None
    ended: bool = True


def numbered_lines(path: Path, longest: int = LONGEST) -> Iterator[NumberedLine]:
    """The lines of a file; at most ``longest`` bytes of it are in memory. Raises UsageError if it cannot be read."""
    try:
        with opened(path) as file:
            number = 0
            while data := file.readline(longest + 1):
                number += 1
                ended = data.endswith(b"\n")
                if len(data) > longest and not ended:
                    while (data := file.readline(CHUNK)) and not data.endswith(b"\n"):
                        pass
                    yield NumberedLine(number, None)
                elif data.strip():
                    yield NumberedLine(number, data, ended)
    except OSError as error:
        raise UsageError(f"{path}: cannot read results: {error.strerror}") from error


def decoded(line: NumberedLine, longest: int = LONGEST) -> dict[str, Any]:
    """The table in a line. Raises NotARow, which says what is wrong."""
    if line.data is None:
        raise NotARow(f"the line is longer than {longest // 2**20} MiB, which no row is")
    try:
        found = msgspec.json.decode(line.data)
    except RecursionError:
        raise NotARow(_too_deep()) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotARow(_not_utf_8(line.data) or _not_json(line.data, str(error))) from error
    if not isinstance(found, dict):
        raise NotARow(f"a {_kind(found)}, where a row is a JSON object with the key kind")
    if line.data.count(b"[") + line.data.count(b"{") > DEEPEST and not _at_most(found, DEEPEST):
        raise NotARow(_too_deep())
    return found


def _not_utf_8(data: bytes) -> str:
    """What is wrong with the bytes themselves, which versions of msgspec say in different ways; empty for nothing."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"not UTF-8: {error.reason} at byte {error.start}; rows are written as UTF-8"
    return ""


def _not_json(data: bytes, said: str) -> str:
    for word in (b"NaN", b"Infinity"):
        if word in data and "invalid character" in said:
            return f"not JSON: {word.decode()} is no number of JSON; write null for a number that is not finite"
    return f"not JSON: {said.removeprefix('JSON is malformed: ')}; a row is one JSON object on one line"


def _too_deep() -> str:
    return f"tables and lists in it are nested more than {DEEPEST} levels deep, which no row is"


def _at_most(value: Any, levels: int) -> bool:
    """Whether tables and lists are nested at most ``levels`` deep."""
    if not isinstance(value, dict | list):
        return True
    items = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(_at_most(item, levels - 1) for item in items)


def _kind(value: Any) -> str:
    return {list: "list", str: "text", bool: "truth value", type(None): "null"}.get(type(value), "number")
