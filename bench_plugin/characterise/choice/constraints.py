"""Constraints: what each candidate must satisfy, which constraint removed which candidate, and by how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from bench_plugin.characterise.choice.candidate import Candidate, Quantity

State = Literal["kept", "removed", "undecided"]
RIGHT = "supported"
NOT_SHOWN = ("unverified", "outside our bound", "board-lost", "not run")  # statuses that say neither right nor wrong


@dataclass(frozen=True)
class Finding:
    """What a constraint says of a candidate: ``met`` is None where a figure is missing, which is never satisfied.

    ``beyond`` is how far the figure lies beyond the bound, as a share of the bound; None where that cannot be said.
    ``how`` says how to get the missing figure.
    """

    constraint: str
    met: bool | None
    text: str
    beyond: float | None = None
    how: str = ""


class Constraint(Protocol):
    """What a candidate must satisfy; ``str`` of it is its text in reports."""

    def judged(self, candidate: Candidate) -> Finding:
        """Whether the candidate satisfies it, and why."""


@dataclass(frozen=True)
class Limit:
    """A bound of a figure, in the base unit of its quantity: the most, or the least of one of which more is better."""

    quantity: Quantity
    bound: float

    def __str__(self) -> str:
        sign = ">=" if self.quantity.more else "<="
        return f"{self.quantity.name} {sign} {self.quantity.unit.show(self.bound)}"

    def judged(self, candidate: Candidate) -> Finding:
        """Unknown where the candidate has no such figure."""
        figure, quantity = candidate.figures.get(self.quantity.name), self.quantity
        if figure is None:
            return Finding(str(self), None, f"{quantity.name} unknown", how=candidate.how(quantity))
        short = quantity.goodness(self.bound) - quantity.goodness(figure.value)
        shown = f"{quantity.name} {quantity.unit.show(figure.value)} ({figure.basis})"
        if short <= 0:
            return Finding(str(self), True, shown)
        beyond = short / self.bound if self.bound else None
        by = f", {beyond:.1%} beyond" if beyond is not None else ""
        return Finding(str(self), False, f"{shown}{by}", beyond)


@dataclass(frozen=True)
class Required:
    """An axis, or an attribute of the target, that must have one of these values."""

    attribute: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.attribute} = {' or '.join(self.values)}"

    def judged(self, candidate: Candidate) -> Finding:
        """Unknown where nothing is known of the attribute; upper and lower case are the same."""
        found = candidate.values_of(self.attribute)
        if not found:
            target = candidate.places.get("target", "")
            return Finding(
                str(self), None, f"{self.attribute} unknown", how=f"write it in boards/targets/{target}.toml"
            )
        wanted = {one.casefold() for one in self.values}
        met = any(one.casefold() in wanted for one in found)
        return Finding(str(self), met, f"{self.attribute} is {', '.join(found)}")


@dataclass(frozen=True)
class Right:
    """Outputs that were compared must agree with the reference. A prediction has none: it is said that nothing ran."""

    def __str__(self) -> str:
        return "outputs agree with the reference"

    def judged(self, candidate: Candidate) -> Finding:
        """Unknown where it ran and nothing was proven."""
        if not candidate.status:
            return Finding(str(self), True, "nothing has run; a prediction says nothing of the outputs")
        if candidate.status == RIGHT:
            return Finding(str(self), True, "outputs agree with the reference")
        because = f": {candidate.reason}" if candidate.reason else ""
        return Finding(str(self), None if candidate.status in NOT_SHOWN else False, f"{candidate.status}{because}")


@dataclass(frozen=True)
class Judged:
    """A candidate with what every constraint says of it."""

    candidate: Candidate
    findings: tuple[Finding, ...]

    @property
    def state(self) -> State:
        """Removed by one constraint at least, or undecided because a figure is missing, or kept."""
        if any(one.met is False for one in self.findings):
            return "removed"
        return "undecided" if any(one.met is None for one in self.findings) else "kept"

    @property
    def broken(self) -> tuple[Finding, ...]:
        """The findings of the constraints that remove it."""
        return tuple(one for one in self.findings if one.met is False)

    @property
    def unknown(self) -> tuple[Finding, ...]:
        """The findings of the constraints that cannot be decided."""
        return tuple(one for one in self.findings if one.met is None)


@dataclass(frozen=True)
class Effect:
    """What one constraint did among all candidates, by their names.

    ``alone`` are those of the ``removed`` that no other constraint removes. ``beyond`` is the share of the bound by
    which the nearest and the farthest of them lie beyond it; None where that cannot be said.
    """

    constraint: str
    removed: tuple[str, ...]
    alone: tuple[str, ...]
    unknown: tuple[str, ...]
    beyond: tuple[float, float] | None

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "constraint": self.constraint, "removed": list(self.removed), "alone": list(self.alone),
            "unknown": list(self.unknown), "beyond": None if self.beyond is None else list(self.beyond),
        }  # fmt: skip


def judged(candidates: Sequence[Candidate], constraints: Sequence[Constraint]) -> list[Judged]:
    """Every candidate with what every constraint says of it, in the order of both."""
    return [Judged(one, tuple(constraint.judged(one) for constraint in constraints)) for one in candidates]


def effects(found: Sequence[Judged], constraints: Sequence[Constraint]) -> list[Effect]:
    """What each constraint did, in their order."""
    by_name: Mapping[str, Judged] = {one.candidate.name: one for one in found}
    made = []
    for place, constraint in enumerate(constraints):
        said = {name: one.findings[place] for name, one in by_name.items()}
        removed = tuple(name for name, finding in said.items() if finding.met is False)
        shares = [finding.beyond for finding in said.values() if finding.beyond is not None]
        made.append(
            Effect(
                str(constraint), removed, tuple(name for name in removed if len(by_name[name].broken) == 1),
                tuple(name for name, finding in said.items() if finding.met is None),
                (min(shares), max(shares)) if shares else None,
            )
        )  # fmt: skip
    return made
