"""What a mutation leaves out of an ONNX graph: residual blocks, branches beside each other or of an If, and inputs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from bench_plugin.adapters.onnx_tools.mutation.onnx_editing import FLOATS, Graph, Mutated, restored, site_of
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_branches",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Branches of ONNX graphs",
    "distribution": "onnx",
    "operations": [],
    "uses": ["onnx_editing"],
}

PLACES = 8  # branches of a model that are left out, one after another
SUMS = ("Add", "Sum")
JOINS = (*SUMS, "Concat")
# What makes a function of single elements of its own input of a sum, such as a GELU that is written out, perhaps in
# another layout: no block that a tool leaves out.
POINTWISE = frozenset(
    ("Abs", "Add", "Cast", "Clip", "Constant", "Div", "Erf", "Exp", "HardSigmoid", "Identity", "Log", "Max", "Min",
     "Mul", "Neg", "Pow", "Reciprocal", "Relu", "Sigmoid", "Softplus", "Sqrt", "Sub", "Tanh",
     "Flatten", "Reshape", "Squeeze", "Transpose", "Unsqueeze")
)  # fmt: skip
OTHER = {"then_branch": "else_branch", "else_branch": "then_branch"}  # the other branch of an If
MEASURES = ("Shape", "Size")  # they read no values
SHAPES = {"Reshape": 1, "Expand": 1, "ConstantOfShape": 0}  # from which of their inputs on these read a shape

Makers = dict[str, Any]  # the node that makes a tensor, by the tensor's name


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx")

    def reset(self) -> None:
        """Nothing to forget."""


def residual_zeroed(graph: Graph, turn: int) -> Mutated:
    """A residual block left out: what is added to the sum that it began with is taken away."""
    chosen = _place(_residual_blocks(graph), turn)
    if chosen is None:
        return None
    node, skip = chosen
    before = node.SerializeToString()
    site, output = site_of(node), node.output[0]
    node.CopyFrom(graph.onnx.helper.make_node("Identity", [skip], [output], name=node.name))
    return site, lambda: restored(node, before)


def parallel_zeroed(graph: Graph, turn: int) -> Mutated:
    """A branch left out that is added to another one, or joined with it: zeros take its place.

    A block whose shortcut has a layer of its own (a projection) is two such branches: none comes from the other.
    """
    chosen = _place(_parallel_branches(graph), turn)
    if chosen is None:
        return None
    joined, index = chosen
    output, branch, site = joined.output[0], joined.input[index], f"{site_of(joined)}, input {index}"
    zeros = f"{output}_zeros"

    def rewire(nodes: list[Any]) -> list[Any]:
        found = []
        for node in nodes:
            if output in node.output:
                # The difference of a tensor with itself is zero in the tensor's own shape and type.
                found.append(graph.onnx.helper.make_node("Sub", [branch, branch], [zeros]))
                node.input[index] = zeros
            found.append(node)
        return found

    return site, graph.rewired(rewire)


def if_decided(graph: Graph, turn: int) -> Mutated:
    """An If that takes one of its branches whatever its condition says: a copy of it stands in place of the other one.

    A branch that no input takes is replaced without an effect, and so is named as not exercised.
    """
    chosen = _place([(node, side) for node in _ifs(graph.model.graph) for side in OTHER], turn)
    if chosen is None:
        return None
    node, replaced = chosen
    kept = graph.value(node, OTHER[replaced], None)
    return f"{site_of(node)}, {replaced}", graph.attribute(node, replaced, kept)


def inputs_that_count(graph: Graph) -> list[str]:
    """The inputs of the graph on whose values one of its outputs depends, also through a body; weights may be some.

    An input that nothing reads but as the shape of a result does not count.
    """
    makers, given = _makers(graph), [value.name for value in graph.model.graph.input]
    counting = {name for node in graph.model.graph.node for name in _reads(node) - _shapes(node)}
    ends = [value.name for value in graph.model.graph.output]
    needed = set().union(*(_ancestors(makers, name) for name in ends)) & counting.union(ends)
    return [name for name in given if name in needed]


def _ifs(graph: Any) -> Iterator[Any]:
    """The If nodes of a graph and of the bodies in it, such as that of a Loop."""
    for node in graph.node:
        if node.op_type == "If":
            yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _ifs(attribute.g)


def _place(found: list[Any], turn: int) -> Any | None:
    """One of up to ``PLACES`` that lie evenly over all that were found; None where ``turn`` is beyond them."""
    count = min(len(found), PLACES)
    return found[turn * len(found) // count] if turn < count else None


def _residual_blocks(graph: Graph) -> list[tuple[Any, str]]:
    """The sums of a tensor and of what layers made from it, with that tensor's name."""
    makers = _makers(graph)
    pairs = [(node, _shortcut(makers, node)) for node in graph.nodes(*SUMS) if not _has_weight(graph, node)]
    return [(node, skip) for node, skip in pairs if skip and _holds_a_layer(graph, makers, node, skip)]


