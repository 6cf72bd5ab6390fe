"""Heat map of throughput: one per task, a line per platform, mode and datatype, a column per model and precision."""

from __future__ import annotations

from collections.abc import Sequence

from bench_plugin.report.pictures.heatmap import BLUES, heatmap
from bench_plugin.report.pictures.picture import Record, Specification
from bench_plugin.report.pictures.places import MARK, best_of_places, short
from bench_plugin.report.pictures.reading import digits
from bench_plugin.report.pictures.results import Results
from bench_plugin.report.pictures.timed import Timed

NAME = "throughput"
TITLE = "Throughput"
QUESTION = "How many inputs per second does each deployment take, with the best settings that were tried?"
DESCRIPTION = (
    "Heat maps of throughput in inputs per second, one for each task: a line per platform, mode and datatype, a column "
    "per model and precision. Every field has its number; one behind the sign ≠ is that of a wrong result."
)


def rows(results: Results) -> list[Record]:
    """A record per platform, mode, datatype, model and precision: the fastest of its settings."""
    return _records(best_of_places(results))


def others(results: Results) -> list[Record]:
    """The records of the other settings, the fastest first."""
    return _records(best_of_places(results, others=True))


def specification() -> Specification:
    """Colours are on a logarithmic scale, of each task by itself."""
    return heatmap(
        DESCRIPTION,
        divided_by="task",
        scale={"type": "log", "range": list(BLUES)},
        legend={"title": "inputs/s", "format": ".2~s"},
    )


def _records(found: Sequence[tuple[Record, Timed]]) -> list[Record]:
    return [
        record | {"value": digits(one.per_second), "label": ("" if one.right else MARK) + short(one.per_second)}
        for record, one in found
        if one.per_second is not None
    ]
