"""What a converter wrote into an artefact, against the file that it was given (docs/numbers.md, "The converter")."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench_plugin.compare.table import DEFAULTS, Table
from bench_plugin.compare.verdict import AGREE, MISMATCH, Comparison

SYMMETRIC = 1.5  # steps by which the two ends of a symmetric range may differ: one integer more lies below zero
Row = Mapping[str, Any]
Rows = Sequence[Row]


def compare_constants(constants: Rows, matches: Rows, *, table: Table = DEFAULTS) -> Comparison:
    """The verdict on the quantised constants of an artefact, each beside the constant of the file that it stands for.

    ``constants`` says the ``kind`` (weight or bias) and the ``layer`` of each by ``name``; ``matches`` how many
    ``steps`` it is from the file's ``tensor``, whose name is empty where the file has nothing like it. Those are
    counted as not compared. What stayed in floating point is left out (:func:`compare_floats`).
    """
    described = {row["name"]: row for row in constants if not row.get("floating")}
    beside = list(_beside(described, matches))
    wrong = [
        f"converter: {row['kind']} of {row['layer']} up to {match['steps']:.3g} steps from "
        f"{match['tensor']} of the file"
        for row, match in beside
        if not match["steps"] <= table.converter_weights
    ]
    worst = _worst(beside)
    numbers = {"converter": {"constants": len(described), "compared": len(beside), "worst_steps": worst}}
    return Comparison(MISMATCH, "; ".join(wrong[:3]), numbers) if wrong else Comparison(AGREE, "", numbers)


def compare_floats(constants: Rows, matches: Rows, *, table: Table = DEFAULTS) -> Comparison:
    """The verdict on the constants of an artefact that stayed in floating point, each beside that of the file.

    The arguments are those of :func:`compare_constants`; a step is a millionth of the largest value. What float32 may
    change where a converter multiplies and adds constants is not in the ``steps``. A slope that is none of the file's
    is a mismatch: no tool has to compute it.
    """
    described = {row["name"]: row for row in constants if row.get("floating")}
    beside = list(_beside(described, matches))
    wrong = [
        f"converter: {row['kind']} of {row['layer']} in floating point up to {match['steps'] / 1e4:.3g} % of "
        f"its largest value from {match['tensor']} of the file"
        for row, match in beside
        if not match["steps"] <= table.converter_weights
    ]
    known = {match["name"] for _, match in beside}
    wrong += [
        f"converter: the {row['kind']} of {row['layer']} is none of the file"
        for name, row in described.items()
        if row["kind"] == "slope" and name not in known
    ]
    worst = _worst(beside)
    numbers = {"converter_floats": {"constants": len(described), "compared": len(beside), "worst_millionths": worst}}
    return Comparison(MISMATCH, "; ".join(wrong[:3]), numbers) if wrong else Comparison(AGREE, "", numbers)


def _beside(described: Mapping[str, Row], matches: Rows) -> Iterator[tuple[Row, Row]]:
    """The described constants that the file has something like, each with what it was matched with."""
    for match in matches:
        row = described.get(match["name"])
        if row is not None and match["tensor"]:
            yield row, match


def _worst(beside: Sequence[tuple[Row, Row]]) -> float:
    return max((float(match["steps"]) for _, match in beside), default=0.0)


def compare_ranges(
    results: Rows, measured: Mapping[str, tuple[float, float]], *, readers: Mapping[str, str] | None = None,
    table: Table = DEFAULTS,
) -> Comparison:  # fmt: skip
    """The verdict on the ranges of activations: those of ``results`` against what the calibration ``measured``.

    Of each result ``low`` and ``high`` are the ends of its range and ``scale`` its step; ``measured`` holds the
    smallest and the largest real value over the calibration inputs, by the name of the result's real value. A range
    always holds zero; a symmetric one reaches to the value that is furthest from it. Where one end is kept, the other
    one may be moved outwards until zero is a whole number of steps away, the one nearest to where the calibration has
    it (NNCF does so): with zero near the end that is kept that is a move of many steps. ``readers`` has, by the same
    names, the result that alone reads another one: a calibration that writes it over the other one sees both (TFLite).
    """
    wrong, compared, worst = [], 0, 0.0
    for row in results:
        if row.get("scale") is None or row["real"] not in measured:
            continue
        low, high = measured[row["real"]]
        off = _off(row, low, high)
        reader = measured.get((readers or {}).get(row["real"], ""))
        if reader and not off <= table.converter_ranges:
            off = min(off, _off(row, min(low, reader[0]), max(high, reader[1])))
        compared += 1
        worst = max(worst, off)
        if not off <= table.converter_ranges and not _widened_for_zero(row, min(low, 0.0), max(high, 0.0), table):
            wrong.append(
                f"converter: the range of {row['layer']} is {row['low']:.4g} to {row['high']:.4g}, that of the "
                f"calibration {low:.4g} to {high:.4g}"
            )
    numbers = {"converter_ranges": {"compared": compared, "worst_steps": worst}}
    return Comparison(MISMATCH, "; ".join(wrong[:3]), numbers) if wrong else Comparison(AGREE, "", numbers)


def _off(row: Mapping[str, Any], low: float, high: float) -> float:
    """By how many steps the ends of a range are off ``low`` and ``high``, the one that is further off."""
    off = float(max(abs(row["low"] - min(low, 0.0)), abs(row["high"] - max(high, 0.0))))
    if abs(row["low"] + row["high"]) <= SYMMETRIC * row["scale"]:
        off = min(off, abs(row["high"] - max(-low, high)))
    return off / float(row["scale"]) if math.isfinite(row["low"] + row["high"]) else math.inf


def _widened_for_zero(row: Mapping[str, Any], low: float, high: float, table: Table) -> bool:
    """Whether one end of a range is that of ``low`` to ``high``, and the other one further out for the sake of zero."""
    inside = (row["low"] - low) / row["scale"], (high - row["high"]) / row["scale"]  # negative where it is further out
    if max(inside) > table.converter_ranges or max(inside) < -table.converter_ranges or low == high:
        return False
    levels = (row["high"] - row["low"]) / row["scale"]
    return bool(abs(row["low"] / row["scale"] - low / (high - low) * levels) <= table.quantised_far)
