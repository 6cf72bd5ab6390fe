"""The figures of timed cells, from entries alone: what every page, picture and export says of them comes from here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench_plugin.domain.axes import SWEPT, Axis
from bench_plugin.report.entries import Entry
from bench_plugin.report.figures import is_emulated, task_metric
from bench_plugin.results.artefact import bytes_in, digest_in

NATIVE = "native"  # the compiler that is the base line of speed-ups: the framework itself
BASE_PRECISION = "fp32"
CASE = ("model", "framework", "target", *(axis.name for axis in SWEPT))  # what a cell shares with its base line
RSS = "memory.rss"
GPU = re.compile(r"gpu\d+\.memory$")


@dataclass(frozen=True)
class Energy:
    """Joules of one inference of one sample, idle power included, and ``meter``, the name of the meter's series."""

    joules: float
    meter: str


@dataclass(frozen=True)
class Task:
    """The task metric of a timed artefact, a share of 1; None where there is none. ``wrong`` says that the accuracy of
    the quality row is that of another artefact, which must not stand beside the time; else it is empty.
    """

    accuracy: float | None = None
    wrong: str = ""


def value_of(one: Entry, axis: Axis) -> str:
    """The value of a swept axis as text, also where the row leaves the usual one out."""
    return str(one.cell.get(axis.name, axis.usual))


def point(one: Entry) -> tuple[str, ...]:
    """The place of a cell in its sweep: share kept, batch, threads, streams and mode."""
    return tuple(value_of(one, axis) for axis in SWEPT)


def is_swept(one: Entry) -> bool:
    """Whether the cell has a batch, streams or a mode of its own, so that its time is not that of a plain cell."""
    return any(axis.name in one.cell for axis in SWEPT if axis.name not in ("threads", "kept"))


def latency(one: Entry) -> float | None:
    """Seconds of one call of a whole batch, the median over launches; None where none was taken."""
    found: float | None = (_timing(one).get("compute") or {}).get("median")
    return None if is_emulated(one) else found


def p50(one: Entry) -> float | None:
    """Seconds of one call of a whole batch, the median of all samples; None where none was taken."""
    found: float | None = (_timing(one).get("percentiles") or {}).get("p50")
    return None if is_emulated(one) else found


def of_launches(one: Entry) -> Sequence[float]:
    """The median seconds of every launch, in the order of the launches; empty where none was taken."""
    found: Sequence[float] = (_timing(one).get("compute") or {}).get("launch_medians") or ()
    return () if is_emulated(one) else found


def throughput(one: Entry) -> float | None:
    """Samples per second of all streams together, in a closed loop; None where it was not measured."""
    found: float | None = (_timing(one).get("throughput") or {}).get("per_second")
    return None if is_emulated(one) else found


def system(one: Entry) -> float | None:
    """Seconds from a request to its outputs on the host, the median; None where it was not measured."""
    found: float | None = (_timing(one).get("system") or {}).get("median")
    return found


def peak_memory(one: Entry) -> int | None:
    """The largest resident memory in bytes of the runtime's process tree while it was timed; None if not recorded."""
    seen = [_series(one, RSS).get("max"), one.peaks.get("time")]
    return max((int(size) for size in seen if size), default=None)


def memory(one: Entry) -> int | None:
    """The resident memory in bytes of the runtime's process tree while it was timed, the median over time."""
    median = _series(one, RSS).get("median")
    return None if median is None else int(median)


def gpu_memory(one: Entry) -> int | None:
    """The largest memory in bytes that was taken of a GPU, as a whole, while it was timed; None without a GPU."""
    series = one.numbers.get("series") or {}
    seen = [about.get("max") for name, about in series.items() if GPU.match(name)]
    return max((int(size) for size in seen if size is not None), default=None)


def artefact_bytes(one: Entry) -> int | None:
    """The bytes of all files of the artefact; None where the compiler leaves none."""
    return bytes_in(one.artefacts or {}) or None


def compile_seconds(one: Entry) -> float | None:
    """Seconds of processor-independent time that compiling took, now or when the cached artefact was made."""
    found: float | None = _timing(one).get("compile_seconds")
    return found


def energy(one: Entry) -> Energy | None:
    """The energy of one inference by the first meter that has a figure; None where no meter has one."""
    for name, meter in (one.numbers.get("power") or {}).items():
        joules = (meter.get("energy_per_inference") or {}).get("with_idle")
        if joules is not None:
            return Energy(float(joules) / int(one.cell.get("batch", 1)), name)
    return None


def is_base(one: Entry) -> bool:
    """Whether the cell is a base line of speed-ups: the framework itself, in fp32."""
    return one.cell.get("compiler") == NATIVE and one.cell.get("precision", BASE_PRECISION) == BASE_PRECISION


def speed_up(one: Entry, entries: Iterable[Entry]) -> float | None:
    """How many times as fast as the framework itself the cell is, among the ``entries`` of its run.

    The base line is the native cell in fp32 of the same model, framework, target, batch, threads, streams and mode. One
    call at a time is compared by latency, several streams by throughput. None where one of the two was not timed or is
    not right, and for the base line itself.
    """
    base = next((other for other in entries if is_base(other) and _case(other) == _case(one)), None)
    if base is None or base is one or {one.status, base.status} != {"supported"}:
        return None
    if int(one.cell.get("streams", 1)) > 1:
        mine, its = throughput(one), throughput(base)
        return mine / its if mine and its else None
    mine, its = latency(one), latency(base)
    return its / mine if mine and its else None


def task_of(one: Entry, qualities: Sequence[Entry] = ()) -> Task:
    """The task metric of the artefact that was timed: of its own row, else of the quality row of the same cell.

    A quality row counts only where its artefact has the same hash.
    """
    own = task_metric(one.numbers.get("task") or {})
    quality = next((other for other in qualities if _same_cell(one, other)), None)
    timed = str(_timing(one).get("artefact", ""))
    judged_as = None if quality is None else task_metric(quality.numbers)
    if quality is None or judged_as is None or not timed:
        return Task(own)
    judged = digest_in(quality.artefacts or {})
    if judged != timed:
        text = (
            f"artefact {timed[:12]} was timed, and the accuracy of the quality row is that of {judged[:12] or 'none'}"
        )
        return Task(own, text)
    return Task(judged_as if own is None else own)


def _case(one: Entry) -> tuple[str, ...]:
    usual = {axis.name: axis.usual for axis in SWEPT}
    return tuple(str(one.cell.get(name, usual.get(name, ""))) for name in CASE)


def _same_cell(one: Entry, other: Entry) -> bool:
    """Whether a quality row is of the cell that was timed, which no sweep changed."""
    mine, its = ({key: value for key, value in entry.cell.items() if key != "check"} for entry in (one, other))
    return mine == its


def _timing(one: Entry) -> Mapping[str, Any]:
    return one.numbers.get("timing") or {}


def _series(one: Entry, name: str) -> Mapping[str, Any]:
    return (one.numbers.get("series") or {}).get(name) or {}
