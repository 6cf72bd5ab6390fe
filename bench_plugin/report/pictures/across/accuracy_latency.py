"""Accuracy against latency, with the Pareto frontier."""

from __future__ import annotations

from bench_plugin.report.pictures.accuracy import accurate, records, scatter
from bench_plugin.report.pictures.picture import Record, Specification
from bench_plugin.report.pictures.results import Results
from bench_plugin.report.pictures.timed import Timed

NAME = "accuracy-latency"
TITLE = "Accuracy against latency"
QUESTION = "Which deployments answer soonest for their accuracy?"
DESCRIPTION = (
    "Scatter plots of accuracy against median latency in milliseconds, one picture for each model; up and left is "
    "better. The dashed line joins the deployments that no other one beats in both, whose names stand beside them. A "
    "cross is a deployment with wrong results, which is never on the line."
)


def rows(results: Results) -> list[Record]:
    """A record per deployment that has an accuracy and a latency."""
    return records(accurate(results), _speed, lambda one: (one.latency or 0.0) * 1e3)


def specification() -> Specification:
    """The axis of latency is logarithmic, of each model by itself."""
    x = {"title": "median latency, ms", "axis": {"format": "~g", "tickCount": 5}}
    return scatter(DESCRIPTION, x, "step-after")


def _speed(one: Timed) -> float | None:
    return None if one.latency is None else -one.latency
