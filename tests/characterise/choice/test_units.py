"""Quantities as people write them: each unit, and what is said of a wrong one."""

from __future__ import annotations

import pytest

from bench_plugin.characterise.choice.candidate import QUANTITIES
from bench_plugin.characterise.choice.units import BYTES, DOLLARS, JOULES, RATE, SECONDS, SHARE, WATTS, Unit
from bench_plugin.domain.errors import UsageError

RIGHT = [
    (SECONDS, "10ms", 0.01), (SECONDS, "10 ms", 0.01), (SECONDS, "1.5s", 1.5), (SECONDS, "250us", 250e-6),
    (SECONDS, "250µs", 250e-6), (SECONDS, "2e3ns", 2e-6), (SECONDS, ".5min", 30.0), (BYTES, "64MB", 64e6),
    (BYTES, "64MiB", 64 * 2**20), (BYTES, "1.5KiB", 1536), (BYTES, "20kB", 20e3), (BYTES, "7B", 7), (RATE, "30", 30),
    (RATE, "30/s", 30), (RATE, "1.2k/s", 1200), (SHARE, "0.01", 0.01), (SHARE, "1%", 0.01), (SHARE, "1 %", 0.01),
    (WATTS, "500mW", 0.5), (WATTS, "5W", 5), (JOULES, "5mJ", 5e-3), (DOLLARS, "150", 150), (DOLLARS, "150USD", 150),
]  # fmt: skip


@pytest.mark.parametrize(("unit", "text", "value"), RIGHT, ids=[text for _, text, _ in RIGHT])
def test_a_quantity_is_read_in_its_unit(unit: Unit, text: str, value: float) -> None:
    assert unit.parse(text) == pytest.approx(value, rel=1e-12)


WRONG = [
    (SECONDS, "10", "'10': the unit is missing; write one of s, ms, us, µs, ns, min behind the number, as in 10ms"),
    (SECONDS, "ms", "'ms' is not a time; write it as in 10ms"),
    (SECONDS, "ten ms", "'ten ms' is not a time"),
    (SECONDS, "10 parsecs", "parsecs is no unit of a time; write one of s, ms, us"),
    (SECONDS, "-1ms", "'-1ms': a time is not negative"),
    (SECONDS, "1,5ms", "'1,5ms': ,5ms is no unit of a time"),
    (SECONDS, "nan ms", "'nan ms' is not a time"),
    (BYTES, "64", "the unit is missing; write one of B, kB, KB, MB, GB, KiB, MiB, GiB"),
    (BYTES, "64Mb", "b stands for bits; write MB (1,000,000 bytes) or MiB (1,048,576 bytes)"),
    (BYTES, "64M", "M is no unit of a size in bytes; write MB (1,000,000 bytes) or MiB (1,048,576 bytes)"),
    (BYTES, "64mb", "write MB (1,000,000 bytes) or MiB (1,048,576 bytes)"),
    (SHARE, "97", "'97': a share of 1 is not negative and at most 100 %; write it as in 0.01 or 1%"),
]


@pytest.mark.parametrize(("unit", "text", "said"), WRONG, ids=[text for _, text, _ in WRONG])
def test_a_wrong_quantity_says_what_would_be_right(unit: Unit, text: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        unit.parse(text)
    assert said in str(raised.value)


@pytest.mark.parametrize("quantity", QUANTITIES, ids=lambda one: one.name)
def test_the_example_of_a_quantity_is_right_and_what_is_shown_is_read_back(quantity: object) -> None:
    unit: Unit = quantity.unit  # type: ignore[attr-defined]
    for example in unit.example.split(" or "):
        value = unit.parse(example)
        assert unit.parse(unit.show(value)) == pytest.approx(value, rel=1e-3)


def test_a_value_is_shown_in_the_unit_that_fits() -> None:
    assert [SECONDS.show(one) for one in (2.0, 0.0104, 3.2e-5, 5e-10)] == ["2 s", "10.4 ms", "32 us", "0.5 ns"]
    assert (BYTES.show(64 * 2**20), RATE.show(9027.98), RATE.show(12.0)) == ("67.11 MB", "9.028 k/s", "12/s")
    assert (SHARE.show(-0.0011), DOLLARS.show(1500)) == ("-0.11 %", "1500 USD")
