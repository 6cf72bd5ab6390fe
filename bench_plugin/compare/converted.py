"""What a converter wrote into an artefact, against the file that it was given (docs/numbers.md, "The converter")."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bench_plugin.compare.table import DEFAULTS, Table
from bench_plugin.compare.verdict import AGREE, MISMATCH, Comparison

CONVERTER = "converter: "  # how reasons of wrong constants and ranges begin
MASKED = 1e30  # a step beyond which only what stands for -Inf, the lowest number of float32, can be the cause
CLIPPED = ", of which it clips what is beyond its range"
LOOKUPS = ("GATHER",)  # TFLite gives a table the scale of its result, and so of the rows that were looked up
UNSEEN = " (that of the rows which the calibration inputs look up: --bench-inputs that look up every row widen it)"
NOTHING = 1e-5  # the largest value of a range that stands for zeros: TFLite's smallest one ends at 1e-6
SAME = 1e-6  # of the largest value, up to which two biases are the same number
ALWAYS_ZERO = 1e-6  # steps that float64 may make of a value that is always 0
SYMMETRIC = 1.5  # steps by which the two ends of a symmetric range may differ: one integer more lies below zero
Row = Mapping[str, Any]
Rows = Sequence[Row]


def compare_constants(constants: Rows, matches: Rows, *, bits: int = 0, table: Table = DEFAULTS) -> Comparison:
    """The verdict on the quantised constants of an artefact, each beside the constant of the file that it stands for.

    ``constants`` says the ``kind`` (weight or bias) and the ``layer`` of each by ``name``; ``matches`` how many
    ``steps`` it is from the file's ``tensor``, whose name is empty where the file has nothing like it. Those are
    counted as not compared. What stayed in floating point is left out (:func:`compare_floats`), and so is a ``number``,
    which has no step of its own. So are several numbers that are a ``part`` of a Concat, where the file has nothing
    like them. What they do is seen in the model as a whole.

    One that is ``observed`` may be cut off at its ends by as much as the range of an activation may be off.

    ``bits`` is how many the integers of weights have, 0 where they are no integers. A weight of a contraction has to
    ``reach`` some share of them: with a longer step it is as near to the file's in steps, and has lost bits.
    """
    found = {match["name"] for match in matches if match["tensor"]}
    compared = (row for row in constants if not row.get("floating") and row["kind"] != "number")
    described = {row["name"]: row for row in compared if row["kind"] != "part" or row["name"] in found}
    beside = list(_beside(described, matches))
    wrong = [
        f"{CONVERTER}{row['kind']} of {row['layer']} up to {match['steps']:.3g} steps from "
        f"{match['tensor']} of the file{_clipped(row, match)}"
        for row, match in beside
        if not match["steps"] <= _permitted(row, match, table)
    ]
    largest = 2 ** (bits - 1) - 1 if bits else 0
    wrong += [
        f"{CONVERTER}the weight of {row['layer']} uses {match['reach']:.0f} of the {largest} integers on a side of zero"
        for row, match in beside
        if row["kind"] == "weight" and 0 < match.get("reach", 0.0) < table.converter_reach * largest
    ]
    worst = _worst(beside)
    numbers = {"converter": {"constants": len(described), "compared": len(beside), "worst_steps": worst}}
    return Comparison(MISMATCH, "; ".join(wrong[:3]), numbers) if wrong else Comparison(AGREE, "", numbers)


def _clipped(row: Mapping[str, Any], match: Mapping[str, Any]) -> str:
    """What to say of a table that is off only where the file's numbers are beyond its range."""
    if not match.get("clipped"):
        return ""
    return CLIPPED + (UNSEEN if row["layer"] in LOOKUPS else "")


def _permitted(row: Mapping[str, Any], match: Mapping[str, Any], table: Table) -> float:
    """How many steps a constant may be off the file's."""
    return table.converter_ranges if row.get("observed") and match.get("clipped") else table.converter_weights


