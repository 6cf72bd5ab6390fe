"""How many samples go through the layers of a quantised model, and what they are made of as one whole."""

from __future__ import annotations

import numpy as np
import pytest

from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.tasks.layer_tasks import HELD, held_samples, unrounded_names


@pytest.mark.parametrize(
    ("count", "share", "held"),
    [(4, 1.0, None), (4, 1.1, 3), (4, 1.4, 2), (4, 9.0, 2), (2, 9.0, None), (16, 2.0, 8)],
)
def test_as_many_samples_as_fit_and_two_at_least(count: int, share: float, held: int | None) -> None:
    elements = int(HELD * share) // (count * 2 * 4)
    tensor = np.broadcast_to(np.float32(0), (count, elements))  # takes no memory
    assert held_samples({"out0": tensor, "out1": tensor}) == held


def test_no_tensors_need_no_memory() -> None:
    assert held_samples({}) is None


def test_what_layers_are_given_is_followed_to_what_nothing_has_rounded() -> None:
    results = [{"output": 1, "real": "sum"}, {"output": 2, "real": "given1"}, {"output": 3, "real": "product"}]
    given = [{"output": number, "real": f"given{number}"} for number in range(4)]
    done = Done(failure=None, meta={"rebuild": {"results": results, "given": given, "rounded": {"inner": "given3"}}})
    assert unrounded_names(done) == {"given1": "sum", "given2": "sum", "given3": "product", "inner": "product"}
