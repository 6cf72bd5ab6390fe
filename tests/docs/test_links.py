"""Links between documents: the file is there, and so is the heading."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.fences import DETAILS, GENERATED, ROOT, documents

LINK = re.compile(r"\]\((?!https?://)([^)#\s]*)(?:#([^)\s]*))?\)")


def headings(path: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a document."""
    found = re.findall(r"^#+ (.*)$", path.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


@pytest.mark.parametrize("document", documents())
def test_links_lead_somewhere(document: str) -> None:
    path = ROOT / document
    for name, anchor in LINK.findall(path.read_text("utf-8")):
        target = path.parent / name if name else path
        assert target.exists(), f"{document}: no file {name}"
        if anchor:
            assert anchor in headings(target), f"{document}: {name} has no heading #{anchor}"


def test_the_index_names_every_document() -> None:
    index = (ROOT / "docs/README.md").read_text("utf-8")
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    pages = {page for page in pages if not page.startswith(DETAILS)}  # a summary links to its details
    assert {page for page in pages if f"({page})" not in index} == set()
    assert set(GENERATED) <= pages
