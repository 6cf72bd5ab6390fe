"""The page of the contract is what the types say today."""

from __future__ import annotations

from bench_plugin.agent.contract.describe import describe
from tests.docs.fences import ROOT


def test_the_page_is_written_from_the_types() -> None:
    page = (ROOT / "docs/contract.md").read_text("utf-8")
    assert page == describe(), "run: python -m bench_plugin.agent.contract.describe > docs/contract.md"