def compare_floats(constants: Rows, matches: Rows, *, table: Table = DEFAULTS) -> Comparison:
    """The verdict on the constants of an artefact that stayed in floating point, each beside that of the file.

    The arguments are those of :func:`compare_constants`; a step is a millionth of the largest value. What float32 may
    change where a converter multiplies and adds constants is not in the ``steps``. A slope that is none of the file's
    is a mismatch: no tool has to compute it. Biases that the tool may have corrected are left out: what they do is seen
    in the model as a whole.
    """
    described = {row["name"]: row for row in constants if row.get("floating") and not row.get("corrected")}
    beside = list(_beside(described, matches))
    wrong = [
        f"{CONVERTER}{row['kind']} of {row['layer']} in floating point {_far(match)} of the file"
        for row, match in beside
        if not match["steps"] <= table.converter_weights
    ]
    known = {match["name"] for _, match in beside}
    wrong += [
        f"{CONVERTER}the {row['kind']} of {row['layer']} is none of the file"
        for name, row in described.items()
        if row["kind"] == "slope" and name not in known
    ]
    worst = _worst(beside)
    numbers = {"converter_floats": {"constants": len(described), "compared": len(beside), "worst_millionths": worst}}
    return Comparison(MISMATCH, "; ".join(wrong[:3]), numbers) if wrong else Comparison(AGREE, "", numbers)


def compare_corrected(constants: Rows, matches: Rows, own: Mapping[str, Any], written: Mapping[str, Any]) -> Comparison:
    """The verdict on biases that a tool may have corrected: it corrects all channels of a layer, or none.

    ``own`` has the values [...] of the artefact and ``written`` those of the file by name. Where most of them are equal
    to the file's, those that are not are no correction. How far a correction may go is seen in the model as a whole.
    """
    described = {row["name"]: row for row in constants if row.get("corrected")}
    wrong, moved = [], 0
    for row, match in _beside(described, matches):
        values, known = np.asarray(own[row["name"]]), np.asarray(written[row["name"]])
        off = np.abs(values - known)
        differ = off > SAME * max(np.abs(known).max(initial=0.0), off.max(initial=0.0))
        count = int(np.count_nonzero(differ))
        moved += bool(count)
        if 0 < 2 * count < differ.size:
            said = f"{count} of {differ.size} numbers of the bias of {row['layer']}"
            wrong.append(
                f"{CONVERTER}{said} up to {off.max():.3g} from {match['tensor']} of the file, the others equal it"
            )
    numbers = {"converter_biases": {"constants": len(described), "corrected": moved}} if described else {}
    return Comparison(MISMATCH, "; ".join(wrong[:3]), numbers) if wrong else Comparison(AGREE, "", numbers)


