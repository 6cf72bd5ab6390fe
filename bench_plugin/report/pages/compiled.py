"""The page of compiled models: grid, quality, what compilers take and prove, costs, failures, mutants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench_plugin.report.blocks import Block, Document, Heading, Paragraph, Table, TableCell
from bench_plugin.report.entries import Entry
from bench_plugin.report.formats.tabular import flat
from bench_plugin.report.grids.compiled import COMPILED_CHECKS, LOCAL, ORDER, CompiledGrid, Line, build_grid, line_of
from bench_plugin.report.pages.page import Page
from bench_plugin.report.parts import (
    failures_table,
    first_line,
    how_models_were_made,
    legend_table,
    made_with,
    mark,
    number,
    remarks,
    run_line,
)

NAME = "equivalence"
CHECKS: tuple[str, ...] = COMPILED_CHECKS
OPENING = (
    "Does the compiled model still compute the same function? E is the error against the float64 reference of what the "
    "compiler was asked to compute, as a share of what the inputs change; dB is the signal to noise ratio against "
    "the unrounded model, for precisions that round weights or activations."
)
QUALITY = "Accuracy on the test set, and what it lost against the framework's own model on the same images."
PRESERVATION = (
    "Of the cells in which a compiler gave an artefact that ran and something says what it should compute: how many "
    "compute it. The worst share is of the tolerance that was used up (1 is the limit)."
)
DECLARED = "D: declared by the adapter. P: proven by this run, at least one cell is supported. A dash: not offered."
MUTANTS = (
    "Each file with a mistake made on purpose, judged at each precision: the share that the verdict detects. What a "
    "precision cannot see, its fp32 cell has to."
)


SHOWN = {"loose": "fast-math", "fast-math": "fast-math", "simulated": "simulated"}  # flags of a row
MARKS = (
    ("(by the tool)", "quantised, or converted to float16, by the tool itself"),
    ("(qdq), (w16) …", "a pre-quantised or pre-converted model was compiled"),
    ("fast-math", "the compiler's default is fast-math, so the tolerance is wider"),
    ("simulated", "the artefact computes in floating point what it should compute in integers"),
    ("!", "a known failure passed: pytest failed the cell until its row is removed"),
)


def make(rows: Sequence[Mapping[str, Any]], notes: Sequence[str]) -> Page:
    """The page of the equivalence and quality rows."""
    grid = build_grid(rows, notes)
    tables = {"Compiled models": main_table(grid), "Quality: accuracy and what it lost": quality_table(grid)}
    grids = tuple((heading, table) for heading, table in tables.items() if table.rows)
    return Page(NAME, equivalence_page(grid), grids, grid.entries, compiled_data(grid), (grid.partial, *grid.notes))


def equivalence_page(grid: CompiledGrid) -> Document:
    """The whole page."""
    blocks: list[Block] = [*run_line(grid.header), Paragraph(OPENING), *remarks(grid.partial, *grid.notes)]
    blocks += [main_table(grid), Heading("Legend"), legend_table(grid.entries, _marks(grid))]
    if (quality := quality_table(grid)).rows:
        blocks += [Heading("Quality"), Paragraph(QUALITY), quality]
    blocks += how_models_were_made(grid.entries, grid.titles)
    blocks += [Heading("Semantic preservation"), Paragraph(PRESERVATION), _preservation(grid)]
    blocks += [Heading("Formats and precisions by compiler"), Paragraph(DECLARED), _formats(grid)]
    blocks += [Heading("Hardware by compiler"), _hardware(grid)]
    blocks += [Heading("What it took, and what really ran"), _costs(grid), *failures_table(grid.entries, describe)]
    if mutants := _mutants(grid):
        blocks += [Heading("Mutants by precision"), Paragraph(MUTANTS), mutants]
    return Document("Compiled models", (*blocks, *made_with(grid.header)))


def compiled_data(grid: CompiledGrid) -> dict[str, Any]:
    """The cells with numbers, placement and artefacts, and what the run was, as plain data."""
    cells = [
        flat(entry) | {"numbers": entry.numbers, "placement": entry.placement, "artefacts": entry.artefacts}
        for entry in grid.entries
    ]
    return {"cells": cells, "compilers": grid.compilers, "partial": grid.partial, "header": grid.header}


def main_table(grid: CompiledGrid) -> Table:
    """(model, source, precision) x compilers: status, with E at computed precisions and decibels below."""
    rows = []
    for line in grid.lines:
        found = [grid.cells.get(("equivalence", line, name)) for name in grid.columns]
        if any(found):
            rows.append((*_head(grid, line), *(_place(one) for one in found)))
    return Table(_heads(grid), tuple(rows), keys=3)


def quality_table(grid: CompiledGrid) -> Table:
    """The same rows and columns with the accuracy and what it lost; without rows when nothing was judged so."""
    rows = []
    for line in grid.lines:
        found = [grid.cells.get(("quality", line, name)) for name in grid.columns]
        if any(found):
            rows.append((*_head(grid, line), *(_accuracy(one) for one in found)))
    return Table(_heads(grid), tuple(rows), keys=3)


def _marks(grid: CompiledGrid) -> list[tuple[str, str]]:
    """The marks that the main table has."""
    text = " ".join(cell.text for row in main_table(grid).rows for cell in row)
    return [(shown, said) for shown, said in MARKS if any(one in text for one in shown.rstrip(" …").split(", "))]


def describe(one: Entry) -> str:
    """A cell in words: check, model, source, compiler, precision, and the target where it is not this machine."""
    line, target = line_of(one), one.cell.get("target", LOCAL)
    words = [one.cell["check"], line.model, line.source, one.cell["compiler"], line.text]
    return " ".join([*map(str, words), *([str(target)] if target != LOCAL else [])])


def _heads(grid: CompiledGrid) -> tuple[str, ...]:
    return ("model", "source", "precision", *(grid.headings[name] for name in grid.columns))


def _head(grid: CompiledGrid, line: Line) -> tuple[TableCell, ...]:
    return TableCell(grid.titles.get(line.model, line.model)), TableCell(line.source), TableCell(line.text)


def _place(one: Entry | None) -> TableCell:
    if one is None:
        return TableCell("–")
    text = one.status
    ratio = (one.numbers.get("approximation") or {}).get("sqnr_db")
    if one.error is not None:
        text += f" ({number(one.error)})"
    elif ratio is not None:
        text += f" ({ratio:.0f} dB)"
    marks = [SHOWN.get(flag, flag) for flag in one.flags if flag in SHOWN or flag.startswith("bf16 only")]
    return TableCell(" ".join([text, *marks, mark(one)]).strip(), one.shown, one.reason)


def _accuracy(one: Entry | None) -> TableCell:
    if one is None:
        return TableCell("–")
    accuracy, drop = one.numbers.get("accuracy"), one.numbers.get("drop")
    text = one.status if accuracy is None or drop is None else f"{accuracy:.1%} ({0.0 - drop['top1']:+.1%})"
    return TableCell(f"{text} {mark(one)}".strip(), one.shown, one.reason)


def _preservation(grid: CompiledGrid) -> Table:
    rows = []
    for name in grid.columns:
        mine = [one for one in grid.of_check("equivalence") if one.cell["compiler"] == name]
        judged = [one for one in mine if one.status in ("supported", "mismatch")]
        kept = sum(one.status == "supported" for one in judged)
        worst = max((float(one.numbers.get("needed") or 0.0) for one in judged), default=0.0)
        share = f"{kept / len(judged):.0%} ({kept} of {len(judged)})" if judged else "nothing was judged"
        failed = sum(one.status in ("ERROR", "unsupported") for one in mine)
        rows.append((grid.headings[name], share, f"{worst:.2f}" if worst else "", str(failed), str(len(mine))))
    heads = ("compiler", "preserved", "worst share of a tolerance", "did not get that far", "cells")
    return Table(heads, tuple(tuple(TableCell(text) for text in row) for row in rows))


def _formats(grid: CompiledGrid) -> Table:
    """Input formats and precisions x compilers, from the adapters' declarations and this run's cells."""
    names = list(grid.compilers)
    formats = sorted({format for row in grid.compilers.values() for format in row["takes"]})
    rows = [(TableCell(f"from {format}"), *(_format(grid, name, format) for name in names)) for format in formats]
    rows += [(TableCell(precision), *(_precision(grid, name, precision) for name in names)) for precision in ORDER]
    return Table(("", *(grid.compilers[name]["title"] for name in names)), tuple(rows))


def _format(grid: CompiledGrid, name: str, format: str) -> TableCell:
    def from_it(one: Entry) -> bool:
        by_file = bool(one.cell.get("exporter")) or one.cell["framework"] == "onnx"
        return by_file if format == "onnx" else not by_file and one.cell["framework"] == format

    return _mark(format in grid.compilers[name]["takes"], _of(grid, name, from_it))


def _precision(grid: CompiledGrid, name: str, precision: str) -> TableCell:
    declared = precision in grid.compilers[name]["precisions"]
    return _mark(declared, _of(grid, name, lambda one: one.cell.get("precision", "fp32") == precision))


def _of(grid: CompiledGrid, name: str, wanted: Any) -> list[Entry]:
    mine = (one for one in grid.of_check("equivalence") if str(one.cell["compiler"]).partition("[")[0] == name)
    return [one for one in mine if wanted(one)]


def _mark(declared: bool, found: Iterable[Entry]) -> TableCell:
    if not declared:
        return TableCell("–")
    proven = any(one.status == "supported" for one in found)
    return TableCell("D P", "supported") if proven else TableCell("D")


def _hardware(grid: CompiledGrid) -> Table:
    """Targets x compilers; of other hardware than this machine an artefact for it is all that was made."""
    names = list(grid.compilers)
    targets = list(dict.fromkeys(target for row in grid.compilers.values() for target in row["targets"]))
    rows = []
    for target in targets:
        cells = [TableCell(target)]
        for name in names:
            declared = target in grid.compilers[name]["targets"]
            found = _of(grid, name, lambda one: True) if target == LOCAL else []
            made = [one for one in grid.cross if one.cell["target"] == target and one.cell["compiler"] == name]
            if declared and made:
                cells.append(TableCell(f"D {_worst_cross(made)}", made[0].status, made[0].reason))
            else:
                cells.append(_mark(declared, found))
        rows.append(tuple(cells))
    return Table(("target", *(grid.compilers[name]["title"] for name in names)), tuple(rows))


def _worst_cross(made: list[Entry]) -> str:
    compiled = [one for one in made if one.status == "unverified" and one.converted]
    if compiled:
        return f"compiled, not run ({len(compiled)} of {len(made)})"
    return f"{made[0].status}: {first_line(made[0])}"


def _costs(grid: CompiledGrid) -> Table:
    rows = []
    for one in [*grid.of_check("equivalence"), *(one for one in grid.cross if one.key)]:
        size = sum(row["bytes"] for name, row in (one.artefacts or {}).items()
                   if isinstance(row, dict) and "sha256" in row and name != "calibration")  # fmt: skip
        placement = one.placement or {}
        peak = max(one.peaks.get("compile", 0), one.peaks.get("run", 0))
        line = line_of(one)
        seems = " / ".join(filter(None, (str(placement.get("effective", "")), placement.get("effective_by_error", ""))))
        share = placement.get("requested")
        cells = (
            line.model, line.source, line.text, str(one.cell["compiler"]), str(one.cell.get("target", LOCAL)),
            f"{one.timings['compile']:.1f}" if "compile" in one.timings else "", f"{size / 1e6:.2f}" if size else "",
            f"{peak / 1e6:.0f}" if peak else "", seems, str(placement.get("integer", "")),
            f"{share:.0%}" if isinstance(share, int | float) else "", str(one.numbers.get("dynamic", "")),
        )  # fmt: skip
        rows.append(tuple(TableCell(text) for text in cells))
    heads = (
        "model", "source", "precision", "compiler", "target", "compile s", "artefact MB", "peak MB",
        "precision: read back / inferred from the error", "integer", "on requested backend", "dynamic",
    )  # fmt: skip
    return Table(heads, tuple(rows))


def _mutants(grid: CompiledGrid) -> Table | None:
    counts: dict[tuple[str, str], list[tuple[int, int]]] = {}
    precisions = set()
    for one in grid.of_check("equivalence"):
        table = one.numbers.get("mutants") or {}
        if table:
            line = line_of(one)
            precisions.add(line.precision)
            detected = sum(bool(row["killed"]) for row in table.values())
            counts.setdefault((line.model, line.precision), []).append((detected, len(table)))
    if not counts:
        return None
    shown = [precision for precision in ORDER if precision in precisions]
    rows = []
    for model in dict.fromkeys(model for model, _ in counts):
        cells = [TableCell(grid.titles.get(model, model))]
        for precision in shown:
            found = counts.get((model, precision), [])
            detected, total = sum(row[0] for row in found), sum(row[1] for row in found)
            cells.append(TableCell(f"{detected / total:.0%} ({detected} of {total})" if total else "–"))
        rows.append(tuple(cells))
    return Table(("model", *shown), tuple(rows))
