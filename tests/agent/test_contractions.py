"""One rule says whether a quantised model ran in integers."""

from __future__ import annotations

import pytest

from bench_plugin.agent.toolkit.contractions import counted, integer, placed, saturates


@pytest.mark.parametrize(
    ("rows", "share", "said"),
    [
        ([("Conv", True), ("Gemm", True)], 1.0, "integer"),
        ([("Conv", True), ("LSTM", False), ("LSTM", False)], 0.3333, "partly"),
        ([("Conv", False)], 0.0, "simulated"),
        ([], None, ""),
    ],
)
def test_the_share_and_the_word_follow_from_the_counts(
    rows: list[tuple[str, bool]], share: float | None, said: str
) -> None:
    counts = counted(rows)
    assert placed(counts).get("integer_share") == share
    assert integer(counts) == said
    assert sum(sum(part.values()) for part in counts.values()) == len(rows)


@pytest.mark.parametrize(
    ("machine", "flags", "found"),
    [
        ("x86_64", "flags : sse4_2 avx2 avx512f", True),
        ("x86_64", "flags : avx2 avx512_vnni", False),
        ("x86_64", "flags : avx2 avx_vnni", False),
        ("aarch64", "", False),
    ],
)
def test_products_saturate_on_x86_without_vnni(machine: str, flags: str, found: bool) -> None:
    assert saturates(machine, flags) is found
