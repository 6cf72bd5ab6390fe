"""Predictions beside what was measured: rows of a results file, and the published measurements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bench_plugin.characterise.prediction.datatypes import BITS, Stored, stored_as
from bench_plugin.characterise.prediction.measured import Measured, measured_of
from bench_plugin.characterise.prediction.predict import WEIGHTS_OFF, predict
from bench_plugin.characterise.prediction.published import MEASUREMENTS, TOPOLOGIES, demands, measurements
from bench_plugin.characterise.prediction.roofs import ONE_THREAD, TargetMode, modes_of
from bench_plugin.characterise.prediction.scores import Pair
from bench_plugin.cli.shared.predicting.grid import Grid
from bench_plugin.domain.settings import Settings
from bench_plugin.inventory.workspace import Workspace

NO_TASKS: Mapping[str, str] = {}
OTHER = "other"  # the task of a model that has none


def pairs_of(found: Grid, rows: Iterable[Mapping[str, Any]], tasks: Mapping[str, str] = NO_TASKS) -> list[Pair]:
    """A pair for each measured figure of a model and a target of the grid, predicted at the row's own batch.

    A row of one thread is predicted from the peaks of one thread, where these were measured. ``tasks`` are those of
    models for files whose header does not say them.
    """
    pairs = []
    for one in measured_of(rows):
        demand, where = found.demand(one.model), _mode(found, one)
        if demand is None or where is None:
            continue
        prediction = predict(demand, where, stored_as(one.precision), found.storage, one.batch)
        if prediction is not None:
            task = one.task or tasks.get(one.model, "") or OTHER
            pairs.append(Pair(prediction, task, one.basis, one.inputs_per_s, one.key, one.compiler))
    return pairs


def _mode(found: Grid, one: Measured) -> TargetMode | None:
    """The target of a row in its mode: that of its board, if that has peaks of its own, else its target."""
    mode = one.mode or (ONE_THREAD if one.threads == 1 else "")
    for name in (one.board, one.target):
        own = {where.mode: where for where in found.modes if name and where.target == name}
        if own:
            return own.get(mode) or own.get("") or next(iter(own.values()))
    return None


def published_pairs(settings: Settings, folder: Path, storage: str = WEIGHTS_OFF) -> list[Pair]:
    """A pair for each published measurement of a topology whose totals are published, too.

    Targets are those of boards/targets. Raises UsageError for tables that cannot be read.
    """
    hardware = Workspace.load(settings).hardware
    needs = demands(folder / TOPOLOGIES)
    pairs = []
    for one in measurements(folder / MEASUREMENTS):
        modes = {where.mode: where for where in modes_of(one.target, hardware.get(one.target, {}))}
        where = modes.get(one.mode)
        if where is None or one.model not in needs:
            continue
        bits = BITS[one.precision]
        prediction = predict(
            needs[one.model], where, Stored(one.precision, bits, bits, one.precision), storage, one.batch
        )  # fmt: skip
        if prediction is not None:
            line = f"table {one.table}, line {one.line}"
            pairs.append(Pair(prediction, one.task, one.basis, one.inputs_per_s, line))
    return pairs
