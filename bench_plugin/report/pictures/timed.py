"""One timed deployment: where it ran, with which settings, and how fast. All pictures of times are made of these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bench_plugin.domain.precision import PRECISIONS
from bench_plugin.report.entries import Entry
from bench_plugin.report.figures import is_emulated
from bench_plugin.report.pictures.reading import number, numbers, positive, text

NO_TASK = "other models"
ORDER = tuple(PRECISIONS)


@dataclass(frozen=True)
class Timed:
    """A deployment with its times in seconds; None where a figure was not measured.

    ``platform`` is the compiler, and the target where that is not this machine; ``mode`` the operating mode of a board,
    or empty. ``datatype`` is the precision that the tool says it computed in, and ``precision`` that which was asked
    for, with the prepared graph where there is one (``w8a8 qdq``). ``batch``, ``threads`` and ``streams`` are the
    settings; 0 threads are as many as the tool chooses. ``number`` is the place of the entry among all entries.
    """

    model: str
    task: str
    platform: str
    mode: str
    datatype: str
    precision: str
    source: str
    batch: int
    threads: int
    streams: int
    entry: Entry
    per_second: float | None
    latency: float | None
    system: float | None
    launch_medians: tuple[float, ...]
    number: int = 0

    @property
    def status(self) -> str:
        """The verdict on the outputs of the timed inferences."""
        return self.entry.status

    @property
    def key(self) -> str:
        """That of the cell."""
        return self.entry.key

    @property
    def right(self) -> bool:
        """Whether the outputs agree with the reference: the time of a wrong result is marked, and is never the best."""
        return self.status == "supported"

    @property
    def place(self) -> str:
        """Platform and mode, and the datatype where the tool computed in another one than it was asked for."""
        return " · ".join(part for part in (self.platform, self.mode, self.computed) if part)

    @property
    def place_in_any_mode(self) -> str:
        """The same without the mode."""
        return " · ".join(part for part in (self.platform, self.computed) if part)

    @property
    def computed(self) -> str:
        """What the tool computed in, where that is not what it was asked for."""
        return "" if self.datatype == self.precision.partition(" ")[0] else f"computed in {self.datatype}"

    @property
    def setting(self) -> str:
        """The settings in words."""
        threads = _counted(self.threads, "thread") if self.threads else "threads as the tool chooses"
        return f"batch {self.batch}, {threads}, {_counted(self.streams, 'stream')}"


def precision_order(precision: str) -> int:
    """The place of a precision in the table of precisions, with or without its graph; unknown ones stand last."""
    name = precision.partition(" ")[0]
    return ORDER.index(name) if name in ORDER else len(ORDER)


def ranks(names: Iterable[str]) -> dict[str, int]:
    """The place of each name in the alphabet, without regard to case."""
    return {name: place for place, name in enumerate(sorted(set(names), key=lambda name: (name.lower(), name)))}


def speed(one: Timed) -> tuple[bool, float]:
    """What the fastest one has the most of: right ones stand before wrong ones, then throughput decides."""
    return one.right, one.per_second or 0.0


def timed_of(one: Entry, titles: Mapping[str, Any]) -> Timed | None:
    """The deployment of a timing row; None for every other row, one without a time, and one of an emulated board."""
    timing = one.numbers.get("timing")
    if one.cell.get("check") != "timing" or is_emulated(one) or not isinstance(timing, Mapping):
        return None
    latency, rate = positive(timing, "compute", "median"), positive(timing, "throughput", "per_second")
    if not text(one.cell, "model") or (latency is None and rate is None):
        return None
    model, precision, batch = text(one.cell, "model"), precision_of(one.cell), whole(one.cell, "batch", 1)
    return Timed(
        model=_called(text(titles, "models", model) or model, one.cell),
        task=text(titles, "tasks", model) or NO_TASK,
        platform=platform_of(one.cell),
        mode=text(one.cell, "mode"),
        datatype=text(one.placement, "effective") or precision.partition(" ")[0],
        precision=precision,
        source=text(one.cell, "framework"),
        batch=batch,
        threads=whole(one.cell, "threads", 0) or whole(timing.get("conditions"), "threads", 0),
        streams=whole(one.cell, "streams", 1),
        entry=one,
        per_second=rate,
        latency=latency,
        system=positive(timing, "system", "median"),
        launch_medians=tuple(value for value in numbers(timing, "compute", "launch_medians") if value > 0),
    )


def platform_of(cell: Mapping[str, Any]) -> str:
    """``native`` is a platform for each framework; every other compiler is one for all that it takes models from."""
    compiler, target = text(cell, "compiler"), text(cell, "target") or "local"
    name = f"{compiler} ({text(cell, 'framework')})" if compiler == "native" else compiler
    return name if target == "local" else f"{name} on {target}"


def precision_of(cell: Mapping[str, Any]) -> str:
    """The precision that was asked for, and the prepared graph where that has another name."""
    precision, graph = text(cell, "precision") or "fp32", text(cell, "graph")
    return precision if graph in ("", precision) else f"{precision} {graph}"


def _called(title: str, cell: Mapping[str, Any]) -> str:
    """A model in a picture: a pruned one is a model of its own."""
    kept = text(cell, "kept")
    return f"{title}, {kept} % kept" if kept else title


def whole(value: Any, key: str, otherwise: int) -> int:
    """A whole number that is not negative, or ``otherwise``."""
    found = number(value, key)
    return otherwise if found is None or found < 0 else int(found)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
