"""Box and whisker of throughput over deployment settings: batch, threads and streams, per platform and precision."""

from __future__ import annotations

from bench_plugin.report.pictures.lines import boxes, with_points
from bench_plugin.report.pictures.picture import Record, Specification
from bench_plugin.report.pictures.places import on_lines
from bench_plugin.report.pictures.reading import digits
from bench_plugin.report.pictures.results import Results

NAME = "settings"
TITLE = "Throughput over deployment settings"
QUESTION = "How much does the choice of batch, threads, streams and mode change what a platform reaches?"
DESCRIPTION = (
    "Box plots of throughput in inputs per second over deployment settings, one picture for each model: a line per "
    "platform and precision. Each point is one setting; a cross is the time of a wrong result."
)


def rows(results: Results) -> list[Record]:
    """A record per setting; none at all where no platform was timed with more than one."""
    lines: dict[tuple[str, str, str], list[Record]] = {}
    found = [one for one in results.timed if one.per_second is not None]
    for record, one in on_lines(found, any_mode=True):
        place = (one.model, str(record["line"]), one.source)
        lines.setdefault(place, []).append(record | {"value": digits(one.per_second or 0.0), "mode": one.mode})
    swept = any(len({(record["setting"], record["mode"]) for record in line}) > 1 for line in lines.values())
    return with_points([record for line in lines.values() for record in line], lambda _: 1) if swept else []


def specification() -> Specification:
    """The axis of throughput is logarithmic, of each model by itself."""
    x = {"field": "value", "type": "quantitative", "title": "inputs/s", "scale": {"type": "log"},
         "axis": {"format": "~s"}}  # fmt: skip
    tooltip = [{"field": "value", "title": "inputs/s", "format": ".4~s"}]
    tooltip += [{"field": name} for name in ("line", "setting", "mode", "source", "status", "key")]
    return boxes(DESCRIPTION, x, tooltip)
