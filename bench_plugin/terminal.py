"""The end of a run on the terminal: the grids, what to look at, and where the pages are."""

from __future__ import annotations

import os

import pytest

from bench_plugin.domain.errors import BenchError
from bench_plugin.report.formats.terminal import lines
from bench_plugin.report.pages.registry import read_pages
from bench_plugin.session.session import Run


def write_summary(run: Run, terminal: pytest.TerminalReporter) -> None:
    """Draw the grids from the rows just written and write the pages beside them."""
    try:
        pages = read_pages(run.settings.results)
    except BenchError as error:
        terminal.write_line(f"bench: {error}", red=True)
        return
    for page in pages:
        terminal.write_sep("=", page.heading)
        for line in lines(page.table):
            for text, colour in line:
                terminal.write(text, **({colour: True} if colour else {}))
            terminal.write_line("")
    for remark in dict.fromkeys(remark for page in pages for remark in page.remarks):
        terminal.write_line(remark)
    entries = [entry for page in pages for entry in page.entries]
    computed = [entry for entry in entries if entry.key]
    reused = sum(judged.reused for judged in run.judged)
    terminal.write_line(
        f"{len(computed)} cells, {len(entries) - len(computed)} declared before the run, "
        f"{sum(entry.cached for entry in computed)} with cached stages, {reused} rows reused"
    )
    for page in pages:
        paths = page.write(run.settings.results.parent)
        shown = os.path.relpath(paths[0].with_suffix(""), run.settings.root)
        suffixes = ",".join(path.suffix[1:] for path in paths)
        terminal.write_line(f"pages: {shown}.{{{suffixes}}}  rows: {run.settings.results.name}")
