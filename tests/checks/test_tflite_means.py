"""TFLite's int8 mean: its own kernels round a product twice, or a zero point by itself; XNNPACK's rounds once."""

from __future__ import annotations

import pytest

from tests.project import Project
from tests.read_back_tflite import CONVOLVED, both

NODES = """
mean = lambda axes, keep: [h.make_node("ReduceMean", ["a"], ["k"], axes=axes, keepdims=keep)]
NODES = {"image": mean([2, 3], 1), "flat": mean([2, 3], 0), "rows": mean([3], 0), "channels": mean([1], 1)}
"""
SCRIPT = CONVOLVED.replace("REST", NODES)


@pytest.mark.parametrize("kind", ["image", "flat", "rows", "channels"])
def test_what_a_mean_rounds_is_known(project: Project, kind: str) -> None:
    ours, own = both(project, SCRIPT, kind)
    for row in (ours, own):
        assert row["status"] == "supported", row["reason"]
        [mean] = [one for one in row["numbers"]["per_layer"] if one["name"].startswith("MEAN")]
        assert mean["within"] == 1.0 and mean["largest_steps"] <= 0.501, mean
        assert mean.get("exception", "") == ("" if row is ours else "double rounding")
        assert row["numbers"]["whole_E"] < 1e-5
