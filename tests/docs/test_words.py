"""Documents use the field's terms: the private words that they had before do not come back."""

from __future__ import annotations

import re

import pytest

from tests.docs.fences import ROOT, documents

INSTEAD = {
    r"ready (QDQ )?graphs?": "pre-quantised (or pre-converted) model",
    r"drawn (graph|input)s?": "generated graphs, generated inputs",
    r"survives? the way": "survive the round trip through ONNX",
    r"asked for, when|when they are asked for": "opt-in: --compilers",
    r"mend(s|ed)?": "fix",
    r"living agents?": "long-running worker processes",
    r"hand over|is not handed": "the harness does not support",
    r"carr(y|ies) (it|every cell|a cell) through": "run",
    r"cut off": "truncated",
}
EVERYWHERE = re.compile("|".join(rf"\b({pattern})\b" for pattern in INSTEAD), re.IGNORECASE)
NO_PROSE = re.compile(r"```.*?^```|`[^`\n]*`|\]\([^)]*\)", re.DOTALL | re.MULTILINE)  # code, and where links lead


@pytest.mark.parametrize("document", documents())
def test_a_document_has_none_of_the_private_words(document: str) -> None:
    text = NO_PROSE.sub("", (ROOT / document).read_text("utf-8"))
    found = [match[0] for match in EVERYWHERE.finditer(text)]
    assert found == [], f"{document}; write: {', '.join(INSTEAD.values())}"
    if document != "docs/numbers.md":
        assert not re.search(r"\btruth\b", text), f"{document}: write: float64 reference; docs/numbers.md defines truth"
