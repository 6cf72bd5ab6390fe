"""The variants of a model in rows: every precision at every share of channels, with the figures that rows have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bench_plugin.domain.cell import WHOLE
from bench_plugin.domain.outcome import Status
from bench_plugin.results.artefact import bytes_in

SAME = ("model", "framework", "exporter", "opset", "compiler", "target")  # what variants of a model share
CHECKS = ("equivalence", "quality", "timing")
SETTINGS = ("batch", "streams", "mode")  # a time at another one is not that of a single call
USUAL, EMULATED = "fp32", "emulated"


@dataclass(frozen=True)
class Variant:
    """A model at a precision and a share of channels; a figure is None where no row has it.

    ``of`` is what it shares with the other variants. ``operations`` and ``weights`` are those of convolutions and fully
    connected layers for one input, ``size`` the bytes of the artefact, ``seconds`` the median time of an inference with
    ``half_width``, that of its 95 % interval as a share, ``metric`` the accuracy or the mean average precision as a
    share. ``wrong`` names the checks whose verdict is not ``supported``.
    """

    of: Mapping[str, str]
    precision: str
    kept: int
    operations: int | None = None
    weights: int | None = None
    size: int | None = None
    seconds: float | None = None
    half_width: float | None = None
    metric: float | None = None
    wrong: tuple[str, ...] = ()

    @property
    def group(self) -> tuple[str, ...]:
        """What it shares with other variants, as a key."""
        return tuple(self.of.get(axis, "") for axis in SAME)


def variants(rows: Iterable[Mapping[str, Any]]) -> list[Variant]:
    """The variants in the rows of one or several files; a later row of a cell replaces an earlier one.

    The whole models come first, and shares fall. Models of which no share but the whole has a row are left out.
    """
    latest: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        if row.get("kind") == "cell" and row["cell"].get("check") in CHECKS:
            latest[str(sorted(row["cell"].items()))] = row
    found: dict[tuple[Any, ...], Variant] = {}
    for row in latest.values():
        cell = row["cell"]
        if any(cell.get(axis) for axis in SETTINGS):
            continue
        of = {axis: str(cell[axis]) for axis in SAME if cell.get(axis)}
        precision, kept = _precision(cell), int(cell.get("kept", WHOLE))
        place = (tuple(of.items()), precision, kept)
        found[place] = _with(found.get(place, Variant(of, precision, kept)), row)
    pruned = {one.group for one in found.values() if one.kept != WHOLE}
    return sorted(
        (one for one in found.values() if one.group in pruned),
        key=lambda one: (one.group, one.precision != USUAL, one.precision, -one.kept),
    )


def _precision(cell: Mapping[str, Any]) -> str:
    """The precision with the graph that the compiler was given, where that has another name."""
    precision, graph = str(cell.get("precision", USUAL)), str(cell.get("graph", ""))
    return precision if graph in ("", precision) else f"{precision} {graph}"


def _with(one: Variant, row: Mapping[str, Any]) -> Variant:
    """The variant with the figures of one more row of it."""
    numbers, check = row.get("numbers") or {}, str(row["cell"]["check"])
    needs = numbers.get("needs") or {}
    size = bytes_in(row.get("artefacts") or {})
    one = replace(
        one, operations=needs.get("operations", one.operations), weights=needs.get("weights", one.weights),
        size=size or one.size, metric=_metric(numbers) if check == "quality" else one.metric,
    )  # fmt: skip
    if check == "timing" and (row.get("placement") or {}).get("timing") != EMULATED:
        timing = numbers.get("timing") or {}
        one = replace(
            one, seconds=(timing.get("compute") or {}).get("median"),
            half_width=(timing.get("interval") or {}).get("half_width"),
            metric=_metric(numbers.get("task") or {}) if one.metric is None else one.metric,
        )  # fmt: skip
    return one if row.get("status") == Status.SUPPORTED else replace(one, wrong=tuple(sorted({*one.wrong, check})))


def _metric(numbers: Mapping[str, Any]) -> float | None:
    found = numbers.get("accuracy") if numbers.get("accuracy") is not None else numbers.get("map")
    return None if found is None else float(found)
