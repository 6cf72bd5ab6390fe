"""What a model is taken apart into: its distinct layers, stacks and blocks, before any of them is a file."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from bench_plugin.characterise.facts import Facts, Node
from bench_plugin.characterise.levels import signature, stacks
from bench_plugin.characterise.levels.partition import Unit, units
from bench_plugin.characterise.needs import needs

LAYER = "layer"


@dataclass(frozen=True)
class Piece:
    """A layer, or a stack of layers, that occurs ``occurrences`` times, each named there after its first node.

    ``group`` is ``layer``, ``stack of 2``, ``stack of 4`` or ``block``. ``layers`` are the places, in the list of
    distinct layers, of those that a stack is made of; of a layer its own. ``nodes`` are the first outputs of all nodes
    of its file, ``outputs`` the tensors that it gives. Operations are of one sample, a multiply-add is two. A block
    that is the same layers as a stack is measured once: ``twin`` is the place of that stack among all pieces.
    """

    group: str
    name: str
    kind: str
    signature: str
    operators: tuple[str, ...]
    occurrences: tuple[str, ...]
    layers: tuple[int, ...]
    nodes: tuple[str, ...]
    outputs: tuple[str, ...]
    operations: int
    other_operations: int
    weights: int
    why_not: str = ""
    twin: int | None = None


def pieces(facts: Facts) -> list[Piece]:
    """The distinct layers of a model in the order of its graph, and behind them its distinct stacks and blocks."""
    every = units(facts)
    places: dict[Hashable, int] = {}
    of_unit: dict[str, int] = {}
    found: list[Piece] = []
    for unit in every:
        place = places.setdefault(signature.identity(unit, facts), len(found))
        of_unit[unit.key] = place
        if place == len(found):
            found.append(_layer(unit, facts, place))
        else:
            found[place] = _again(found[place], unit.name)
    stacked = _stacks(every, facts, of_unit)
    twins: dict[tuple[int, ...], int] = {}
    for place, piece in enumerate(stacked, len(found)):
        twin = twins.setdefault(piece.layers, place)
        found.append(piece if twin == place else replace(piece, twin=twin))
    return found


def _stacks(every: Sequence[Unit], facts: Facts, of_unit: dict[str, int]) -> list[Piece]:
    known: dict[Hashable, Piece] = {}
    for stack in (*stacks.stacks(every, facts), *stacks.blocks(every)):
        layers = tuple(of_unit[unit.key] for unit in stack.units)
        same = (stack.kind, layers)
        known[same] = _again(known[same], stack.name) if same in known else _stack(stack, every, facts, layers)
    return list(known.values())


def _again(piece: Piece, name: str) -> Piece:
    return replace(piece, occurrences=(*piece.occurrences, name))


def _layer(unit: Unit, facts: Facts, place: int) -> Piece:
    counted = needs(replace(facts, nodes=unit.nodes))
    return Piece(
        LAYER, unit.name, signature.kind(unit, facts), signature.text(unit, facts), unit.operators, (unit.name,),
        (place,), _named((*unit.carried, *unit.nodes)), unit.outputs, counted.operations, counted.other_operations,
        counted.weights, unit.why_not,
    )  # fmt: skip


def _stack(stack: stacks.Stack, every: Sequence[Unit], facts: Facts, layers: tuple[int, ...]) -> Piece:
    nodes = tuple(node for unit in stack.units for node in (*unit.carried, *unit.nodes))
    own = tuple(node for unit in stack.units for node in unit.nodes)
    counted = needs(replace(facts, nodes=own))
    text = "; ".join(signature.text(unit, facts) for unit in stack.units)
    return Piece(
        stack.kind, stack.name, stack.kind, text, tuple(node.operator for node in own), (stack.name,), layers,
        _named(nodes), stacks.outputs(stack, facts, every), counted.operations, counted.other_operations,
        counted.weights,
    )  # fmt: skip


def _named(nodes: Sequence[Node]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(node.outputs[0] for node in nodes))
