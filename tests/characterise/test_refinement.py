"""Utilisation factors: fitted on other models alone, by platform, datatype and basis, with the error of leaving out."""

from __future__ import annotations

import math

import pytest

from bench_plugin.characterise.prediction.datatypes import stored_as
from bench_plugin.characterise.prediction.predict import Demand, Prediction, predict
from bench_plugin.characterise.prediction.refinement import by_size, refinements, utilisation
from bench_plugin.characterise.prediction.roofs import Figure, TargetMode
from bench_plugin.characterise.prediction.scores import Basis, Pair

PEAKS = {"fp32": Figure(1e11, "s"), "fp16": Figure(2e11, "s")}


def predicted(name: str, precision: str = "fp32", target: str = "local", operations: float = 1e9) -> Prediction:
    found = predict(Demand(name, operations, 1.0), TargetMode(target, peaks=PEAKS), stored_as(precision))
    assert found is not None
    return found


def pair(
    name: str, efficiency: float, precision: str = "fp32", target: str = "local", basis: Basis = "compute",
    operations: float = 1e9,
) -> Pair:  # fmt: skip
    one = predicted(name, precision, target, operations)
    return Pair(one, "classification", basis, efficiency * one.inputs_per_s)


def test_the_factor_is_the_geometric_mean_of_other_models_each_counted_once() -> None:
    pairs = [pair("a", 0.2), pair("a", 0.2), pair("a", 0.8), pair("b", 0.1), pair("mine", 0.9), pair("mine 50%", 0.9)]
    found = utilisation(pairs, predicted("mine"))
    assert found is not None and found.models == ("a", "b")
    assert found.factor == pytest.approx(math.sqrt((0.2 * 0.2 * 0.8) ** (1 / 3) * 0.1))


@pytest.mark.parametrize(
    "other", [pair("a", 0.5, precision="fp16"), pair("a", 0.5, target="board"), pair("a", 0.5, basis="system")]
)
def test_other_datatypes_platforms_and_bases_say_nothing(other: Pair) -> None:
    assert utilisation([other, pair("mine", 0.5)], predicted("mine")) is None


def test_errors_are_those_of_models_that_were_left_out() -> None:
    # Predicted 100/s each. Left out, a gets the factor 0.2, b 0.5: 20 for 50 and 50 for 20.
    (found,) = refinements([pair("a", 0.5), pair("b", 0.2), pair("c", 0.5, precision="fp16")])
    assert (found.target, found.datatype, found.basis, found.models, found.pairs) == (
        "local", "fp32", "compute", ("a", "b"), 2
    )  # fmt: skip
    assert (found.least, found.most) == pytest.approx((0.2, 0.5))
    assert found.error == pytest.approx((100 * (50 / 50) + 100 * (80 / 20)) / 2)
    assert found.refined == pytest.approx((100 * (30 / 50) + 100 * (30 / 20)) / 2)


# On the line efficiency = 0.8 * (operations / 1e9) ** 0.5.
SIZES = [pair("a", 0.08, operations=1e7), pair("b", 0.8), pair("b", 0.8), pair("c", 0.253, operations=1e8)]


@pytest.mark.parametrize(
    ("operations", "factor"),
    [(4e7, 0.16), (1e9, 0.8), (1e12, 0.8), (1e3, 0.08)],
    ids=["between", "the largest", "above the largest", "below the smallest"],
)
def test_a_smaller_model_gets_a_smaller_factor_by_size(operations: float, factor: float) -> None:
    mine = pair("mine", 1e-3, operations=operations)
    found = by_size([*SIZES, mine], mine.prediction)
    assert found is not None
    assert found.factor == pytest.approx(factor, rel=1e-3) and found.slope == pytest.approx(0.5, rel=1e-3)


def test_each_model_counts_once_in_the_line_by_size() -> None:
    """Ten measurements of one model pull the line no more than one does."""
    off = pair("d", 0.4, operations=1e8)
    one, ten = (by_size([*SIZES, *[off] * count], predicted("mine")) for count in (1, 10))
    assert one is not None and ten is not None and one.factor == pytest.approx(ten.factor)


@pytest.mark.parametrize(
    "others",
    [
        SIZES[:3],
        [pair("a", 0.1), pair("b", 0.2), pair("c", 0.3)],
        [pair("a", 0.8, operations=1e7), pair("b", 0.1), pair("c", 0.3, operations=1e8)],
    ],
    ids=["two models", "one size", "smaller ones are more efficient"],
)
def test_there_is_no_factor_by_size_where_the_others_show_none(others: list[Pair]) -> None:
    assert by_size(others, predicted("mine")) is None


def test_errors_by_size_are_those_of_models_that_were_left_out() -> None:
    four = [*SIZES, pair("d", 0.4, operations=1e8)]
    (found,) = refinements(four)
    assert found.sized is not None
    errors = []
    for one in four:
        line = by_size(four, one.prediction)
        assert line is not None
        errors.append(100 * abs(line.factor / one.efficiency - 1))
    assert found.sized == pytest.approx(sum(errors) / len(errors))
    assert found.sized < found.refined < found.error
    (few,) = refinements(SIZES)
    assert few.sized is None, "each of three models has two others"
