"""Processor, memory, GPU, temperature and power over time, each with mean, standard deviation and median."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench_plugin.report.entries import Entry
from bench_plugin.report.pictures.picture import Record, Specification, vega_lite
from bench_plugin.report.pictures.reading import digits
from bench_plugin.report.pictures.traces import Trace

NAME = "over-time"
TITLE = "Use of the machine over time"
QUESTION = "What did processor, memory, GPU and power do while the model was timed?"
ORDER = ("cpu", "memory.rss", "memory.pss", "gpu", "power", "temperature")  # cores and clocks are in the table only
TITLES: Mapping[str, str] = {
    "cpu": "CPU of the process tree", "memory.rss": "RAM, resident", "memory.pss": "RAM, proportional (PSS)",
    "use": "GPU {}", "memory": "GPU memory {}",
}  # fmt: skip
DESCRIPTION = (
    "Line charts over time, one for each series of the machine that did the work. The head of each says its mean, "
    "standard deviation and median; the band is one standard deviation around the mean, the dashed line the median."
)


def rows(entry: Entry, traces: Mapping[str, Trace]) -> list[Record]:
    """A record per series, whose ``times`` and ``values`` are lists of equal length."""
    shown = sorted((place, trace.name) for trace in traces.values() if trace.values and (place := _place(trace)) >= 0)
    return [_record(traces[name], number) for number, (_, name) in enumerate(shown)]


def specification() -> Specification:
    """Every series has an axis of its own; time is shared."""
    time = {"field": "times", "type": "quantitative", "title": "s since the first launch began"}
    value = {"field": "values", "type": "quantitative", "title": None, "scale": {"zero": False}}
    band = {
        "mark": {"type": "rect", "aria": False, "color": "#4c78a8", "opacity": 0.12},
        "transform": [{"filter": "isValid(datum.low)"}, _one_of_each("low", "high")],
        "encoding": {
            "y": {"field": "low", "type": "quantitative", "scale": {"zero": False}, "title": None},
            "y2": {"field": "high"},
        },
    }
    middle = {
        "mark": {"type": "rule", "aria": False, "strokeDash": [5, 3]},
        "transform": [_one_of_each("median")],
        "encoding": {"y": {"field": "median", "type": "quantitative", "scale": {"zero": False}, "title": None}},
    }
    line = {
        "mark": {"type": "line", "aria": False, "color": "#4c78a8", "strokeWidth": 1.2},
        "encoding": {
            "x": time, "y": value,
            "tooltip": [{"field": "times", "title": "s", "format": ".2f"}, {"field": "values", "format": ".4~g"}],
        },
    }  # fmt: skip
    return vega_lite(
        DESCRIPTION,
        transform=[{"flatten": ["times", "values"]}],
        facet={
            "field": "title", "type": "nominal", "title": None, "header": {"labelAnchor": "start"},
            "sort": {"field": "order", "op": "min"},
        },
        columns=1,
        spec={"width": 520, "height": 90, "layer": [band, line, middle]},
        resolve={"scale": {"y": "independent"}},
    )  # fmt: skip


def title(trace: Trace) -> str:
    """What a series is called for a reader: CPU, RAM, GPU, GPU memory, or its own name."""
    device, _, kind = trace.name.partition(".")
    if device.startswith("gpu") and kind in TITLES:
        return TITLES[kind].format(device[3:]).strip()
    return TITLES.get(trace.name, trace.name)


def said(value: float | None) -> str:
    """A figure with four digits, or a dash."""
    return "–" if value is None else f"{value:.4g}"


def _record(trace: Trace, order: int) -> dict[str, Any]:
    head = f"{title(trace)}, {trace.unit}: mean {said(trace.mean)}, sd {said(trace.sd)}, median {said(trace.median)}"
    spread = None if trace.mean is None or trace.sd is None else (trace.mean - trace.sd, trace.mean + trace.sd)
    return {
        "title": head, "order": order, "series": trace.name, "times": list(trace.times), "values": list(trace.values),
        "low": digits(spread[0]) if spread else None, "high": digits(spread[1]) if spread else None,
        "median": None if trace.median is None else digits(trace.median),
    }  # fmt: skip


def _one_of_each(*fields: str) -> dict[str, Any]:
    """One record per series instead of one per value."""
    return {"aggregate": [{"op": "min", "field": name, "as": name} for name in fields], "groupby": ["title"]}


def _place(trace: Trace) -> int:
    """Where the series stands in the picture; -1 where it does not."""
    kind = "gpu" if trace.name.startswith("gpu") else trace.name if trace.name in ORDER else trace.name.split(".")[0]
    if kind == "cpu" and trace.name != "cpu":
        return -1
    return ORDER.index(kind) if kind in ORDER else -1
