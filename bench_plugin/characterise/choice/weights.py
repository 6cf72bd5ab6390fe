"""A weighted score with the user's own weights, and whether the best one stays when a weight moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench_plugin.characterise.choice.candidate import BY_NAME, Candidate
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.texts.choices import hint

MOVED = 0.25  # share by which each weight is moved, one at a time


@dataclass(frozen=True)
class Scored:
    """Scores by the names of candidates, from 0 (the worst in all) to 1 (the best in all), the best first.

    ``winners`` are those with the best score: several of the same. ``left_out`` says of each candidate without a score
    which figure it lacks. ``moves`` has the winners after each move of one weight, as (what is moved, winners).
    """

    weights: Mapping[str, float]
    scores: Mapping[str, float]
    winners: tuple[str, ...]
    moves: tuple[tuple[str, tuple[str, ...]], ...]
    left_out: Mapping[str, str]

    @property
    def stable(self) -> bool:
        """Whether the same candidates win after every move."""
        return all(winners == self.winners for _, winners in self.moves)

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "weights": dict(self.weights), "scores": dict(self.scores), "winners": list(self.winners),
            "stable": self.stable, "moves": [{"moved": what, "winners": list(found)} for what, found in self.moves],
            "left_out": dict(self.left_out),
        }  # fmt: skip


def parse(text: str) -> dict[str, float]:
    """Weights by quantity from ``latency=2,accuracy=1``.

    Raises UsageError for what is no such list, for an unknown quantity, and where no weight is above 0.
    """
    found: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, number = part.partition("=")
        if name not in BY_NAME:
            raise UsageError(f"--weights: {name!r} is no quantity; {hint(name, list(BY_NAME))}")
        try:
            weight = float(number)
        except ValueError:
            weight = -1.0
        if not 0 <= weight < float("inf"):
            raise UsageError(f"--weights: {part!r} is not NAME=NUMBER with a number from 0 on, as in latency=2")
        found[name] = weight
    if not any(found.values()):
        raise UsageError("--weights: no weight is above 0; write them as in latency=2,accuracy=1")
    return found


def scored(candidates: Sequence[Candidate], weights: Mapping[str, float]) -> Scored:
    """Scores of the candidates that have every weighted figure.

    A figure is normalised between the worst and the best of them, 0 and 1; where all have the same it decides nothing.
    """
    wanted = [name for name, weight in weights.items() if weight]
    left_out = {}
    complete = []
    for one in candidates:
        missing = [name for name in wanted if one.value(name) is None]
        if missing:
            left_out[one.name] = f"{', '.join(missing)} unknown"
        else:
            complete.append(one)
    shares = {name: _normalised(complete, name) for name in wanted}
    totals = _totals(shares, weights)
    moves = tuple(
        (f"{name} {factor:+.0%}", _winners(_totals(shares, {**weights, name: weights[name] * (1 + factor)})))
        for name in wanted
        for factor in (-MOVED, MOVED)
    )
    ordered = dict(sorted(totals.items(), key=lambda pair: (-pair[1], pair[0])))
    return Scored(dict(weights), ordered, _winners(totals), moves, left_out)


def _normalised(candidates: Sequence[Candidate], quantity: str) -> dict[str, float]:
    """From 0 (the worst) to 1 (the best) by name; 1 for all where all are the same."""
    good = {one.name: BY_NAME[quantity].goodness(one.figures[quantity].value) for one in candidates}
    low, high = min(good.values(), default=0.0), max(good.values(), default=0.0)
    return {name: (value - low) / (high - low) if high > low else 1.0 for name, value in good.items()}


def _totals(shares: Mapping[str, Mapping[str, float]], weights: Mapping[str, float]) -> dict[str, float]:
    """The weighted mean of each candidate's shares by its name."""
    whole = sum(weights[name] for name in shares)
    names = next(iter(shares.values()), {})
    return {one: sum(weights[name] * of[one] for name, of in shares.items()) / whole for one in names}


def _winners(totals: Mapping[str, float]) -> tuple[str, ...]:
    """All names with the best score, apart from differences of rounding."""
    best = max(totals.values(), default=0.0)
    return tuple(sorted(name for name, score in totals.items() if score >= best - 1e-12))
