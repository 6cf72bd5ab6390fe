"""The columns of the page's table: texts as codes of a sorted dictionary, numbers with five digits."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench_plugin.report.figures import median_seconds, metric_lost
from bench_plugin.report.interactive.changed import WORDS
from bench_plugin.report.interactive.items import Item
from bench_plugin.report.parts import first_line
from bench_plugin.report.statuses import ORDER

DIGITS = 5
# Axes that every page names first, in this order; those that other checks have follow them.
AXES = (
    "check", "model", "framework", "exporter", "opset", "importer_framework", "importer", "compiler", "precision",
    "target", "batch", "threads", "streams", "mode", "graph",
)  # fmt: skip
TITLES = {"importer_framework": "into", "cell": "cell"}


@dataclass(frozen=True)
class Text:
    """A column of words; ``order`` is the sense of sorting, most urgent first, where it is not that of the words."""

    id: str
    title: str
    of: Callable[[Item], str]
    order: Sequence[str] = ()
    filter: bool = True


@dataclass(frozen=True)
class Number:
    """A column of figures; ``unit`` is what they are in: "", "s", "1/s", "B" or "share"."""

    id: str
    title: str
    unit: str
    of: Callable[[Item], float | None]
    hint: str


def table(items: Sequence[Item], runs: Sequence[str]) -> list[dict[str, Any]]:
    """The columns as plain data for the page; those in which no cell has anything are left out."""
    texts = [
        Text("status", "status", lambda one: one.entry.shown, ORDER),
        Text("change", "change", lambda one: one.moved.word if one.moved else "", (*WORDS, "")),
        *(_axis(axis) for axis in axes(items)),
        Text("category", "category", lambda one: str(one.entry.numbers.get("category") or "")),
        Text("stage", "stage", lambda one: one.entry.stage),
        Text("symptom", "symptom", lambda one: one.entry.symptom or one.entry.unverified),
        Text("result", "pytest", lambda one: one.entry.result or "declared"),
        Text("run", "run", lambda one: runs[one.source]) if len(runs) > 1 else None,
        Text("why", "why", lambda one: first_line(one.entry), filter=False),
    ]
    columns = [_text(column, items) for column in texts if column] + [_number(column, items) for column in NUMBERS]
    return [column for column in columns if column]


def axes(items: Iterable[Item]) -> list[str]:
    """The axes that the cells have, the usual ones first."""
    present = dict.fromkeys(axis for one in items for axis in one.entry.cell)
    return [axis for axis in AXES if axis in present] + [axis for axis in present if axis not in AXES]


def short(value: float | None) -> float | None:
    """A number with five significant digits; None for what JSON has no number for."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.{DIGITS}g}")


def _axis(axis: str) -> Text:
    return Text(axis, TITLES.get(axis, axis.replace("_", " ")), lambda one: _said(one.entry.cell.get(axis)))


def _said(value: Any) -> str:
    return "" if value is None else str(value)


def _text(column: Text, items: Sequence[Item]) -> dict[str, Any] | None:
    """Codes in the order of sorting, so that the page sorts by numbers alone."""
    values = [column.of(one) for one in items]
    words = sorted(set(values), key=_rank(column.order))
    if words in ([], [""]):
        return None
    codes = {word: number for number, word in enumerate(words)}
    same = len(words) == 1 and column.id != "status"  # said once, above the table
    return {
        "id": column.id, "title": column.title, "filter": column.filter, "same": same, "words": words,
        "codes": [codes[value] for value in values],
    }  # fmt: skip


def _rank(order: Sequence[str]) -> Callable[[str], tuple[Any, ...]]:
    known: Mapping[str, int] = {word: number for number, word in enumerate(order)}
    return lambda word: (known.get(word, len(known)), *natural(word))


def natural(word: str) -> tuple[tuple[int, float, str], ...]:
    """A key to sort by with which 9 stands before 17, and the empty text first."""
    parts = re.findall(r"\d+|\D+", word)
    return tuple((0, float(part), "") if part.isdecimal() else (1, 0.0, part.lower()) for part in parts)


def _number(column: Number, items: Sequence[Item]) -> dict[str, Any] | None:
    values = [short(column.of(one)) for one in items]
    if not any(value is not None for value in values):
        return None
    return {"id": column.id, "title": column.title, "unit": column.unit, "hint": column.hint, "values": values}


def _of_numbers(name: str) -> Callable[[Item], float | None]:
    def of(one: Item) -> float | None:
        value = one.entry.numbers.get(name)
        return float(value) if isinstance(value, int | float) else None

    return of


def _throughput(one: Item) -> float | None:
    said = ((one.entry.numbers.get("timing") or {}).get("throughput") or {}).get("per_second")
    return None if said is None else float(said)


def _lost(one: Item) -> float | None:
    return metric_lost(one.entry.numbers)


NUMBERS = (
    Number("E", "E", "", lambda one: one.entry.error, "relative error of the worst output"),
    Number(
        "needed",
        "E / tolerance",
        "",
        lambda one: one.entry.needed,
        "share of the tolerance that was used; above 1 is no agreement",
    ),
    Number("latency", "latency", "s", lambda one: median_seconds(one.entry), "median of the device's time"),
    Number("throughput", "inputs/s", "1/s", _throughput, "inferences in a second, closed loop"),
    Number("accuracy", "accuracy", "share", _of_numbers("accuracy"), "share of the images classified right"),
    Number("map", "mAP", "share", _of_numbers("map"), "mean average precision of a detector, overlaps 0.5 to 0.95"),
    Number("lost", "accuracy lost", "share", _lost, "accuracy, or mAP, of the framework's own model minus this"),
    Number("cost", "cost", "s", lambda one: sum(one.entry.timings.values()) or None, "seconds of all stages"),
    Number("memory", "peak memory", "B", lambda one: max(one.entry.peaks.values(), default=None), "of the worst stage"),
)
