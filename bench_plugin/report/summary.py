"""The last lines of a run: every kind of check counted by what pytest said, and the cells that nobody expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from bench_plugin.report.blocks import Table, TableCell
from bench_plugin.report.pages.page import Page

# pytest's word, how it is called here, and the status that lends its colour
RESULTS = (
    ("passed", "supported", "supported"), ("failed", "failed", "ERROR"), ("xfailed", "known failures", "unverified"),
    ("skipped", "skipped", "unverified"), ("", "declared before", ""),
)  # fmt: skip


def totals_table(pages: Sequence[Page]) -> Table:
    """A line per kind of check: cells that passed, failed, are known failures, were skipped, or were only declared."""
    counts: dict[str, Counter[str]] = {}
    for page in pages:
        for one in page.entries:
            counts.setdefault(str(one.cell["check"]), Counter())[one.result] += 1
    rows = []
    for check, count in counts.items():
        shown = [TableCell(str(count[name] or ""), colour if count[name] else "") for name, _, colour in RESULTS]
        rows.append((TableCell(check), TableCell(str(count.total())), *shown))
    return Table(("check", "cells", *(title for _, title, _ in RESULTS)), tuple(rows))


def known_failures(pages: Sequence[Page]) -> int:
    """How many cells failed as an expectation said."""
    return sum(one.result == "xfailed" for page in pages for one in page.entries)
