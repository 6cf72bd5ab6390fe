"""The pages that a results file gives: one per family of checks that has rows in it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_plugin.report.blocks import Document, Table
from bench_plugin.report.entries import Entry
from bench_plugin.report.formats import html, markdown, restructured, tabular
from bench_plugin.report.grids import compiled, operators, support
from bench_plugin.report.pages import compiled as compiled_page
from bench_plugin.report.pages import operators as operators_page
from bench_plugin.report.pages import support as support_page
from bench_plugin.results.rows import read_rows

FORMATS = ("md", "rst", "html", "csv", "json")


@dataclass(frozen=True)
class Page:
    """A page with its grid: ``name`` is that of its files, ``table`` what a terminal shows of it."""

    name: str
    heading: str
    document: Document
    table: Table
    entries: tuple[Entry, ...]
    data: Mapping[str, Any]
    remarks: tuple[str, ...]

    def write(self, folder: Path, *, name: str = "", formats: Sequence[str] = FORMATS) -> list[Path]:
        """Write ``<name>.<format>`` to ``folder`` for each of the formats; returns the paths."""
        texts = {module.SUFFIX: module.render(self.document) for module in (markdown, restructured, html)}
        texts["csv"] = tabular.render_csv(self.entries)
        texts["json"] = json.dumps(self.data, indent=1, allow_nan=False) + "\n"
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / f"{name or self.name}.{suffix}" for suffix in formats]
        for path in paths:
            path.write_text(texts[path.suffix[1:]], "utf-8")
        return paths


def read_pages(results: Path) -> list[Page]:
    """The pages of a results file. Raises UsageError when it is missing or not a results file."""
    rows = read_rows(results)
    return build_pages(rows.rows, rows.notes)


def build_pages(rows: Sequence[Mapping[str, Any]], notes: Sequence[str] = ()) -> list[Page]:
    """Every page that has something to show; the support page when nothing has."""
    makers = {
        _support: support.ROUND_TRIPS,
        _compiled: compiled.CHECKS,
        _operators: (operators.CHECK,),
    }
    present = {row["cell"]["check"] for row in rows if row["kind"] in ("declared", "cell")}
    found = [make(rows, notes) for make, checks in makers.items() if present & set(checks)]
    return found or [_support(rows, notes)]


def _support(rows: Sequence[Mapping[str, Any]], notes: Sequence[str]) -> Page:
    grid = support.build_grid(rows, notes)
    return Page(
        "onnx-support", "ONNX support: export / import", support_page.support_page(grid), support_page.main_table(grid),
        grid.entries, tabular.support_data(grid), tuple(filter(None, (grid.partial, *grid.notes))),
    )  # fmt: skip


def _compiled(rows: Sequence[Mapping[str, Any]], notes: Sequence[str]) -> Page:
    grid = compiled.build_grid(rows, notes)
    return Page(
        "equivalence", "Compiled models", compiled_page.equivalence_page(grid), compiled_page.main_table(grid),
        grid.entries, tabular.compiled_data(grid), tuple(filter(None, (grid.partial, *grid.notes))),
    )  # fmt: skip


def _operators(rows: Sequence[Mapping[str, Any]], notes: Sequence[str]) -> Page:
    grid = operators.build_grid(rows, notes)
    return Page(
        "onnx-operators", "ONNX operators", operators_page.operators_page(grid), operators_page.main_table(grid),
        grid.entries, operators.data(grid), tuple(filter(None, (grid.partial, *grid.notes))),
    )  # fmt: skip
