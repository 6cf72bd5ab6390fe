"""The picture of a choice: accuracy against what it is traded for, predicted and measured, with both fronts."""

from __future__ import annotations

import math

from bench_plugin.characterise.choice.candidate import Basis, Candidate, Quantity
from bench_plugin.characterise.choice.constraints import Judged
from bench_plugin.characterise.choice.decision import ACCURACY, Decision
from bench_plugin.characterise.choice.pareto import front
from bench_plugin.report.pictures.labels import Label, uncrowded
from bench_plugin.report.pictures.picture import Record, Specification, vega_lite
from bench_plugin.report.pictures.reading import digits

WIDTH, HEIGHT = 560, 340
STATES = ("kept", "undecided", "removed")
KINDS = ("measured", "predicted")
COLOURS = {"measured": "#4c78a8", "predicted": "#e45756"}
SCALES = {
    "latency": (1e3, "ms"), "throughput": (1.0, "inputs/s"), "memory": (1e-6, "MB"), "size": (1e-6, "MB"),
    "power": (1.0, "W"), "energy": (1e3, "mJ"), "price": (1.0, "USD"),
}  # fmt: skip


def records(decision: Decision) -> list[Record]:
    """A record for each figure of a candidate that has an accuracy: measured, predicted, or both; of values above 0."""
    against = decision.against
    found = [
        _record(one, kind, value, decision)
        for one in decision.judged
        for kind, value in _values(one.candidate, against).items()
        if value > 0 and one.candidate.value(ACCURACY.name) is not None
    ]
    for kind in KINDS:
        mine = [one for one in found if one["kind"] == kind and one["state"] != "removed"]
        sign = 1 if against.more else -1
        best = front({str(place): (sign * one["value"], one["accuracy"]) for place, one in enumerate(mine)})
        for place, one in enumerate(mine):
            one["front"] = str(place) in best
    for one in found:
        one["label"] = one["name"] if one["front"] or one["chosen"] else ""
    labels = [Label(one["value"], math.exp(one["accuracy"]), one["label"]) for one in found]  # its axes are logarithmic
    for one, free in zip(found, uncrowded(labels, WIDTH, HEIGHT), strict=True):
        one["label"] = one["label"] if free else ""
    return found


def specification(against: Quantity) -> Specification:
    """Accuracy on y, what it is traded for on a logarithmic x; ``data`` is named as in every picture."""
    better = "to the right" if against.more else "to the left"
    x = {"field": "value", "type": "quantitative", "scale": {"type": "log"}, "title": axis_title(against),
         "axis": {"format": "~g", "tickCount": 6}}  # fmt: skip
    y = {"field": "accuracy", "type": "quantitative", "title": "accuracy", "scale": {"zero": False, "padding": 14},
         "axis": {"format": ".1~%"}}  # fmt: skip
    colour = {"field": "kind", "type": "nominal", "title": "figures",
              "scale": {"domain": list(KINDS), "range": [COLOURS[kind] for kind in KINDS]}}  # fmt: skip
    shape = {"field": "state", "type": "nominal", "title": "constraints",
             "scale": {"domain": list(STATES), "range": ["circle", "diamond", "cross"]}}  # fmt: skip
    tooltip = [
        {"field": "name"}, {"field": "value", "title": axis_title(against), "format": ".4~g"},
        {"field": "accuracy", "format": ".2%"}, {"field": "kind"}, {"field": "state"}, {"field": "why"},
    ]  # fmt: skip
    step = "step-before" if against.more else "step-after"
    return vega_lite(
        f"A scatter plot of accuracy against {axis_title(against)} of all candidates; {better} and up is better. The "
        "dashed lines join the Pareto sets, one of measured and one of predicted figures. Crosses were removed by a "
        "constraint, diamonds lack a figure, and the ring is the choice.",
        width=WIDTH,
        height=HEIGHT,
        encoding={"x": x, "y": y},
        layer=[
            {
                "transform": [{"filter": "datum.front"}],
                "mark": {"type": "line", "aria": False, "interpolate": step, "strokeDash": [5, 3]},
                "encoding": {"color": colour},
            },
            {
                "mark": {"type": "point", "aria": False, "filled": True, "size": 56, "opacity": 0.85},
                "encoding": {"color": colour, "shape": shape, "tooltip": tooltip},
            },
            {
                "transform": [{"filter": "datum.chosen"}],
                "mark": {"type": "point", "aria": False, "filled": False, "size": 220, "strokeWidth": 2},
            },
            {
                "mark": {"type": "text", "aria": False, "align": "left", "dx": 7, "dy": -7, "fontSize": 10},
                "encoding": {"text": {"field": "label"}},
            },
        ],
    )


def axis_title(against: Quantity) -> str:
    """What stands at the axis: the quantity and the unit that the records are in."""
    return f"{against.name}, {SCALES[against.name][1]}"


def _values(one: Candidate, against: Quantity) -> dict[str, float]:
    """The value by kind: a published figure counts as measured, and a prediction stands beside a measured one."""
    figure, expected = one.figures.get(against.name), one.predicted.get(against.name)
    values = {} if expected is None else {"predicted": expected.value}
    if figure is not None:
        values["predicted" if figure.basis is Basis.PREDICTED else "measured"] = figure.value
    return values


def _record(judged: Judged, kind: str, value: float, decision: Decision) -> Record:
    one, against = judged.candidate, decision.against
    return {
        "name": one.name, "kind": kind, "state": judged.state, "value": digits(value * SCALES[against.name][0]),
        "accuracy": digits(one.figures[ACCURACY.name].value), "front": False, "label": "",
        "chosen": decision.choice is not None and one.name == decision.choice.name,
        "why": "; ".join(finding.text for finding in (*judged.broken, *judged.unknown)),
    }  # fmt: skip
