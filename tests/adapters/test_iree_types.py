"""What IREE's contractions say of the precision, for a graph that was converted and for a file as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.adapters.compilers import iree
from bench_plugin.agent.adapter import Unsupported
from tests.adapters.real import answered, written


@pytest.mark.parametrize(
    ("precision", "types", "own", "effective", "requested"),
    [
        ("fp32", {"f32": 3}, {"f32"}, "fp32", 1.0),
        ("fp32", {"f16": 1, "f16xf16xf32": 3}, {"f16"}, "fp16", 1.0),  # the file itself computes in float16
        ("fp32", {"bf16xbf16xf32": 8, "f32": 1}, {"bf16", "f32"}, "bf16, fp32", 1.0),
        ("fp16", {"f16": 1, "f32": 3}, None, "fp16", 0.25),
        ("w8a8", {"f32": 3}, None, "fp32", 0.0),
    ],
)
def test_a_contraction_in_a_files_own_type_is_as_requested(
    precision: str, types: dict[str, int], own: set[str] | None, effective: str, requested: float
) -> None:
    placement: dict[str, Any] = {"contractions": types}
    assert iree._effective(precision, placement, own) == effective
    assert (placement["requested"], placement["counted_by"]) == (requested, "type")


def test_another_type_than_that_of_the_file_is_refused() -> None:
    with pytest.raises(Unsupported, match="asked fp32, ran bf16, fp16"):
        iree._effective("fp32", {"contractions": {"f16": 1, "bf16": 1}}, {"f16"})


POOLED = """
<ir_version: 9, opset_import: ["": 17]> g (float[N,{channels},8,8] x) => (float[N,{channels},4,4] y)
<float[{channels},1,3,3] w = {{{weights}}}>
{{ c = Conv<group = {channels}, pads = [1, 1, 1, 1]>(x, w) y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(c) }}
"""


@pytest.mark.parametrize("channels", [1, 3])
def test_a_pooling_is_no_contraction(tmp_path: Path, channels: int) -> None:
    text = POOLED.format(channels=channels, weights=", ".join(["1"] * 9 * channels))
    model = written(text, tmp_path / "pooled.onnx")
    x = np.ones((2, channels, 8, 8), np.float32)
    answer = answered("iree", model, {"x": x}, [("y", "float32", (2, channels, 4, 4))], tmp_path / "iree")
    assert sum(answer.compile["placement"]["contractions"]["float"].values()) == 1, answer.compile["placement"]
