"""Candidates out of rows: a timed deployment with the accuracy of its quality row, or one that was not timed yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench_plugin.characterise.choice.candidate import Basis, Candidate, Figure
from bench_plugin.characterise.choice.constraints import NOT_SHOWN, RIGHT
from bench_plugin.cli.shared.choosing.targets import Targets
from bench_plugin.domain.axes import SWEPT
from bench_plugin.report import timed
from bench_plugin.report.entries import Entry, entry
from bench_plugin.report.figures import memory as memory_on_board
from bench_plugin.report.pictures.reading import number, text
from bench_plugin.results.rows import Row

CHECKS = ("timing", "quality", "equivalence")
AXES = ("model", "framework", "exporter", "opset", "compiler", "precision", "graph", "kept", "target")
SETTINGS = tuple(axis.name for axis in SWEPT)
HOST = "host"


def entries_of(rows: Iterable[Row]) -> list[Entry]:
    """The computed cells of compiled models, the last of each cell and machine."""
    found: dict[tuple[str, ...], Entry] = {}
    for row in rows:
        if row["kind"] == "cell" and row["cell"].get("check") in CHECKS and row["cell"].get("compiler"):
            one = entry(row)
            found[text(one.cell, "check"), *_deployment(one), *_settings(one).values()] = one
    return list(found.values())


def machines(rows: Iterable[Row]) -> dict[str, Mapping[str, Any]]:
    """What headers say of their machines, by the digest of the host."""
    headers = [row for row in rows if row["kind"] == "header"]
    return {text(row.get("host"), "digest"): row.get("machine") or {} for row in headers}


def measured_candidates(entries: Sequence[Entry], targets: Targets) -> list[Candidate]:
    """A candidate for each deployment and setting; its name is set later, when all are known."""
    groups: dict[tuple[str, ...], list[Entry]] = {}
    for one in entries:
        groups.setdefault(_deployment(one), []).append(one)
    several = len({one.host for one in entries}) > 1
    return [made for group in groups.values() for made in _of_deployment(group, targets, several=several)]


def references(entries: Iterable[Entry]) -> dict[str, float]:
    """The accuracy of a framework's own model, a share of 1, by model and framework, as quality rows say it."""
    return {
        f"{one.cell.get('model')} {one.cell.get('framework')}": accuracy
        for one in entries
        if (accuracy := number(one.numbers, "reference_accuracy")) is not None
    }


def _of_deployment(group: Sequence[Entry], targets: Targets, *, several: bool) -> list[Candidate]:
    """One for each timed setting; one without times where nothing was timed."""
    times = [one for one in group if one.cell["check"] == "timing"]
    others = [one for one in group if one.cell["check"] != "timing"]
    whole = [[one, *others] for one in times] or [others]
    return [_candidate(rows, targets, several=several) for rows in whole]


def _candidate(rows: Sequence[Entry], targets: Targets, *, several: bool) -> Candidate:
    """A candidate of the rows of one deployment, the timed one first where there is one."""
    first = rows[0]
    places = {axis: value for axis in AXES if (value := text(first.cell, axis))} | _settings(first)
    if several:
        places[HOST] = first.host
    facts = targets.facts(places.get("target", ""), first.host)
    figures: dict[str, Figure] = dict(facts.figures)
    for one in reversed(rows):  # the timed row comes last, and its figures count
        figures |= {name: Figure(value, Basis.MEASURED, f"row {one.key}") for name, value in _figures(one).items()}
    worst = max(rows, key=_severity)
    said = "" if worst.status == RIGHT else f"{worst.cell['check']}: {worst.reason}".rstrip(": ")
    return Candidate("", places, figures, facts.attributes, worst.status, said, first.key)


def _figures(one: Entry) -> dict[str, float]:
    """The figures that a row has, by quantity, in base units."""
    quality, on_board = one.numbers, memory_on_board(one)
    accuracy = number(quality, "accuracy")
    ram = on_board["ram_bytes"] + on_board.get("stack_bytes", 0) if "ram_bytes" in on_board else None
    energy = timed.energy(one)
    found: dict[str, float | int | None] = {
        "latency": timed.latency(one),
        "throughput": timed.throughput(one),
        "accuracy": accuracy if accuracy is not None else number(quality, "task", "accuracy"),
        "drop": number(quality, "drop", "top1"),
        "memory": ram if ram is not None else timed.peak_memory(one) if one.cell["check"] == "timing" else None,
        "size": on_board.get("flash_bytes") or timed.artefact_bytes(one),
        "power": _power(one),
        "energy": None if energy is None else energy.joules,
    }
    return {name: float(value) for name, value in found.items() if value is not None}


def _power(one: Entry) -> float | None:
    """Watts under full load, the mean of the first meter that has a figure."""
    meters = one.numbers.get("power")
    found = [number(meter, "full", "mean") for meter in meters.values()] if isinstance(meters, Mapping) else []
    return next((watts for watts in found if watts is not None), None)


def _severity(one: Entry) -> int:
    """A wrong result is worse than one of which nothing is known; of equal ones the first row counts."""
    return 0 if one.status == RIGHT else 1 if one.status in NOT_SHOWN else 2


def _deployment(one: Entry) -> tuple[str, ...]:
    return (*(text(one.cell, axis) for axis in AXES), one.host)


def _settings(one: Entry) -> dict[str, str]:
    """The swept axes that are not the usual ones."""
    return {name: value for name in SETTINGS if (value := text(one.cell, name))}
