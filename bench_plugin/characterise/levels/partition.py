"""The layers of a model: every node that computes something belongs to exactly one, the smallest unit that tools fuse.

A convolution or a fully connected layer takes with it the bias, the BatchNormalization and the activation behind it,
because a compiler computes them in one kernel: timed apart they would cost what the model never pays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from bench_plugin.characterise.facts import Facts, Node

CONTRACTIONS = (
    "Conv", "ConvTranspose", "Gemm", "MatMul", "ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul",
)  # fmt: skip
ACTIVATIONS = (
    "Relu", "Clip", "LeakyRelu", "PRelu", "Elu", "Selu", "Celu", "Sigmoid", "HardSigmoid", "HardSwish", "Tanh", "Gelu",
    "Softplus", "Mish", "ThresholdedRelu",
)  # fmt: skip
ACTIVATED = (*CONTRACTIONS, "BatchNormalization", "Add")  # what an activation is computed together with
SHAPES = ("Shape", "Size")  # what follows from these alone depends on the sizes of the inputs, not on their values
RANDOM = ("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli")
CONTROL = ("If", "Loop", "Scan")
BIAS, NORMALISED, ACTIVE, QUANTISED = 1, 2, 3, 4  # how far a layer is computed, in this order
CARRIED = "DequantizeLinear"  # belongs to each layer that reads its result, as in the kernels of quantised models
COMBINING = ("Add", "Mul", "Concat", *ACTIVATIONS)

Scope = tuple[str, ...]


@dataclass(frozen=True)
class Unit:
    """A layer: its nodes in the order of the graph.

    ``carried`` are nodes that it needs and that are no layers: what follows from constants or from shapes, and
    dequantisations. ``inputs`` are the tensors that it takes from other layers, ``outputs`` those that others or the
    user read. ``why_not`` says why it cannot be a file of its own; empty where it can.
    """

    name: str
    nodes: tuple[Node, ...]
    carried: tuple[Node, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    scope: Scope = ()
    why_not: str = ""

    @property
    def key(self) -> str:
        """What no other layer has: the first output of its first node."""
        return self.nodes[0].outputs[0]

    @property
    def operators(self) -> tuple[str, ...]:
        """The operators of its nodes, in their order."""
        return tuple(node.operator for node in self.nodes)


def units(facts: Facts) -> tuple[Unit, ...]:
    """The layers of the graph in its order, of which each node that depends on the inputs' values is in one."""
    return _Partition(facts).units()


