"""Box and whisker over repetitions: the medians of launches around the median of their deployment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from bench_plugin.report.entries import Entry
from bench_plugin.report.pictures.lines import boxes
from bench_plugin.report.pictures.picture import NO_TITLES, Record, Specification
from bench_plugin.report.pictures.places import on_lines
from bench_plugin.report.pictures.timed import timed

NAME = "repetitions"
TITLE = "Latency over repetitions"
QUESTION = "How far do fresh launches of the same deployment lie from each other?"
DESCRIPTION = (
    "Box plots of the median latency of each launch, in percent above or below the median over launches of its "
    "deployment, one picture for each model: a line per platform and precision. Each point is one launch; a cross is "
    "the time of a wrong result."
)


def rows(entries: Sequence[Entry], titles: Mapping[str, Any] = NO_TITLES) -> list[Record]:
    """A record per launch of every deployment that was launched twice at least."""
    found = [one for one in timed(entries, titles) if len(one.launch_medians) > 1]
    return [
        record | {"value": 100 * (value / median(one.launch_medians) - 1), "launch": number, "latency_ms": value * 1e3}
        for record, one in on_lines(found)
        for number, value in enumerate(one.launch_medians, 1)
    ]


def specification() -> Specification:
    """The axis is linear, in percent, with 0 in it."""
    x = {"field": "value", "type": "quantitative", "title": "latency of a launch against the median of launches, %"}
    tooltip = [{"field": "value", "title": "%", "format": "+.2f"}, {"field": "latency_ms", "format": ".4~g"}]
    tooltip += [{"field": name} for name in ("launch", "line", "setting", "source", "status", "key")]
    return boxes(DESCRIPTION, x, tooltip)
