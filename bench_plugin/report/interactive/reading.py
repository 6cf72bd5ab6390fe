"""Results files read quickly, with their remarks, and the earlier run that each of them is compared with."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from bench_plugin.domain.texts.masking import readable
from bench_plugin.report.earlier import beside
from bench_plugin.report.entries import header_of
from bench_plugin.results.opening import opened
from bench_plugin.results.rows import Row, finite, read_rows

PLAN_WITHIN = 3  # lines at the head of a results file, among which its plan is


@dataclass(frozen=True)
class Source:
    """A results file: its rows, its first header, remarks of the reader, and the run before it.

    ``previous`` is None where there is no run to compare with, and ``why_not`` then says why.
    """

    path: Path
    rows: Sequence[Row]
    header: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    previous: Source | None = None
    why_not: str = ""

    @property
    def name(self) -> str:
        """How the page calls the run: its id, else the name of its file."""
        return str(self.header.get("run") or self.path.stem)


def read_source(path: Path) -> Source:
    """A results file. Raises UsageError for one that is missing, empty, or no results file."""
    found = read_rows(path, loads)
    return Source(path, found.rows, header_of(found.rows), found.notes)


def with_previous(source: Source, against: Path | None) -> Source:
    """The source with the run before it: ``against``, else the newest earlier run of the same selection beside it."""
    if against is not None:
        return replace(source, previous=read_source(against))
    earlier = beside(source.path).paths
    wanted = _selections(source.rows)
    for path in earlier:
        if wanted & _selections(_first_rows(path)):
            return replace(source, previous=read_source(path))
    what = f"none of {len(earlier)} earlier runs selected the same cells" if earlier else "there is no earlier run"
    return replace(source, why_not=f"{what} in {source.path.parent / 'history'}; --against RUN names one")


def loads(text: bytes) -> Any:
    """One JSON value. What orjson refuses (NaN, half a character) is read as other commands read it, and made clean.

    Raises ValueError for what is no JSON.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return _clean(finite(json.loads(text)))


def _clean(value: Any) -> Any:
    """Half a character becomes its escape, in keys too."""
    if isinstance(value, str):
        return readable(value)
    if isinstance(value, Mapping):
        return {readable(key): _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list) else value


def _selections(rows: Sequence[Mapping[str, Any]]) -> set[str]:
    """What a run selected, in two ways: the hash of its cells, and what it was asked for.

    The second finds the run of the night before when a model or a compiler was added since.
    """
    plans = [row for row in rows if row["kind"] == "plan"]
    hashes = {str(plan["hash"]) for plan in plans if plan.get("hash")}
    return hashes | {json.dumps(plan["selection"], sort_keys=True) for plan in plans if plan.get("selection")}


def _first_rows(path: Path) -> list[Row]:
    """The first rows of a file, among which is its plan; none of a file that cannot be read."""
    try:
        with opened(path) as file:
            rows = [loads(line) for line in (file.readline() for _ in range(PLAN_WITHIN)) if line.strip()]
    except (OSError, ValueError):
        return []
    return [row for row in rows if isinstance(row, dict) and "kind" in row]
