"""The trend of cells over runs as plain data, for pages and terminals: times, errors and statuses, run by run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from bench_plugin.results.index.queries import RANKED
from bench_plugin.results.index.store import WAIT, opened

if TYPE_CHECKING:
    from bench_plugin.results.tables.database import Connection

TREND = """
WITH ranked AS ({ranked})
SELECT cells.cell, list(runs.run ORDER BY ranked.turn), list(runs.started ORDER BY ranked.turn),
       list(status ORDER BY ranked.turn), list(E ORDER BY ranked.turn), list(p50 ORDER BY ranked.turn),
       list(instructions ORDER BY ranked.turn),
       list(coalesce(results.place, '') ORDER BY ranked.turn) AS places
FROM results JOIN ranked USING (run) JOIN runs ON runs.id = results.run JOIN cells ON cells.id = results.cell
WHERE results.cell IN (SELECT id FROM cells WHERE cell IN (SELECT unnest($cells)))
GROUP BY cells.cell ORDER BY cells.cell
"""
LAST = 60  # runs in which the times are looked for that moved most
MOVED = """
WITH ranked AS (SELECT * FROM ({ranked}) ORDER BY turn DESC LIMIT $last), timed AS (
    SELECT cell, results.place, coalesce(p50, instructions) AS time, ranked.turn AS n
    FROM results JOIN ranked USING (run) WHERE coalesce(p50, instructions) > 0),
latest AS (SELECT cell, arg_max(place, n) AS place FROM timed GROUP BY cell),
moved AS (
    SELECT cell, count(*) AS runs, arg_max(time, n) / median(time) AS ratio
    FROM timed SEMI JOIN latest USING (cell, place) GROUP BY cell)
SELECT cells.cell FROM moved JOIN cells ON cells.id = moved.cell WHERE runs > 1
ORDER BY abs(ln(ratio)) DESC, cells.cell LIMIT $most
"""


@dataclass(frozen=True)
class Trend:
    """A cell over runs, oldest first; every list has an item for each run that has the cell.

    ``started`` is the begin of a run (UTC, ISO 8601, empty where it is not known), ``E`` the error, ``p50`` the median
    time in seconds, and ``instructions`` their number; None where a run has none. ``place`` is what a time was
    measured on: times compare only where it is equal.
    """

    cell: str
    run: list[str]
    started: list[str]
    status: list[str]
    E: list[float | None]
    p50: list[float | None]
    instructions: list[int | None]
    place: list[str]

    def plain(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self) | {"ratio": self.ratio}

    @property
    def comparable(self) -> list[float]:
        """The times, or else the instructions, that were measured where the newest one was; oldest first."""
        times = [*zip(self.place, self.p50, self.instructions, strict=True)]
        measured = [(place, p50 if p50 is not None else counted) for place, p50, counted in times]
        newest = next((place for place, time in reversed(measured) if time is not None), None)
        return [float(time) for place, time in measured if time is not None and place == newest]

    @property
    def ratio(self) -> float | None:
        """The newest time over the median of the comparable ones; None where there are not two of them."""
        times = self.comparable
        return times[-1] / middle if len(times) > 1 and (middle := median(times)) else None


def trends(index: Path, cells: Sequence[str], wait: float = WAIT) -> dict[str, Trend]:
    """The trends of cells, by their canonical texts (results/identity.py); cells that no run has are absent.

    Raises what :func:`bench_plugin.results.index.store.opened` raises.
    """
    with opened(index, wait=wait) as connection:
        return {one.cell: one for one in trends_of(connection, cells)}


def trends_of(index: Connection, cells: Sequence[str]) -> list[Trend]:
    """The trends of cells, by their canonical texts, from an index that is open."""
    lines = index.execute(TREND.format(ranked=RANKED), {"cells": list(cells)}).fetchall()
    return [
        Trend(cell, run, [f"{one:%Y-%m-%dT%H:%M:%SZ}" if one else "" for one in started], *lists)
        for cell, run, started, *lists in lines
    ]


def moved_most(index: Connection, most: int, last: int = LAST) -> list[str]:
    """The cells whose newest time in the last runs is farthest from the median of the comparable ones there."""
    values = {"most": most, "last": last}
    return [cell for (cell,) in index.execute(MOVED.format(ranked=RANKED), values).fetchall()]
