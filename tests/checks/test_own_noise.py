"""By approximation: how far under our own quantisation of a model the result of a tool may be."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from bench_plugin.checks.equivalence import own_noise
from bench_plugin.compare.table import DEFAULTS
from bench_plugin.compare.verdict import AGREE, MISMATCH, UNVERIFIED


@pytest.mark.parametrize(("times", "status"), [(1.9, AGREE), (2.1, UNVERIFIED), (3.9, UNVERIFIED), (4.1, MISMATCH)])
def test_noise_of_two_to_four_times_our_own_may_be_chance(times: float, status: str) -> None:
    rng = np.random.default_rng(1)
    exact, noise = rng.standard_normal((2, 16, 50))

    def ran(factor: float) -> Any:
        return cast(Any, SimpleNamespace(arrays={"out0": exact + 0.01 * factor * noise}))

    run = cast(Any, SimpleNamespace(judge=SimpleNamespace(table=DEFAULTS)))
    found = cast(Any, SimpleNamespace(file=SimpleNamespace(check=SimpleNamespace(meta={"check": {"operators": {}}}))))
    plain = cast(Any, SimpleNamespace(outputs={"y": exact}))
    judged = own_noise.against(run, found, ran(times), plain, ran(1.0))
    assert judged.status == status, judged.reason
    assert judged.numbers["truth"] == "the unrounded model, by approximation"
