"""What the page of one deployment holds: command, versions, figures, series over time, and pictures of them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from bench_plugin.report.entries import Entry
from bench_plugin.report.figures import duration, is_emulated
from bench_plugin.report.pictures.picture import Record, Specification
from bench_plugin.report.pictures.reading import digits, number, positive, text
from bench_plugin.report.pictures.traces import Trace, without_files
from bench_plugin.report.pictures.within import (
    classes,
    confusion,
    inference_time,
    over_time,
    recall_precision,
    thresholds,
)

NO_GPU = "no GPU was seen on the machine that did the work"
SHARES = (
    ("accuracy", "accuracy (top-1)"), ("reference_accuracy", "accuracy of the framework's own model"),
    ("top5", "top-5"), ("mean_precision", "mean precision"), ("mean_sensitivity", "mean sensitivity"),
    ("g_mean", "G-mean"), ("map", "mean average precision, overlaps 0.5 to 0.95"),
    ("reference_map", "mean average precision of the framework's own model"),
    ("map50", "mean average precision at an overlap of 0.5"),
)  # fmt: skip
PHASES = (("base", "base"), ("idle", "idle, model loaded"), ("full", "full load"))


class DeploymentPicture(Protocol):
    """What a module of ``within`` offers: as one of ``across``, of one entry and its traces."""

    NAME: str
    TITLE: str
    QUESTION: str

    def rows(self, entry: Entry, traces: Mapping[str, Trace]) -> list[Record]:
        """Records, which may hold lists; none where the picture would be empty, and is not shown."""

    def specification(self) -> Specification:
        """The Vega-Lite specification, without data."""


PICTURES: tuple[DeploymentPicture, ...] = (
    inference_time, over_time, classes, confusion, recall_precision, thresholds,
)  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """A series with its statistics in ``unit``; ``remark`` says why something is absent."""

    title: str
    unit: str
    mean: float | None
    sd: float | None
    median: float | None
    samples: int
    remark: str = ""


@dataclass(frozen=True)
class Deployment:
    """All of it as plain data. ``facts`` are (what, text); ``rows`` those of each picture by its name."""

    command: str
    versions: Mapping[str, str]
    facts: tuple[tuple[str, str], ...]
    figures: tuple[Figure, ...]
    rows: Mapping[str, list[Record]]

    def data(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "command": self.command, "versions": dict(self.versions), "facts": [list(fact) for fact in self.facts],
            "figures": [vars(figure) for figure in self.figures], "rows": dict(self.rows),
        }  # fmt: skip


def specifications() -> list[dict[str, Any]]:
    """Every picture of a deployment without its rows, once for a page: as in registry.py."""
    return [
        {"name": one.NAME, "title": one.TITLE, "question": one.QUESTION, "specification": one.specification()}
        for one in PICTURES
    ]


def deployment(entry: Entry, traces: Mapping[str, Trace] | None = None) -> Deployment:
    """The data of a deployment; without ``traces`` (traces.py) its series have statistics and no values."""
    found = without_files(entry) if traces is None else dict(traces)
    if is_emulated(entry):  # seconds of an emulator are no times
        found = {name: trace for name, trace in found.items() if trace.unit != "ms"}
    rows = {one.NAME: made for one in PICTURES if (made := one.rows(entry, found))}
    command = "pytest " + shlex.join(entry.repro) if entry.repro else ""
    return Deployment(command, dict(entry.versions), tuple(_facts(entry)), tuple(_figures(entry, found)), rows)


def _facts(entry: Entry) -> list[tuple[str, str]]:
    timing = None if is_emulated(entry) else entry.numbers.get("timing")
    facts = [
        (title, duration(value))
        for title, path in (
            ("first inference", ("first_inference",)), ("compute, median", ("compute", "median")),
            ("compute, mean", ("compute", "mean")), ("system, median", ("system", "median")),
            ("p90", ("percentiles", "p90")), ("p99", ("percentiles", "p99")),
        )
        if (value := positive(timing, *path)) is not None
    ]  # fmt: skip
    low, high = positive(timing, "interval", "low"), positive(timing, "interval", "high")
    if low is not None and high is not None:
        kind = text(timing, "interval", "kind")
        facts.append(("95 % interval", f"{duration(low)} to {duration(high)}, {kind}".rstrip(", ")))
    rate = positive(timing, "throughput", "per_second")
    facts += [] if rate is None else [("throughput, closed loop", f"{rate:.4g} inputs/s")]
    facts += [(title, f"{value:.2%}") for key, title in SHARES if (value := number(entry.numbers, key)) is not None]
    drop = number(entry.numbers, "drop", "top1")
    facts += [] if drop is None else [("accuracy lost", f"{drop:+.2%}")]
    loss = number(entry.numbers, "drop", "map")
    facts += [] if loss is None else [("mean average precision lost", f"{loss:+.2%}")]
    return [*facts, *_power(entry)]


def _power(entry: Entry) -> list[tuple[str, str]]:
    """Mean, least and most of each phase of every meter."""
    meters = entry.numbers.get("power")
    facts = []
    for name, meter in meters.items() if isinstance(meters, Mapping) else ():
        place = f" ({text(meter, 'place')})" if text(meter, "place") else ""
        for phase, title in PHASES:
            figures = [number(meter, phase, key) for key in ("mean", "min", "max")]
            if None not in figures:
                mean, least, most = (float(value or 0) for value in figures)
                facts.append((f"power, {title}: {name}{place}", f"{mean:.3g} W ({least:.3g} to {most:.3g})"))
        for key, title in (("with_idle", "idle included"), ("above_idle", "above idle")):
            if (joules := number(meter, "energy_per_inference", key)) is not None:
                facts.append((f"energy per inference, {title}: {name}{place}", f"{joules * 1e3:.4g} mJ"))
    return facts


def _figures(entry: Entry, traces: Mapping[str, Trace]) -> list[Figure]:
    """Inference time first, then the series as the picture orders them, then all others."""
    order = {record["series"]: place for place, record in enumerate(over_time.rows(entry, traces))}
    timed = [trace for name, trace in traces.items() if name in inference_time.KINDS]
    others = sorted(
        (one for one in traces.values() if one not in timed), key=lambda one: order.get(one.name, len(order))
    )
    figures = [_figure(f"inference time, {trace.name}", trace) for trace in timed]
    figures += [_figure(over_time.title(trace), trace) for trace in others]
    if traces and not any(name.startswith("gpu") for name in traces):
        figures += [Figure(title, "", None, None, None, 0, NO_GPU) for title in ("GPU", "GPU memory")]
    return figures


def _figure(title: str, trace: Trace) -> Figure:
    mean, sd, middle = (None if value is None else digits(value) for value in (trace.mean, trace.sd, trace.median))
    return Figure(title, trace.unit, mean, sd, middle, trace.samples, trace.trouble)
