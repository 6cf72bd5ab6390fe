"""Latency against throughput: a point per setting, the points of a sweep joined by a line."""

from __future__ import annotations

from collections.abc import Sequence

from bench_plugin.report.pictures.labels import Label, uncrowded
from bench_plugin.report.pictures.lines import AGREE, OUTPUTS, WRONG
from bench_plugin.report.pictures.picture import Record, Specification, vega_lite
from bench_plugin.report.pictures.reading import digits
from bench_plugin.report.pictures.results import Results
from bench_plugin.report.pictures.timed import Timed

NAME = "latency-throughput"
TITLE = "Latency against throughput"
QUESTION = "What does a higher throughput cost in latency, over batches, streams and threads?"
SWEPT = (("batch", "b"), ("streams", "s"), ("threads", "t"))  # a line runs along the first of them that varies
WIDTH, HEIGHT = 380, 300  # pixels of one picture
# Labels stand below a sweep, which rises, and above single points, which fall from the fastest to the slowest.
BESIDE = {"expr": "datum.swept ? 9 : -4"}
DESCRIPTION = (
    "Scatter plots of throughput in inputs per second against median latency in milliseconds, one for each model and "
    "precision; up and left is better. A point is a setting, a line joins the settings of one sweep. The text beside "
    "the first point of a line is its platform, that beside the others what was swept (b: batch, s: streams, t: "
    "threads), where there is room. A cross is the time of a wrong result."
)


def rows(results: Results) -> list[Record]:
    """A record per setting that has both figures; ``line`` names the sweep that it belongs to, ``along`` its place."""
    deployments: dict[tuple[str, str, str, str], list[Timed]] = {}
    for one in results.timed:
        if one.latency is not None and one.per_second is not None:
            deployments.setdefault((one.model, one.place, one.precision, one.source), []).append(one)
    records = [record for key in sorted(deployments) for record in _sweeps(deployments[key])]
    return _labelled(records)


def specification() -> Specification:
    """Both axes are logarithmic, of each picture by itself."""
    x = {"field": "latency_ms", "type": "quantitative", "title": "median latency, ms", "scale": {"type": "log"},
         "axis": {"format": "~g", "tickCount": 5}}  # fmt: skip
    y = {"field": "per_second", "type": "quantitative", "title": "inputs/s", "scale": {"type": "log"},
         "axis": {"format": "~s", "tickCount": 5}}  # fmt: skip
    colour = {"field": "platform", "type": "nominal", "scale": {"scheme": "tableau20"}}
    tooltip = [{"field": "latency_ms", "format": ".4~g"}, {"field": "per_second", "format": ".4~s"}]
    tooltip += [{"field": name} for name in ("platform", "precision", "mode", "setting", "source", "status", "key")]
    line = {"detail": {"field": "line"}, "order": {"field": "along"}}
    layers = [
        {
            "mark": {"type": "line", "aria": False, "strokeWidth": 1.5},
            "encoding": {"color": colour, **line},
        },
        {
            "mark": {"type": "point", "aria": False, "filled": True, "size": 42, "opacity": 0.9},
            "encoding": {"color": colour, "shape": OUTPUTS, "tooltip": tooltip},
        },
        {
            "mark": {"type": "text", "aria": False, "align": "left", "dx": 6, "dy": BESIDE, "fontSize": 10},
            "encoding": {"text": {"field": "label"}},
        },
    ]
    return vega_lite(
        DESCRIPTION,
        facet={"field": "panel", "type": "nominal", "title": None, "header": {"labelAnchor": "start"}},
        columns=2,
        spec={"width": WIDTH, "height": HEIGHT, "encoding": {"x": x, "y": y}, "layer": layers},
        resolve={"scale": {"x": "independent", "y": "independent"}},
    )


def _labelled(records: Sequence[Record]) -> list[Record]:
    """The records without the labels that would cover another one of their picture; names of platforms come first."""
    panels: dict[str, list[Record]] = {}
    for record in sorted(records, key=lambda record: not record["first"]):
        panels.setdefault(record["panel"], []).append(record)
    found = []
    for mine in panels.values():
        labels = [Label(one["latency_ms"], one["per_second"], one["label"]) for one in mine]
        free = uncrowded(labels, WIDTH, HEIGHT)
        found += [one if room else one | {"label": ""} for one, room in zip(mine, free, strict=True)]
    return sorted(found, key=lambda record: (record["panel"], record["line"], record["along"]))


def _sweeps(settings: Sequence[Timed]) -> list[Record]:
    """The records of all settings of a deployment: one line for each choice of what is not swept along it."""
    values = {name: {getattr(one, name) for one in settings} for name, _ in SWEPT}
    axis, letter = next(((name, letter) for name, letter in SWEPT if len(values[name]) > 1), SWEPT[0])
    others = [(name, letter) for name, letter in SWEPT if name != axis and len(values[name]) > 1]
    records: list[Record] = []
    begun: set[str] = set()
    for one in sorted(settings, key=lambda one: [getattr(one, name) for name, _ in (*others, (axis, letter))]):
        fixed = " ".join(f"{short}{getattr(one, name)}" for name, short in others)
        line = " · ".join(part for part in (one.place, one.precision, one.source, fixed) if part)
        step = f"{letter}{getattr(one, axis)}" if len(values[axis]) > 1 else ""
        first = line not in begun
        name = f"{one.place} {fixed}".strip() if first else ""
        begun.add(line)
        records.append({
            "panel": f"{one.model} · {one.precision}", "line": line, "along": getattr(one, axis),
            "label": f"{name} {step}".strip(), "first": first, "swept": bool(step), "model": one.model,
            "latency_ms": digits((one.latency or 0.0) * 1e3), "per_second": digits(one.per_second or 0.0),
            "platform": one.platform, "precision": one.precision, "mode": one.mode, "setting": one.setting,
            "source": one.source, "outputs": AGREE if one.right else WRONG, "status": one.status, "key": one.key,
            "number": one.number,
        })  # fmt: skip
    return records
