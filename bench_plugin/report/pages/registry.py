"""The pages that a results file gives: one per kind of check that has rows in it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench_plugin.report.earlier import NONE_EARLIER, EarlierRuns, beside
from bench_plugin.report.levels import page as layers
from bench_plugin.report.merging.remark import shards_remark
from bench_plugin.report.pages import compiled, operators, others, properties, support, timing
from bench_plugin.report.pages.page import FORMATS, TEXTS, Page, PageModule, details_beside
from bench_plugin.results.rows import read_rows
from bench_plugin.results.series import troubles

PAGES: tuple[PageModule, ...] = (support, compiled, operators, properties, timing, layers)
NAMES = (*(module.NAME for module in PAGES), others.NAME)


def read_pages(results: Path) -> list[Page]:
    """The pages of a results file. Raises UsageError when it is missing or not a results file."""
    rows = read_rows(results)
    return build_pages(rows.rows, [*rows.notes, *troubles(results, rows.rows)], beside(results))


def build_pages(
    rows: Sequence[Mapping[str, Any]], notes: Sequence[str] = (), earlier: EarlierRuns = NONE_EARLIER
) -> list[Page]:
    """Every page that has something to show; checks without a page of their own share one."""
    notes = [*notes, *filter(None, [shards_remark(rows)])]
    present = dict.fromkeys(row["cell"]["check"] for row in rows if row["kind"] in ("declared", "cell"))
    found = [module.make(rows, notes, earlier) for module in PAGES if set(module.CHECKS) & set(present)]
    known = {check for module in PAGES for check in module.CHECKS}
    rest = [check for check in present if check not in known]
    return [*found, others.make(rows, notes, rest)] if rest else found


def drop_stale(folder: Path, pages: Sequence[Page], run: str) -> tuple[list[str], list[str]]:
    """Remove the pages of other runs that this run has no cells for; returns (names removed, names left alone).

    A page is removed only where its JSON says that a run of ours made it, so that ``bench grid`` can make it again from
    the history; another one is left and named.
    """
    removed, left = [], []
    for name in sorted(set(NAMES) - {page.name for page in pages}):
        paths = [path for suffix in FORMATS if (path := folder / f"{name}.{suffix}").is_file()]
        maker = _run_of_page(folder / f"{name}.json")
        if paths and maker and maker != run:
            more = [folder / f"{one}.{module.SUFFIX}" for one in details_beside(folder, name) for module in TEXTS]
            for path in (*paths, *more):
                path.unlink(missing_ok=True)
            removed.append(name)
        elif paths:
            left.append(name)
    return removed, left


def _run_of_page(path: Path) -> str:
    """The id of the run that a page was made from; empty where it does not say."""
    try:
        return str(json.loads(path.read_text("utf-8"))["header"].get("run", ""))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ""
