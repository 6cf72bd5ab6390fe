"""The pictures across deployments that rows give, each as a page embeds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench_plugin.report.entries import Entry
from bench_plugin.report.pictures.across import (
    accuracy_latency,
    accuracy_throughput,
    errors,
    funnel,
    latency_parts,
    power,
    relative,
    repetitions,
    settings,
    sweeps,
    throughput,
)
from bench_plugin.report.pictures.fewer import fewer
from bench_plugin.report.pictures.picture import PictureModule
from bench_plugin.report.pictures.results import NO_TITLES, Results

PICTURES: tuple[PictureModule, ...] = (
    throughput, relative, sweeps, settings, repetitions, latency_parts, power, accuracy_throughput, accuracy_latency,
    errors, funnel,
)  # fmt: skip


def embedded(entries: Sequence[Entry], titles: Mapping[str, Any] = NO_TITLES) -> list[dict[str, Any]]:
    """Every picture that has something to show: ``name``, ``title``, ``question``, ``specification``, ``rows``.

    Beside them it has what fewer.py says of a picture of fewer cells.

    ``titles`` are those of the header of a run. All of it is plain data for JSON.
    """
    results = Results(entries, titles)
    found = []
    for module in PICTURES:
        if rows := module.rows(results):
            found.append({
                "name": module.NAME, "title": module.TITLE, "question": module.QUESTION,
                "specification": module.specification(), "rows": rows, **fewer(module.NAME, results),
            })  # fmt: skip
    return found