def _far(match: Row) -> str:
    if match.get("missing"):
        return f"is zeros in place of {match['tensor']}"
    return f"up to {match['steps'] / 1e4:.3g} % of its largest value from {match['tensor']}"


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

    Results that are ``shared`` and have the same ``scale`` and ``zero`` have one range: each end has to be that of one
    of them. The ends of a range that is not wider than ``narrowest`` are moved outwards by as much. A range that was
    ``narrowed`` has to lie within that of the calibration. What they leave out is not judged
    here (:func:`cut_ranges`). Of ranges that are wrong the reason has three, those that are furthest off.
    """
    known = [row for row in results if row.get("scale") is not None and row["real"] in measured]
    measured = {**measured, **{row["real"]: _not_narrower(row, *measured[row["real"]]) for row in known}}
    over = _with_readers(known, measured, readers or {})
    sharing, unions = _of_sharing(known, measured, over), _of_sharing(known, measured, {})
    wrong: list[tuple[float, str]] = []
    worst = 0.0
    for row in known:
        low, high = measured[row["real"]]
        others = sharing[_parameters(row)] if row.get("shared") else []
        off = _off(row, low, high)
        if row["real"] in over and not off <= table.converter_ranges:
            off = min(off, _off(row, *over[row["real"]]))
        if others and not off <= table.converter_ranges:
            off = min(off, _off_one_of(row, others))
        if row.get("narrowed"):
            off = min(off, _beyond(row, [*others, (low, high)]))
        worst = max(worst, off)
        both = [(low, high), *([_union(unions[_parameters(row)])] if others else [])]
        if not off <= table.converter_ranges and not any(_widened_for_zero(row, *ends, table) for ends in both):
            said = f"the range of {row['layer']} is {row['low']:.4g} to {row['high']:.4g}, that of the calibration "
            wrong.append((off, f"{CONVERTER}{said}{low:.4g} to {high:.4g}"))
    wrong.sort(key=lambda one: -one[0])
    numbers = {"converter_ranges": {"compared": len(known), "worst_steps": worst}}
    if not wrong:
        return Comparison(AGREE, "", numbers)
    return Comparison(MISMATCH, "; ".join(said for _, said in wrong[:3]), numbers)


def measured_ranges(results: Rows, values: Mapping[str, Any]) -> tuple[list[Row], dict[str, tuple[float, float]]]:
    """The ``results`` and what a calibration measured of them, as :func:`compare_ranges` takes both.

    ``values`` are real values [N, ...] over N samples by name. A result that has a step for each channel becomes as
    many results as it has channels, each with its own range; its real values are in steps, and become numbers here. A
    channel that is always 0 is left out: every range holds that.
    """
    measured = {name: (float(real.min()), float(real.max())) for name, real in values.items()}
    rows: list[Row] = []
    for row in results:
        if not row.get("scales") or row["real"] not in values:
            rows.append(row)
            continue
        channels = np.moveaxis(values[row["real"]], row["axis"], 0).reshape(len(row["scales"]), -1)
        for number, (own, scale, zero) in enumerate(zip(channels, row["scales"], row["zeros"], strict=True)):
            name = f"{row['real']}, channel {number}"
            low, high, least, most = ((end - zero) * scale for end in (row["low"], row["high"], own.min(), own.max()))
            if max(-least, most) <= scale * ALWAYS_ZERO:
                continue
            measured[name] = float(least), float(most)
            said = {"real": name, "scale": scale, "zero": zero, "low": low, "high": high}
            rows.append({**row, **said, "layer": f"{row['layer']} (channel {number})"})
    return rows, measured


def cut_ranges(results: Rows, measured: Mapping[str, tuple[float, float]], *, table: Table = DEFAULTS) -> list[Row]:
    """The results whose range leaves out values of the calibration, though it is a right one; the worst one first.

    The arguments are those of :func:`compare_ranges`. Operators that share a range make such ones, and observers that
    leave out what is rare. Whether that does harm is seen in what the model computes with these values cut.
    """
    found: list[tuple[float, Row]] = []
    for row in results:
        if row.get("scale") is None or row["real"] not in measured:
            continue
        low, high = measured[row["real"]]
        inside = max(row["low"] - min(low, 0.0), max(high, 0.0) - row["high"]) / row["scale"]
        if inside > table.converter_ranges and (row.get("shared") or row.get("narrowed")):
            found.append((inside, row))
    return [row for _, row in sorted(found, key=lambda one: -one[0])]


def masked_range(results: Rows) -> str:
    """What is to be said of a range that a mask makes so wide that all other values are one integer; "" without one."""
    for row in results:
        if row.get("scale") is not None and row["scale"] > MASKED:
            return (
                f"the range of {row['layer']} is {row['low']:.4g} to {row['high']:.4g}, as a mask makes it: its step "
                f"is {row['scale']:.2g}, so that all that is not masked is one integer"
            )
    return ""


def _not_narrower(row: Row, low: float, high: float) -> tuple[float, float]:
    """A range of the calibration, as a tool has it that moves the ends of a narrow one outwards."""
    least = row.get("narrowest", 0.0)
    return (low, high) if high - low > least else (low - least, high + least)


def _parameters(row: Row) -> tuple[float, int]:
    return float(row["scale"]), int(row.get("zero", 0))


def _with_readers(
    known: Rows, measured: Mapping[str, tuple[float, float]], readers: Mapping[str, str]
) -> dict[str, tuple[float, float]]:
    """What a calibration has of a result that its only reader is written over: the range of both, by real value."""
    found = {}
    for row in known:
        reader = measured.get(readers.get(row["real"], ""))
        if reader:
            low, high = measured[row["real"]]
            found[row["real"]] = min(low, reader[0]), max(high, reader[1])
    return found


def _of_sharing(
    known: Rows, measured: Mapping[str, tuple[float, float]], over: Mapping[str, tuple[float, float]]
) -> dict[tuple[float, int], list[tuple[float, float]]]:
    """What the calibration has of the results that share a scale and a zero point, by these two."""
    found: dict[tuple[float, int], list[tuple[float, float]]] = {}
    for row in known:
        if row.get("shared"):
            ranges = (one[row["real"]] for one in (measured, over) if row["real"] in one)
            found.setdefault(_parameters(row), []).extend(ranges)
    return found


def _off_one_of(row: Row, others: Sequence[tuple[float, float]]) -> float:
    """By how many steps the ends of a range are off those of several, each off the nearest, or off all as one."""
    lows, highs = [min(low, 0.0) for low, _ in others], [max(high, 0.0) for _, high in others]
    below, above = min(abs(row["low"] - low) for low in lows), min(abs(row["high"] - high) for high in highs)
    return min(float(max(below, above)) / float(row["scale"]), _off(row, min(lows), max(highs)))


def _beyond(row: Row, others: Sequence[tuple[float, float]]) -> float:
    """By how many steps a range reaches beyond all of several."""
    low, high = _union(others)
    return float(max(low - row["low"], row["high"] - high, 0.0)) / float(row["scale"])


def _union(ranges: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The smallest range that holds zero and all of these."""
    return min([0.0, *(low for low, _ in ranges)]), max([0.0, *(high for _, high in ranges)])


