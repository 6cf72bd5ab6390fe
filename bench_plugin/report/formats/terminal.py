"""A table for a terminal: aligned columns, in groups that fit its width, coloured where colours are wanted."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TextIO

from bench_plugin.report.blocks import Table, TableCell
from bench_plugin.report.statuses import terminal_colour

GAP = 2
NARROWEST = 12  # of a column whose text is cut
USUAL_WIDTH = 80
CODES = {"green": "32", "red": "31", "yellow": "33", "cyan": "36"}
CHOICES = ("auto", "yes", "no")

Line = list[tuple[str, str]]


def lines(table: Table, width: int = USUAL_WIDTH) -> Iterator[Line]:
    """Lines of (text, colour name) parts, each at most ``width`` characters; a colour of '' is the terminal's own.

    A table that is wider is drawn in several groups of columns, one below the other. Each begins with the columns that
    say what a row is about; rows without anything in a group are left out of it.
    """
    widths = _widths(table, width)
    for number, group in enumerate(_groups(table, widths, width)):
        if number:
            yield []
        yield from _group(table, group, widths)


def wants_colour(stream: TextIO, choice: str = "auto", environment: Mapping[str, str] = os.environ) -> bool:
    """``yes`` or ``no`` when chosen; else NO_COLOR, FORCE_COLOR, and whether the stream is a terminal."""
    if choice != "auto":
        return choice == "yes"
    if environment.get("NO_COLOR"):
        return False
    return bool(environment.get("FORCE_COLOR")) or (stream.isatty() and environment.get("TERM") != "dumb")


def painted(line: Line, coloured: bool) -> str:
    """A line as text, with escape sequences where colours are wanted."""
    parts = [f"\x1b[{CODES[colour]}m{text}\x1b[0m" if coloured and colour else text for text, colour in line]
    return "".join(parts).rstrip()


def _widths(table: Table, width: int) -> list[int]:
    """Of every column: its longest cell and the longest word of its head; a column never exceeds what is left to it."""
    found = []
    for place, head in enumerate(table.heads):
        cells = max((len(row[place].text) for row in table.rows), default=0)
        found.append(max(cells, *(len(word) for word in head.split() or [""])))
    keys = found[: table.keys]
    room = width - GAP * table.keys
    while sum(keys) > room - NARROWEST and max(keys) > NARROWEST:
        keys[keys.index(max(keys))] -= 1
    most = max(room - sum(keys), NARROWEST)
    return [*keys, *(min(one, most) for one in found[table.keys :])]


def _groups(table: Table, widths: Sequence[int], width: int) -> list[list[int]]:
    """The columns of each group, without the key columns."""
    taken = sum(widths[: table.keys]) + GAP * table.keys
    groups: list[list[int]] = [[]]
    used = taken
    for place in range(table.keys, len(table.heads)):
        if groups[-1] and used + widths[place] > width:
            groups.append([])
            used = taken
        groups[-1].append(place)
        used += widths[place] + GAP
    return groups


def _group(table: Table, group: Sequence[int], widths: Sequence[int]) -> Iterator[Line]:
    places = [*range(table.keys), *group]
    heads = [textwrap.wrap(table.heads[place], widths[place]) or [""] for place in places]
    for number in range(max(map(len, heads))):
        words = (head[number] if number < len(head) else "" for head in heads)
        yield [(word.ljust(widths[place] + GAP), "") for word, place in zip(words, places, strict=True)]
    before: tuple[str, ...] = ()
    for row in table.rows:
        if group and all(row[place].text in ("", "–") for place in group):
            continue
        keys = tuple(cell.text for cell in row[: table.keys])
        same = _same(before, keys) if table.keys > 1 else 0
        yield [_part(row[place], widths[place], hidden=place < same) for place in places]
        before = keys


def _same(before: Sequence[str], keys: Sequence[str]) -> int:
    """How many key columns repeat the row above; the last one is always shown."""
    for place, text in enumerate(keys[:-1]):
        if place >= len(before) or before[place] != text:
            return place
    return len(keys) - 1


def _part(cell: TableCell, width: int, *, hidden: bool) -> tuple[str, str]:
    text = "" if hidden else cell.text if len(cell.text) <= width else cell.text[: width - 1] + "…"
    return text.ljust(width + GAP), terminal_colour(cell.status)
