"""What rows and traces say of each compiler: semantic preservation, timing determinism, traceability."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from bench_plugin.domain.axes import Check

PRECISION = "fp32"
NOT_READABLE = "not readable"  # how the reason begins that no compiled graph of a compiler is read
JUDGED = ("supported", "mismatch")


@dataclass(frozen=True)
class Preservation:
    """Cells of equivalence at fp32: how many were ``judged``, and how many of these compute the same function.

    ``worst`` is the largest share of its tolerance that a cell used; above 1 is a mismatch.
    """

    run: str
    judged: int
    preserved: int
    worst: float


@dataclass(frozen=True)
class Determinism:
    """Timed cells: how many there are, and in how many the bits of the outputs were the same over repeats, launches and
    numbers of threads. ``p99_p50`` and ``spread`` are medians over the cells: the 99th percentile of single calls over
    their median, and the standard deviation of the launches' medians as a share of their mean.
    """

    run: str
    cells: int
    same_bits: int
    p99_p50: float
    spread: float


@dataclass(frozen=True)
class Named:
    """How many of a model's nodes its compiled graph names, of how many; ``source`` is what was read."""

    model: str
    nodes: int
    traced: int
    fused: int
    source: str


@dataclass(frozen=True)
class Figures:
    """All figures of one compiler; None or empty where there is none, with ``not_readable`` why it cannot be traced."""

    compiler: str
    title: str = ""
    version: str = ""
    preservation: Preservation | None = None
    determinism: Determinism | None = None
    named: tuple[Named, ...] = ()
    not_readable: str = ""

    def updated(self, other: Figures) -> Figures:
        """These figures, with what ``other`` has instead; models that were traced are replaced one by one."""
        models = {one.model: one for one in (*self.named, *other.named)}
        return Figures(
            self.compiler, other.title or self.title, other.version or self.version,
            other.preservation or self.preservation, other.determinism or self.determinism, tuple(models.values()),
            "" if models else other.not_readable or self.not_readable,
        )  # fmt: skip


def figures_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, Figures]:
    """The figures of every compiler in the rows of results files; of several rows of a cell, the last one counts."""
    titles: dict[str, Mapping[str, Any]] = {}
    cells: dict[str, dict[tuple[str, str], Mapping[str, Any]]] = {}
    run = ""
    for row in rows:
        run = str(row.get("run", run))
        if row["kind"] == "header":
            titles.update(row.get("titles", {}).get("compilers", {}))
        cell = row.get("cell", {})
        if row["kind"] == "cell" and cell.get("compiler") and cell.get("precision") == PRECISION:
            place = (str(row["check"]), repr(sorted(cell.items())))
            cells.setdefault(str(cell["compiler"]), {})[place] = {**row, "run": run}
    found = {}
    for name, of_cells in sorted(cells.items()):
        said = titles.get(name, {})
        of = [(check, row) for (check, _), row in of_cells.items()]
        found[name] = Figures(
            name, str(said.get("title", "")), str(said.get("version", "")),
            _preservation([row for check, row in of if check == Check.EQUIVALENCE]),
            _determinism([row for check, row in of if check == Check.TIMING]),
        )  # fmt: skip
    return {name: one for name, one in found.items() if one.preservation or one.determinism}


def named_of(said: Mapping[str, Any]) -> dict[str, Figures]:
    """The figures of what ``bench complies MODEL --trace --json`` printed, by compiler."""
    found = {}
    for one in said.get("traces", ()):
        name, traced = str(one["compiler"]), one["found"]
        title, version = str(one.get("title", "")), str(one.get("version", ""))
        if traced is None:
            if str(one["why"]).startswith(NOT_READABLE):  # else it did not compile this model
                found[name] = Figures(name, title, version, not_readable=str(one["why"]))
            continue
        statuses = [node["status"] for node in traced["nodes"]]
        named = Named(
            str(said["model"]), len(statuses), statuses.count("traced"), statuses.count("fused into"), one["source"]
        )
        found[name] = Figures(name, title, version, named=(named,))
    return found


def _runs(rows: Sequence[Mapping[str, Any]]) -> str:
    return " and ".join(dict.fromkeys(str(row["run"]) for row in rows))


def _preservation(rows: Sequence[Mapping[str, Any]]) -> Preservation | None:
    judged = [row for row in rows if row["status"] in JUDGED]
    if not judged:
        return None
    worst = max(float(row["numbers"].get("needed") or 0.0) for row in judged)
    kept = sum(row["status"] == "supported" for row in judged)
    return Preservation(_runs(judged), len(judged), kept, worst)


def _determinism(rows: Sequence[Mapping[str, Any]]) -> Determinism | None:
    said = [(row, row["numbers"]["determinism"]) for row in rows if row["numbers"].get("determinism")]
    if not said:
        return None
    same = 0
    for _, one in said:
        answers = [
            one[key]["identical"] for key in ("repeats", "launches", "threads") if "identical" in one.get(key, {})
        ]
        same += bool(answers) and all(answers)
    tails = [float(one["tails"]["p99_p50"]) for _, one in said if "p99_p50" in one.get("tails", {})]
    spreads = [float(one["spread"]["sd"]) for _, one in said if "sd" in one.get("spread", {})]
    return Determinism(
        _runs([row for row, _ in said]), len(said), same, median(tails) if tails else 0.0,
        median(spreads) if spreads else 0.0,
    )  # fmt: skip
