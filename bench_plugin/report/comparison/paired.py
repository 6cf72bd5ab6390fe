"""The cells of two runs, paired by their axes, and the versions that differ between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench_plugin.report.entries import Entry, entry
from bench_plugin.results.rows import Row

KINDS = ("declared", "cell")


@dataclass(frozen=True)
class Pair:
    """One cell in both runs: its rows, and these as entries."""

    base: Entry
    head: Entry
    base_row: Row
    head_row: Row

    @property
    def versions(self) -> dict[str, tuple[str, str]]:
        """The versions of the cell's own distributions that differ: (before, after), empty where there was none."""
        return differing(self.base.versions, self.head.versions)


def pairs(base: Sequence[Row], head: Sequence[Row]) -> tuple[list[Pair], list[Entry], list[Entry]]:
    """(cells of both, cells of ``base`` alone, cells of ``head`` alone); a later row of a cell replaces an earlier."""
    old, new = _rows(base), _rows(head)
    both = [Pair(entry(old[place]), entry(row), old[place], row) for place, row in new.items() if place in old]
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


def _rows(rows: Sequence[Row]) -> dict[str, Row]:
    return {str(sorted(row["cell"].items())): row for row in rows if row["kind"] in KINDS}


def _flat(header: Mapping[str, Any]) -> dict[str, str]:
    found = {
        f"{toolchain} {name}": str(version)
        for toolchain, lock in header.get("versions", {}).items() for name, version in lock.items()
    }  # fmt: skip
    own = {name: str(header[name]) for name in ("bench_plugin", "python") if name in header}
    return found | own | {f"machine {name}": str(value) for name, value in header.get("machine", {}).items()}
