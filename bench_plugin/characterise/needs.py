"""What a model needs for one run: operations, weights and tensors of every layer, memory, and operational intensity."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bench_plugin.characterise.facts import Facts, Node, Tensor
from bench_plugin.characterise.rules.counts import KINDS, NOTHING, Counts, NotCounted, Seen
from bench_plugin.characterise.rules.registry import CONTROL, rule_of


@dataclass(frozen=True)
class Layer:
    """The needs of one node.

    ``operations`` and ``weights`` are those of a convolution or a fully connected layer without its bias;
    ``other_operations`` all others by kind. ``parameters`` are the elements of all its constants, ``tensors`` those of
    its outputs; ``weight_bytes`` are those of the constant that holds the weights. ``not_counted`` says why there is no
    figure; empty where there is.
    """

    name: str
    operator: str
    within: str
    operations: int
    weights: int
    other_operations: Mapping[str, int]
    parameters: int
    tensors: int
    shape: tuple[int | None, ...] | None
    weight_bytes: int = 0
    not_counted: str = ""


@dataclass(frozen=True)
class Memory:
    """Bytes: of all constants, of all tensors between layers, and of those that are alive at once, at most."""

    weights: int
    tensors: int
    alive: int


@dataclass(frozen=True)
class Needs:
    """The needs of a model at one batch. ``bits`` is what floating-point tensors are stored in; 0: as the file says.

    ``lower_bound`` says that something is not counted: ``not_counted`` names it with how often it occurs.
    """

    batch: int
    bits: int
    operations: int
    weights: int
    parameters: int
    other_operations: int
    by_kind: Mapping[str, int]
    memory: Memory
    lower_bound: bool
    not_counted: Mapping[str, int]
    layers: tuple[Layer, ...] = field(repr=False)


def needs(facts: Facts, *, batch: int = 1, bits: int = 0) -> Needs:
    """The needs of the graph ``facts``, whose symbols are bound at ``batch``."""
    layers = tuple(_layer(node, facts, bits) for node in facts.nodes if not _folded(node, facts))
    kinds = Counter[str]()
    for one in layers:
        kinds.update(one.other_operations)
    missing = Counter(f"{one.operator}: {one.not_counted}" for one in layers if one.not_counted)
    missing.update(f"{one.operator}: its body is counted once" for one in layers if one.operator in CONTROL)
    return Needs(
        batch=batch, bits=bits, operations=sum(one.operations for one in layers),
        weights=sum(one.weights for one in layers),
        parameters=sum(one.elements or 0 for one in _weights(facts)),
        other_operations=sum(kinds.values()), by_kind={kind: kinds[kind] for kind in KINDS if kinds[kind]},
        memory=memory(facts, bits), lower_bound=bool(missing), not_counted=dict(sorted(missing.items())), layers=layers,
    )  # fmt: skip


def memory(facts: Facts, bits: int = 0) -> Memory:
    """The memory of constants and tensors, with ``bits`` for each floating-point element; 0: as the file says.

    Alive at once are, while a node runs, its inputs and outputs and whatever a later node or the outputs need. Nothing
    is computed in place. Nodes of subgraphs are left out.
    """
    weights = sum(size(one, bits) for one in _weights(facts))
    nodes = [node for node in facts.nodes if not node.within and not _folded(node, facts)]
    last = {name: number for number, node in enumerate(nodes) for name in node.inputs}
    last |= {name: len(nodes) for name in facts.outputs}
    alive = {name: size(facts.tensor(name), bits) for name in facts.inputs}
    most, total = sum(alive.values()), sum(alive.values())
    for number, node in enumerate(nodes):
        made = {name: size(facts.tensor(name), bits) for name in node.outputs if name}
        total += sum(made.values())
        alive |= made
        most = max(most, sum(alive.values()))
        alive = {name: count for name, count in alive.items() if last.get(name, -1) > number}
    return Memory(weights, total, most)


def size(tensor: Tensor, bits: int = 0) -> int:
    """The bytes of a tensor, rounded up to a whole one; 0 where its shape or type is not known.

    >>> size(Tensor("float", (3, 3))), size(Tensor("float", (3, 3)), 4)
    (36, 5)
    """
    return math.ceil((tensor.elements or 0) * tensor.bits(bits) / 8)


def intensity(found: Needs) -> dict[str, float]:
    """Operations per byte of traffic, by what is assumed to lie off the chip, in the order of QuTiBench's table first.

    The published figure is that of weights alone, at batch 1; a batch of b needs b times the operations for the same
    weights.
    """
    weights = sum(one.weight_bytes for one in found.layers)
    traffic = {
        "weights off chip, activations on chip": weights,
        "everything off chip": weights + found.memory.tensors,
    }  # fmt: skip
    return {name: found.operations / count for name, count in traffic.items() if count}


def _layer(node: Node, facts: Facts, bits: int) -> Layer:
    counts, reason = _counted(node, facts)
    constants = [facts.tensor(name) for name in dict.fromkeys(node.inputs) if facts.tensor(name).constant]
    made = [facts.tensor(name) for name in node.outputs if name]
    stored = next((size(one, bits) for one in constants if counts.weights and one.elements == counts.weights), 0)
    return Layer(
        name=node.name, operator=node.operator, within=node.within, operations=counts.linear, weights=counts.weights,
        other_operations=dict(counts.others), parameters=sum(one.elements or 0 for one in constants),
        tensors=sum(one.elements or 0 for one in made), shape=made[0].shape if made else None, weight_bytes=stored,
        not_counted=reason,
    )  # fmt: skip


def _counted(node: Node, facts: Facts) -> tuple[Counts, str]:
    """What the rule of a node says; or why nothing can be said."""
    if node.operator in CONTROL and node.domain == "ai.onnx":
        return NOTHING, ""
    rule = rule_of(node.domain, node.operator)
    if rule is None:
        return NOTHING, "no rule" if node.domain == "ai.onnx" else f"an operator of domain {node.domain}"
    try:
        return rule(Seen(node, facts)), ""
    except NotCounted as error:
        return NOTHING, str(error)
    except (IndexError, ValueError) as error:  # a node that its own operator does not allow
        return NOTHING, f"its shapes contradict its operator: {error}"


def _folded(node: Node, facts: Facts) -> bool:
    """Whether a node depends on constants alone: it is computed once, when the model is loaded."""
    made = [name for name in node.outputs if name]
    return bool(made) and all(facts.tensor(name).constant for name in made)


def _weights(facts: Facts) -> Iterable[Tensor]:
    """The constants of the file itself; not what follows from them."""
    made = {name for node in facts.nodes for name in node.outputs}
    return (tensor for name, tensor in facts.tensors.items() if tensor.constant and name not in made)
