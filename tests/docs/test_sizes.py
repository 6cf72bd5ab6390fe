"""Documents are of sizes that people read: under 100 kB each."""

from __future__ import annotations

import pytest

from tests.docs.fences import ROOT, documents

MOST = 100_000  # bytes


@pytest.mark.parametrize("document", documents())
def test_a_document_has_less_than_100_kb(document: str) -> None:
    assert (ROOT / document).stat().st_size < MOST, f"{document}: split it, or say it in fewer words"
