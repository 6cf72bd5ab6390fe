"""The cells that the page shows: of all results files, each once, with what changed since the run before."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench_plugin.report.entries import Entry, Place, entry, place_of
from bench_plugin.report.interactive.changed import BROKE, Changed, Movement
from bench_plugin.report.interactive.reading import Source
from bench_plugin.report.statuses import severity

KEY_LENGTH = 12


@dataclass(frozen=True)
class Item:
    """A cell: ``id`` is its key, or, of a declared one, a hash of its axes; ``source`` is the index of its file."""

    id: str
    entry: Entry
    row: Mapping[str, Any]
    source: int
    moved: Movement | None


def collect(sources: Sequence[Source], changes: Sequence[Changed]) -> tuple[list[Item], int]:
    """The items of all files, the most urgent first, and how many rows others replaced.

    A later row of the same cell on the same host replaces an earlier one: rows of resumed runs, and of several files.
    """
    found: dict[tuple[str, Place], Item] = {}
    count = 0
    for number, (source, changed) in enumerate(zip(sources, changes, strict=True)):
        host = str((source.header.get("host") or {}).get("digest", ""))
        for row in _cells(source):
            place = place_of(row["cell"])
            one = Item(row.get("key") or _id_of(row["cell"]), entry(row), row, number, changed.movements.get(place))
            found[row.get("host") or host, place] = one
            count += 1
    return sorted(found.values(), key=_urgency), count - len(found)


def _urgency(one: Item) -> tuple[bool, bool, int]:
    """What broke comes first, then failures that nobody expected, then the others, the worst status first."""
    broke = one.moved is not None and one.moved.word == BROKE
    return not broke, not one.entry.failed, severity(one.entry.shown)


def _cells(source: Source) -> Iterator[Mapping[str, Any]]:
    return (row for row in source.rows if row["kind"] in ("declared", "cell"))


def _id_of(cell: Mapping[str, Any]) -> str:
    return hashlib.sha256(str(sorted(cell.items())).encode(errors="backslashreplace")).hexdigest()[:KEY_LENGTH]
