"""Known failures of operator cases: reasons are in our words, and few say that nobody looked."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.docs.fences import ROOT

FILES = sorted((ROOT / "suites/expectations/operators").glob("*.toml"))
NOT_ANALYSED = "not analysed"
MOST = 150  # of the rows of all backends
# What only a tool's own message has: values that were replaced, paths, classes, MLIR, and names of exceptions.
MESSAGE = re.compile(
    r"'\.\.\.'|\[\.\.\.\]|%\w*N\b|#N\b|\bN : |\bFILE\b|<class|failed to legalize|\[ONNXRuntimeError\]"
    r"|^\w*(Error|Exception|Fail): "
)


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of known failures."""
    found: list[dict[str, Any]] = tomllib.loads(path.read_text("utf-8"))["expectation"]
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_reason_is_no_message_of_the_tool(path: Path) -> None:
    assert [row["reason"] for row in rows(path) if MESSAGE.search(row["reason"])] == []


def test_few_rows_say_that_nobody_looked() -> None:
    every = [row["reason"] for path in FILES for row in rows(path)]
    assert every
    assert every.count(NOT_ANALYSED) <= MOST