class _Partition:
    """The graph with what its nodes read and write."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._nodes = [node for node in facts.nodes if not node.within]
        self._varying = _varying(facts, self._nodes)
        self._makers = {name: node for node in self._nodes for name in node.outputs if name}
        self._carried = {
            node.outputs[0] for node in self._nodes
            if node.outputs and (node.operator == CARRIED or not self._computes(node))
        }  # fmt: skip
        self._layers = [node for node in self._nodes if node.outputs and node.outputs[0] not in self._carried]
        self._readers: dict[str, list[Node]] = {}
        for node in self._layers:
            for name in self._taken(node):
                self._readers.setdefault(name, []).append(node)

    def units(self) -> tuple[Unit, ...]:
        """The layers, each named after its first node, and by the scopes that the nodes' names say."""
        groups: list[list[Node]] = []
        of_output: dict[str, list[Node]] = {}
        for node in self._layers:
            group = self._joined(node, of_output)
            if group is None:
                groups.append(group := [])
            group.append(node)
            of_output.update(dict.fromkeys(node.outputs, group))
        scopes = _scopes(groups, self._facts)
        return tuple(self._unit(group, scope) for group, scope in zip(groups, scopes, strict=True))

    def _computes(self, node: Node) -> bool:
        return node.operator in CONTROL or any(name in self._varying for name in node.outputs)

    def _taken(self, node: Node) -> list[str]:
        """The tensors of other layers that a node takes, also through nodes that are carried with it."""
        found: dict[str, None] = {}
        waiting = list(reversed([name for name in node.inputs if name]))
        while waiting:
            name = waiting.pop()
            maker = self._makers.get(name)
            if maker is not None and maker.outputs[0] in self._carried:
                waiting += reversed([one for one in maker.inputs if one])
            elif maker is not None or name in self._facts.inputs:
                found[name] = None
        return list(found)

    def _joined(self, node: Node, of_output: Mapping[str, list[Node]]) -> list[Node] | None:
        """The layer that a node is computed together with; None where it begins one of its own."""
        stage = _stage(node)
        varying = [name for name in node.inputs if name in self._varying]
        if not stage or len(varying) != 1 or varying[0] not in of_output:
            return None
        [name] = varying
        group = of_output[name]
        alone = self._readers.get(name) == [node] and name not in self._facts.outputs
        if not alone or name != group[-1].outputs[0] or len(_written(group[-1])) != 1:
            return None
        reached = max(_stage(one) if place else 0 for place, one in enumerate(group))
        base = group[0].operator
        allowed = {
            BIAS: base in CONTRACTIONS, NORMALISED: base in CONTRACTIONS, ACTIVE: base in ACTIVATED, QUANTISED: True,
        }  # fmt: skip
        return group if stage > reached and allowed[stage] else None

    def _unit(self, group: Sequence[Node], scope: Scope) -> Unit:
        own = {name for node in group for name in node.outputs}
        taken = dict.fromkeys(name for node in group for name in self._taken(node) if name not in own)
        made = [name for node in group for name in _written(node) if self._read_elsewhere(name, group)]
        unit = Unit(
            name=group[0].name, nodes=tuple(group), carried=self._carried_by(group), inputs=tuple(taken),
            outputs=tuple(made or _written(group[-1])), scope=scope,
        )  # fmt: skip
        why_not = self._why_not(unit)
        return replace(unit, why_not=why_not) if why_not else unit

    def _read_elsewhere(self, name: str, group: Sequence[Node]) -> bool:
        return name in self._facts.outputs or any(
            all(reader is not one for one in group) for reader in self._readers.get(name, ())
        )

    def _carried_by(self, group: Iterable[Node]) -> tuple[Node, ...]:
        """The nodes that are carried with a layer, in the order of the graph."""
        needed: dict[str, None] = {}
        waiting = [name for node in group for name in node.inputs if name]
        while waiting:
            maker = self._makers.get(waiting.pop())
            if maker is not None and maker.outputs[0] in self._carried and maker.outputs[0] not in needed:
                needed[maker.outputs[0]] = None
                waiting += [name for name in maker.inputs if name]
        return tuple(node for node in self._nodes if node.outputs and node.outputs[0] in needed)

    def _why_not(self, unit: Unit) -> str:
        """Why a layer cannot be a file of its own; empty where it can."""
        control = next((node.operator for node in (*unit.nodes, *unit.carried) if node.operator in CONTROL), "")
        if control:
            return f"{control} reads tensors from outside through its subgraphs"
        for name in (*unit.inputs, *unit.outputs):
            if not self._facts.tensor(name).dtype:
                return f"nothing says which type of tensor {name} is"
            if self._facts.tensor(name).known is None:
                return f"the shape of {name} is not known before it runs"
        if not unit.inputs:
            return "it takes no tensor of another layer"
        return ""


def _varying(facts: Facts, nodes: Iterable[Node]) -> set[str]:
    """The tensors that depend on the values of the inputs."""
    found = set(facts.inputs)
    for node in nodes:
        if node.operator in SHAPES:
            continue
        if node.operator in RANDOM or node.operator in CONTROL or any(name in found for name in node.inputs):
            found.update(name for name in node.outputs if name)
    return found


def _stage(node: Node) -> int:
    """How far a layer is computed with this node behind its first one; 0 for what begins a layer."""
    if node.operator == "Add":
        return BIAS
    if node.operator == "BatchNormalization":
        return NORMALISED
    if node.operator in ACTIVATIONS:
        return ACTIVE
    return QUANTISED if node.operator == "QuantizeLinear" else 0


def _written(node: Node) -> list[str]:
    return [name for name in node.outputs if name]


def _scopes(groups: Sequence[Sequence[Node]], facts: Facts) -> list[Scope]:
    """The modules that each layer belongs to, from the outermost; empty where nothing says it.

    Exporters write ``/layer1/layer1.0/conv1/Conv`` as names of nodes. Where none is like that, a weight may be called
    ``layer1.0.conv1.weight``, and what only combines tensors, such as a sum, belongs to the layer before it.
    """
    if any("/" in group[0].name.strip("/") for group in groups):
        return [tuple(group[0].name.strip("/").split("/")[:-1]) for group in groups]
    found: list[Scope] = []
    for group in groups:
        scope = _of_weights(group, facts)
        if not scope and found and group[0].operator in COMBINING:
            scope = found[-1]
        found.append(scope)
    return found


def _of_weights(group: Sequence[Node], facts: Facts) -> Scope:
    for node in group:
        for name in node.inputs:
            if facts.tensor(name).constant and "." in name.strip("."):
                parts = name.split(".")[:-1]
                return tuple(".".join(parts[: count + 1]) for count in range(len(parts)))
    return ()
