"""Predictions out of the JSON that ``bench predict --json`` prints: figures of places where nothing may have run."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_plugin.characterise.choice.candidate import Basis, Figure
from bench_plugin.domain.errors import UsageError

KEY = "predictions"
PLACES = ("model", "target", "mode", "precision", "kept", "batch")
USUAL = {"kept": "100", "batch": "1"}  # what rows leave out


@dataclass(frozen=True)
class Prediction:
    """Figures of a model at a precision on a target, in one of its modes; ``places`` are its values on the axes."""

    places: Mapping[str, str]
    figures: Mapping[str, Figure]


def is_predictions(path: Path) -> bool:
    """Whether a file is JSON of predictions: one object with that key, and not one object per line.

    Raises OSError for a file that cannot be read.
    """
    return _loaded(path) is not None


def read_predictions(path: Path) -> list[Prediction]:
    """All predictions of a file that are of a supported pair; one without a figure is left out: the pair is empty.

    Raises UsageError, with the place in the file, for what is no prediction, and OSError.
    """
    rows = _loaded(path)
    if not isinstance(rows, list):
        raise UsageError(f"{path}: {KEY!r} is no list; it is what bench predict --json prints")
    found = [_prediction(row, f"{path}: {KEY}[{place}]") for place, row in enumerate(rows)]
    return [one for one in found if one is not None]


def best_match(predictions: Sequence[Prediction], places: Mapping[str, str]) -> Prediction | None:
    """The prediction of a deployment's place; None where there is none, or where the mode decides and is not known."""
    same = [
        one
        for one in predictions
        if all(one.places.get(axis, "") == places.get(axis, "") for axis in PLACES if axis != "mode")
    ]
    mode = places.get("mode", "")
    exact = [one for one in same if one.places.get("mode", "") == mode]
    return exact[0] if exact else same[0] if len(same) == 1 and not mode else None


def _loaded(path: Path) -> Any:
    """What stands under ``predictions``; None for a file that has no such key."""
    try:
        data = json.loads(path.read_bytes())
    except ValueError:
        return None  # rows of a results file are one object per line
    return data.get(KEY) if isinstance(data, dict) and "kind" not in data else None


def _prediction(row: Any, where: str) -> Prediction | None:
    if not isinstance(row, Mapping):
        raise UsageError(f"{where}: it is no object")
    for name in ("model", "target", "precision"):
        if not isinstance(row.get(name), str) or not row[name]:
            raise UsageError(f"{where}: {name} is missing, or no text")
    rate = row.get("inputs_per_s")
    if rate is None:
        return None
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not math.isfinite(rate) or rate <= 0:
        raise UsageError(f"{where}: inputs_per_s is {rate!r}, and not a number above 0")
    batch = row.get("batch") or 1
    source = "; ".join(str(row[key]) for key in ("bound", "assumption", "peak_source") if isinstance(row.get(key), str))
    figures = {
        "throughput": Figure(float(rate), Basis.PREDICTED, source),
        # One run after the other: that of a batch takes as long as the rate says of its inputs.
        "latency": Figure(float(batch) / float(rate), Basis.PREDICTED, source),
    }
    places = {name: str(row[name]) for name in PLACES if row.get(name) and str(row[name]) != USUAL.get(name)}
    return Prediction(places, figures)
