"""Writes the support page in every format beside a results file."""

from __future__ import annotations

from pathlib import Path

from bench_plugin.core.results import read_rows
from bench_plugin.report import markdown, page, restructured, tabular
from bench_plugin.report.document import support_page
from bench_plugin.report.support import Grid, build_grid

NAME = "onnx-support"


def read_grid(results: Path) -> Grid:
    """The grid of a results file. Raises UsageError when it is missing or not a results file."""
    rows = read_rows(results)
    return build_grid(rows.rows, rows.notes)


def write_pages(grid: Grid, folder: Path) -> list[Path]:
    """Write ``onnx-support.{md,rst,html,csv,json}`` to ``folder``; returns the paths."""
    document = support_page(grid)
    texts = {module.SUFFIX: module.render(document) for module in (markdown, restructured, page)}
    texts |= {"csv": tabular.render_csv(grid), "json": tabular.render_json(grid)}
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for suffix, text in texts.items():
        path = folder / f"{NAME}.{suffix}"
        path.write_text(text, "utf-8")
        paths.append(path)
    return paths
