"""A candidate: one way to deploy a model, with its figures, each of which says where it comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from bench_plugin.characterise.choice.units import BYTES, DOLLARS, JOULES, RATE, SECONDS, SHARE, WATTS, Unit


class Basis(StrEnum):
    """Where a figure comes from."""

    MEASURED = "measured"  # of this deployment, in a row
    ELSEWHERE = "measured elsewhere"  # of the same model and precision, on another deployment
    PREDICTED = "predicted"
    PUBLISHED = "published"  # of the target, by its file


@dataclass(frozen=True)
class Quantity:
    """A kind of figure that candidates are chosen by. ``more`` says whether more is better.

    ``how`` says how a figure that is missing is got, with the places of the candidate as placeholders.
    """

    name: str
    unit: Unit
    more: bool
    meaning: str
    how: str

    @property
    def option(self) -> str:
        """The option that bounds it."""
        return f"--{'min' if self.more else 'max'}-{self.name}"

    def goodness(self, value: float) -> float:
        """The value with a sign such that more is better."""
        return value if self.more else -value


_TIMED = (
    "time it there: a cell of check timing (suites/performance) of {model}, {compiler}, {precision}, target {target}"
)
_PREDICTED = _TIMED + "; or predict it: bench predict --models {model} --targets {target} --json"
_JUDGED = "judge its task: a cell of check quality (suites/quality) of {model}, {compiler}, {precision}"
QUANTITIES: tuple[Quantity, ...] = (
    Quantity("latency", SECONDS, False, "time of one call, the median", _PREDICTED),
    Quantity("throughput", RATE, True, "inputs per second", _PREDICTED),
    Quantity("accuracy", SHARE, True, "share of the test set that is answered right", _JUDGED),
    Quantity("drop", SHARE, False, "accuracy lost against the framework's own model", _JUDGED),
    Quantity("memory", BYTES, False, "memory while it runs: resident at its peak, or RAM with the stack", _TIMED),
    Quantity("size", BYTES, False, "bytes of the artefact's files, or of flash",
             "compile it: a cell of check equivalence of {model}, {compiler}, {precision}, target {target}"),
    Quantity("power", WATTS, False, "power under full load",
             "time it with a meter (docs/boards.md), or write [[power]] in boards/targets/{target}.toml"),
    Quantity("energy", JOULES, False, "energy of one inference, idle power included",
             "time it with a meter (docs/boards.md)"),
    Quantity("price", DOLLARS, False, "price of the target", "write [[prices]] in boards/targets/{target}.toml"),
)  # fmt: skip
BY_NAME: Mapping[str, Quantity] = {one.name: one for one in QUANTITIES}


@dataclass(frozen=True)
class Figure:
    """A value in the base unit of its quantity. ``source`` names the row, the assumption or the publication."""

    value: float
    basis: Basis
    source: str = ""

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {"value": self.value, "basis": str(self.basis), "source": self.source}


@dataclass(frozen=True)
class Candidate:
    """One deployment. ``places`` are its values on the axes, ``attributes`` what else is known of its target.

    ``status`` is the verdict on its outputs, empty where nothing ran; ``reason`` is why it is not supported.
    ``figures`` are those that count: a measured one comes before a predicted one. ``predicted`` are the predicted ones
    of a measured deployment, beside them. ``key`` is that of its row, empty without one.
    """

    name: str
    places: Mapping[str, str]
    figures: Mapping[str, Figure]
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    status: str = ""
    reason: str = ""
    key: str = ""
    predicted: Mapping[str, Figure] = field(default_factory=dict)

    @property
    def basis(self) -> str:
        """What its times are: measured or predicted; unknown where it has none."""
        for name in ("latency", "throughput"):
            if name in self.figures:
                return str(self.figures[name].basis)
        return "unknown"

    def value(self, quantity: str) -> float | None:
        """The figure of a quantity; None where it is not known."""
        found = self.figures.get(quantity)
        return None if found is None else found.value

    def how(self, quantity: Quantity) -> str:
        """How the missing figure of a quantity is got."""
        shown = {name: self.places.get(name) or f"any {name}" for name in ("model", "compiler", "precision", "target")}
        return quantity.how.format(**shown)

    def values_of(self, attribute: str) -> tuple[str, ...]:
        """The values of an axis, or of an attribute of the target; none where nothing is known of it."""
        place = self.places.get(attribute)
        return (place,) if place else self.attributes.get(attribute, ())

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name, "places": dict(self.places), "basis": self.basis, "status": self.status,
            "reason": self.reason, "key": self.key,
            "figures": {name: one.plain() for name, one in self.figures.items()},
            "predicted": {name: one.plain() for name, one in self.predicted.items()},
        }  # fmt: skip


def named(found: Sequence[Candidate], quantity: str) -> dict[str, float]:
    """The values of a quantity by the names of the candidates that have one."""
    return {one.name: value for one in found if (value := one.value(quantity)) is not None}
