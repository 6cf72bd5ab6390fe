"""The pictures of predictions as files: rooflines and heat maps, each as SVG and as Vega-Lite with its data."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench_plugin.characterise.prediction.datatypes import UNNAMED
from bench_plugin.characterise.prediction.predict import Demand, Prediction, intensity
from bench_plugin.characterise.prediction.roofs import TargetMode
from bench_plugin.cli.characterise.needs import amount
from bench_plugin.cli.shared.predicting.grid import Grid
from bench_plugin.report.pictures.picture import Record, with_rows
from bench_plugin.report.pictures.predicted import roofline, throughput
from bench_plugin.report.pictures.svg import drawn

BEYOND = 4.0  # how far a roof reaches beyond the models, as a factor


def write_pictures(folder: Path, found: Grid) -> list[Path]:
    """Write ``roofline`` and ``predictions`` as ``.svg`` and ``.vl.json``; returns the paths.

    A picture without any record is not written. Raises EnvironmentMissing where vl-convert is not installed, OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for module, rows in ((roofline, list(roofline_rows(found))), (throughput, heat_rows(found))):
        if not rows:
            continue
        specification = module.specification()
        plain, picture = folder / f"{module.NAME}.vl.json", folder / f"{module.NAME}.svg"
        plain.write_text(json.dumps(with_rows(specification, rows), indent=1) + "\n", "utf-8")
        picture.write_text(drawn(specification, rows) + "\n", "utf-8")
        paths += [plain, picture]
    return paths


def roofline_rows(found: Grid) -> Iterator[Record]:
    """The roofs of every target with a peak, and the points of every model under them."""
    for target in dict.fromkeys(one.target for one in found.modes):
        modes = [one for one in found.modes if one.target == target]
        points = [row for where in modes for row in _points(found, where)]
        if not points:
            continue
        least = min(row["intensity"] for row in points) / BEYOND
        most = max(row["intensity"] for row in points) * BEYOND
        for where in modes:
            for datatype in where.peaks:
                yield from _roof(where, datatype, least, most)
        yield from points


def _roof(where: TargetMode, datatype: str, least: float, most: float) -> Iterator[Record]:
    """A roof as points from left to right: up to where the bandwidth no longer binds, then flat."""
    peak = where.peaks[datatype].value
    said = "datatype not named" if datatype in UNNAMED else datatype
    about = {"target": where.target, "kind": "roof", "name": f"{said} {where.mode}".strip(), "mode": where.mode}
    rows: list[Record] = []
    if where.bandwidth is None:
        rows = [{"intensity": at, "ops_per_s": peak, "known": False} for at in (least, most)]
    else:
        kink = peak / where.bandwidth.value
        places = sorted({min(least, kink), kink, max(most, kink * BEYOND)})
        rows = [{"intensity": at, "ops_per_s": min(peak, at * where.bandwidth.value), "known": True} for at in places]
    for number, row in enumerate(rows):
        yield {**about, "datatype": datatype, **row, "end": number == len(rows) - 1}


def _points(found: Grid, where: TargetMode) -> list[Record]:
    """Where the models stand under the roofs, one point for each datatype that the target has."""
    rows = []
    for demand in found.demands:
        for stored in found.precisions:
            roof = where.roof(stored.computed)
            at = intensity(demand, stored, found.storage, found.batch)
            if roof is None or at is None:
                continue
            reached = min(roof.peak.value, at * where.bandwidth.value) if where.bandwidth else roof.peak.value
            rows.append({
                "target": where.target, "kind": "model", "name": demand.model, "mode": where.mode,
                "datatype": stored.name, "intensity": at, "ops_per_s": reached, "known": True, "end": False,
            })  # fmt: skip
    return rows


def heat_rows(found: Grid) -> list[Record]:
    """A record for every target in its mode, model and precision; where nothing is predicted it is empty."""
    at = {(one.model, one.target, one.mode, one.precision): one for one in found.predictions}
    lines = [one for one in found.modes if any(key[1:3] == (one.target, one.mode) for key in at)]
    return [
        _field(demand, column, where, line, stored.name, at.get((demand.model, where.target, where.mode, stored.name)))
        for stored in found.precisions
        for line, where in enumerate(lines)
        for column, demand in enumerate(found.demands)
    ]


def _field(
    demand: Demand, column: int, where: TargetMode, line: int, precision: str, one: Prediction | None
) -> dict[str, Any]:
    place = {
        "precision": precision, "line": where.name, "line_order": line, "column": demand.model, "column_order": column,
        "model": demand.model, "target": where.target, "mode": where.mode,
    }  # fmt: skip
    if one is None or not math.isfinite(one.inputs_per_s):
        return {**place, "value": None, "label": "", "bound": "", "emulated": "", "assumption": ""}
    figure = amount(round(one.inputs_per_s)) if one.inputs_per_s >= 1000 else f"{one.inputs_per_s:.3g}"
    label = f"{'<' if one.upper_bound else ''}{figure.replace(' ', '')}{'*' if one.emulated else ''}"
    return {
        **place, "value": one.inputs_per_s, "label": label, "bound": one.bound, "emulated": one.emulated,
        "assumption": one.assumption,
    }  # fmt: skip
