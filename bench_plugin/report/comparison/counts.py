"""Instructions, flash and RAM of a cell, which are counted and so compared exactly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bench_plugin.domain.thresholds import Thresholds
from bench_plugin.report import figures
from bench_plugin.report.comparison.direction import PROGRESS, REGRESSION
from bench_plugin.report.comparison.likeness import board_differences
from bench_plugin.report.comparison.paired import Pair
from bench_plugin.report.entries import Entry

OTHER = "other"


@dataclass(frozen=True)
class CountChange:
    """A count that changed: ``measure`` is ``instructions`` of one inference, ``flash_bytes``, ``ram_bytes`` or
    ``stack_bytes``. ``direction`` is other where the boards differ, as ``reason`` says.
    """

    measure: str
    direction: str
    cell: Mapping[str, Any]
    before: int
    after: int
    reason: str
    key: str
    versions: Mapping[str, tuple[str, str]]


def changes(pair: Pair, thresholds: Thresholds) -> Iterator[CountChange]:
    """The counts of a cell that grew by more than its threshold, which is 0 as a rule, or shrank."""
    old, new = _counted(pair.base), _counted(pair.head)
    if old == new:
        return
    reason = board_differences(pair)
    growth = thresholds.growth(pair.head.cell)
    for measure in (name for name in old if name in new and old[name] != new[name]):
        before, after = old[measure], new[measure]
        if before < after <= before * (1 + growth):
            continue
        way = OTHER if reason else REGRESSION if after > before else PROGRESS
        yield CountChange(measure, way, pair.head.cell, before, after, reason, pair.head.key, pair.versions)


def _counted(one: Entry) -> dict[str, int]:
    instructions = figures.instructions(one)
    return {**({} if instructions is None else {"instructions": instructions}), **figures.memory(one)}
