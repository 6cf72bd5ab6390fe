"""Level 2: layers that follow each other as one file, stacks of two and of four, and the named blocks of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench_plugin.characterise.facts import Facts
from bench_plugin.characterise.levels.partition import Unit

LENGTHS = (2, 4)
BLOCK = "block"


@dataclass(frozen=True)
class Stack:
    """Layers as one file. ``kind`` is ``stack of 2``, ``stack of 4`` or ``block``; ``name`` says which it is."""

    name: str
    kind: str
    units: tuple[Unit, ...]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The tensors that it takes from other layers."""
        own = {name for unit in self.units for node in unit.nodes for name in node.outputs}
        return tuple(dict.fromkeys(name for unit in self.units for name in unit.inputs if name not in own))


def outputs(stack: Stack, facts: Facts, every: Sequence[Unit]) -> tuple[str, ...]:
    """The tensors of a stack that the user or layers outside of it read; ``every`` has all layers of the graph."""
    members = {unit.key for unit in stack.units}
    read = {name for unit in every if unit.key not in members for name in unit.inputs} | set(facts.outputs)
    return tuple(name for unit in stack.units for name in unit.outputs if name in read)


def stacks(every: Sequence[Unit], facts: Facts) -> list[Stack]:
    """Stacks of two and of four layers, of which each but the last is read by the next one alone.

    A chain of layers is divided without overlap, so that the stacks of one length hold every layer at most once; what
    is left at its end is in none.
    """
    found = []
    for length in LENGTHS:
        for chain in chains(every, facts):
            for start in range(0, len(chain) - length + 1, length):
                members = tuple(chain[start : start + length])
                found.append(Stack(f"{members[0].name} to {members[-1].name}", f"stack of {length}", members))
    return found


def chains(every: Sequence[Unit], facts: Facts) -> list[list[Unit]]:
    """The layers divided into chains: each but the last of a chain has one output, which the next one alone reads.

    A layer that joins two branches continues the longer one.
    """
    readers: dict[str, list[int]] = {}
    for place, unit in enumerate(every):
        for name in unit.inputs:
            readers.setdefault(name, []).append(place)
    before: dict[int, int] = {}
    length = [1] * len(every)
    for place, unit in enumerate(every):
        if len(unit.outputs) != 1 or unit.why_not or unit.outputs[0] in facts.outputs:
            continue
        following = readers.get(unit.outputs[0], [])
        if len(following) != 1 or every[following[0]].why_not:
            continue
        [other] = following
        if other not in before or length[before[other]] < length[place]:
            before[other], length[other] = place, length[place] + 1
    after = {place: other for other, place in before.items()}
    found = []
    for first in (place for place in range(len(every)) if place not in before):
        chain, place = [], first
        while True:
            chain.append(every[place])
            if place not in after:
                break
            place = after[place]
        found.append(chain)
    return found


def blocks(every: Sequence[Unit]) -> list[Stack]:
    """The named blocks of a model: the innermost modules that hold several layers, such as ``layer1.0`` of ResNet50.

    Their layers follow each other in the order of the graph without another one between. A module that holds more than
    half of all layers is the model and no block.
    """
    named: dict[tuple[str, ...], list[int]] = {}
    for place, unit in enumerate(every):
        for depth in range(1, len(unit.scope) + 1):
            named.setdefault(unit.scope[:depth], []).append(place)
    several = [scope for scope, places in named.items() if len(places) > 1]
    innermost = [one for one in several if not any(len(other) > len(one) and other[: len(one)] == one
                                                   for other in several)]  # fmt: skip
    found = []
    for scope in innermost:
        places = named[scope]
        together = places == list(range(places[0], places[-1] + 1))
        members = tuple(every[place] for place in places)
        if together and len(places) <= len(every) / 2 and not any(unit.why_not for unit in members):
            found.append(Stack(scope[-1], BLOCK, members))
    return found
