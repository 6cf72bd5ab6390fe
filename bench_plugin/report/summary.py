"""The last lines of a run: every kind of check counted by what pytest said, and the cells that nobody expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from bench_plugin.domain.outcome import Status, Unverified
from bench_plugin.report.blocks import Table, TableCell
from bench_plugin.report.pages.page import Page
from bench_plugin.report.statuses import NOT_RUN

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
            result = NOT_RUN if one.status == NOT_RUN else one.result
            counts.setdefault(str(one.cell["check"]), Counter())[result] += 1
    # Cells that were not run are in merged results only, where a shard is missing.
    columns = [*RESULTS, *([(NOT_RUN, NOT_RUN, "")] if any(count[NOT_RUN] for count in counts.values()) else [])]
    rows = []
    for check, count in counts.items():
        shown = [TableCell(str(count[name] or ""), colour if count[name] else "") for name, _, colour in columns]
        rows.append((TableCell(check), TableCell(str(count.total())), *shown))
    return Table(("check", "cells", *(title for _, title, _ in columns)), tuple(rows))


def unverified_kinds(pages: Sequence[Page]) -> str:
    """How many cells are unverified for each reason, and how many verdicts are weak; empty where there are none."""
    entries = [one for page in pages for one in page.entries if one.key]
    kinds = Counter(one.unverified or "of an older version" for one in entries if one.status == Status.UNVERIFIED)
    order = [*map(str, Unverified), "of an older version"]
    texts = [f"{kinds[kind]} {kind}" for kind in order if kinds[kind]]
    weak = sum(any(flag.startswith("weak: ") for flag in one.flags) for one in entries)
    lines = [f"unverified: {', '.join(texts)}"] if texts else []
    lines += [f"weak (would notice less than four fifths of the mutants): {weak}"] if weak else []
    return "; ".join(lines)


def known_failures(pages: Sequence[Page]) -> int:
    """How many cells failed as an expectation said."""
    return sum(one.result == "xfailed" for page in pages for one in page.entries)
