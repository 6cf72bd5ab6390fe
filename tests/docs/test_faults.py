"""docs/faults.md: every fault in its tables names a test that exists, so that no line rests on a promise."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.docs.fences import ROOT

PAGE = ROOT / "docs/faults.md"
ROW = re.compile(r"^\| (?P<fault>.+?) \| (?P<now>.+?) \| (?P<tests>.+?) \|$", re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
AT_LEAST = 60


def rows() -> Iterator[tuple[str, str]]:
    """The fault and the last column of every row."""
    for row in ROW.finditer(PAGE.read_text("utf-8")):
        if row["fault"] != "fault" and not row["fault"].startswith("-"):
            yield row["fault"], row["tests"]


def test_every_fault_names_tests_that_exist() -> None:
    missing = []
    for fault, tests in rows():
        named = TEST.findall(tests)
        if not named:
            missing.append(f"{fault}: no test")
        for path, name in named:
            file = ROOT / path
            if not file.is_file() or not re.search(rf"^\s*def {name}\(", file.read_text("utf-8"), re.MULTILINE):
                missing.append(f"{fault}: {path}::{name}")
    assert missing == []


def test_the_tables_are_not_empty() -> None:
    assert len(list(rows())) >= AT_LEAST
