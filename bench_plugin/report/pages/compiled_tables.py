"""Tables of the page of compiled models that count by compiler: what is preserved, proven, unverified and noticed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from bench_plugin.domain.outcome import Unverified
from bench_plugin.report.blocks import Table, TableCell
from bench_plugin.report.entries import Entry, worst_entry
from bench_plugin.report.grids.compiled import LOCAL, ORDER, CompiledGrid, line_of
from bench_plugin.report.parts import first_line, strength_of


def preservation(grid: CompiledGrid) -> Table:
    """A line per compiler: of the cells that were judged, how many compute the same function."""
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


def unverified(grid: CompiledGrid) -> Table:
    """Compilers x kinds of unverified cells, those for other targets included; without rows when there is none."""
    counts: dict[str, Counter[str]] = {}
    for one in grid.entries:
        if one.key and one.status == "unverified":
            counts.setdefault(str(one.cell["compiler"]), Counter())[one.unverified] += 1
    kinds = [str(kind) for kind in Unverified if any(count[kind] for count in counts.values())]
    rows = []
    for name in grid.columns:
        if name in counts:
            texts = (grid.headings[name], *(str(counts[name][kind] or "") for kind in kinds))
            rows.append(tuple(TableCell(text) for text in texts))
    return Table(("compiler", *kinds), tuple(rows))


def determinism(grid: CompiledGrid) -> Table:
    """A line per compiler: of how many cells was it asked, and how many gave the same bits twice."""
    rows = []
    for name in grid.columns:
        said = [
            one.numbers.get("deterministic") for one in grid.of_check("equivalence") if one.cell["compiler"] == name
        ]
        asked = [answer for answer in said if answer is not None]
        if asked:
            share = f"{sum(asked)} of {len(asked)}"
            rows.append((TableCell(grid.headings[name]), TableCell(share), TableCell(f"{sum(asked) / len(asked):.0%}")))
    return Table(("compiler", "same bits twice", "share"), tuple(rows))


def formats_by_compiler(grid: CompiledGrid) -> Table:
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


def hardware(grid: CompiledGrid) -> Table:
    """Targets x compilers; of other targets how many cells were supported there, or what was made for them."""
    names = list(grid.compilers)
    targets = list(dict.fromkeys(target for row in grid.compilers.values() for target in row["targets"]))
    rows = []
    for target in targets:
        cells = [TableCell(target)]
        for name in names:
            declared = target in grid.compilers[name]["targets"]
            found = _of(grid, name, lambda one: True) if target == LOCAL else []
            made = [one for (place, _, compiler), one in grid.elsewhere.items() if (place, compiler) == (target, name)]
            if declared and made:
                worst = worst_entry(made)
                cells.append(TableCell(f"D {_on_target(made)}", worst.shown, worst.reason))
            else:
                cells.append(_mark(declared, found))
        rows.append(tuple(cells))
    return Table(("target", *(grid.compilers[name]["title"] for name in names)), tuple(rows))


def _on_target(made: list[Entry]) -> str:
    """P with the cells that were supported there; else how many were compiled only, or why there is none."""
    proven = sum(one.status == "supported" for one in made)
    if proven:
        return f"P ({proven} of {len(made)})"
    compiled = [one for one in made if one.status == "unverified" and one.converted]
    if compiled:
        return f"compiled, not run ({len(compiled)} of {len(made)})"
    return f"{made[0].status}: {first_line(made[0])}"


def mutants(grid: CompiledGrid) -> Table | None:
    """Models x precisions: the share of the mutants that the comparisons notice, and how many cells are weak.

    None where no mutant was run.
    """
    counts: dict[tuple[str, str], Counter[str]] = {}
    for one in grid.of_check("equivalence"):
        if one.numbers.get("mutants"):
            line = line_of(one)
            noticed, applicable = strength_of(one)
            count = counts.setdefault((line.model, line.precision), Counter())
            count.update(
                noticed=noticed, applicable=applicable, weak=any(flag.startswith("weak") for flag in one.flags)
            )
            count["blind"] += one.status == "unverified"
    if not counts:
        return None
    shown = [precision for precision in ORDER if any(precision == other for _, other in counts)]
    rows = []
    for model in dict.fromkeys(model for model, _ in counts):
        cells = [TableCell(grid.titles.get(model, model))]
        cells += [TableCell(_noticed(counts.get((model, precision), Counter()))) for precision in shown]
        rows.append(tuple(cells))
    return Table(("model", *shown), tuple(rows))


def _noticed(count: Counter[str]) -> str:
    if not count["applicable"]:
        return "–"
    share = f"{count['noticed'] / count['applicable']:.0%} ({count['noticed']} of {count['applicable']})"
    beside = [f"{count[name]} {said}" for name, said in (("weak", "weak"), ("blind", "not sensitive")) if count[name]]
    return ", ".join([share, *beside])
