"""The cells of two runs, paired by their axes, and the versions that differ between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bench_plugin.report.entries import Entry, Place, entry, place_of
from bench_plugin.results.rows import Row

KINDS = ("declared", "cell")
# What a change of a cell follows from, beside times: its status, its numbers, its instructions and bytes.
DECIDING = (
    "status", "stage", "symptom", "result", "expected", "key", "numbers", "placement", "artefacts",
)  # fmt: skip


@dataclass(frozen=True)
class Pair:
    """One cell in both runs: its rows, and these as entries, which are made when they are asked for."""

    base_row: Row
    head_row: Row

    @cached_property
    def base(self) -> Entry:
        """The cell in the run before."""
        return entry(self.base_row)

    @cached_property
    def head(self) -> Entry:
        """The cell in the run after it."""
        return entry(self.head_row)

    @property
    def differs(self) -> bool:
        """Whether the rows differ in something that a change could follow from; times are apart."""
        return any(self.base_row.get(name) != self.head_row.get(name) for name in DECIDING)

    @property
    def timed(self) -> bool:
        """Whether the cell was timed in both runs."""
        return all((row.get("numbers") or {}).get("timing") for row in (self.base_row, self.head_row))

    @property
    def versions(self) -> dict[str, tuple[str, str]]:
        """The versions of the cell's own distributions that differ: (before, after), empty where there was none."""
        return differing(self.base.versions, self.head.versions)


def pairs(base: Sequence[Row], head: Sequence[Row]) -> tuple[list[Pair], list[Entry], list[Entry]]:
    """(cells of both, cells of ``base`` alone, cells of ``head`` alone); a later row of a cell replaces an earlier."""
    old, new = _rows(base), _rows(head)
    both = [Pair(old[place], row) for place, row in new.items() if place in old]
    gone = [entry(row) for place, row in old.items() if place not in new]
    added = [entry(row) for place, row in new.items() if place not in old]
    return both, gone, added


def versions_of(base: Mapping[str, Any], head: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """What differs between two headers: locked versions by toolchain, our own, Python's, and of the machine."""
    return differing(_flat(base), _flat(head))


def differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """The values that differ, as texts: (before, after), empty where there is none."""
    names = sorted(set(old) | set(new))
    return {name: (str(old.get(name, "")), str(new.get(name, ""))) for name in names if old.get(name) != new.get(name)}


def _rows(rows: Sequence[Row]) -> dict[Place, Row]:
    return {place_of(row["cell"]): row for row in rows if row["kind"] in KINDS}


def _flat(header: Mapping[str, Any]) -> dict[str, str]:
    found = {
        f"{toolchain} {name}": str(version)
        for toolchain, lock in header.get("versions", {}).items() for name, version in lock.items()
    }  # fmt: skip
    own = {name: str(header[name]) for name in ("bench_plugin", "python") if name in header}
    return found | own | {f"machine {name}": str(value) for name, value in header.get("machine", {}).items()}
