"""The grid of generated graphs as data: operators x compilers, from property rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench_plugin.report.entries import Entry, entry, header_of, heading, latest, of_host, partial

CHECK = "property"


@dataclass(frozen=True)
class PropertyGrid:
    """Everything that the page shows; ``cells`` is keyed by operator (or ``graphs``, of several) and compiler."""

    operators: tuple[str, ...]
    compilers: tuple[str, ...]
    headings: Mapping[str, str]
    cells: Mapping[tuple[str, str], Entry]
    entries: tuple[Entry, ...]
    partial: str
    header: Mapping[str, Any]
    notes: tuple[str, ...]

    def of_compiler(self, name: str) -> list[Entry]:
        """The cells of a compiler."""
        return [one for (_, compiler), one in self.cells.items() if compiler == name]


def build_grid(rows: Sequence[Mapping[str, Any]], notes: Sequence[str] = ()) -> PropertyGrid:
    """The property rows of one or several results files."""
    header = header_of(rows)
    entries = [entry(row) for row in of_host(latest(rows, (CHECK,)))]
    cells = {(str(one.cell["model"]), str(one.cell["compiler"])): one for one in entries}
    titles = header.get("titles", {}).get("compilers", {})
    compilers = sorted({compiler for _, compiler in cells})
    return PropertyGrid(
        operators=tuple(sorted({operator for operator, _ in cells})), compilers=tuple(compilers),
        headings={name: heading(name, titles) for name in compilers}, cells=cells, entries=tuple(entries),
        partial=partial(rows), header=header, notes=tuple(notes),
    )  # fmt: skip


def tried(one: Entry) -> int:
    """How many generated graphs were tried."""
    return int(one.numbers.get("tried") or 0)


def agreed(one: Entry) -> int | None:
    """How many of them were within their operators' rules; None in a row of an older version, which does not say."""
    count = one.numbers.get("agreed")
    return None if count is None else int(count)


def few_agree(one: Entry) -> bool:
    """Whether a cell is supported although fewer than half of its graphs agreed: nothing about the others is new."""
    count = agreed(one)
    return one.status == "supported" and count is not None and 2 * count < tried(one)


def out_of_time(one: Entry) -> bool:
    """Whether the search ended with its time, before it had tried all the graphs that it meant to try."""
    return "out of time" in one.flags
