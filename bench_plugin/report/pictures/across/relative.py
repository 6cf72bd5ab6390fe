"""Heat map of throughput relative to the best platform of each model and precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench_plugin.report.pictures.heatmap import BLUES, heatmap
from bench_plugin.report.pictures.picture import Record, Specification
from bench_plugin.report.pictures.places import MARK, best_of_places
from bench_plugin.report.pictures.reading import digits
from bench_plugin.report.pictures.results import Results
from bench_plugin.report.pictures.timed import Timed

NAME = "relative-throughput"
TITLE = "Throughput relative to the best"
QUESTION = "Which platform is the best for a model at a precision, and how far behind are the others?"
DESCRIPTION = (
    "Heat maps of throughput in percent of the best of each column, one for each task: a line per platform, mode and "
    "datatype, a column per model and precision. Every field has its number, the best one 100. One behind the sign ≠ "
    "is that of a wrong result, which is never the best."
)


def rows(results: Results) -> list[Record]:
    """A record per field of the heat map of throughput; columns without any right result are left out."""
    best = best_of_places(results)
    return _records(best, _of_columns(best))


def others(results: Results) -> list[Record]:
    """The records of the other settings, the fastest first, in percent of the best of all."""
    return _records(best_of_places(results, others=True), _of_columns(best_of_places(results)))


def specification() -> Specification:
    """Colours are linear from 0 to 100 %; a wrong result that is faster than the best has the colour of 100 %."""
    return heatmap(
        DESCRIPTION,
        divided_by="task",
        scale={"range": list(BLUES), "domain": [0, 100], "clamp": True},
        legend={"title": "% of the best", "values": [0, 50, 100]},
    )


def _of_columns(found: Sequence[tuple[Record, Timed]]) -> dict[str, float]:
    """The best right result of every column, in inputs per second."""
    best: dict[str, float] = {}
    for record, one in found:
        if one.right and one.per_second is not None:
            best[str(record["column"])] = max(one.per_second, best.get(str(record["column"]), 0.0))
    return best


def _records(found: Sequence[tuple[Record, Timed]], best: Mapping[str, float]) -> list[Record]:
    records: list[Record] = []
    for record, one in found:
        most = best.get(str(record["column"]))
        if most is not None and one.per_second is not None:
            percent = digits(100 * one.per_second / most)
            label = f"{percent:.0f}" if percent >= 10 else f"{percent:.1f}"
            records.append(record | {"value": percent, "label": ("" if one.right else MARK) + label})
    return records
