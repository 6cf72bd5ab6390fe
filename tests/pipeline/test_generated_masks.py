"""Inputs in floating point that a file takes from 1 and multiplies by a large number get 0 and 1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench_plugin.agent.contract.parts import Port
from bench_plugin.agent.toolkit import conditioning_inputs
from bench_plugin.inventory.models import InputSpec
from bench_plugin.pipeline.tasks import inputs


def generated(high: int) -> Any:
    return inputs._generate(InputSpec("mask", (4, 50), "float32", high=high), 0, (4, 50))


def conditioned(high: int) -> Any:
    port = Port("mask", "float32", (4, 50), high=high)
    return conditioning_inputs._values(port, 0, 0, (4, 50), channels_last=False)


@pytest.mark.parametrize("make", [generated, conditioned])
def test_a_mask_in_floating_point_is_0_or_1(make: Any) -> None:
    mask = make(2)
    assert mask.dtype == np.float32 and set(np.unique(mask)) == {0.0, 1.0}
    assert len(np.unique(make(0))) > 100, "any other input has numbers of all sizes"
