"""What compilers make of layers that are quantised to 8 bits, beside the simulation of the same graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bench_plugin.characterise.sensitivity.findings import Effect
from bench_plugin.characterise.sensitivity.gap import Gap, growth


@dataclass(frozen=True)
class Deployed:
    """The layers of one graph, compiled and run by a compiler.

    ``simulated`` and ``deployed`` are the effects on the same inputs, ``gaps`` those of each layer by its number, empty
    for a layer whose integers could not be compared. ``integer`` is what the compiler says of its kernels: ``integer``,
    ``partly``, ``simulated`` or nothing. ``failure`` says why there is no deployed effect.
    """

    compiler: str
    layers: tuple[int, ...]
    samples: int
    simulated: Effect
    deployed: Effect | None = None
    gaps: Mapping[int, Gap] = field(default_factory=dict)
    integer: str = ""
    failure: str = ""


@dataclass(frozen=True)
class ByDepth:
    """All layers of a model quantised at once: the gap of each layer in the order of the file, which contains those of
    the layers in front of it, and how it grows with depth (the rank correlation of :func:`growth`).
    """

    whole: Deployed
    growth: float | None


def by_depth(whole: Deployed) -> ByDepth:
    """The gaps of a model with all layers quantised, by depth."""
    return ByDepth(whole, growth([whole.gaps[number] for number in sorted(whole.gaps)]))


def beyond_rounding(alone: Sequence[Deployed]) -> list[tuple[str, int]]:
    """Compiler and layer of each gap that is more than rounding can be, of layers that were quantised alone."""
    return [(one.compiler, number) for one in alone for number, found in one.gaps.items() if found.found]
