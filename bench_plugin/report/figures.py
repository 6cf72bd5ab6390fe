"""Figures of time and memory of a row as short texts: seconds of a device, instructions, bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench_plugin.report.entries import Entry

EMULATED = "emulated"  # of ``placement["timing"]``: seconds of that board are no latency, and are not shown
MEMORY = ("flash_bytes", "ram_bytes", "stack_bytes")
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
METRICS, LOST = ("accuracy", "map"), ("top1", "map")  # of classifiers and of detectors


def is_emulated(one: Entry) -> bool:
    """Whether the cell ran on an emulated board."""
    return (one.placement or {}).get("timing") == EMULATED


def median_seconds(one: Entry) -> float | None:
    """The median of the device's time of one inference; None where there is none, and on emulated boards."""
    compute = _timing(one).get("compute") or {}
    return None if is_emulated(one) or compute.get("median") is None else float(compute["median"])


def instructions(one: Entry) -> int | None:
    """Instructions of one inference; None where they were not counted."""
    counted = (_timing(one).get("instructions") or {}).get("median")
    return None if counted is None else int(counted)


def memory(one: Entry) -> Mapping[str, int]:
    """Bytes of flash, RAM and stack that the program takes on its board, as far as they are known.

    ``artefacts["memory"]`` is what the linker says, ``placement`` what the running program says of itself.
    """
    said = {**(one.placement or {}), **((one.artefacts or {}).get("memory") or {})}
    return {name: int(said[name]) for name in MEMORY if said.get(name)}


def measured(one: Entry) -> list[str]:
    """What was measured where the cell ran: seconds of hardware, instructions of an emulator, which is marked."""
    counted, seconds = instructions(one), median_seconds(one)
    shown = [] if seconds is None else [duration(seconds)]
    shown += [] if counted is None else [f"{counted:,} instructions"]
    return shown + ([EMULATED] if is_emulated(one) else [])


def duration(seconds: float) -> str:
    """Seconds with three digits, in a unit that leaves at least one before the point."""
    scale, unit = next((one for one in UNITS if abs(seconds) >= one[0]), UNITS[-1])
    return f"{seconds / scale:.3g} {unit}"


def kilobytes(size: int | None) -> str:
    """Bytes in kB of 1,000 bytes; empty where they are not known."""
    return "" if size is None else f"{size / 1000:.1f}"


def _timing(one: Entry) -> Mapping[str, Any]:
    return one.numbers.get("timing") or {}


def task_metric(numbers: Mapping[str, Any]) -> float | None:
    """How well a trained model does its task, a share of 1: its accuracy, of a detector its mean average precision."""
    return next((float(value) for key in METRICS if isinstance(value := numbers.get(key), int | float)), None)


def metric_lost(numbers: Mapping[str, Any]) -> float | None:
    """What it lost of that against the framework's own model, a share of 1."""
    drop = numbers.get("drop") or {}
    return next((float(value) for key in LOST if isinstance(value := drop.get(key), int | float)), None)
