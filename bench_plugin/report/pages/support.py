"""The ONNX support page: grid, 2021 → now, pairs, failures, mutants, funnel."""

from __future__ import annotations

from collections.abc import Iterator

from bench_plugin.report.blocks import (
    Block,
    Document,
    Heading,
    Paragraph,
    Table,
    TableCell,
    first_line,
    number,
    provenance,
    where,
)
from bench_plugin.report.entries import Entry
from bench_plugin.report.grids.support import Grid, Pair

LEGEND = (
    ("supported", "converted, run, and equal to the truth within the tolerance"),
    ("mismatch", "converted and run, but the values, a shape or a type are wrong"),
    ("ERROR", "an exception, an invalid file, a crash, a timeout or too much memory"),
    ("unsupported", "the converter itself says that it does not implement this"),
    ("version skew", "a tool older than the file's opset or IR; outside every score"),
    ("Not provided", "the framework has no such model, or the tool is not there"),
    ("unverified", "a predecessor failed, or there is nothing trustworthy to compare with"),
)


def support_page(grid: Grid) -> Document:
    """The whole ONNX support page: grid, 2021 -> now, legend, pairs, failures, funnel, provenance."""
    blocks: list[Block] = [*_opening(grid), main_table(grid), Heading("Legend"), _legend(grid)]
    if since := _since(grid):
        blocks += [Heading("2021 → now"), Paragraph(f"2021: {grid.published.source}"), since]
    blocks += [Heading("Pairs"), _details(grid)]
    if failures := _failures(grid):
        blocks += [Heading("What is not supported, and why"), failures]
    if mutants := _mutants(grid):
        why = "Each exported file with a mistake made on purpose: a verdict is worth what it catches."
        blocks += [Heading("Mutants"), Paragraph(why), mutants]
    blocks += [Heading("How far cells got"), _funnel(grid), Heading("Made with"), *provenance(grid.header)]
    return Document("ONNX support", tuple(blocks))


def main_table(grid: Grid) -> Table:
    """Models x frameworks, ``export / import`` with the worst error of the two."""
    rows = []
    for model in grid.models:
        cells = [TableCell(grid.titles[model])]
        cells += [_place(grid.first(model, framework)) for framework in grid.frameworks]
        rows.append(tuple(cells))
    return Table(("model", *(grid.headings[name] for name in grid.frameworks)), tuple(rows))


def worst_status(pair: Pair) -> str:
    """The status that colours a joined cell: the more serious of the two."""
    order = (
        "ERROR",
        "mismatch",
        "board-lost",
        "unsupported",
        "unverified",
        "version skew",
        "not run",
        "Not provided",
        "supported",
    )
    return min((pair.export.status, pair.imported.status), key=order.index)


def _opening(grid: Grid) -> Iterator[Block]:
    yield Paragraph(
        "Export to ONNX and import back, with the numbers compared: exports run in onnxruntime against the framework's "
        "own float64 result, imports against the file's own float64 function. The number is the worst E of the two "
        "(norm of the error over the norm of what the inputs change)."
    )
    for remark in (grid.partial, *grid.notes):
        if remark:
            yield Paragraph(remark)


def _place(pair: Pair | None) -> TableCell:
    if pair is None:
        return TableCell("not run", "not run")
    marks = "".join(mark for mark, shown in (("†", pair.export.unconfirmed or pair.imported.unconfirmed),) if shown)
    marks += "*" if any(flag.startswith("invalid") for flag in pair.export.flags) else ""
    text = f"{pair.text} {marks}".strip()
    if pair.worst is not None:
        text += f" ({number(pair.worst)})"
    return TableCell(text, worst_status(pair), pair.imported.reason or pair.export.reason)


def _legend(grid: Grid) -> Table:
    present = {entry.status for entry in grid.entries} | {"supported"}
    rows = [(TableCell(status, status), TableCell(text)) for status, text in LEGEND if status in present]
    if grid.differing():
        rows.append(
            (TableCell("†"), TableCell(f"converted without an error, but not verified ({grid.differing()} cells)"))
        )
    rows.append((TableCell("*"), TableCell("onnx's checker objects to the file")))
    return Table(("shown", "meaning"), tuple(rows))


def _since(grid: Grid) -> Table | None:
    frameworks = [name for name in grid.frameworks if name in grid.published.versions]
    models = [name for name in grid.models if name in grid.published.cells]
    if not frameworks or not models:
        return None
    rows = []
    for model in models:
        cells = [TableCell(grid.titles[model])]
        for framework in frameworks:
            now = grid.first(model, framework)
            text = now.text if now else "not run"
            then = grid.published.cell(model, framework)
            same = "=" if then == text else "→"
            cells.append(TableCell(f"{then} {same} {text}" if same == "→" else text, worst_status(now) if now else ""))
        rows.append(tuple(cells))
    heads = [f"{name} {grid.published.versions[name]} → {grid.headings[name].split(' ')[-1]}" for name in frameworks]
    return Table(("model", *heads), tuple(rows))


def _details(grid: Grid) -> Table:
    rows = []
    for (model, framework), pairs in grid.pairs.items():
        for pair in pairs:
            if not pair.export.key:
                continue
            seconds = (pair.export.timings.get("export"), pair.imported.timings.get("import"))
            rows.append(
                (
                    TableCell(grid.titles[model]),
                    TableCell(framework),
                    TableCell(pair.title),
                    TableCell(pair.text, worst_status(pair)),
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
    """How many of the standard mutants of each exported file the pass rule catches."""
    rows = []
    for entry in grid.entries:
        table = entry.numbers.get("mutants") or {}
        if not table:
            continue
        killed = [name for name, row in table.items() if row["killed"]]
        weakest = min(table, key=lambda name: float(table[name]["ratio"]))
        ratio = float(table[weakest]["ratio"])
        cells = (describe(entry), f"{len(killed)} of {len(table)}", f"{weakest}: {ratio:.0f} tolerances off")
        survived = ", ".join(name for name in table if name not in killed)
        rows.append(tuple(TableCell(text) for text in (*cells, survived)))
    return Table(("cell", "killed at fp32", "the weakest", "survived"), tuple(rows)) if rows else None


def _gigabytes(pair: Pair) -> str:
    peak = max([*pair.export.peaks.values(), *pair.imported.peaks.values()], default=0)
    return f"{peak / 1e9:.1f}" if peak else ""


def _failures(grid: Grid) -> Table | None:
    rows = [
        (
            TableCell(describe(entry)),
            TableCell(entry.status, entry.status),
            TableCell(where(entry)),
            TableCell(first_line(entry)),
            TableCell(entry.expected),
            TableCell(entry.key),
        )
        for entry in grid.failures()
    ]
    if not rows:
        return None
    return Table(("cell", "status", "stage: symptom", "first useful line", "known cause", "key"), tuple(rows))


def describe(entry: Entry) -> str:
    """A cell in words: check, model, framework and converters."""
    cell = entry.cell
    source = " ".join(str(cell[axis]) for axis in ("check", "model", "framework", "exporter") if axis in cell)
    return f"{source} → {cell['importer']}" if "importer" in cell else source


def _funnel(grid: Grid) -> Table:
    return Table(("got past", "cells"), tuple((TableCell(name), TableCell(str(count))) for name, count in grid.funnel))
