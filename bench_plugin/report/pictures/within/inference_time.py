"""The time of every inference in its order, launch after launch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench_plugin.report.entries import Entry
from bench_plugin.report.figures import is_emulated
from bench_plugin.report.pictures.picture import Record, Specification, vega_lite
from bench_plugin.report.pictures.traces import Trace, launch_numbers
from bench_plugin.report.pictures.within.over_time import said

NAME = "inference-time"
TITLE = "Inference time over time"
QUESTION = "Did the time of an inference stay the same, within a launch and from launch to launch?"
KINDS = ("compute", "system")
ALL = "all"  # rows do not say which launch a sample of system is of
DESCRIPTION = (
    "Line charts of the time of inferences in milliseconds in their order, one for compute (the runtime's own call), "
    "one for system (request to outputs). The head of each says mean, standard deviation and median. Colours and gaps "
    "divide launches."
)


def rows(entry: Entry, traces: Mapping[str, Trace]) -> list[Record]:
    """A record per figure, with lists of equal length: numbers of samples, times in ms, launches. None if emulated."""
    if is_emulated(entry):
        return []
    return [_record(entry, traces[kind]) for kind in KINDS if kind in traces and traces[kind].values]


def specification() -> Specification:
    """Both charts have their own axes."""
    x = {"field": "samples", "type": "quantitative", "title": "number of the sample"}
    y = {"field": "values", "type": "quantitative", "title": "ms", "scale": {"zero": False}}
    colour = {"field": "launches", "type": "nominal", "title": "launch", "sort": None, "scale": {"scheme": "tableau20"}}
    tooltip = [{"field": "values", "title": "ms", "format": ".4~g"}, {"field": "samples"}, {"field": "launches"}]
    return vega_lite(
        DESCRIPTION,
        transform=[{"flatten": ["samples", "values", "launches"]}],
        facet={"field": "title", "type": "nominal", "title": None, "header": {"labelAnchor": "start"}},
        columns=1,
        spec={
            "width": 520,
            "height": 120,
            "mark": {"type": "line", "aria": False, "strokeWidth": 1.2},
            "encoding": {"x": x, "y": y, "color": colour, "tooltip": tooltip},
        },
        resolve={"scale": {"x": "independent", "y": "independent"}},
    )


def _record(entry: Entry, trace: Trace) -> dict[str, Any]:
    head = f"{trace.name}, ms: mean {said(trace.mean)}, sd {said(trace.sd)}, median {said(trace.median)}"
    known = trace.name == "compute"
    launches = [str(one) for one in launch_numbers(entry, trace.times)] if known else [ALL] * len(trace.times)
    return {"title": head, "samples": list(trace.times), "values": list(trace.values), "launches": launches}
