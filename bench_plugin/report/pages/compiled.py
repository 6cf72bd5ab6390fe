"""The page of compiled models: a summary grid per family of models, and a page of details per compiler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench_plugin.report.blocks import Block, Contents, Document, Heading, Pages, Paragraph, Table, TableCell
from bench_plugin.report.earlier import EarlierRuns
from bench_plugin.report.entries import Entry, worst_entry
from bench_plugin.report.figures import duration, measured, median_seconds, metric_lost, task_metric
from bench_plugin.report.formats.tabular import flat
from bench_plugin.report.grids.compiled import COMPILED_CHECKS, CompiledGrid, Line, build_grid
from bench_plugin.report.pages import compiled_tables as tables
from bench_plugin.report.pages.compiled_details import describe, details_page, marks
from bench_plugin.report.pages.compiled_targets import COSTS, HEADING, cost_table, target_blocks, target_table
from bench_plugin.report.pages.page import Page, detail_name
from bench_plugin.report.parts import (
    failures_table,
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
    "the unrounded model, for precisions that round weights or activations. Its signal is the whole output, with the "
    "part that no input changes: where that is large, as in a recurrent network, E says more."
)
QUALITY = "Accuracy on the test set, and what it lost against the framework's own model on the same images."
PRESERVATION = (
    "Of the cells in which a compiler gave an artefact that ran and something says what it should compute: how many "
    "compute it. The worst share is of the tolerance that was used up (1 is the limit)."
)
DECLARED = "D: declared by the adapter. P: proven by this run, at least one cell is supported. A dash: not offered."
MUTANTS = (
    "Each file with a mistake made on purpose, judged by the cell's own comparison at its own precision: the share "
    "that is a mismatch there. A cell that notices less than four fifths is weak; one that would not notice a missing "
    "block, or not even half of the mutants, is unverified as not sensitive. What a precision cannot see, its fp32 "
    "cell has to."
)
UNVERIFIED = "Cells about which nothing was proven, by what would have to change so that they can be judged."
DETERMINISM = "Cells that were compiled and run a second time in fresh processes, and gave the same bits."
UNEXPECTED = "Cells that pytest failed, because no expectation covers them or a known failure passed."
OTHER_FAMILY = "other"
MARKS = (
    ("(by the tool)", "quantised, or converted to float16, by the tool itself"),
    ("(qdq), (w16) …", "a pre-quantised or pre-converted model was compiled"),
    ("fast-math", "the compiler's default is fast-math, so the tolerance is wider"),
    ("by layers", "each layer is right within the model; end to end roundings add up, and E may exceed its tolerance"),
    ("one-by-one sums", "right if float32 terms are added one by one, in an order that ONNX leaves open"),
    ("low-precision accumulate", "right if products are summed in the narrow type itself, which ONNX leaves open"),
    ("simulated", "the artefact computes in floating point what it should compute in integers"),
    ("weak", "the comparison would notice less than four fifths of the mistakes that were made on purpose"),
    ("emulated", "it ran on an emulated board: its time is no latency of the device, and is not shown"),
    ("!", "a known failure passed: pytest failed the cell until its row is removed"),
)


def make(rows: Sequence[Mapping[str, Any]], notes: Sequence[str], earlier: EarlierRuns) -> Page:
    """The page of the equivalence and quality rows."""
    grid = build_grid(rows, notes)
    shown = {"Compiled models": main_table(grid), "Quality: accuracy and what it lost": quality_table(grid)}
    shown |= {HEADING.format(target): target_table(grid, target) for target in grid.targets}
    if costs := cost_table(grid):
        shown[COSTS] = costs
    grids = tuple((heading, table) for heading, table in shown.items() if table.rows)
    back = ("Compiled models: the summary", NAME)
    details = {name: details_page(grid, name, back) for name in grid.compiler_names}
    data, notes = compiled_data(grid), (grid.partial, *grid.notes)
    return Page(NAME, equivalence_page(grid), grids, grid.entries, data, notes, details)


def equivalence_page(grid: CompiledGrid) -> Document:
    """The summary."""
    blocks: list[Block] = [*run_line(grid.header), Paragraph(OPENING), *remarks(grid.partial, *grid.notes), Contents()]
    for family, models in _families(grid).items():
        blocks += [Heading(f"Family: {family}"), family_table(grid, models)]
    blocks += target_blocks(grid)
    blocks += [Heading("Legend"), legend_table(grid.entries, _marks(grid))]
    links = tuple((_heading(grid, name), detail_name(NAME, name)) for name in grid.compiler_names)
    blocks += [Heading("Details by compiler"), Pages(links)]
    if (quality := quality_table(grid)).rows:
        blocks += [Heading("Quality"), Paragraph(QUALITY), quality]
    blocks += how_models_were_made(grid.entries, grid.titles)
    blocks += [Heading("Semantic preservation"), Paragraph(PRESERVATION), tables.preservation(grid)]
    if mutants := tables.mutants(grid):
        blocks += [Heading("Mutants by precision"), Paragraph(MUTANTS), mutants]
    for heading, text, table in (
        ("Unverified, by kind", UNVERIFIED, tables.unverified(grid)),
        ("Determinism", DETERMINISM, tables.determinism(grid)),
    ):
        blocks += [Heading(heading), Paragraph(text), table] if table.rows else []
    blocks += [Heading("Formats and precisions by compiler"), Paragraph(DECLARED), tables.formats_by_compiler(grid)]
    blocks += [Heading("Hardware by compiler"), tables.hardware(grid)]
    if unexpected := [one for one in grid.entries if one.failed]:
        blocks += [Heading("Failures that are not known"), Paragraph(UNEXPECTED)]
        blocks += failures_table(unexpected, describe)[1:]
    return Document("Compiled models", (*blocks, *made_with(grid.header)))


def compiled_data(grid: CompiledGrid) -> dict[str, Any]:
    """The cells with numbers, placement and artefacts, and what the run was, as plain data."""
    cells = [
        flat(entry) | {"numbers": entry.numbers, "placement": entry.placement, "artefacts": entry.artefacts}
        for entry in grid.entries
    ]
    return {"cells": cells, "compilers": grid.compilers, "partial": grid.partial, "header": grid.header}


def family_table(grid: CompiledGrid, models: Sequence[str]) -> Table:
    """(model, precision) x compilers, all frameworks and exporters joined: the worst status, and how many have it."""
    rows = []
    for model in models:
        for text in dict.fromkeys(line.text for line in grid.lines if line.model == model):
            found = [_joined(grid, model, text, name) for name in grid.columns]
            times = [_fastest(grid, model, text, name) for name in grid.columns]
            if any(found):
                cells = (_summary(entries, time) for entries, time in zip(found, times, strict=True))
                rows.append((TableCell(grid.titles.get(model, model)), TableCell(text), *cells))
    return Table(("model", "precision", *(grid.headings[name] for name in grid.columns)), tuple(rows), keys=2)


def _joined(grid: CompiledGrid, model: str, text: str, compiler: str) -> list[Entry]:
    lines = (line for line in grid.lines if (line.model, line.text) == (model, text))
    found = (grid.cells.get(("equivalence", line, compiler)) for line in lines)
    return [one for one in found if one is not None]


def _fastest(grid: CompiledGrid, model: str, text: str, compiler: str) -> str:
    """The shortest median time among the sources of a model; empty where there is no timing row."""
    found = (
        one for (line, name), one in grid.times.items() if (line.model, line.text, name) == (model, text, compiler)
    )
    times = [seconds for one in found if (seconds := median_seconds(one)) is not None]
    return duration(min(times)) if times else ""


def _summary(found: Sequence[Entry], time: str) -> TableCell:
    if not found:
        return TableCell("–")
    worst = worst_entry(found)
    same = sum(one.shown == worst.shown for one in found)
    count = f" {same}/{len(found)}" if len(found) > 1 else ""
    said = dict.fromkeys(text for one in found for text in marks(one))
    return TableCell(" ".join([f"{worst.status}{count}", *filter(None, [time]), *said]), worst.shown, worst.reason)


def _families(grid: CompiledGrid) -> dict[str, list[str]]:
    """Models by family, in the order of the models."""
    known = grid.header.get("titles", {}).get("families", {})
    found: dict[str, list[str]] = {}
    for model in dict.fromkeys(line.model for line in grid.lines):
        if any(check == "equivalence" and line.model == model for check, line, _ in grid.cells):
            found.setdefault(known.get(model, OTHER_FAMILY), []).append(model)
    return found


def _heading(grid: CompiledGrid, name: str) -> str:
    return grid.headings.get(name, name)


def main_table(grid: CompiledGrid) -> Table:
    """(model, source, precision) x compilers: status, with E at computed precisions and decibels below."""
    rows = []
    for line in grid.lines:
        found = [grid.cells.get(("equivalence", line, name)) for name in grid.columns]
        if any(found):
            times = [grid.times.get((line, name)) for name in grid.columns]
            cells = (_place(one, time) for one, time in zip(found, times, strict=True))
            rows.append((*_head(grid, line), *cells))
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
    """The marks that the tables of verdicts have."""
    shown = [main_table(grid), *(target_table(grid, target) for target in grid.targets)]
    text = " ".join(cell.text for table in shown for row in table.rows for cell in row)
    return [(shown, said) for shown, said in MARKS if any(one in text for one in shown.rstrip(" …").split(", "))]


def _heads(grid: CompiledGrid) -> tuple[str, ...]:
    return ("model", "source", "precision", *(grid.headings[name] for name in grid.columns))


def _head(grid: CompiledGrid, line: Line) -> tuple[TableCell, ...]:
    return TableCell(grid.titles.get(line.model, line.model)), TableCell(line.source), TableCell(line.text)


def _place(one: Entry | None, time: Entry | None) -> TableCell:
    if one is None:
        return TableCell("–")
    text = one.status
    ratio = (one.numbers.get("approximation") or {}).get("sqnr_db")
    if one.error is not None:
        text += f" ({number(one.error)})"
    elif ratio is not None:
        text += f" ({ratio:.0f} dB)"
    beside = measured(time) if time is not None else []
    return TableCell(" ".join([text, *beside, *marks(one)]), one.shown, one.reason)


def _accuracy(one: Entry | None) -> TableCell:
    if one is None:
        return TableCell("–")
    metric, lost = task_metric(one.numbers), metric_lost(one.numbers)
    text = one.status if metric is None or lost is None else f"{metric:.1%} ({0.0 - lost:+.1%})"
    return TableCell(f"{text} {mark(one)}".strip(), one.shown, one.reason)
