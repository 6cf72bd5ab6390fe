"""What a page needs beside the records of a picture, so that it can draw the picture of fewer cells by itself.

A record says in ``number`` which of the entries it is of. Leaving records out is enough for most pictures; the others
show the best of several cells, or figures that are counted over all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bench_plugin.report.pictures.across import (
    accuracy_latency,
    accuracy_throughput,
    errors,
    funnel,
    latency_parts,
    power,
    relative,
    throughput,
)
from bench_plugin.report.pictures.picture import Record
from bench_plugin.report.pictures.results import Results

FIELD = ("task", "line", "column")  # of a heat map of throughput
LINE = ("model", "line")


@dataclass(frozen=True)
class Fewer:
    """How the records of fewer cells are made.

    ``others`` gives the records that stand behind those of the picture. ``one_of`` are the keys that cells have in
    common of which only the first one is shown: of the picture's records, and then of the others in their order.
    ``again`` names what the page counts again: the percent of the best one, the frontier of those with more or with
    less of the value, or how many cells came to each stage.
    """

    others: Callable[[Results], list[Record]] | None = None
    one_of: tuple[str, ...] = ()
    again: str = ""


RULES: Mapping[str, Fewer] = {
    throughput.NAME: Fewer(throughput.others, FIELD),
    relative.NAME: Fewer(relative.others, FIELD, "percent"),
    latency_parts.NAME: Fewer(latency_parts.others, LINE),
    power.NAME: Fewer(power.others, LINE),
    errors.NAME: Fewer(errors.others, ("compiler", "line", "column")),
    accuracy_throughput.NAME: Fewer(again="frontier of more"),
    accuracy_latency.NAME: Fewer(again="frontier of less"),
    funnel.NAME: Fewer(funnel.others, again="stages"),
}


def fewer(name: str, results: Results) -> dict[str, Any]:
    """What the page of a picture has beside its records, as plain data for JSON."""
    rule = RULES.get(name, Fewer())
    return {"others": rule.others(results) if rule.others else [], "one_of": rule.one_of, "again": rule.again}
