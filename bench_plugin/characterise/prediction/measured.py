"""What rows measured: inputs per second of every timed cell, with what it was measured on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bench_plugin.characterise.prediction.scores import Basis
from bench_plugin.domain.outcome import Status

BASES: tuple[Basis, ...] = ("compute", "system")


@dataclass(frozen=True)
class Measured:
    """Inputs per second of a cell whose results were right, on one basis.

    ``board`` is the board that it ran on, empty for this machine. ``threads`` is 0 and ``task`` empty where the file
    does not say.
    """

    model: str
    precision: str
    target: str
    board: str
    mode: str
    batch: int
    threads: int
    compiler: str
    task: str
    basis: Basis
    inputs_per_s: float
    key: str


def measured_of(rows: Iterable[Mapping[str, Any]]) -> Iterator[Measured]:
    """What the timed cells of a results file measured; cells with wrong results, and of emulators, measured nothing.

    The time of a run is its median; several streams at the same time are left out, because their runs share the
    machine.
    """
    tasks: Mapping[str, str] = {}
    for row in rows:
        if row.get("kind") == "header":
            tasks = (row.get("titles") or {}).get("tasks") or {}
        if row.get("kind") != "cell" or row.get("status") != Status.SUPPORTED:
            continue
        timing = (row.get("numbers") or {}).get("timing") or {}
        cell, placement = row["cell"], row.get("placement") or {}
        if placement.get("timing") == "emulated" or int(cell.get("streams", 1)) > 1:
            continue
        batch = int(cell.get("batch", 1))
        threads = cell.get("threads") or (timing.get("conditions") or {}).get("threads")
        for basis in BASES:
            seconds = (timing.get(basis) or {}).get("median")
            if seconds:
                yield Measured(
                    str(cell["model"]), str(cell.get("precision", "fp32")), str(cell.get("target", "local")),
                    str((placement.get("board") or {}).get("name", "")), str(cell.get("mode", "")), batch,
                    int(threads or 0), str(cell.get("compiler", "")), tasks.get(str(cell["model"]), ""),
                    basis, batch / float(seconds), str(row["key"]),
                )  # fmt: skip
