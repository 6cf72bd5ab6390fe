"""What a row says of the layers, stacks and blocks of a model, and of all of them against the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench_plugin.characterise.levels.figures import by_kind, ratio, sum_of_layers
from bench_plugin.checks.layers.pieces import LAYER, Piece
from bench_plugin.domain.outcome import Outcome

VERDICT = ("E", "M", "tolerance_E", "tolerance_M", "needed", "truth", "strength", "approximation")
COMPUTE = ("median", "mean", "min", "max", "mad", "samples", "launch_medians", "settled")

OWN = ("name", "kind", "occurrences", "occurs_at")  # what a block says of itself beside the stack that it is, too


def piece_row(
    piece: Piece, outcome: Outcome | None, timing: Mapping[str, Any], *, batch: int, why_not: str = ""
) -> dict[str, Any]:
    """The line of a piece: what it is, its verdict, and its times in seconds of a call of ``batch`` samples.

    Figures are those that levels 1 and 2 have: latency, throughput and performance of compute. There is no accuracy,
    no power and nothing of the system. Of a piece that is no file, ``why_not`` says why.
    """
    row: dict[str, Any] = {
        "name": piece.name, "kind": piece.kind, "signature": piece.signature, "operators": list(piece.operators),
        "occurrences": len(piece.occurrences), "occurs_at": list(piece.occurrences), "operations": piece.operations,
        "other_operations": piece.other_operations, "weights": piece.weights, "status": "not cut", "reason": why_not,
    }  # fmt: skip
    if outcome is not None:
        row |= _verdict(outcome)
    return row | times(timing, piece.operations, batch)


def times(timing: Mapping[str, Any], operations: int, batch: int) -> dict[str, Any]:
    """Seconds, samples per second and operations per second of what was timed; nothing where no time was taken."""
    compute = timing.get("compute") or {}
    if not compute:
        return {}
    found = {name: compute[name] for name in COMPUTE if name in compute}
    rate = (timing.get("throughput") or {}).get("per_second")
    found |= {"interval": timing.get("interval"), "percentiles": timing.get("percentiles"), "per_second": rate,
              "caps": timing.get("caps", [])}  # fmt: skip
    if operations and compute.get("median"):
        found["ops_per_s"] = operations * batch / compute["median"]
    return found


def levels(
    rows: Sequence[tuple[Piece, dict[str, Any]]], model: Mapping[str, Any], conditions: Mapping[str, Any]
) -> dict[str, Any]:
    """``numbers["levels"]`` of a row (docs/layers.md).

    Each stack gets its ``excess``: its latency over the sum of its layers' latencies in the same launches.
    """
    for piece, row in rows:
        if piece.twin is not None:
            measured = rows[piece.twin][1]
            row |= {key: value for key, value in measured.items() if key not in OWN}
    layers = [row for piece, row in rows if piece.group == LAYER]
    stacked = [(piece, row) for piece, row in rows if piece.group != LAYER]
    for piece, row in stacked:
        parts = [layers[place] for place in piece.layers]
        row["layers"] = [one["name"] for one in parts]
        row["excess"] = ratio(row.get("launch_medians", ()), [one.get("launch_medians", ()) for one in parts])
    return {
        "layers": layers,
        "stacks": [row for piece, row in stacked if piece.kind != "block"],
        "blocks": [row for piece, row in stacked if piece.kind == "block"],
        "model": dict(model),
        "sum": sum_of_layers(layers, model.get("launch_medians", ())),
        "kinds": by_kind(layers),
        **conditions,
    }


def _verdict(outcome: Outcome) -> dict[str, Any]:
    """The usual verdict of a piece, and the hash and the size of its artefact."""
    row: dict[str, Any] = {"status": str(outcome.status), "reason": outcome.reason}
    for name in ("stage", "symptom", "unverified"):
        if value := getattr(outcome, name):
            row[name] = str(value)
    row |= {name: outcome.numbers[name] for name in VERDICT if outcome.numbers.get(name) is not None}
    files = [one for one in outcome.artefacts.values() if isinstance(one, Mapping) and "sha256" in one]
    if files:
        row["artefact_bytes"] = sum(int(one["bytes"]) for one in files)
    if outcome.flags:
        row["flags"] = list(outcome.flags)
    return row
