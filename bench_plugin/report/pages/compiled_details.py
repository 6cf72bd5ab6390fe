"""The page of details of one compiler: each of its cells with numbers, strength, costs and what really ran."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench_plugin.report.blocks import Block, Contents, Document, Heading, Pages, Paragraph, Table, TableCell
from bench_plugin.report.entries import Entry
from bench_plugin.report.figures import measured, metric_lost, task_metric
from bench_plugin.report.grids.compiled import LOCAL, CompiledGrid, line_of
from bench_plugin.report.parts import failures_table, legend_table, made_with, mark, number, remarks, run_line

BY_LAYERS = "by layers"
FLAGS = {  # flags of a row that are shown as other words
    "loose": "fast-math",
    "every layer is right in its place; end to end roundings add up": BY_LAYERS,
}
MISSED = "Mutants that the comparison of a supported cell would let pass, and the cells."
UNEXERCISED = (
    "Mutants that change nothing on these inputs, even in float64, such as a branch left out that adds zeros: no "
    "verdict is about that part of the model."
)
SHOWN = (
    "fast-math",
    BY_LAYERS,
    "one-by-one sums",
    "low-precision accumulate",
    "simulated",
    "by approximation",
    "bf16 only",
    "weak",
)  # flags begin so
KEYS = ("model", "source", "precision")
BYTES = 1e6


def details_page(grid: CompiledGrid, name: str, back: tuple[str, str]) -> Document:
    """The whole page of compiler ``name`` (backend included); ``back`` is the link to the summary."""
    title = grid.headings.get(name, name)
    mine = [one for one in grid.of_check("equivalence") if one.cell["compiler"] == name]
    quality = [one for one in grid.of_check("quality") if one.cell["compiler"] == name]
    cross = [one for one in grid.cross if one.key and one.cell["compiler"] == name]
    blocks: list[Block] = [*run_line(grid.header), *remarks(grid.partial), Pages((back,)), Contents()]
    blocks += [Heading("Verdicts"), _verdicts(grid, mine), Heading("Legend"), legend_table([*mine, *quality, *cross])]
    if quality:
        blocks += [Heading("Quality"), _quality(grid, quality)]
    if (elsewhere := _elsewhere(grid, name)).rows:
        blocks += [Heading("Other targets"), elsewhere]
    blocks += [Heading("What it took, and what really ran"), _costs(grid, [*mine, *cross])]
    blocks += _weak(mine)
    blocks += failures_table([*mine, *quality, *cross], describe)
    return Document(f"Compiled models: {title}", (*blocks, *made_with(grid.header, [*mine, *quality, *cross])))


def verdict_text(one: Entry) -> str:
    """The verdict on a cell of another target: ``supported`` only where numbers were compared."""
    if one.status == "unverified" and one.unverified == "not run" and one.converted:
        return "compiled, not run"
    error = f" ({number(one.error)})" if one.error is not None else ""
    return " ".join([f"{one.status}{error}", *measured(one), *marks(one)])


def describe(one: Entry) -> str:
    """A cell in words: check, model, source, compiler, precision, and the target where it is not this machine."""
    line, target = line_of(one), one.cell.get("target", LOCAL)
    words = [one.cell["check"], line.model, line.source, one.cell["compiler"], line.text]
    return " ".join([*map(str, words), *([str(target)] if target != LOCAL else [])])


def marks(one: Entry) -> list[str]:
    """The marks that stand beside a status: fast-math, simulated, weak, bf16 only and others of the row's flags."""
    flags = (FLAGS.get(flag, flag) for flag in one.flags)
    shown = [_short(flag) for flag in flags if flag.startswith(SHOWN)]
    return [*dict.fromkeys(shown), *([found] if (found := mark(one)) else [])]


def _short(flag: str) -> str:
    return flag if flag.startswith("bf16 only") else flag.partition(":")[0]


def _head(grid: CompiledGrid, one: Entry) -> tuple[TableCell, ...]:
    line = line_of(one)
    return TableCell(grid.titles.get(line.model, line.model)), TableCell(line.source), TableCell(line.text)


