"""Accuracy against throughput, with the Pareto frontier."""

from __future__ import annotations

from bench_plugin.report.pictures.accuracy import accurate, records, scatter
from bench_plugin.report.pictures.picture import Record, Specification
from bench_plugin.report.pictures.results import Results

NAME = "accuracy-throughput"
TITLE = "Accuracy against throughput"
QUESTION = "Which deployments give the most throughput for their accuracy?"
DESCRIPTION = (
    "Scatter plots of accuracy against throughput in inputs per second, one picture for each model; up and right is "
    "better. The dashed line joins the deployments that no other one beats in both, whose names stand beside them. A "
    "cross is a deployment with wrong results, which is never on the line."
)


def rows(results: Results) -> list[Record]:
    """A record per deployment that has an accuracy and a throughput."""
    return records(accurate(results), lambda one: one.per_second, lambda one: one.per_second or 0.0)


def specification() -> Specification:
    """The axis of throughput is logarithmic, of each model by itself."""
    return scatter(DESCRIPTION, {"title": "inputs/s", "axis": {"format": "~s", "tickCount": 5}}, "step-before")
