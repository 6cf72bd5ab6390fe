"""Layers, their parts that can be quantised, and what quantising a part alone does to the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from bench_plugin.compare.quality import Drop

FLOAT_BITS = 32  # of an element that is not quantised


class Kind(StrEnum):
    """What of a layer is quantised."""

    WEIGHTS = "weights"
    ACTIVATIONS = "activations"


@dataclass(frozen=True)
class Layer:
    """A layer as its file names it; ``named`` is false where only its first output has a name.

    ``weights`` and ``activations`` count the elements of its constants and of its inputs for one sample; ``weights`` is
    0 where both sides of a product are computed.
    """

    name: str
    named: bool
    operator: str
    weights: int
    activations: int

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """What of it can be quantised.

        >>> [str(kind) for kind in Layer("a", True, "MatMul", 0, 12).kinds]
        ['activations']
        """
        return tuple(kind for kind in Kind if self.elements(kind))

    def elements(self, kind: Kind) -> int:
        """How many elements that kind has."""
        return self.weights if kind is Kind.WEIGHTS else self.activations


class Part(NamedTuple):
    """The weights or the activations of a layer, by its number."""

    layer: int
    kind: Kind

    @property
    def wire(self) -> str:
        """Its name in a call."""
        return f"{self.layer}:{self.kind}"


Assignment = Mapping[Part, int]  # bits of each part that is quantised


@dataclass(frozen=True)
class Effect:
    """What an assignment does to the model: E of its outputs, the largest of all (docs/numbers.md), which is infinite
    where one is not a number; and the drop of its task's metric, None for a model without a task.
    """

    error: float
    drop: Drop | None = None

    @property
    def order(self) -> tuple[float, float]:
        """What effects are ordered by: the drop, of equal ones E. A gain counts as no drop."""
        return (max(self.drop.drop, 0.0) if self.drop else 0.0), self.error


NO_EFFECT = Effect(0.0)


@dataclass(frozen=True)
class Finding:
    """The effect of quantising one part to a number of bits, with everything else in floating point."""

    part: Part
    bits: int
    effect: Effect
    bits_saved: int


def parts_of(layers: Sequence[Layer]) -> list[Part]:
    """Every part of every layer, in the order of the file."""
    return [Part(number, kind) for number, layer in enumerate(layers) for kind in layer.kinds]


def bits_saved(layer: Layer, kind: Kind, bits: int) -> int:
    """How many bits fewer that kind of the layer takes than in float32; of activations for one sample.

    >>> bits_saved(Layer("a", True, "Conv", 144, 64), Kind.WEIGHTS, 8)
    3456
    """
    return layer.elements(kind) * (FLOAT_BITS - bits)


def ranked(findings: Iterable[Finding]) -> list[Finding]:
    """The findings with the largest effect first: by drop, of equal ones by E."""
    return sorted(findings, key=lambda one: one.effect.order, reverse=True)
