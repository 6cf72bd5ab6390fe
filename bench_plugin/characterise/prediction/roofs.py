"""The roofs of a target in each of its modes: peaks by datatype, memory bandwidth and on-chip memory, with sources.

They come from the target's file (boards/targets), and from the file of what was measured on a board or on this machine
(boards/peaks). Nothing is invented: what no source gives is absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bench_plugin.characterise.prediction.datatypes import CARRIERS, UNNAMED
from bench_plugin.inventory.hardware.peaks_file import MeasuredPeaks

Basis = Literal["datasheet", "measured"]
ONE_THREAD = "1 thread"


@dataclass(frozen=True)
class Figure:
    """A figure with its source: operations per second, bytes per second, or bytes."""

    value: float
    source: str
    basis: Basis = "datasheet"
    of: str = ""


@dataclass(frozen=True)
class Roof:
    """The peak that a datatype is computed at. ``carrier`` is the wider datatype that it runs in, empty for itself.

    ``unnamed`` says that the source names no datatype: the figure is an upper bound.
    """

    peak: Figure
    carrier: str = ""
    unnamed: bool = False


@dataclass(frozen=True)
class TargetMode:
    """A target in one of its modes. ``peaks`` are by datatype, or ``float`` and ``any`` where a source says that."""

    target: str
    mode: str = ""
    peaks: Mapping[str, Figure] = field(default_factory=dict)
    bandwidth: Figure | None = None
    on_chip: Figure | None = None

    @property
    def name(self) -> str:
        """The target with its mode.

        >>> TargetMode("coral", "fast").name
        'coral (fast)'
        """
        return f"{self.target} ({self.mode})" if self.mode else self.target

    def roof(self, datatype: str) -> Roof | None:
        """The roof of a datatype, its own or its carrier's; None where the target does not compute it."""
        if datatype in self.peaks:
            return Roof(self.peaks[datatype])
        for carrier in CARRIERS.get(datatype, ()):
            if carrier in self.peaks:
                return Roof(self.peaks[carrier], carrier)
        for name, meant in UNNAMED.items():
            if name in self.peaks and datatype in meant:
                return Roof(self.peaks[name], unnamed=True)
        return None


def modes_of(target: str, said: Mapping[str, Any], measured: MeasuredPeaks | None = None) -> tuple[TargetMode, ...]:
    """The modes of a target whose file says ``said``, with what was ``measured`` on a board of it.

    A measured figure is used in place of a published one of the same datatype. One without any peak has no modes.
    """
    memories = said.get("memories", ())
    bandwidth = _highest(memories, "bandwidth_bytes_per_s")
    on_chip = _highest([one for one in memories if one.get("on_chip")], "bytes")
    if measured is not None:
        return _measured(target, measured, _published(said.get("peaks", ())).get("", {}), bandwidth, on_chip)
    return tuple(
        TargetMode(target, mode, peaks, bandwidth, on_chip) for mode, peaks in _published(said.get("peaks", ())).items()
    )


def _published(groups: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Figure]]:
    """Peaks by mode and datatype. What names no datatype counts only where nothing of the target names one."""
    found: dict[str, dict[str, Figure]] = {}
    for group in groups:
        here = found.setdefault(str(group.get("mode", "")), {})
        for datatype, value in group["peak_ops_per_s"].items():
            figure = Figure(float(value), group["source"], of=str(group.get("of", "")))
            if datatype not in here or here[datatype].value < figure.value:
                here[datatype] = figure
    if any(name not in UNNAMED for peaks in found.values() for name in peaks):
        named = {
            mode: {name: one for name, one in peaks.items() if name not in UNNAMED} for mode, peaks in found.items()
        }
        return {mode: peaks for mode, peaks in named.items() if peaks}
    return found


def _highest(rows: Sequence[Mapping[str, Any]], key: str) -> Figure | None:
    found = [Figure(float(row[key]), row["source"], of=str(row["name"])) for row in rows if row.get(key)]
    return max(found, key=lambda one: one.value, default=None)


def _measured(
    target: str, measured: MeasuredPeaks, datasheet: Mapping[str, Figure], bandwidth: Figure | None,
    on_chip: Figure | None,
) -> tuple[TargetMode, ...]:  # fmt: skip
    """A mode for each number of threads that was measured: all of them first, which has no name, then one alone."""
    numbers = sorted({one.threads for one in measured.peaks} | {one.threads for one in measured.bandwidths})[::-1]
    found = []
    for threads in numbers:
        crew = ONE_THREAD if threads == 1 else f"{threads} threads"
        source = f"measured by bench board peaks on {measured.measured}, {crew}"
        peaks = {
            one.datatype: Figure(one.ops_per_s, source, "measured") for one in measured.peaks if one.threads == threads
        }
        streams = [
            Figure(one.bytes_per_s, source, "measured", one.kernel)
            for one in measured.bandwidths
            if one.threads == threads
        ]
        stream = max(streams, key=lambda one: one.value, default=bandwidth)
        whole = threads == numbers[0]
        mode = "" if whole else crew
        known = {**(datasheet if whole else {}), **peaks}
        found.append(TargetMode(target, mode, known, stream, on_chip))
    return tuple(found)
