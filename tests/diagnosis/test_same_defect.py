"""When a smaller part of a graph shows the defect of the whole, and when it shows another one."""

from __future__ import annotations

import math

import pytest

from bench_plugin.diagnosis.part_verdict import OutputVerdict
from bench_plugin.diagnosis.reduce import Defect


def wrong(ratio: float, kind: str = "values", name: str = "y") -> OutputVerdict:
    return OutputVerdict(name, kind, "", None, ratio, 0.0, 0.0)


@pytest.mark.parametrize(
    ("whole", "part", "same"),
    [
        (1e4, 1e6, True),  # worse
        (1e4, 100.0, True),
        (1e4, 99.0, False),  # arithmetic that is a little less exact
        (5.0, 2.3, True),
        (5.0, 2.2, False),
        (math.inf, 1.1, True),  # nothing is asked where the number is not known, as of integers
        (1e4, math.inf, True),
    ],
)
def test_values_are_wrong_by_a_comparable_number_of_tolerances(whole: float, part: float, same: bool) -> None:
    assert Defect(wrong=(wrong(whole),)).same(Defect(wrong=(wrong(part),))) is same


def test_the_output_that_is_furthest_off_counts_and_other_kinds_ask_for_no_number() -> None:
    whole = Defect(wrong=(wrong(4.0), wrong(1e4, name="z"), wrong(1e9, "NaN")))
    assert whole.same(Defect(wrong=(wrong(2.0), wrong(150.0, name="other"))))
    assert not whole.same(Defect(wrong=(wrong(2.0), wrong(50.0, name="z"))))
    assert whole.same(Defect(wrong=(wrong(2.0), wrong(1.0, "NaN"))))
    assert not whole.same(Defect(wrong=(wrong(1e9, "shape"),))) and not whole.same(None)
