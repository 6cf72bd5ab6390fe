"""The page of compiled models: grid, quality, what compilers take and prove, costs, failures, mutants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

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
from bench_plugin.report.grids.compiled import LOCAL, ORDER, CompiledGrid, Line, line_of

LEGEND = (
    ("supported", "the artefact ran and computes what the compiler was asked to compute"),
    ("mismatch", "it ran, but the values, a shape or a type are wrong; in quality: it does its task worse"),
    ("ERROR", "an exception, an invalid artefact, a crash, a timeout or too much memory"),
    ("unsupported", "the compiler says that it does not do this, or silently would have done something else"),
    ("Not provided", "the framework has no such model, or a tool is not there"),
    ("unverified", "a predecessor failed, nothing was run, or nothing says what the numbers should be"),
)


def equivalence_page(grid: CompiledGrid) -> Document:
    """The whole page."""
    blocks: list[Block] = [*_opening(grid), main_table(grid), Heading("Legend"), _legend(grid)]
    if quality := _quality(grid):
        text = "Accuracy on the test set, and what it lost against the framework's own model on the same images."
        blocks += [Heading("Quality"), Paragraph(text), quality]
    blocks += [Heading("Semantic preservation"), Paragraph(PRESERVATION), _preservation(grid)]
    blocks += [Heading("Formats and precisions by compiler"), Paragraph(DECLARED), _formats(grid)]
    blocks += [Heading("Hardware by compiler"), _hardware(grid)]
    blocks += [Heading("What it took, and what really ran"), _costs(grid)]
    if failures := _failures(grid):
        blocks += [Heading("What is not supported, and why"), failures]
    if mutants := _mutants(grid):
        blocks += [Heading("Mutants by precision"), Paragraph(MUTANTS), mutants]
    blocks += [Heading("Made with"), *provenance(grid.header)]
    return Document("Compiled models", tuple(blocks))


PRESERVATION = (
    "Of the cells in which a compiler gave an artefact that ran and something says what it should compute: how many "
    "compute it. The worst share is of the tolerance that was used up (1 is the limit)."
)
DECLARED = "D: declared by the adapter. P: proven by this run, at least one cell is supported. A dash: not offered."
MUTANTS = (
    "Each file with a mistake made on purpose, judged at each precision: the share that the verdict catches. What a "
    "precision cannot see, its fp32 cell has to."
)


def main_table(grid: CompiledGrid) -> Table:
    """(model, source, precision) x compilers: status, with E at computed precisions and decibels below."""
    rows = []
    for line in grid.lines:
        found = [grid.cells.get(("equivalence", line, name)) for name in grid.columns]
        if any(found):
            rows.append((*_head(grid, line), *(_place(one) for one in found)))
    heads = ("model", "source", "precision", *(grid.headings[name] for name in grid.columns))
    return Table(heads, tuple(rows))


def _head(grid: CompiledGrid, line: Line) -> tuple[TableCell, ...]:
    return TableCell(grid.titles.get(line.model, line.model)), TableCell(line.source), TableCell(line.text)


def _opening(grid: CompiledGrid) -> Iterator[Block]:
    yield Paragraph(
        "Does the compiled model still compute the same function? E is the error against the float64 truth of what the "
        "compiler was asked to compute, as a share of what the inputs change; dB is the signal to noise ratio against "
        "the unrounded model, for precisions that round weights or activations."
    )
    for remark in (grid.partial, *grid.notes):
        if remark:
            yield Paragraph(remark)


def _place(one: Entry | None) -> TableCell:
    if one is None:
        return TableCell("–")
    text = one.status
    ratio = (one.numbers.get("approximation") or {}).get("sqnr_db")
    if one.error is not None:
        text += f" ({number(one.error)})"
    elif ratio is not None:
        text += f" ({ratio:.0f} dB)"
    marks = [flag for flag in one.flags if flag in ("loose", "simulated") or flag.startswith("bf16 only")]
    return TableCell(f"{text} {' '.join(marks)}".strip(), one.status, one.reason)


def _legend(grid: CompiledGrid) -> Table:
    present = {one.status for one in grid.entries} | {"supported"}
    rows = [(TableCell(status, status), TableCell(text)) for status, text in LEGEND if status in present]
    rows.append(
        (TableCell("(own), (qdq) …"), TableCell("who rounds: the tool by itself, or a ready graph it was handed"))
    )
    rows.append((TableCell("loose"), TableCell("the compiler's default is fast arithmetic, so the tolerance is wider")))
    return Table(("shown", "meaning"), tuple(rows))


def _quality(grid: CompiledGrid) -> Table | None:
    rows = []
    for line in grid.lines:
        found = [grid.cells.get(("quality", line, name)) for name in grid.columns]
        if any(found):
            rows.append((*_head(grid, line), *(_accuracy(one) for one in found)))
    heads = ("model", "source", "precision", *(grid.headings[name] for name in grid.columns))
    return Table(heads, tuple(rows)) if rows else None


def _accuracy(one: Entry | None) -> TableCell:
    if one is None:
        return TableCell("–")
    if "accuracy" not in one.numbers:
        return TableCell(one.status, one.status, one.reason)
    drop = one.numbers["drop"]["top1"]
    return TableCell(f"{one.numbers['accuracy']:.1%} ({0.0 - drop:+.1%})", one.status, one.reason)


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
        "effective: read back / by error", "integer", "on requested backend", "dynamic",
    )  # fmt: skip
    return Table(heads, tuple(rows))


def _failures(grid: CompiledGrid) -> Table | None:
    rows = []
    for one in grid.entries:
        if not one.key or one.status == "supported":
            continue
        line = line_of(one)
        target = one.cell.get("target", LOCAL)
        words = [one.cell["check"], line.model, line.source, one.cell["compiler"], line.text]
        cells = (" ".join([*map(str, words), *([str(target)] if target != LOCAL else [])]),)
        rows.append((
            TableCell(cells[0]), TableCell(one.status, one.status), TableCell(where(one)), TableCell(first_line(one)),
            TableCell(one.expected), TableCell(one.key),
        ))  # fmt: skip
    heads = ("cell", "status", "stage: symptom", "first useful line", "known cause", "key")
    return Table(heads, tuple(rows)) if rows else None


def _mutants(grid: CompiledGrid) -> Table | None:
    counts: dict[tuple[str, str], list[tuple[int, int, str]]] = {}
    precisions = set()
    for one in grid.of_check("equivalence"):
        table = one.numbers.get("mutants") or {}
        if table:
            line = line_of(one)
            precisions.add(line.precision)
            killed = sum(bool(row["killed"]) for row in table.values())
            counts.setdefault((line.model, line.precision), []).append((killed, len(table), ""))
    if not counts:
        return None
    shown = [precision for precision in ORDER if precision in precisions]
    rows = []
    for model in dict.fromkeys(model for model, _ in counts):
        cells = [TableCell(grid.titles.get(model, model))]
        for precision in shown:
            found = counts.get((model, precision), [])
            killed, total = sum(row[0] for row in found), sum(row[1] for row in found)
            cells.append(TableCell(f"{killed / total:.0%} ({killed} of {total})" if total else "–"))
        rows.append(tuple(cells))
    return Table(("model", *shown), tuple(rows))
