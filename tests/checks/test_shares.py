"""What a row says of nodes that run elsewhere, or in another type, than was asked for."""

from __future__ import annotations

from typing import Any

import pytest

from bench_plugin.checks.compiled.compiling import elsewhere


@pytest.mark.parametrize(
    ("placement", "said"),
    [
        ({"requested": 0.75}, "75% of the nodes on the backend that was asked for"),
        ({"requested": 0.0, "counted_by": "type"}, "0% of the nodes in the type that was asked for"),
        ({"requested": 1.0}, ""),
        ({"requested": None}, ""),
        ({}, ""),
    ],
)
def test_the_share_of_nodes_says_what_was_counted(placement: dict[str, Any], said: str) -> None:
    assert elsewhere(placement) == said
