"""What the page opens for a cell: its row without what is empty or in the table, and the end of a failure's log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench_plugin.domain.masking import masked, readable
from bench_plugin.report.interactive.items import Item
from bench_plugin.report.interactive.reading import Source

BLOCK = 500  # cells of one block of details, which the page unpacks when one of them is opened
TAIL = 4000  # bytes of a log
EMPTY: tuple[Any, ...] = ("", [], {})
LOGS = "logs"  # the folder beside a results file; runs of the history share it
IN_TABLE = frozenset({"schema", "kind", "run", "key", "cell", "check", "reusable", "nodeid"})


def blocks(items: Sequence[Item]) -> Iterator[list[dict[str, Any]]]:
    """The details of all cells, in blocks of 500."""
    for start in range(0, len(items), BLOCK):
        yield [detail(one) for one in items[start : start + BLOCK]]


def detail(one: Item) -> dict[str, Any]:
    """A row without what the table has and without what says nothing, and with what it was before."""
    kept = {key: value for key, value in one.row.items() if key not in IN_TABLE and _says(value)}
    kept["numbers"] = {key: value for key, value in (one.row.get("numbers") or {}).items() if _says(value)}
    if "series" in kept["numbers"]:
        kept["numbers"]["series"] = {name: _about(series) for name, series in kept["numbers"]["series"].items()}
    if one.moved:
        kept["moved"] = {"word": one.moved.word, "before": one.moved.before, "E": one.moved.error_before}
    return kept


def _about(series: Mapping[str, Any]) -> dict[str, Any]:
    """What a row says of a series, without the names of its side files, which the page does not open."""
    return {key: value for key, value in series.items() if key not in ("file", "times")}


def logs(items: Sequence[Item], sources: Sequence[Source]) -> dict[str, str]:
    """The end of the log of every cell that failed, by the path that the row names; logs that are gone are left out.

    Logs are what tools printed, so secrets are masked here.
    """
    named = {(one.row["log"], one.source) for one in items if one.row.get("log") and one.entry.status != "supported"}
    found = {path: _tail(path, sources[source].path) for path, source in sorted(named)}
    return {path: text for path, text in found.items() if text}


def _tail(log: str, results: Path) -> str:
    """The last characters of a log, from the folder of logs that belongs to the results file.

    Files elsewhere are not opened, whatever a row says: rows of third parties must not bring files of this machine into
    a page that is published.
    """
    for folder in (results.parent / LOGS, results.parent.parent / LOGS):
        path = folder / Path(log).name
        try:
            with path.open("rb") as file:
                file.seek(max(0, path.stat().st_size - TAIL))
                return masked(readable(file.read().decode("utf-8", "replace")))
        except (OSError, ValueError):
            continue
    return ""


def _says(value: Any) -> bool:
    """Whether a value is neither absent nor empty; 0 and False say something."""
    return value is not None and value not in EMPTY
