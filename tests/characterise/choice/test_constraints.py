"""Constraints: what removes a candidate, by how much, and that a missing figure is never taken as satisfied."""

from __future__ import annotations

import pytest

from bench_plugin.characterise.choice.candidate import BY_NAME, Basis
from bench_plugin.characterise.choice.constraints import Constraint, Limit, Required, Right, effects, judged
from tests.characterise.choice.made import candidate

LATENCY, ACCURACY = BY_NAME["latency"], BY_NAME["accuracy"]


def test_a_bound_is_satisfied_by_its_own_value_and_says_how_far_a_figure_lies_beyond() -> None:
    limit = Limit(LATENCY, 0.01)
    assert limit.judged(candidate("a", latency=0.01)).met is True
    beyond = limit.judged(candidate("b", latency=0.0145))
    assert (beyond.met, beyond.beyond) == (False, pytest.approx(0.45))
    assert beyond.text == "latency 14.5 ms (measured), 45.0% beyond"
    least = Limit(ACCURACY, 0.9).judged(candidate("c", accuracy=0.45, basis=Basis.ELSEWHERE))
    assert (least.constraint, least.met, least.beyond) == ("accuracy >= 90 %", False, pytest.approx(0.5))
    assert "45 % (measured elsewhere)" in least.text


@pytest.mark.parametrize("name", list(BY_NAME))
def test_a_missing_figure_is_unknown_and_it_is_said_how_to_get_it(name: str) -> None:
    quantity = BY_NAME[name]
    found = Limit(quantity, 0.0 if quantity.more else 1e99).judged(candidate("tvm", target="pi"))
    assert (found.met, found.text) == (None, f"{name} unknown")
    assert any(word in found.how for word in ("pi", "tvm", "docs/boards.md")), found.how
    (one,) = judged([candidate("tvm")], [Limit(quantity, 1.0)])
    assert one.state == "undecided" and one.unknown and not one.broken


def test_wrong_outputs_remove_unproven_ones_are_undecided_and_a_prediction_has_none() -> None:
    rows = [
        candidate("a"), candidate("b", status="mismatch", reason="E 0.5"), candidate("c", status="unverified"),
        candidate("d", status=""), candidate("e", status="unsupported"), candidate("f", status="board-lost"),
    ]  # fmt: skip
    found = judged(rows, [Right()])
    assert [one.state for one in found] == ["kept", "removed", "undecided", "kept", "removed", "undecided"]
    assert found[1].broken[0].text == "mismatch: E 0.5"
    assert "a prediction says nothing of the outputs" in found[3].findings[0].text


def test_an_attribute_of_the_target_or_an_axis_is_required() -> None:
    pi = candidate("tvm", target="pi", attributes={"os": ("Raspbian 10", "Linux"), "architecture": ("aarch64",)})
    assert Required("os", ("linux", "android")).judged(pi).met is True
    assert Required("architecture", ("arm",)).judged(pi).text == "architecture is aarch64"
    assert Required("compiler", ("TVM",)).judged(pi).met is True
    missing = Required("vendor", ("X",)).judged(pi)
    assert (missing.met, missing.text, missing.how) == (None, "vendor unknown", "write it in boards/targets/pi.toml")


def test_each_constraint_says_what_it_removed_alone_and_with_others() -> None:
    constraints: list[Constraint] = [Right(), Limit(LATENCY, 0.01), Limit(BY_NAME["price"], 100.0)]
    found = judged(
        [
            candidate("cheap", latency=0.005, price=50.0), candidate("slow", latency=0.02, price=50.0),
            candidate("dear", latency=0.011, price=300.0),
            candidate("wrong", status="mismatch", latency=0.001, price=1.0),
            candidate("unpriced", latency=0.005), candidate("unpriced and slow", latency=0.04),
        ],
        constraints,
    )  # fmt: skip
    assert [one.candidate.name for one in found if one.state == "kept"] == ["cheap"]
    right, latency, price = effects(found, constraints)
    assert (right.removed, right.alone, right.beyond) == (("wrong",), ("wrong",), None)
    assert latency.removed == ("slow", "dear", "unpriced and slow") and latency.alone == ("slow", "unpriced and slow")
    assert latency.beyond == (pytest.approx(0.1), pytest.approx(3.0))
    assert (price.removed, price.alone, price.beyond) == (("dear",), (), (pytest.approx(2.0),) * 2)
    assert price.unknown == ("unpriced", "unpriced and slow")
    assert [one.state for one in found][-2:] == ["undecided", "removed"]
