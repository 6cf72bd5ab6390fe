"""The end of a run on the terminal: the grid, what to look at, and where the pages are."""

from __future__ import annotations

import os

import pytest

from bench_plugin.core.errors import BenchError
from bench_plugin.report.terminal import lines
from bench_plugin.report.write import read_grid, write_pages
from bench_plugin.run import Run


def write_summary(run: Run, terminal: pytest.TerminalReporter) -> None:
    """Draw the grid from the rows just written and write the pages beside them."""
    try:
        grid = read_grid(run.settings.results)
    except BenchError as error:
        terminal.write_line(f"bench: {error}", red=True)
        return
    terminal.write_sep("=", "ONNX support: export / import")
    for line in lines(grid):
        for text, colour in line:
            terminal.write(text, **({colour: True} if colour else {}))
        terminal.write_line("")
    for remark in (grid.partial, *grid.notes):
        if remark:
            terminal.write_line(remark)
    computed = [entry for entry in grid.entries if entry.key]
    reused = sum(judged.reused for judged in run.judged)
    terminal.write_line(
        f"{len(computed)} cells, {len(grid.entries) - len(computed)} declared before the run, "
        f"{sum(entry.cached for entry in computed)} with cached stages, {reused} rows reused"
    )
    paths = write_pages(grid, run.settings.results.parent)
    shown = os.path.relpath(paths[0].with_suffix(""), run.settings.root)
    terminal.write_line(
        f"pages: {shown}.{{{','.join(path.suffix[1:] for path in paths)}}}  rows: {run.settings.results.name}"
    )