def _verdicts(grid: CompiledGrid, entries: list[Entry]) -> Table:
    rows = []
    for one in entries:
        ratio = (one.numbers.get("approximation") or {}).get("sqnr_db")
        strength = one.numbers.get("strength")
        texts = (
            number(one.error), number(one.tolerance), "" if ratio is None else f"{ratio:.0f}",
            "" if strength is None else f"{strength:.0%}", one.unverified, ", ".join(marks(one)),
        )  # fmt: skip
        status = TableCell(one.status, one.shown, one.reason)
        rows.append((*_head(grid, one), status, *(TableCell(text) for text in texts)))
    heads = (*KEYS, "status", "E", "tolerance", "dB", "strength", "kind", "marks")
    return Table(heads, tuple(rows), keys=len(KEYS))


def _elsewhere(grid: CompiledGrid, name: str) -> Table:
    """Every cell of other targets: verdict, what was measured, and the board that it ran on."""
    rows = []
    for (target, line, compiler), one in grid.elsewhere.items():
        if compiler == name and one.key:
            head = (target, grid.titles.get(line.model, line.model), line.source, line.text)
            board = (one.placement or {}).get("board") or {}
            status = TableCell(verdict_text(one), one.shown, one.reason)
            rows.append((*map(TableCell, head), status, TableCell(number(one.tolerance)),
                         TableCell(str(board.get("name", "")))))  # fmt: skip
    return Table(("target", *KEYS, "status", "tolerance", "board"), tuple(rows), keys=1 + len(KEYS))


def _quality(grid: CompiledGrid, entries: list[Entry]) -> Table:
    rows = []
    for one in entries:
        metric, lost = task_metric(one.numbers), metric_lost(one.numbers)
        texts = "" if metric is None else f"{metric:.1%}", "" if lost is None else f"{0.0 - lost:+.1%}"
        status = TableCell(f"{one.status} {mark(one)}".strip(), one.shown, one.reason)
        rows.append((*_head(grid, one), status, *(TableCell(text) for text in texts)))
    return Table((*KEYS, "status", "accuracy", "against the framework"), tuple(rows), keys=len(KEYS))


def _costs(grid: CompiledGrid, entries: list[Entry]) -> Table:
    rows = []
    for one in entries:
        placement: Any = one.placement or {}
        size = sum(row["bytes"] for name, row in (one.artefacts or {}).items()
                   if isinstance(row, dict) and "sha256" in row and name != "calibration")  # fmt: skip
        peak = max(one.peaks.get("compile", 0), one.peaks.get("run", 0))
        read = " / ".join(filter(None, (str(placement.get("effective", "")), placement.get("effective_by_error", ""))))
        share = placement.get("requested")
        texts = (
            str(one.cell.get("target", LOCAL)),
            f"{one.timings['compile']:.1f}" if "compile" in one.timings else "", f"{size / BYTES:.2f}" if size else "",
            f"{peak / BYTES:.0f}" if peak else "", read, _integers(placement),
            f"{share:.0%}" if isinstance(share, int | float) else "", str(one.numbers.get("dynamic", "")),
        )  # fmt: skip
        rows.append((*_head(grid, one), *(TableCell(text) for text in texts)))
    heads = (
        *KEYS, "target", "compile s", "artefact MB", "peak MB", "precision: read back / inferred from the error",
        "integer", "on requested backend", "dynamic",
    )  # fmt: skip
    return Table(heads, tuple(rows), keys=len(KEYS))


def _integers(placement: Any) -> str:
    """What the tool says of integer arithmetic, with the share of the contractions where it can be read."""
    share = placement.get("integer_share")
    said = str(placement.get("integer", ""))
    return f"{said} ({share:.0%})".strip() if isinstance(share, int | float) else said


def _weak(entries: list[Entry]) -> Iterator[Block]:
    """The mistakes that the comparisons of this compiler would not notice, and the parts that its inputs leave out."""
    missed: dict[str, list[str]] = {}
    unexercised: dict[str, list[str]] = {}
    for one in entries:
        if one.status == "supported":
            for name in one.numbers.get("mutants_missed") or ():
                missed.setdefault(str(name), []).append(describe(one))
            for name in one.numbers.get("mutants_unchanged") or ():
                unexercised.setdefault(str(name), []).append(describe(one))
    for cells, title, text in ((missed, "Mistakes that would not be noticed", MISSED),
                               (unexercised, "What the inputs do not exercise", UNEXERCISED)):  # fmt: skip
        if cells:
            yield Heading(title)
            yield Paragraph(text)
            rows = ((TableCell(name), TableCell(str(len(some))), TableCell("; ".join(some[:3]))) for name, some in
                    sorted(cells.items()))  # fmt: skip
            yield Table(("mutant", "cells", "such as"), tuple(rows))
