"""Known failures: reasons are in our words, few say that nobody looked, every row has a link; and when a case ends."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.checks.operators.check import SECONDS, WALL_SECONDS
from tests.docs.fences import ROOT

FILES = sorted((ROOT / "suites/expectations/operators").glob("*.toml"))
EVERY = sorted((ROOT / "suites/expectations").rglob("*.toml"))
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


# Of these no small file shows what the whole model does, and no thread that was found is about them.
WITHOUT_LINK = {
    "onnx2tf gives Tile one multiple for two dimensions",
    "OpenVINO's LSTMSequence takes its weights as constants only; those that mx2onnx cuts out of one vector seem to be "
    "none once the vector is quantised (in float32 it compiles)",
}


@pytest.mark.parametrize("path", EVERY, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_row_has_a_link(path: Path) -> None:
    assert {row["reason"] for row in rows(path) if not row.get("link")} <= WITHOUT_LINK


def test_the_page_of_operators_has_the_time_that_a_case_may_take() -> None:
    page = " ".join((ROOT / "docs/operators.md").read_text("utf-8").split())
    assert f"A stage of a case may take {SECONDS:.0f} s of processor time" in page
    assert f"what waits and computes nothing ends after {WALL_SECONDS:,.0f} s on the clock" in page
