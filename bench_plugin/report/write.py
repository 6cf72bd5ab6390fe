"""Writes the support page in every format beside a results file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench_plugin.core.results import read_rows
from bench_plugin.report import markdown, page, restructured, tabular
from bench_plugin.report.document import support_page
from bench_plugin.report.support import Grid, build_grid

NAME = "onnx-support"
FORMATS = ("md", "rst", "html", "csv", "json")


def read_grid(results: Path) -> Grid:
    """The grid of a results file. Raises UsageError when it is missing or not a results file."""
    rows = read_rows(results)
    return build_grid(rows.rows, rows.notes)


def write_pages(grid: Grid, folder: Path, *, name: str = NAME, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write ``<name>.<format>`` to ``folder`` for each of the formats; returns the paths."""
    document = support_page(grid)
    texts = {module.SUFFIX: module.render(document) for module in (markdown, restructured, page)}
    texts |= {"csv": tabular.render_csv(grid), "json": tabular.render_json(grid)}
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for suffix in formats:
        text = texts[suffix]
        path = folder / f"{name}.{suffix}"
        path.write_text(text, "utf-8")
        paths.append(path)
    return paths
