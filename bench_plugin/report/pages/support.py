"""The ONNX support page: grid, 2021 → now, pairs, failures, mutants, funnel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from bench_plugin.domain.outcome import Unverified
from bench_plugin.report.blocks import Block, Document, Heading, Paragraph, Table, TableCell
from bench_plugin.report.earlier import EarlierRuns
from bench_plugin.report.entries import Entry
from bench_plugin.report.formats.tabular import flat
from bench_plugin.report.grids.support import ROUND_TRIPS, Grid, Joined, Pair, build_grid
from bench_plugin.report.pages.page import Page
from bench_plugin.report.parts import (
    failures_table,
    how_models_were_made,
    legend_table,
    made_with,
    mark,
    number,
    remarks,
    run_line,
    strength_of,
)
from bench_plugin.report.statuses import NOT_RUN, worst

NAME = "onnx-support"
CHECKS: tuple[str, ...] = ROUND_TRIPS
OPENING = (
    "Export to ONNX and import back, with the numbers compared: exports run in onnxruntime against the framework's "
    "own float64 result, imports against the file's own float64 function. The number is the worst E of all cells that "
    "are joined (norm of the error over the norm of what the inputs change)."
)
JOINED = (
    "Where a framework has several exporters, importers or opsets, a place of the grid shows the worst export and the "
    "worst import of all that were computed, and how many pairs are supported in both directions; so a cell that "
    "failed is never behind a green place. What was declared before the run shows only where nothing was computed. The "
    "section Pairs has each pair on its own."
)
MUTANTS = "The cell's own comparison on each file with a mistake made on purpose: a verdict is worth what it notices."


def make(rows: Sequence[Mapping[str, Any]], notes: Sequence[str], earlier: EarlierRuns) -> Page:
    """The page of the export and import rows."""
    grid = build_grid(rows, notes)
    grids = (("ONNX support: export / import", main_table(grid)),)
    return Page(NAME, support_page(grid), grids, grid.entries, support_data(grid), (grid.partial, *grid.notes))


def support_page(grid: Grid) -> Document:
    """The whole ONNX support page: grid, 2021 -> now, legend, pairs, failures, funnel, provenance."""
    blocks: list[Block] = [*run_line(grid.header), Paragraph(OPENING), *remarks(grid.partial, *grid.notes)]
    blocks += [main_table(grid), Paragraph(JOINED), Heading("Legend"), _legend(grid)]
    blocks += how_models_were_made(grid.entries, grid.titles)
    if since := _since(grid):
        blocks += [Heading("2021 → now"), Paragraph(f"2021: {grid.published.source}"), since]
    blocks += [Heading("Pairs"), _details(grid), *failures_table(grid.entries, describe)]
    if mutants := _mutants(grid):
        blocks += [Heading("Mutants"), Paragraph(MUTANTS), mutants]
    if unverified := _unverified(grid):
        blocks += [Heading("Unverified, by kind"), unverified]
    blocks += [Heading("How far cells got"), _funnel(grid), *made_with(grid.header)]
    return Document("ONNX support", tuple(blocks))


def support_data(grid: Grid) -> dict[str, Any]:
    """The grid with its cells, the funnel, and what the run was, as plain data."""
    places = [
        {"model": model, "framework": framework, "pair": pair.title, "text": pair.text, "worst": pair.worst,
         "published": grid.published.cell(model, framework)}
        for (model, framework), pairs in grid.pairs.items() for pair in pairs
    ]  # fmt: skip
    return {
        "grid": places, "cells": [flat(entry) | {"numbers": entry.numbers} for entry in grid.entries],
        "funnel": dict(grid.funnel), "partial": grid.partial, "header": grid.header,
    }  # fmt: skip


def main_table(grid: Grid) -> Table:
    """Models x frameworks, ``export / import`` with the worst error of the two."""
    rows = []
    for model in grid.models:
        cells = [TableCell(grid.titles[model])]
        cells += [_place(grid.joined(model, framework)) for framework in grid.frameworks]
        rows.append(tuple(cells))
    return Table(("model", *(grid.headings[name] for name in grid.frameworks)), tuple(rows))


def _place(joined: Joined | None) -> TableCell:
    if joined is None:
        return TableCell(NOT_RUN, NOT_RUN)
    marks = "†" if any(one.unconfirmed for one in joined.entries) else ""
    marks += "*" if any(flag.startswith("invalid") for pair in joined.pairs for flag in pair.export.flags) else ""
    marks += mark(joined.export) or mark(joined.imported)
    text = f"{joined.text} {marks}".strip()
    if joined.error is not None:
        text += f" ({number(joined.error)})"
    if len(joined.pairs) > 1:
        text += f" {joined.fine} of {len(joined.pairs)} pairs"
    return TableCell(text, joined.status, joined.imported.reason or joined.export.reason)


def _legend(grid: Grid) -> Table:
    further = [
        ("*", "onnx's checker objects to the file"),
        ("2 of 3 pairs", "two of the three pairs are supported in both directions"),
    ]
    if grid.differing():
        further.insert(0, ("†", f"converted without an error, but not verified ({grid.differing()} cells)"))
    if any(one.shown != one.status for one in grid.entries):
        further.append(("!", "a known failure passed: pytest failed the cell until its row is removed"))
    return legend_table(grid.entries, further)


def _since(grid: Grid) -> Table | None:
    frameworks = [name for name in grid.frameworks if name in grid.published.versions]
    models = [name for name in grid.models if name in grid.published.cells]
    if not frameworks or not models:
        return None
    rows = []
    for model in models:
        cells = [TableCell(grid.titles[model])]
        for framework in frameworks:
            now = grid.joined(model, framework)
            text = now.text if now else NOT_RUN
            then = grid.published.cell(model, framework)
            same = "=" if then == text else "→"
            cells.append(TableCell(f"{then} {same} {text}" if same == "→" else text, now.status if now else ""))
        rows.append(tuple(cells))
    heads = [f"{name} {grid.published.versions[name]} → {grid.headings[name].split(' ')[-1]}" for name in frameworks]
    return Table(("model", *heads), tuple(rows))


def _details(grid: Grid) -> Table:
    rows = []
    for (model, framework), pairs in grid.pairs.items():
        for pair in pairs:
            if not (pair.export.key or pair.imported.key):
                continue
            seconds = (pair.export.timings.get("export"), pair.imported.timings.get("import"))
            rows.append(
                (
                    TableCell(grid.titles[model]),
                    TableCell(framework),
                    TableCell(pair.title),
                    TableCell(pair.text, worst((pair.export.shown, pair.imported.shown))),
                    TableCell(number(pair.export.error)),
                    TableCell(number(pair.imported.error)),
                    TableCell(number(pair.export.tolerance or pair.imported.tolerance)),
                    TableCell(" / ".join("" if value is None else f"{value:.1f}" for value in seconds)),
                    TableCell(_gigabytes(pair)),
                    TableCell(str(pair.export.numbers.get("dynamic", ""))),
                )
            )
    heads = (
        "model",
        "framework",
        "pair",
        "export / import",
        "E export",
        "E import",
        "tolerance",
        "seconds",
        "peak GB",
        "dynamic",
    )
    return Table(heads, tuple(rows))


def _mutants(grid: Grid) -> Table | None:
    """What the comparison of each cell would notice of the mutants of its file."""
    rows = []
    for entry in grid.entries:
        table = entry.numbers.get("mutants") or {}
        if not table:
            continue
        noticed, applicable = strength_of(entry)
        weakest = min(table, key=lambda name: float(table[name]["ratio"]))
        said = f"{weakest}: {float(table[weakest]['ratio']):.2g} tolerances off"
        missed = ", ".join(name for name, row in table.items() if not row["killed"])
        texts = (describe(entry), f"{noticed} of {applicable}", said, missed)
        rows.append(tuple(TableCell(text) for text in texts))
    return Table(("cell", "noticed", "the weakest", "not noticed"), tuple(rows)) if rows else None


def _unverified(grid: Grid) -> Table | None:
    """Kind of check x kinds of unverified cells; None where everything was verified."""
    counts: dict[str, Counter[str]] = {}
    for one in grid.entries:
        if one.key and one.status == "unverified":
            counts.setdefault(str(one.cell["check"]), Counter())[one.unverified] += 1
    kinds = [str(kind) for kind in Unverified if any(count[kind] for count in counts.values())]
    rows = [
        tuple(TableCell(text) for text in (check, *(str(count[kind] or "") for kind in kinds)))
        for check, count in counts.items()
    ]
    return Table(("check", *kinds), tuple(rows)) if rows else None


def _gigabytes(pair: Pair) -> str:
    peak = max([*pair.export.peaks.values(), *pair.imported.peaks.values()], default=0)
    return f"{peak / 1e9:.1f}" if peak else ""


def describe(entry: Entry) -> str:
    """A cell in words: check, model, framework and converters."""
    cell = entry.cell
    source = " ".join(str(cell[axis]) for axis in ("check", "model", "framework", "exporter") if axis in cell)
    return f"{source} → {cell['importer']}" if "importer" in cell else source


def _funnel(grid: Grid) -> Table:
    return Table(("got past", "cells"), tuple((TableCell(name), TableCell(str(count))) for name, count in grid.funnel))
