"""What IREE's contractions say of the precision, for a graph that was converted and for a file as it is."""

from __future__ import annotations

from typing import Any

import pytest

from bench_plugin.adapters.compilers import iree
from bench_plugin.agent.adapter import Unsupported


@pytest.mark.parametrize(
    ("precision", "types", "own", "effective", "requested"),
    [
        ("fp32", {"f32": 3}, {"f32"}, "fp32", 1.0),
        ("fp32", {"f16": 1, "f16xf16xf32": 3}, {"f16"}, "fp16", 1.0),  # the file itself computes in float16
        ("fp16", {"f16": 1, "f32": 3}, None, "fp16", 0.25),
        ("w8a8", {"f32": 3}, None, "fp32", 0.0),
    ],
)
def test_a_contraction_in_a_files_own_type_is_as_requested(
    precision: str, types: dict[str, int], own: set[str] | None, effective: str, requested: float
) -> None:
    placement: dict[str, Any] = {"contractions": types}
    assert iree._effective(precision, placement, own) == effective
    assert placement["requested"] == requested


def test_another_type_than_that_of_the_file_is_refused() -> None:
    with pytest.raises(Unsupported, match="asked fp32, ran bf16, fp16"):
        iree._effective("fp32", {"contractions": {"f16": 1, "bf16": 1}}, {"f16"})
