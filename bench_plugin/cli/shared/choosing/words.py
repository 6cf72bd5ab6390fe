"""A decision in words: what each constraint did, what is kept and with which figures, the choice and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from bench_plugin.characterise.choice.candidate import QUANTITIES, Basis, Candidate, Quantity
from bench_plugin.characterise.choice.constraints import Effect, Judged, Limit
from bench_plugin.characterise.choice.decision import ACCURACY, Decision
from bench_plugin.characterise.choice.pareto import Agreement
from bench_plugin.characterise.choice.weights import MOVED, Scored
from bench_plugin.cli.shared.output import print_table

MOST = 20  # candidates that a list shows
UNKNOWN = "unknown"


def print_decision(decision: Decision, limits: Sequence[Limit]) -> None:
    """Everything of it; ``limits`` are those that were asked for, whose figures the table shows."""
    bases = Counter(one.candidate.basis for one in decision.judged)
    counted = ", ".join(f"{count} {'without a time' if basis == UNKNOWN else basis}" for basis, count in bases.items())
    print(f"{len(decision.judged)} candidates: {counted}\n")
    print_table([_effect(one) for one in decision.effects], list(_effect(decision.effects[0])))
    _print_list("removed", decision.of("removed"))
    _print_list("undecided: a missing figure is never taken as satisfied", decision.of("undecided"))
    _print_ways(decision.of("undecided"))
    kept = [one.candidate for one in decision.of("kept")]
    if kept:
        print(f"\nsatisfy every constraint: {len(kept)}")
        rows = [_row(one, decision, _shown_quantities(decision, limits)) for one in _ordered(kept, decision)]
        print_table(rows[:MOST], list(rows[0]))
        _print_more(len(rows))
    _print_agreement(decision.agreement, decision.against)
    if decision.scored is not None:
        _print_score(decision.scored)
    _print_choice(decision)


def _effect(one: Effect) -> dict[str, object]:
    beyond = "" if one.beyond is None else " to ".join(dict.fromkeys(f"{share:.1%}" for share in one.beyond))
    return {
        "constraint": one.constraint, "removed": len(one.removed), "by_it_alone": len(one.alone),
        "unknown": len(one.unknown), "beyond_the_bound": beyond,
    }  # fmt: skip


def _print_list(title: str, found: Sequence[Judged]) -> None:
    if not found:
        return
    print(f"\n{title}: {len(found)}")
    for one in found[:MOST]:
        print(f"  {one.candidate.name}: {'; '.join(finding.text for finding in one.broken or one.unknown)}")
    _print_more(len(found))


def _print_ways(found: Sequence[Judged]) -> None:
    """How to get what undecided candidates lack: of each figure for the first of them."""
    missing = [finding for one in found for finding in one.unknown if finding.how]
    counts = Counter(finding.text for finding in missing)
    firsts = {text: next(one for one in missing if one.text == text) for text in counts}
    for finding in firsts.values():
        others = f" (and likewise of {counts[finding.text] - 1} more)" if counts[finding.text] > 1 else ""
        print(f"  {finding.text}: {finding.how}{others}")


def _print_more(count: int) -> None:
    if count > MOST:
        print(f"  ... and {count - MOST} more, which --json lists")


def _ordered(kept: Sequence[Candidate], decision: Decision) -> list[Candidate]:
    """The Pareto set first, in its order, then the others by what accuracy is traded for."""
    place = {name: number for number, name in enumerate(decision.front)}
    quantity = decision.against

    def order(one: Candidate) -> tuple[int, float, str]:
        value = one.value(quantity.name)
        return place.get(one.name, len(place)), float("inf") if value is None else -quantity.goodness(value), one.name

    return sorted(kept, key=order)


def _shown_quantities(decision: Decision, limits: Sequence[Limit]) -> list[Quantity]:
    asked = {one.quantity.name for one in limits} | {decision.against.name, ACCURACY.name}
    asked |= set(decision.scored.weights) if decision.scored else set()
    return [one for one in QUANTITIES if one.name in asked]


def _row(one: Candidate, decision: Decision, quantities: Sequence[Quantity]) -> dict[str, object]:
    figures = {quantity.name: _figure(one, quantity) for quantity in quantities}
    return {"candidate": one.name, "pareto": "yes" if one.name in decision.front else "no", **figures}


def _figure(one: Candidate, quantity: Quantity) -> str:
    found = one.figures.get(quantity.name)
    return UNKNOWN if found is None else f"{quantity.unit.show(found.value)} {found.basis}"


def _print_agreement(found: Agreement, against: Quantity) -> None:
    if found.precision is None or found.recall is None:
        return
    print(
        f"\npredicted Pareto set (accuracy, {against.name}) against the measured one, {found.candidates} places with "
        f"both: precision {found.precision:.2f}, recall {found.recall:.2f}"
    )


def _print_score(found: Scored) -> None:
    print("\nweighted score, 1 is the best in all: " + ", ".join(f"{k} x {v:g}" for k, v in found.weights.items()))
    for name, score in list(found.scores.items())[:MOST]:
        print(f"  {score:.3f}  {name}")
    _print_more(len(found.scores))
    for name, why in found.left_out.items():
        print(f"  not scored: {name}: {why}")
    if found.stable:
        print(f"  the best one stays when any weight moves by {MOVED:.0%}")
    for moved, winners in found.moves:
        if winners != found.winners:
            print(f"  with {moved} the best one is {', '.join(winners)}")


def _print_choice(decision: Decision) -> None:
    for name, why in list(decision.not_placed.items())[:MOST]:
        print(f"not in the Pareto set: {name}: {why}; {_how(decision, name)}")
    _print_more(len(decision.not_placed))
    if decision.choice is None:
        undecided = len(decision.of("undecided"))
        more = f"; {undecided} are undecided until the figures above are known" if undecided else ""
        print(f"\nno choice: no candidate is known to satisfy every constraint{more}")
        return
    figure = decision.choice.figures.get(decision.against.name)
    basis = f"{decision.against.name} {figure.basis}" if figure else f"{decision.against.name} {UNKNOWN}"
    print(f"\nchoice: {decision.choice.name} ({basis})")
    judged = next(one for one in decision.judged if one.candidate is decision.choice)
    figures = decision.choice.figures.values()
    assumed = {one.source: f"predicted: {one.source}" for one in figures if one.basis is Basis.PREDICTED and one.source}
    for text in (*(finding.text for finding in judged.findings), *assumed.values(), *decision.reasons):
        print(f"  - {text}")


def _how(decision: Decision, name: str) -> str:
    """How the first missing figure of a candidate is got."""
    one = next(one.candidate for one in decision.judged if one.candidate.name == name)
    missing = next(quantity for quantity in (decision.against, ACCURACY) if one.value(quantity.name) is None)
    return one.how(missing)
