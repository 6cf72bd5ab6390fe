"""Box and whisker over repetitions: the medians of launches around the median of their deployment."""

from __future__ import annotations

from statistics import median

from bench_plugin.report.pictures.lines import boxes, with_points
from bench_plugin.report.pictures.picture import Record, Specification
from bench_plugin.report.pictures.places import on_lines
from bench_plugin.report.pictures.reading import digits
from bench_plugin.report.pictures.results import Results

NAME = "repetitions"
TITLE = "Latency over repetitions"
QUESTION = "How far do fresh launches of the same deployment lie from each other?"
DESCRIPTION = (
    "Box plots of the median latency of each launch, in percent above or below the median over launches of its "
    "deployment, one picture for each model: a line per platform and precision. Each point is one launch; a cross is "
    "the time of a wrong result."
)


def rows(results: Results) -> list[Record]:
    """A record per deployment that was launched twice at least, with lists of equal length: a value per launch."""
    records = [
        record | {
            "value": [digits(100 * (value / median(one.launch_medians) - 1)) for value in one.launch_medians],
            "latency_ms": [digits(value * 1e3) for value in one.launch_medians],
            "launch": list(range(1, len(one.launch_medians) + 1)),
        }
        for record, one in on_lines(one for one in results.timed if len(one.launch_medians) > 1)
    ]  # fmt: skip
    return with_points(records, lambda record: len(record["value"]))


def specification() -> Specification:
    """The axis is linear, in percent, with 0 in it."""
    x = {"field": "value", "type": "quantitative", "title": "latency of a launch against the median of launches, %"}
    tooltip = [{"field": "value", "title": "%", "format": "+.2f"}, {"field": "latency_ms", "format": ".4~g"}]
    tooltip += [{"field": name} for name in ("launch", "line", "setting", "source", "status", "key")]
    return boxes(DESCRIPTION, x, tooltip, lists=("value", "latency_ms", "launch"))
