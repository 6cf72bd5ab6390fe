"""Accuracy of timed deployments, and which of them nothing else beats in accuracy and speed together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bench_plugin.report.entries import Entry
from bench_plugin.report.figures import METRICS
from bench_plugin.report.pictures.lines import AGREE, OUTPUTS, WRONG
from bench_plugin.report.pictures.picture import Record, Specification, vega_lite
from bench_plugin.report.pictures.reading import digits, inner, number, text
from bench_plugin.report.pictures.results import Results
from bench_plugin.report.pictures.timed import Timed

AXES = ("model", "framework", "exporter", "opset", "compiler", "precision", "graph", "target", "kept")
SAME, OTHER, UNKNOWN = "same artefact", "another compilation", "not known"


@dataclass(frozen=True)
class Accurate:
    """A timed deployment with its accuracy, a share of 1; of a detector its mean average precision.

    ``artefact`` says whether the accuracy is that of the very artefact that was timed, by the hashes of its files.
    """

    timed: Timed
    accuracy: float
    artefact: str


def accurate(results: Results) -> list[Accurate]:
    """Timed deployments whose accuracy is known: from the row itself, else from the quality row of the same cell."""
    quality = {
        _cell(one): (one, accuracy)
        for one in results.entries
        if one.cell.get("check") == "quality" and (accuracy := _metric(one.numbers)) is not None
    }
    found = []
    for one in results.timed:
        own = _metric(one.entry.numbers.get("task"))
        judged = quality.get(_cell(one.entry))
        if own is not None:
            found.append(Accurate(one, own, SAME if text(one.entry.numbers, "task", "artefact") else UNKNOWN))
        elif judged is not None:
            found.append(Accurate(one, judged[1], _artefact(one.entry, judged[0])))
    return found


def frontier(points: Iterable[tuple[float, float]]) -> set[tuple[float, float]]:
    """The points (speed, accuracy) that no other point beats in one and reaches in the other; more is better in both.

    >>> sorted(frontier([(1, 0.9), (2, 0.9), (3, 0.8), (4, 0.7), (4, 0.6)]))
    [(2, 0.9), (3, 0.8), (4, 0.7)]
    """
    best, found = float("-inf"), set()
    for speed, accuracy in sorted(points, reverse=True):
        if accuracy > best:
            best = accuracy
            found.add((speed, accuracy))
    return found


def records(
    found: Sequence[Accurate], speed: Callable[[Timed], float | None], value: Callable[[Timed], float]
) -> list[Record]:
    """A record per deployment that has a ``speed`` (more is better), with ``value`` on the axis.

    Deployments whose results are wrong are never on the frontier.
    """
    shown = [(one, gained) for one in found if (gained := speed(one.timed)) is not None]
    best = {
        model: frontier((gained, one.accuracy) for one, gained in shown if one.timed.model == model and one.timed.right)
        for model in {one.timed.model for one, _ in shown}
    }
    made: list[Record] = []
    for one, gained in shown:
        it = one.timed
        on_frontier = it.right and (gained, one.accuracy) in best[it.model]
        made.append({
            "model": it.model, "value": digits(value(it)), "accuracy": digits(one.accuracy), "platform": it.platform,
            "precision": it.precision, "place": it.place, "mode": it.mode, "setting": it.setting, "source": it.source,
            "frontier": on_frontier, "label": f"{it.place} {it.precision}" if on_frontier else "",
            "artefact": one.artefact, "outputs": AGREE if it.right else WRONG, "status": it.status, "key": it.key,
            "number": it.number,
        })  # fmt: skip
    return sorted(made, key=lambda record: (str(record["model"]), record["value"], record["accuracy"]))


def _metric(numbers: Any) -> float | None:
    """Accuracy, or the mean average precision of a detector; None in a row that is broken."""
    return next((value for key in METRICS if (value := number(numbers, key)) is not None), None)


def _cell(one: Entry) -> tuple[str, ...]:
    return tuple(text(one.cell, axis) for axis in AXES)


def _artefact(row: Entry, judged: Entry) -> str:
    """Whether the files of two rows have the same hashes."""
    hashes = [
        {name: digest for name, about in (one.artefacts or {}).items() if (digest := inner(about, "sha256"))}
        for one in (row, judged)
    ]
    if not all(hashes):
        return UNKNOWN
    return SAME if hashes[0] == hashes[1] else OTHER


def scatter(description: str, x: dict[str, Any], interpolate: str) -> Specification:
    """Accuracy in percent against ``x``, one picture for each model, with the frontier as steps."""
    x = {"field": "value", "type": "quantitative", "scale": {"type": "log"}, **x}
    y = {"field": "accuracy", "type": "quantitative", "title": "accuracy (mAP of detectors)",
         "scale": {"zero": False, "padding": 12},
         "axis": {"format": ".1~%"}}  # fmt: skip
    colour = {"field": "platform", "type": "nominal", "scale": {"scheme": "tableau20"}}
    tooltip = [{"field": "value", "title": x["title"], "format": ".4~g"}, {"field": "accuracy", "format": ".2%"}]
    tooltip += [
        {"field": name} for name in ("platform", "precision", "mode", "setting", "source", "artefact", "status", "key")
    ]
    layers = [
        {
            "transform": [{"filter": "datum.frontier"}],
            "mark": {
                "type": "line",
                "aria": False,
                "interpolate": interpolate,
                "color": "#e45756",
                "strokeDash": [5, 3],
            },
        },
        {
            "mark": {"type": "point", "aria": False, "filled": True, "size": 48, "opacity": 0.9},
            "encoding": {"color": colour, "shape": OUTPUTS, "tooltip": tooltip},
        },
        {
            "mark": {"type": "text", "aria": False, "align": "left", "dx": 6, "dy": -6, "fontSize": 10},
            "encoding": {"text": {"field": "label"}},
        },
    ]
    return vega_lite(
        description,
        facet={"field": "model", "type": "nominal", "title": None, "header": {"labelAnchor": "start"}},
        columns=2,
        spec={"width": 360, "height": 240, "encoding": {"x": x, "y": y}, "layer": layers},
        resolve={"scale": {"x": "independent", "y": "independent"}},
    )