def _holds_a_layer(graph: Graph, makers: Makers, joined: Any, skip: str) -> bool:
    """Whether anything between a tensor and a sum is more than a function of single elements."""
    waiting, seen = [name for name in joined.input if name != skip], {skip}
    while waiting:
        name = waiting.pop()
        seen.add(name)
        weight = graph.weights.get(name)
        if weight is not None and weight.data_type in FLOATS and math.prod(weight.dims) > 1:
            return True
        node = makers.get(name)
        if node is not None and node.op_type not in POINTWISE:
            return True
        waiting += (_reads(node) - _shapes(node) if node is not None else set()) - seen
    return False


def _parallel_branches(graph: Graph) -> list[tuple[Any, int]]:
    """The inputs of sums and of Concat that are made from the graph's inputs, and none from another; of float types."""
    makers, types = _makers(graph), graph.types()
    made = _made_of_inputs(graph)
    found = []
    for node in graph.nodes(*JOINS):
        live = [index for index, name in enumerate(node.input) if types.get(name) in FLOATS and name in made]
        if len(live) < 2 or (node.op_type in SUMS and _shortcut(makers, node)):
            continue
        found += [(node, index) for index in live]
    return found


def _made_of_inputs(graph: Graph) -> set[str]:
    """The inputs of the graph that are no weights, and all tensors that are made from the values of one.

    A stored tensor that is cut or laid out by the shape of an input is none. Nodes are in order.
    """
    made = {value.name for value in graph.model.graph.input} - graph.weights.keys()
    for node in graph.model.graph.node:
        if node.op_type not in MEASURES and not made.isdisjoint(_reads(node) - _shapes(node)):
            made.update(name for name in node.output if name)
    return made


def _has_weight(graph: Graph, node: Any) -> bool:
    return any(name in graph.weights for name in node.input)


def _shortcut(makers: Makers, node: Any) -> str:
    """The input of a sum of two that the other one is made from; empty where there is none."""
    if len(node.input) != 2:
        return ""
    first, second = node.input
    for skip, branch in ((first, second), (second, first)):
        if skip != branch and skip in _ancestors(makers, branch):
            return str(skip)
    return ""


def _makers(graph: Graph) -> Makers:
    return {name: node for node in graph.model.graph.node for name in node.output if name}


def _ancestors(makers: Makers, start: str) -> set[str]:
    """The tensors that a tensor is made from, and itself."""
    waiting, seen = [start], {start}
    while waiting:
        name = waiting.pop()
        fresh = (_reads(makers[name]) if name in makers else set()) - seen
        waiting += fresh
        seen |= fresh
    return seen


def _shapes(node: Any) -> set[str]:
    """The tensors that a node reads as the shape of its result alone."""
    slot = SHAPES.get(node.op_type, len(node.input))
    return {name for name in node.input[slot:] if name not in node.input[:slot]}


def _reads(node: Any) -> set[str]:
    """The tensors that a node reads, and those of the nodes in its bodies (of a Loop, a Scan or an If)."""
    found = {name for name in node.input if name}
    for attribute in node.attribute:
        for body in (attribute.g, *attribute.graphs):
            found = found.union(*map(_reads, body.node), {value.name for value in body.output})
    return found