def _off(row: Row, low: float, high: float) -> float:
    """By how many steps the ends of a range are off ``low`` and ``high``, the one that is further off.

    A value that is always 0 has the smallest range that the tool gives.
    """
    if max(-low, high) <= ALWAYS_ZERO * row["scale"] and max(-row["low"], row["high"]) <= NOTHING:
        return 0.0
    off = float(max(abs(row["low"] - min(low, 0.0)), abs(row["high"] - max(high, 0.0))))
    if abs(row["low"] + row["high"]) <= SYMMETRIC * row["scale"]:
        off = min(off, abs(row["high"] - max(-low, high)))
    return off / float(row["scale"]) if math.isfinite(row["low"] + row["high"]) else math.inf


def _widened_for_zero(row: Row, low: float, high: float, table: Table) -> bool:
    """Whether one end of a range is that of ``low`` to ``high``, and the other one further out for the sake of zero.

    Zero has to lie inside the range: where it is the end that is kept, it is a whole number of steps away already.
    """
    low, high = min(low, 0.0), max(high, 0.0)
    inside = (row["low"] - low) / row["scale"], (high - row["high"]) / row["scale"]  # negative where it is further out
    if max(inside) > table.converter_ranges or max(inside) < -table.converter_ranges or low == high:
        return False
    kept = row["low"] if inside[0] > inside[1] else row["high"]
    if abs(kept) < row["scale"] / 2:
        return False
    levels = (row["high"] - row["low"]) / row["scale"]
    return bool(abs(row["low"] / row["scale"] - low / (high - low) * levels) <= table.quantised_far)
