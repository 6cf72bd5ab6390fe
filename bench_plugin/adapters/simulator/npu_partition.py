"""Which nodes of a quantised graph the simulated accelerator computes, as which instructions, and why not the others.

A layer of the accelerator is what stands between two quantisations: it takes integers and writes integers. Everything
else is computed by the CPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "npu_partition",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Partitions of the simulated accelerator",
    "distribution": "onnx",
    "operations": [],
}

NPU, HOST = "npu", "cpu"
ACTIVATIONS = ("Relu", "Clip")
# Instruction by operator; a move changes the places of elements alone.
KINDS = {
    "Conv": "convolution", "Gemm": "product", "MatMul": "product", "Add": "add", "Mul": "multiply",
    "MaxPool": "maximum", "AveragePool": "average", "GlobalAveragePool": "average", "Flatten": "move",
    "Reshape": "move", "Transpose": "move", "Concat": "join", "Relu": "activation", "Clip": "activation",
}  # fmt: skip
WEIGHTED = ("convolution", "product")
QUANTISATION = {
    "QuantizeLinear": "quantisation of floating point runs on the CPU",
    "DequantizeLinear": "dequantisation to floating point runs on the CPU",
}
NORMALISED = "BatchNormalization between convolution and activation breaks the pipeline"


class Adapter:
    """Remembers nothing; the adapter that uses this file takes its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx")

    def reset(self) -> None:
        """Nothing to forget."""


@dataclass(frozen=True)
class Step:
    """One instruction of the accelerator, or one node of the CPU.

    ``nodes`` are places in the graph: the operator, then its activation functions, then the quantisation. ``inputs``
    and ``outputs`` are tensors: integers of a layer, those of the node on the CPU. ``kind`` is empty for a node that
    the CPU computes in floating point, and ``reason`` says why the CPU computes it.
    """

    nodes: Sequence[int]
    operators: Sequence[str]
    inputs: Sequence[str]
    outputs: Sequence[str]
    kind: str = ""
    place: str = NPU
    reason: str = ""

    def plain(self) -> dict[str, Any]:
        """For JSON; ``Step(**plain)`` is the inverse."""
        return asdict(self)


