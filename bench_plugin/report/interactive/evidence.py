"""What the page opens for a cell: its row without what is empty or in the table, and the end of a failure's log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench_plugin.report.interactive.items import Item
from bench_plugin.report.interactive.reading import Source
from bench_plugin.report.log_tail import log_tail
from bench_plugin.report.pictures.deployment import deployment
from bench_plugin.report.pictures.traces import MOST, traces
from bench_plugin.results.series import folders

BLOCK = 500  # cells of one block of details, which the page unpacks when one of them is opened
FEWEST_POINTS, ALL_POINTS = 60, 60_000  # of a series; of each series of all cells together, to bound the page
DEPLOYED = ("timing", "series", "power", "confusion", "accuracy", "map")  # numbers of a cell whose deployment is shown
IN_TABLE = frozenset({"schema", "kind", "run", "key", "cell", "check", "reusable", "nodeid"})


def blocks(items: Sequence[Item], sources: Sequence[Source]) -> Iterator[list[dict[str, Any]]]:
    """The details of all cells, in blocks of 500."""
    recorded = sum(bool(one.entry.numbers.get("series")) for one in items)
    points = max(FEWEST_POINTS, min(MOST, ALL_POINTS // max(recorded, 1)))
    with_series = [source.path if has_series(source) else None for source in sources]
    for start in range(0, len(items), BLOCK):
        yield [detail(one, with_series[one.source], points) for one in items[start : start + BLOCK]]


def has_series(source: Source) -> bool:
    """Whether there are side files of series over time beside a results file."""
    return any(folder.is_dir() for folder in folders(source.path))


def detail(one: Item, results: Path | None, points: int = MOST) -> dict[str, Any]:
    """A row without what the table has and without what says nothing, with what it was before and its deployment.

    A series over time keeps at most ``points`` of its values; without ``results`` it has its statistics alone.
    """
    # What is absent or empty says nothing; 0 and False do.
    kept = {key: value for key, value in one.row.items() if key not in IN_TABLE and (value or value == 0)}
    numbers = one.entry.numbers
    kept["numbers"] = {key: value for key, value in numbers.items() if value or value == 0}
    if "series" in kept["numbers"]:
        kept["numbers"]["series"] = {name: _about(series) for name, series in kept["numbers"]["series"].items()}
    if one.moved:
        moved = one.moved
        kept["moved"] = {"word": moved.word, "before": moved.before, "said": moved.said, "versions": moved.versions}
    if any(numbers.get(name) is not None for name in DEPLOYED):
        found = deployment(one.entry, None if results is None else traces(results, one.entry, points))
        kept["deployment"] = {"facts": found.facts, "figures": list(map(vars, found.figures)), "rows": found.rows}
    return kept


def _about(series: Mapping[str, Any]) -> dict[str, Any]:
    """What a row says of a series, without the names of its side files, which the page does not open."""
    return {key: value for key, value in series.items() if key not in ("file", "times")}


def logs(items: Sequence[Item], sources: Sequence[Source]) -> dict[str, str]:
    """The end of the log of every cell that failed, by the path that the row names; logs that are gone are left out."""
    named = {(one.row["log"], one.source) for one in items if one.row.get("log") and one.entry.status != "supported"}
    found = {path: log_tail(path, sources[source].path) for path, source in sorted(named)}
    return {path: text for path, text in found.items() if text}
