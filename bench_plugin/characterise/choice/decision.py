"""The decision: constraints first, then the Pareto set, then the score if weights are given; and the reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench_plugin.characterise.choice.candidate import BY_NAME, Basis, Candidate, Quantity, named
from bench_plugin.characterise.choice.constraints import RIGHT, Constraint, Effect, Judged, effects, judged
from bench_plugin.characterise.choice.pareto import Agreement, agreement, front
from bench_plugin.characterise.choice.weights import Scored, scored

ACCURACY = BY_NAME["accuracy"]
PLACE = ("model", "target", "mode", "precision", "kept", "batch")  # what a prediction is of: no compiler, no framework


@dataclass(frozen=True)
class Decision:
    """What came of it. ``front`` are the names of the Pareto set of what is kept: accuracy against ``against``.

    ``not_placed`` says of each kept candidate that is in no Pareto set which figure it lacks. ``agreement`` compares
    the predicted front with the measured one. ``choice`` is None where nothing is kept; ``reasons`` are sentences.
    """

    judged: tuple[Judged, ...]
    effects: tuple[Effect, ...]
    against: Quantity
    front: tuple[str, ...]
    not_placed: Mapping[str, str]
    agreement: Agreement
    scored: Scored | None
    choice: Candidate | None
    reasons: tuple[str, ...]

    def of(self, state: str) -> list[Judged]:
        """Those that are kept, removed or undecided."""
        return [one for one in self.judged if one.state == state]

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "choice": None if self.choice is None else self.choice.name,
            "reasons": list(self.reasons),
            "against": self.against.name,
            "front": list(self.front),
            "not_placed": dict(self.not_placed),
            "predicted_front": self.agreement.plain(),
            "constraints": [one.plain() for one in self.effects],
            "scored": None if self.scored is None else self.scored.plain(),
            "candidates": [
                {**one.candidate.plain(), "state": one.state, "findings": [vars(finding) for finding in one.findings]}
                for one in self.judged
            ],
        }


def decide(
    candidates: Sequence[Candidate], constraints: Sequence[Constraint], *, against: Quantity,
    weights: Mapping[str, float] | None = None,
) -> Decision:  # fmt: skip
    """Choose among candidates with different names; ``against`` is the figure that accuracy is traded for."""
    found = judged(candidates, constraints)
    kept = [one.candidate for one in found if one.state == "kept"]
    points = _points(kept, against)
    best = front(points)
    missing = {
        one.name: ", ".join(f"{what.name} unknown" for what in (against, ACCURACY) if one.value(what.name) is None)
        for one in kept
        if one.name not in points
    }
    score = scored(kept, weights) if weights else None
    choice, reasons = _chosen(kept, best, against, score)
    ordered = sorted(best, key=lambda name: -points[name][0])
    return Decision(
        tuple(found), tuple(effects(found, constraints)), against, tuple(ordered), missing,
        _agreement(candidates, against), score, choice, tuple(reasons),
    )  # fmt: skip


def _points(found: Sequence[Candidate], against: Quantity) -> dict[str, tuple[float, float]]:
    """Goodness of what accuracy is traded for, and accuracy, by name, of those that have both."""
    costs, accuracies = named(found, against.name), named(found, ACCURACY.name)
    return {name: (against.goodness(costs[name]), accuracies[name]) for name in costs if name in accuracies}


def _agreement(candidates: Sequence[Candidate], against: Quantity) -> Agreement:
    """The fronts over the places that were predicted and measured too, whatever the constraints are.

    Of a place with several measured deployments the best one that is right counts. Accuracy is the measured one in
    both: what is judged is the predicted cost.
    """
    measured: dict[str, tuple[float, float]] = {}
    predicted: dict[str, tuple[float, float]] = {}
    for one in candidates:
        figure, expected, accuracy = (
            one.figures.get(against.name), one.predicted.get(against.name), one.value(ACCURACY.name)
        )  # fmt: skip
        if figure is None or figure.basis is not Basis.MEASURED or expected is None or accuracy is None:
            continue
        place = " · ".join(one.places[axis] for axis in PLACE if one.places.get(axis))
        point = (against.goodness(figure.value), accuracy)
        if one.status == RIGHT and point > measured.get(place, (float("-inf"), 0.0)):
            measured[place] = point
            predicted[place] = (against.goodness(expected.value), accuracy)
    return agreement(predicted, measured)


def _chosen(
    kept: Sequence[Candidate], best: set[str], against: Quantity, score: Scored | None
) -> tuple[Candidate | None, list[str]]:
    """The choice and why: the best score where weights are given, else the best of the Pareto set in ``against``."""
    by_name = {one.name: one for one in kept}
    if score is not None and score.scores:
        choice = by_name[score.winners[0]]
        ties = f"; the same score: {', '.join(score.winners[1:])}" if len(score.winners) > 1 else ""
        return choice, [
            f"the best weighted score, {score.scores[choice.name]:.3f} of 1, among {len(score.scores)}{ties}",
            *([] if choice.name in best else [f"it is not in the Pareto set of accuracy against {against.name}"]),
        ]
    choosable = [by_name[name] for name in best] or [one for one in kept if one.value(against.name) is not None]
    if not choosable:
        return None, []
    choice = min(choosable, key=lambda one: (-_goodness(one, against), -(one.value(ACCURACY.name) or 0.0), one.name))
    others = [one for one in choosable if one is not choice]
    if not best:
        return choice, [
            f"the best {against.name} of the {len(kept)} that satisfy every constraint; the accuracy of none is known"
        ]
    if not others:
        return choice, ["it alone is in the Pareto set: no other candidate is better in accuracy or " + against.name]
    return choice, [
        f"the best {against.name} of the {len(choosable)} in the Pareto set (--weights says what matters otherwise)",
        *(_traded(one, choice, against) for one in sorted(others, key=lambda one: -_goodness(one, against))),
    ]


def _traded(other: Candidate, choice: Candidate, against: Quantity) -> str:
    """What another member of the Pareto set would give and cost, against the choice."""
    gained = other.figures[ACCURACY.name].value - choice.figures[ACCURACY.name].value
    mine, its = choice.figures[against.name].value, other.figures[against.name].value
    if gained == 0:
        return f"{other.name} has the same accuracy and the same {against.name}"
    ratio = f" and {its / mine:.3g} times its {against.name}" if mine else ""
    return f"{other.name} has {100 * gained:.2f} points more accuracy{ratio}"


def _goodness(one: Candidate, quantity: Quantity) -> float:
    return quantity.goodness(one.figures[quantity.name].value)
