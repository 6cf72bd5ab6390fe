"""The grid of single operators as data: ONNX's tests counted by operator and compiler, from operator rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bench_plugin.domain.texts import skew
from bench_plugin.domain.texts.messages import normalised
from bench_plugin.report.earlier import NONE_EARLIER, EarlierRuns
from bench_plugin.report.entries import Entry, entry, header_of, heading, latest, of_host, partial
from bench_plugin.report.parts import first_line, where
from bench_plugin.report.statuses import SCORED, worst
from bench_plugin.results.known_failures.expectations import NOT_ANALYSED

CHECK = "operator"
SKEW = "version skew"
BESIDE = "(beside others only)"
GROUPS = {
    "node": "(functions expanded)", "simple": "(small graphs)", "light": "(networks)",
    "pytorch-converted": "(PyTorch models)", "pytorch-operator": "(PyTorch models)",
}  # fmt: skip


@dataclass
class Tally:
    """Cases of one operator (or of all) in one compiler."""

    statuses: Counter[str] = field(default_factory=Counter)
    shown: set[str] = field(default_factory=set)
    reasons: Counter[str] = field(default_factory=Counter)
    stock: int = 0
    newer: int = 0
    converted: int = 0
    steady: Counter[bool] = field(default_factory=Counter)
    low: int = 0
    high: int = 0

    @property
    def worst(self) -> str:
        """The most serious status."""
        return worst(self.shown)

    @property
    def cases(self) -> int:
        """How many there are."""
        return self.statuses.total()

    @property
    def scored(self) -> int:
        """How many the score is over: those that the backend could be asked."""
        return sum(self.statuses[status] for status in SCORED)

    @property
    def score(self) -> float | None:
        """Supported of those that the backend could be asked."""
        return self.statuses["supported"] / self.scored if self.scored else None

    @property
    def score_with_skew(self) -> float | None:
        """The same with the cases that are newer than the backend, by what their converted form gave.

        Those that are older, or depend on a rule that ONNX changed in place, have none.
        """
        total = self.scored + self.newer
        return (self.statuses["supported"] + self.converted) / total if total else None

    @property
    def opsets(self) -> str:
        """The opsets of the cases: one, or from lowest to highest."""
        return opsets_of([self])

    def add(self, one: Entry) -> None:
        """Count a cell."""
        self.statuses[one.status] += 1
        self.shown.add(one.shown)
        self.stock += one.numbers.get("stock") == "pass"
        converted = one.numbers.get("converted")
        self.newer += converted is not None
        self.converted += (converted or {}).get("status") == "supported"
        if one.numbers.get("deterministic") is not None:
            self.steady[bool(one.numbers["deterministic"])] += 1
        opset = int(one.numbers.get("opset") or 0)
        if opset:
            self.low = min(self.low or opset, opset)
            self.high = max(self.high, opset)
        if one.status != "supported":
            known = one.expected not in ("", NOT_ANALYSED)
            self.reasons[f"{one.status}: {one.expected if known else normalised(one.reason)}"] += 1


def opsets_of(tallies: Sequence[Tally]) -> str:
    """The opsets of the cases of several compilers: one, or from lowest to highest; empty where no case says one."""
    known = [opset for tally in tallies for opset in (tally.low, tally.high) if opset]
    if not known:
        return ""
    return str(max(known)) if min(known) == max(known) else f"{min(known)}-{max(known)}"


@dataclass(frozen=True)
class CauseGroup:
    """Cases of one backend that ended alike and for one reason.

    ``reason`` is that of their expectation, empty where none covers them; ``message`` is the first useful line of the
    first case by name, as the tool wrote it, and says whose it is where those of the others have other numbers.
    """

    status: str
    where: str
    reason: str
    link: str
    message: str
    cases: tuple[str, ...]


@dataclass(frozen=True)
class OperatorGrid:
    """Everything that the page shows; ``tallies`` is keyed by operator (or group) and compiler.

    ``earlier`` has the header and the scores by compiler of earlier runs, newest first.
    """

    operators: tuple[str, ...]
    groups: tuple[str, ...]
    compilers: tuple[str, ...]
    headings: Mapping[str, str]
    tallies: Mapping[tuple[str, str], Tally]
    totals: Mapping[str, Tally]
    entries: tuple[Entry, ...]
    partial: str
    header: Mapping[str, Any]
    notes: tuple[str, ...]
    earlier: tuple[tuple[Mapping[str, Any], Mapping[str, float | None]], ...] = ()


def build_grid(
    rows: Sequence[Mapping[str, Any]], notes: Sequence[str] = (), earlier: EarlierRuns = NONE_EARLIER
) -> OperatorGrid:
    """Count the operator rows of one or several results files, and score those of earlier runs."""
    header = header_of(rows)
    entries = [entry(row) for row in of_host(latest(rows, (CHECK,)))]
    tallies: dict[tuple[str, str], Tally] = {}
    totals: dict[str, Tally] = {}
    alone = {name for one in entries for name in _operators(one)[:1] if len(_operators(one)) == 1}
    for one in entries:
        compiler = str(one.cell["compiler"])
        totals.setdefault(compiler, Tally()).add(one)
        for place in _places(one, alone):
            tallies.setdefault((place, compiler), Tally()).add(one)
    titles = header.get("titles", {}).get("compilers", {})
    compilers = sorted(totals, key=lambda name: (name != "onnxruntime", name == "reference", name))
    places = {place for place, _ in tallies}
    return OperatorGrid(
        operators=tuple(sorted(place for place in places if not place.startswith("("))),
        groups=tuple(sorted(place for place in places if place.startswith("("))), compilers=tuple(compilers),
        headings={name: heading(name, titles) for name in compilers}, tallies=tallies, totals=totals,
        entries=tuple(entries), partial=partial(rows), header=header, notes=tuple(notes),
        earlier=tuple((header_of(before), scores(before)) for before in earlier.of_selection(rows)),
    )  # fmt: skip


def scores(rows: Iterable[Mapping[str, Any]]) -> dict[str, float | None]:
    """The score of every compiler in operator rows: supported of those that it could be asked."""
    totals: dict[str, Tally] = {}
    for row in of_host(latest(rows, (CHECK,))):
        one = entry(row)
        totals.setdefault(str(one.cell["compiler"]), Tally()).add(one)
    return {name: tally.score for name, tally in totals.items()}


def causes(entries: Iterable[Entry]) -> list[CauseGroup]:
    """The cases that are not supported, grouped by how they ended and why; the largest groups first.

    Cases without an analysed reason are grouped by their message, apart from what varies; those outside the opsets of a
    tool by their opset, too.
    """
    groups: dict[tuple[str, ...], list[Entry]] = {}
    for one in entries:
        if one.status != "supported":
            analysed = one.expected not in ("", NOT_ANALYSED)
            why = one.expected if analysed else normalised(_reason(one))
            opset = one.reason.partition(";")[0] if one.status == SKEW else ""
            groups.setdefault((one.status, where(one), one.expected, one.link, opset + why), []).append(one)
    found = [
        CauseGroup(status, place, reason, link, _message(ones), _cases(ones))
        for (status, place, reason, link, _), ones in groups.items()
    ]
    return sorted(found, key=lambda group: (-len(group.cases), group.status, group.cases))


def taken(entries: Iterable[Entry]) -> list[str]:
    """What tools say of the opsets and IR that they take, by the cases that are outside of these."""
    return sorted({said for one in entries if one.status == SKEW and (said := skew.taken(one.reason))})


def _message(ones: Sequence[Entry]) -> str:
    """The first line of the first case by name, which it names where not all messages are the same."""
    first = min(ones, key=lambda one: str(one.cell["model"]))
    line = first_line(replace(first, reason=_reason(first)))
    return line if all(_reason(one) == _reason(first) for one in ones) else f"{line} ({first.cell['model']})"


def _reason(one: Entry) -> str:
    return skew.shortened(one.reason) if one.status == SKEW else one.reason


def _cases(ones: Iterable[Entry]) -> tuple[str, ...]:
    return tuple(sorted(str(one.cell["model"]) for one in ones))


def data(grid: OperatorGrid) -> dict[str, Any]:
    """Counts, scores and every cell that is not supported, as plain data."""
    operators = {
        place: {
            compiler: {"statuses": dict(tally.statuses), "worst": tally.worst, "opsets": tally.opsets,
                       "reasons": dict(tally.reasons)}
            for compiler in grid.compilers if (tally := grid.tallies.get((place, compiler)))
        }
        for place in (*grid.operators, *grid.groups)
    }  # fmt: skip
    scores = {
        name: {"statuses": dict(tally.statuses), "score": tally.score, "score_with_skew": tally.score_with_skew,
               "stock": tally.stock, "newer": tally.newer, "converted": tally.converted,
               "deterministic": {"same": tally.steady[True], "different": tally.steady[False]}}
        for name, tally in grid.totals.items()
    }  # fmt: skip
    cells = [
        {"case": one.cell["model"], "compiler": one.cell["compiler"], "status": one.status, "stage": one.stage,
         "symptom": one.symptom, "reason": one.reason, "numbers": one.numbers, "key": one.key}
        for one in grid.entries if one.status != "supported"
    ]  # fmt: skip
    return {"scores": scores, "operators": operators, "cells": cells, "partial": grid.partial, "header": grid.header}


def _operators(one: Entry) -> list[str]:
    return list(one.numbers.get("operators") or ())


def _places(one: Entry, alone: Iterable[str]) -> Iterator[str]:
    """Where a case is counted: its operator; a graph of several in a group, and for those found nowhere else."""
    operators = _operators(one)
    if len(operators) == 1:
        yield operators[0]
        return
    yield GROUPS.get(str(one.numbers.get("category")), "(other)")
    for name in operators:
        if name not in alone:
            yield f"{name} {BESIDE}"
