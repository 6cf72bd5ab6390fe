"""What was recorded while cells ran: a line per series over time, and the power figures of every meter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bench_plugin.report.blocks import Block, Heading, Paragraph, Table, TableCell
from bench_plugin.report.entries import Entry

HEADS = ("cell", "series", "sensor", "unit", "mean", "sd", "median", "least", "most", "samples", "remark")
POWER_HEADS = (
    "cell", "meter", "base, W", "idle, W", "full, W", "energy of an inference", "above idle", "absent",
)  # fmt: skip
OPENING = (
    "Series of the machine that did the work, while it did it. The statistics are of all values of a series, which "
    "are in the side files that the row names."
)
POWER = "Power as mean (least to most): base is the machine alone, idle with the model loaded, full with inferences."
FIGURES = ("mean", "sd", "median", "min", "max")
SHOWN = {"B": ("MiB", 2.0**20), "Hz": ("GHz", 1e9), "degC": ("°C", 1.0)}  # unit in rows -> unit on pages, and its size
PHASES = ("base", "idle", "full")


def recorded_blocks(entries: Sequence[Entry], describe: Callable[[Entry], str]) -> list[Block]:
    """The tables of the series and of the power of all entries; nothing where none recorded anything."""
    series = [row for one in entries for row in _series_rows(one, describe(one))]
    power = [row for one in entries for row in _power_rows(one, describe(one))]
    blocks: list[Block] = []
    if series:
        blocks += [Heading("Series over time"), Paragraph(OPENING), Table(HEADS, tuple(series), keys=2)]
    if power:
        blocks += [Heading("Power"), Paragraph(POWER), Table(POWER_HEADS, tuple(power), keys=2)]
    return blocks


def _series_rows(one: Entry, cell: str) -> Iterator[tuple[TableCell, ...]]:
    """A row for each series of a sensor; samples of times, which have no unit, are not of these."""
    for name, about in (one.numbers.get("series") or {}).items():
        if "unit" in about:
            unit, size = SHOWN.get(about["unit"], (about["unit"], 1.0))
            figures = (_number(about.get(key), size) for key in FIGURES)
            texts = (cell, name, about.get("place", ""), unit, *figures, str(about["samples"]), _ended(about))
            yield tuple(map(TableCell, texts))


def _power_rows(one: Entry, cell: str) -> Iterator[tuple[TableCell, ...]]:
    for name, meter in (one.numbers.get("power") or {}).items():
        energy = meter.get("energy_per_inference") or {}
        absent = "; ".join(f"{what}: {why}" for what, why in meter.get("absent", {}).items())
        where = f"{name} ({meter['place']})" if meter.get("place") else name
        phases = (_phase(meter.get(phase)) for phase in PHASES)
        texts = (cell, where, *phases, _joules(energy.get("with_idle")), _joules(energy.get("above_idle")), absent)
        yield tuple(map(TableCell, texts))


def _phase(figure: Mapping[str, float] | None) -> str:
    return f"{figure['mean']:.3g} ({figure['min']:.3g} to {figure['max']:.3g})" if figure else ""


def _joules(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3g} J" if abs(value) >= 1 else f"{value * 1e3:.3g} mJ"


def _number(value: float | None, size: float) -> str:
    return "" if value is None else f"{value / size:.4g}"


def _ended(about: Mapping[str, Any]) -> str:
    ended = about.get("ended")
    return f"ended at {ended['at']:.1f} s: {ended['why']}" if ended else ""
