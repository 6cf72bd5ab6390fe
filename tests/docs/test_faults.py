"""Pages of faults, promises and the audit: every line names a test that exists, or a committed file that shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.docs.fences import ROOT

ROW = re.compile(r"^\| (?P<about>.+?) \| (?P<now>.+?) \| (?P<shown>.+?) \|$", re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
COMMITTED = re.compile(r"`((?:docs|suites|benchmarks|\.ci)/[\w./-]+)`")
HEADS = ("fault", "point")
PAGES = {
    "docs/faults.md": 190,
    "docs/promises.md": 100,
    "docs/promises-reports.md": 150,
    "docs/promises-characterise.md": 100,
    "docs/audit.md": 100,
    "docs/audit-readers.md": 100,
    "docs/audit-readers-later.md": 70,
    "docs/audit-readers-latest.md": 8,
}  # with the fewest rows that they must have


def rows(page: str) -> Iterator[tuple[str, str]]:
    """What a row is about, and its last column."""
    for row in ROW.finditer((ROOT / page).read_text("utf-8")):
        if row["about"] not in HEADS and not row["about"].startswith("-"):
            yield row["about"], row["shown"]


@pytest.mark.parametrize("page", PAGES)
def test_every_line_names_tests_that_exist(page: str) -> None:
    missing = []
    for about, shown in rows(page):
        named, files = TEST.findall(shown), COMMITTED.findall(shown)
        if not named and not (files and page != "docs/faults.md"):
            missing.append(f"{about}: no test")
        missing += [f"{about}: {file}" for file in files if not (ROOT / file).exists()]
        for path, name in named:
            file = ROOT / path
            if not file.is_file() or not re.search(rf"^\s*def {name}\(", file.read_text("utf-8"), re.MULTILINE):
                missing.append(f"{about}: {path}::{name}")
    assert missing == []


@pytest.mark.parametrize("page", PAGES)
def test_the_tables_are_not_empty(page: str) -> None:
    assert len(list(rows(page))) >= PAGES[page]
