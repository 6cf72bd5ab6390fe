"""Greedy searches within a bound: bits for every part of every layer, and layers to leave out of a quantisation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bench_plugin.characterise.sensitivity.findings import (
    FLOAT_BITS,
    NO_EFFECT,
    Assignment,
    Effect,
    Finding,
    Layer,
    Part,
    parts_of,
)

Measure = Callable[[Assignment], Effect]


@dataclass(frozen=True)
class Bound:
    """How much a model may lose: E at most ``max_error``, the drop at most ``max_drop``, a share of 1.

    The drop counts with the upper end of its 95 % confidence interval: few test inputs prove little.
    """

    max_drop: float | None = None
    max_error: float | None = None

    def holds(self, effect: Effect) -> bool:
        """Whether the effect is within the bound."""
        if self.max_error is not None and not effect.error <= self.max_error:
            return False
        return self.max_drop is None or (effect.drop is not None and effect.drop.upper <= self.max_drop)


@dataclass(frozen=True)
class Assigned:
    """The bits of every part, FLOAT_BITS for one that stays in floating point, and the effect of all together.

    ``measured`` counts the assignments that were measured, ``refused`` names reductions that broke the bound, with the
    bits that were tried.
    """

    bits: Mapping[Part, int]
    effect: Effect
    measured: int
    refused: tuple[tuple[Part, int], ...]

    def memory(self, layers: Sequence[Layer]) -> dict[str, int]:
        """Bytes of all weights and of the activations of one sample, by kind, rounded up."""
        found: dict[str, int] = {}
        for part, bits in self.bits.items():
            found[part.kind] = found.get(part.kind, 0) + layers[part.layer].elements(part.kind) * bits
        return {kind: -(-count // 8) for kind, count in found.items()}


@dataclass(frozen=True)
class Excluded:
    """The numbers of the layers that stay in floating point while all others have ``bits`` in every part, in the order
    of the file; the effect of these, and how many sets of layers were measured.
    """

    layers: tuple[int, ...]
    bits: int
    effect: Effect
    measured: int


def excluding(layers: Sequence[Layer], findings: Sequence[Finding], bound: Bound, measure: Measure) -> Excluded:
    """Leave layers out, the one that costs most per bit saved first, until the rest is within the bound at the largest
    number of bits of the ``findings``.

    Quantisers treat a layer as a whole, so what a layer costs is what its parts cost together. ``measure`` gives the
    effect of an assignment.
    """
    bits = max(one.bits for one in findings)
    costs = {number: _cost(number, bits, findings) for number in range(len(layers))}
    order = sorted(costs, key=lambda number: costs[number], reverse=True)
    for count in range(len(order)):
        kept = set(order[count:])
        effect = measure({part: bits for part in parts_of(layers) if part.layer in kept})
        if bound.holds(effect):
            return Excluded(tuple(sorted(order[:count])), bits, effect, count + 1)
    return Excluded(tuple(range(len(layers))), bits, NO_EFFECT, len(order))


def _cost(number: int, bits: int, findings: Sequence[Finding]) -> tuple[float, float]:
    """What a layer costs at so many bits per bit saved: drop and E, those of its parts added."""
    own = [one for one in findings if one.part.layer == number and one.bits == bits]
    saved = sum(one.bits_saved for one in own)
    return sum(one.effect.order[0] for one in own) / saved, sum(one.effect.order[1] for one in own) / saved


def greedy(layers: Sequence[Layer], findings: Sequence[Finding], bound: Bound, measure: Measure) -> Assigned:
    """Reduce the bits of one part after the other, the one with the smallest loss per bit saved first.

    ``findings`` are those of single parts; ``measure`` gives the effect of an assignment as a whole. All parts at the
    largest number of bits come first; where that is within the bound, the search goes on from there. A reduction that
    takes the model out of the bound is taken back, and its part is not reduced any more.
    """
    alone = {(one.part, one.bits): one.effect for one in findings}
    widths = sorted({one.bits for one in findings}, reverse=True)
    bits = dict.fromkeys(parts_of(layers), FLOAT_BITS)
    effect, measured = NO_EFFECT, 0
    refused: list[tuple[Part, int]] = []
    if widths:
        everywhere = dict.fromkeys(bits, widths[0])
        found, measured = measure(everywhere), 1
        if bound.holds(found):
            bits, effect = everywhere, found
    fixed: set[Part] = set()
    while True:
        step = _cheapest(layers, bits, fixed, widths, alone)
        if step is None:
            return Assigned(bits, effect, measured, tuple(refused))
        part, narrower = step
        tried = {**bits, part: narrower}
        found = measure({one: width for one, width in tried.items() if width < FLOAT_BITS})
        measured += 1
        if bound.holds(found):
            bits, effect = tried, found
        else:
            fixed.add(part)
            refused.append(step)


def _cheapest(
    layers: Sequence[Layer], bits: Mapping[Part, int], fixed: set[Part], widths: Sequence[int],
    alone: Mapping[tuple[Part, int], Effect],
) -> tuple[Part, int] | None:  # fmt: skip
    """The part with its next number of bits whose loss per bit saved is smallest; None where nothing is left."""
    steps = []
    for part, width in bits.items():
        narrower = next((one for one in widths if one < width), None)
        if narrower is None or part in fixed:
            continue
        before = alone[part, width] if width < FLOAT_BITS else NO_EFFECT
        saved = layers[part.layer].elements(part.kind) * (width - narrower)
        after = alone[part, narrower].order
        drop, error = (max(new - old, 0.0) / saved for new, old in zip(after, before.order, strict=True))
        steps.append((drop, error, part, narrower))
    if not steps:
        return None
    _, _, part, narrower = min(steps)
    return part, narrower
