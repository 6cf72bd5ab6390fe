"""The Pareto set, the agreement of the predicted one with the measured one, the weighted score, and the choice."""

from __future__ import annotations

import itertools
import json
import random

import pytest

from bench_plugin.characterise.choice.candidate import BY_NAME, Basis
from bench_plugin.characterise.choice.constraints import Limit, Right
from bench_plugin.characterise.choice.decision import decide
from bench_plugin.characterise.choice.pareto import agreement, front
from bench_plugin.characterise.choice.weights import parse, scored
from bench_plugin.domain.errors import UsageError
from tests.characterise.choice.made import candidate

LATENCY = BY_NAME["latency"]


def test_the_front_is_what_no_other_point_dominates() -> None:
    chance = random.Random(1)
    points = {f"{n}": tuple(chance.randrange(6) for _ in range(3)) for n in range(200)}

    def beaten(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
        return one != other and all(a <= b for a, b in zip(one, other, strict=True))

    wanted = {name for name, one in points.items() if not any(beaten(one, other) for other in points.values())}
    assert front(points) == wanted and 0 < len(wanted) < 200  # type: ignore[arg-type]
    assert front({}) == set()


def test_precision_and_recall_of_a_predicted_front_by_hand() -> None:
    predicted = {"a": (3.0, 0.7), "b": (2.0, 0.8), "c": (1.0, 0.9), "d": (2.5, 0.6), "only": (9.0, 9.0)}
    measured = {"a": (1.0, 0.7), "b": (2.0, 0.8), "c": (1.5, 0.9), "d": (3.0, 0.6)}
    found = agreement(predicted, measured)
    assert (found.predicted, found.measured, found.candidates) == (("a", "b", "c"), ("b", "c", "d"), 4)
    assert (found.precision, found.recall) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
    nothing = agreement({}, {})
    assert (nothing.precision, nothing.recall) == (None, None)


def test_constraints_come_before_the_front_and_the_choice_says_what_the_others_would_give() -> None:
    found = decide(
        [
            candidate("fast", latency=0.001, accuracy=0.90), candidate("middle", latency=0.002, accuracy=0.92),
            candidate("slow", latency=0.050, accuracy=0.99), candidate("worse", latency=0.003, accuracy=0.91),
            candidate("wrong", status="mismatch", latency=0.0001, accuracy=1.0),
        ],
        [Right(), Limit(LATENCY, 0.01)], against=LATENCY,
    )  # fmt: skip
    assert found.front == ("fast", "middle") and found.choice is not None and found.choice.name == "fast"
    assert found.reasons[1] == "middle has 2.00 points more accuracy and 2 times its latency"
    json.dumps(found.plain(), allow_nan=False)


def test_of_equal_ones_the_first_name_is_chosen_and_the_others_are_named() -> None:
    rows = [candidate(name, latency=0.001, accuracy=0.9) for name in ("slow", "fast")]
    found = decide(rows, [], against=LATENCY)
    assert found.choice is not None and found.choice.name == "fast"
    assert found.reasons[1] == "slow has the same accuracy and the same latency"


def test_an_unknown_accuracy_is_in_no_front_and_no_candidate_gives_no_choice() -> None:
    found = decide([candidate("a", latency=0.001), candidate("b", accuracy=0.9)], [Right()], against=LATENCY)
    assert found.front == () and found.not_placed == {"a": "accuracy unknown", "b": "latency unknown"}
    assert found.choice is not None and found.choice.name == "a" and "the accuracy of none is known" in found.reasons[0]
    nothing = decide([candidate("a", latency=0.1)], [Limit(LATENCY, 0.01)], against=LATENCY)
    assert nothing.choice is None and nothing.reasons == ()
    assert decide([candidate("b", accuracy=0.9)], [], against=LATENCY).choice is None


def test_predicted_and_measured_fronts_are_compared_over_places_with_both() -> None:
    def place(name: str, measured: float, expected: float, accuracy: float, **more: str) -> object:
        return candidate(
            name, latency=measured, accuracy=accuracy, predicted={"latency": expected}, target=more.get("target", name)
        )

    rows = [
        place("x", 0.001, 0.002, 0.9), place("y", 0.002, 0.001, 0.9), place("z", 0.003, 0.003, 0.95),
        place("slower compiler", 0.009, 0.003, 0.95, target="z"),
        candidate("not run", status="", basis=Basis.PREDICTED, latency=1e-9, accuracy=1.0),
    ]  # fmt: skip
    found = decide(rows, [], against=LATENCY).agreement  # type: ignore[arg-type]
    assert found.candidates == 3 and (found.precision, found.recall) == (0.5, 0.5)
    assert found.measured == ("net · x · fp32", "net · z · fp32")


def test_scores_are_normalised_and_weighted_and_the_winner_may_change_with_a_weight() -> None:
    rows = [candidate("fast", latency=0.001, accuracy=0.90), candidate("exact", latency=0.011, accuracy=0.99)]
    found = scored(rows, {"latency": 1.0, "accuracy": 1.1})
    assert found.scores == {"exact": pytest.approx(1.1 / 2.1), "fast": pytest.approx(1 / 2.1)}
    assert found.winners == ("exact",) and not found.stable
    assert dict(found.moves) == {
        "latency -25%": ("exact",), "latency +25%": ("fast",), "accuracy -25%": ("fast",), "accuracy +25%": ("exact",),
    }  # fmt: skip
    assert scored(rows, {"latency": 1.0, "accuracy": 5.0}).stable
    three = [*rows, candidate("between", latency=0.006, accuracy=0.9), candidate("unknown", latency=0.001)]
    middle = scored(three, {"latency": 2.0, "accuracy": 1.0})
    assert middle.scores["between"] == pytest.approx(2 / 3 * 0.5) and middle.left_out == {"unknown": "accuracy unknown"}


def test_what_is_the_same_of_all_decides_nothing_and_equal_ones_are_named() -> None:
    rows = [candidate("a", latency=0.001, memory=5.0), candidate("b", latency=0.002, memory=5.0)]
    assert scored(rows, {"latency": 0.001, "memory": 1000.0}).winners == ("a",)
    assert scored(rows, {"memory": 1.0, "latency": 0.0}).winners == ("a", "b")
    assert scored([], {"latency": 1.0}).scores == {}


def test_a_move_is_found_by_trying_all_of_them() -> None:
    chance = random.Random(2)
    for _ in range(50):
        rows = [
            candidate(f"{n}", latency=chance.random(), memory=chance.random(), accuracy=chance.random())
            for n in range(6)
        ]
        weights = {name: chance.random() + 0.01 for name in ("latency", "memory", "accuracy")}
        found = scored(rows, weights)
        winners = {
            scored(rows, {**weights, name: weights[name] * (1 + share)}).winners
            for name, share in itertools.product(weights, [step / 100 for step in range(-25, 26)])
        }
        assert found.stable is (winners == {found.winners}), "the ends of a move decide: scores are linear in a weight"


def test_the_choice_follows_the_weights_and_says_where_it_is_outside_of_the_front() -> None:
    rows = [
        candidate("fast", latency=0.001, accuracy=0.9, price=500.0),
        candidate("cheap", latency=0.002, accuracy=0.9, price=5.0),
    ]
    found = decide(rows, [], against=LATENCY, weights={"price": 3.0, "latency": 1.0})
    assert found.choice is not None and found.choice.name == "cheap"
    assert found.reasons[1] == "it is not in the Pareto set of accuracy against latency"


WRONG = {
    "": "no weight is above 0",
    "latency": "'latency' is not NAME=NUMBER with a number from 0 on",
    "latency=-1": "'latency=-1' is not NAME=NUMBER",
    "latency=inf": "'latency=inf' is not NAME=NUMBER",
    "colour=1": "'colour' is no quantity; valid are: latency, throughput",
    "latency=0": "no weight is above 0",
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_weights_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--weights") as raised:
        parse(text)
    assert WRONG[text] in str(raised.value)
