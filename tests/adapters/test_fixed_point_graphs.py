"""Fixed point throughout: the format of a calibrated range."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_plugin.adapters.characterise.few_bits.fixed_point_graphs import fraction_of

ENDS = st.floats(2.0**-20, 2.0**20)


@given(st.one_of(st.just(0.0), ENDS.map(lambda x: -x)), st.one_of(st.just(0.0), ENDS), st.integers(2, 8))
def test_the_finest_format_that_holds_a_range(low: float, high: float, bits: int) -> None:
    fraction, signed = fraction_of(low, high, bits)
    first, last = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    assert signed == (low < 0)
    assert first <= low * 2.0**fraction and high * 2.0**fraction <= last
    if low or high:
        finer = 2.0 ** (fraction + 1)
        assert low * finer < first or high * finer > last


@pytest.mark.parametrize(
    ("low", "high", "bits", "found"),
    [(0.0, 1.0, 8, (7, False)), (0.0, 0.996, 8, (8, False)), (-1.0, 0.9, 8, (7, True)), (-1.0, 1.0, 8, (6, True)),
     (0.0, 255.0, 8, (0, False)), (0.0, 0.0, 4, (4, False)), (-(2.0**-20), 0.0, 2, (21, True)),
     (-(2.0**-20) * (1 + 2.0**-52), 0.0, 2, (20, True))],
)  # fmt: skip
def test_formats_by_hand(low: float, high: float, bits: int, found: tuple[int, bool]) -> None:
    assert fraction_of(low, high, bits) == found


@pytest.mark.parametrize(("low", "high"), [(0.0, float("inf")), (float("-inf"), 1.0), (0.0, float("nan"))])
def test_a_range_that_is_not_finite_is_refused(low: float, high: float) -> None:
    with pytest.raises(ValueError, match=f"no fixed point holds the range from {low} to {high}"):
        fraction_of(low, high, 8)