@dataclass
class Graph:
    """A graph with what is looked up in it: ``constants`` as arrays by name, ``makers`` and ``users`` as places."""

    nodes: Sequence[Any]
    constants: dict[str, Any]
    outputs: Sequence[str]
    makers: dict[str, int] = field(default_factory=dict)
    users: dict[str, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Look up who makes and who uses each tensor."""
        for place, node in enumerate(self.nodes):
            self.makers.update({name: place for name in node.output if name})
            for name in node.input:
                self.users.setdefault(name, []).append(place)

    def maker(self, name: str) -> Any:
        """The node that makes a tensor; None for inputs of the graph and constants."""
        place = self.makers.get(name)
        return None if place is None else self.nodes[place]


def graph_of(onnx: Any, model: Any) -> Graph:
    """The graph of a model, with its constants as arrays."""
    constants = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    return Graph(list(model.graph.node), constants, [value.name for value in model.graph.output])


def planned(graph: Graph, depthwise_on_cpu: bool) -> list[Step]:
    """The steps in the order of the file, without those that nothing needs."""
    layers = {step.nodes[-1]: step for place in range(len(graph.nodes)) if (step := _layer(graph, place))}
    inside = {place for step in layers.values() for place in step.nodes}
    found = []
    for place, node in enumerate(graph.nodes):
        if place in layers:
            found.append(_on_cpu(layers[place], graph) if depthwise_on_cpu else layers[place])
        elif place not in inside:
            found.append(Step([place], [node.op_type], [name for name in node.input if name], list(node.output),
                              place=HOST, reason=_why(graph, place)))  # fmt: skip
    return _needed(found, graph.outputs)


def attributes(onnx: Any, node: Any) -> dict[str, Any]:
    """The attributes of a node by name."""
    return {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}


def weights_of(graph: Graph, step: Step) -> Any:
    """The integer weights of a convolution or a product."""
    node = graph.nodes[step.nodes[0]]
    return graph.constants[graph.maker(node.input[1]).input[0]]


def is_depthwise(graph: Graph, step: Step) -> bool:
    """Whether each filter of a convolution sees one channel."""
    if step.operators[0] != "Conv":
        return False
    groups = next((one.i for one in graph.nodes[step.nodes[0]].attribute if one.name == "group"), 1)
    return groups > 1 and weights_of(graph, step).shape[1] == 1


def _layer(graph: Graph, place: int) -> Step | None:
    """The layer that ends at a quantisation; None where there is none."""
    end = graph.nodes[place]
    if end.op_type != "QuantizeLinear" or not _is_plain(graph, end):
        return None
    chain = [place]
    core = graph.makers.get(end.input[0])
    while core is not None and len(graph.users[graph.nodes[core].output[0]]) == 1:
        node = graph.nodes[core]
        behind = graph.maker(node.input[0])
        follows = node.op_type in ACTIVATIONS and behind is not None and behind.op_type in KINDS
        if not follows or behind.op_type in ACTIVATIONS:
            break
        chain.insert(0, core)
        core = graph.makers[node.input[0]]
    if core is None or not _takes(graph, core):
        return None
    chain.insert(0, core)
    if any(not _is_alone(graph, one) for one in chain[:-1]):
        return None
    node = graph.nodes[core]
    given = [graph.maker(name).input[0] for name in _activations(graph, node)]
    operators = [graph.nodes[one].op_type for one in chain]
    return Step(chain, operators, given, [end.output[0]], KINDS[node.op_type])


def _is_alone(graph: Graph, place: int) -> bool:
    """Whether one node alone uses what this one makes, and no output shows it."""
    made = graph.nodes[place].output[0]
    return len(graph.users.get(made, ())) == 1 and made not in graph.outputs


def _takes(graph: Graph, place: int) -> bool:
    """Whether an instruction computes the node: integers of one scale as inputs, weights and bias as constants."""
    node = graph.nodes[place]
    if node.op_type not in KINDS or len(node.output) != 1:
        return False
    given = _activations(graph, node)
    if any(not _is_integer(graph, name) for name in given):
        return False
    if KINDS[node.op_type] in WEIGHTED:
        return _has_weights(graph, node)
    if node.op_type in ("Add", "Mul") and len(given) != 2:
        return False
    return _is_simple(graph, node)


def _activations(graph: Graph, node: Any) -> list[str]:
    """The inputs of a node that are values, not its weights, its bias or its parameters."""
    every = node.op_type in ("Add", "Mul", "Concat")
    return [name for name in (node.input if every else node.input[:1]) if name]


def _is_integer(graph: Graph, name: str) -> bool:
    """Whether a tensor is the dequantisation of integers that are computed, by one scale."""
    maker = graph.maker(name)
    return (
        maker is not None and maker.op_type == "DequantizeLinear" and maker.input[0] not in graph.constants
        and _is_plain(graph, maker)
    )  # fmt: skip


def _is_plain(graph: Graph, node: Any) -> bool:
    """Whether a quantisation has one constant scale and integers of 8 bits."""
    scale = graph.constants.get(node.input[1])
    zero = graph.constants.get(node.input[2]) if len(node.input) > 2 else None
    return scale is not None and scale.size == 1 and zero is not None and zero.dtype.name in ("int8", "uint8")


def _has_weights(graph: Graph, node: Any) -> bool:
    """Whether weights, and the bias where there is one, are dequantised constants that an instruction can take."""
    for name, kinds in zip(node.input[1:], (("int8", "uint8"), ("int32",))):
        maker = graph.maker(name)
        if maker is None or maker.op_type != "DequantizeLinear":
            return False
        values, scale = graph.constants.get(maker.input[0]), graph.constants.get(maker.input[1])
        if values is None or scale is None or values.dtype.name not in kinds:
            return False
    rank = graph.constants[graph.maker(node.input[1]).input[0]].ndim
    said = {one.name: one for one in node.attribute}
    if node.op_type == "Conv":
        return bool(rank == 4)
    scaled = any(name in said and said[name].f != 1.0 for name in ("alpha", "beta"))
    return bool(rank == 2 and not scaled and not ("transA" in said and said["transA"].i))


def _is_simple(graph: Graph, node: Any) -> bool:
    """Whether the attributes and parameters of a node without weights are those that its instruction has."""
    said = {one.name: one for one in node.attribute}
    if node.op_type in ("MaxPool", "AveragePool"):
        spread = "dilations" in said and any(one != 1 for one in said["dilations"].ints)
        return not spread and not ("ceil_mode" in said and said["ceil_mode"].i) and len(said["kernel_shape"].ints) == 2
    return all(name in graph.constants for name in node.input[1:] if name) or node.op_type in ("Add", "Mul", "Concat")


def _why(graph: Graph, place: int) -> str:
    """Why the CPU computes a node."""
    node = graph.nodes[place]
    if node.op_type in QUANTISATION:
        return QUANTISATION[node.op_type]
    if node.op_type == "BatchNormalization":
        return NORMALISED
    users = [graph.nodes[one] for one in graph.users.get(node.output[0], ())]
    if node.op_type == "Conv" and any(user.op_type == "BatchNormalization" for user in users):
        return NORMALISED
    if node.op_type not in KINDS:
        return "there is no instruction for %s" % node.op_type
    if not all(_is_integer(graph, name) for name in _activations(graph, node)):
        return "its input is no integer of one scale"
    if not any(user.op_type == "QuantizeLinear" for user in users):
        return "its result is not quantised"
    return "there is no instruction for this form of %s" % node.op_type


def _on_cpu(step: Step, graph: Graph) -> Step:
    """A depthwise convolution as a step of the CPU, which computes the same integers; others as they are."""
    if not is_depthwise(graph, step):
        return step
    reason = "depthwise convolutions run on the CPU"
    return Step(step.nodes, step.operators, step.inputs, step.outputs, step.kind, HOST, reason)


def _needed(steps: Sequence[Step], outputs: Sequence[str]) -> list[Step]:
    """The steps that an output needs: a dequantisation that only layers read is a part of these."""
    needed, kept = set(outputs), []
    for step in reversed(steps):
        if needed.intersection(step.outputs):
            needed.update(step.inputs)
            kept.append(step)
    return kept[::-1]
