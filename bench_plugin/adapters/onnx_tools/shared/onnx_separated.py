"""Quantised graphs taken apart: the integers between the layers as outputs, and as inputs of every layer, too."""

from __future__ import annotations

import importlib
import math
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from bench_plugin.adapters.characterise.few_bits import low_bits
from bench_plugin.adapters.onnx_tools.shared import onnx_names, onnx_sizes
from bench_plugin.agent.toolkit import versions
from bench_plugin.agent.toolkit.rebuilding import NEAR_TIE, SMALL

ADAPTER = {
    "name": "onnx_separated",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Layers of QDQ graphs",
    "distribution": "onnx",
    "operations": [],
    "uses": ["low_bits", "onnx_names", "onnx_sizes"],
}

GIVEN = "_given"  # behind the name of an activation's integers, where they are an input


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx")

    def reset(self) -> None:
        """Nothing to forget."""


def bound(onnx: Any, model: Any, binding: Mapping[str, int]) -> Any:
    """Symbolic sizes of inputs, and of outputs that share them, as numbers; what else is declared is dropped.

    Sizes of activations that inference does not find are those of a run: a compiler takes names for dynamic sizes.
    """
    sizes = {dim.dim_param: 1 for value in model.graph.input for dim in value.type.tensor_type.shape.dim} | dict(
        binding
    )
    for value in (*model.graph.input, *model.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param in sizes and dim.dim_param:
                dim.dim_value = sizes[dim.dim_param]
            elif dim.dim_param:
                dim.Clear()
    del model.graph.value_info[:]
    onnx_sizes.declare(onnx, model, [node.output[0] for node in _activations(model.graph)])
    return model


def exposed(onnx: Any, given: Any, inside: Collection[str] = ()) -> tuple[Any, list[str]]:
    """A copy of the model with the integers of every activation but those ``inside`` as outputs, in front of its own.

    Those of fewer than eight bits are cast to eight, which every runtime can hand over, as <name>_wide.
    """
    model = onnx.ModelProto()
    model.CopyFrom(given)
    types = _typed(onnx, model)
    made = [node.output[0] for node in _activations(model.graph) if node.output[0] in {*types} - {*inside}]
    names = [name for name in made if types[name].type.tensor_type.shape.dim]  # a single number is no layer
    own = list(model.graph.output)
    del model.graph.output[:]
    model.graph.output.extend([_wide(onnx, model.graph, types[name]) for name in names])
    model.graph.output.extend([value for value in own if value.name not in names])
    return model, names


def separated(onnx: Any, model: Any, inside: Collection[str] = ()) -> Any:
    """All layers side by side in one graph, with the integers of activations but ``inside`` as inputs and as outputs.

    The nodes between two quantisations stay as they were, so that a tool fuses them as before.
    """
    apart, names = exposed(onnx, model, inside)
    given = dict(zip(names, apart.graph.output))
    types = _typed(onnx, model)
    del apart.graph.output[len(names) :]
    _read_instead(apart.graph, {name: name + GIVEN for name in names})
    for name in names:
        value = onnx.ValueInfoProto()
        value.CopyFrom(given[name])
        value.name = name + GIVEN
        apart.graph.input.append(value)
        if given[name].name != name:
            _narrowed(onnx, apart.graph, value.name, types[name].type.tensor_type.elem_type)
    used = {name for node in apart.graph.node for name in onnx_names.read_by(node)}
    kept = [value for value in apart.graph.input if value.name in used]
    del apart.graph.input[:]
    apart.graph.input.extend(kept)
    return _alive(apart)


def unrounded(onnx: Any, model: Any, inside: Mapping[str, bool] | None = None) -> Any:
    """Separated layers whose results are floating point: in steps, clamped to the integers' range, not rounded.

    Integers ``inside`` of them become floating point, too; they are rounded where the value is true.
    """
    inside = inside or {}
    declared = {value.name: value for value in model.graph.output}
    wide = {
        one.input[0]: one.output[0] for one in model.graph.node if one.op_type == "Cast" and one.output[0] in declared
    }
    types = _typed(onnx, model)
    known = {tensor.name: tensor for tensor in model.graph.initializer}
    nodes: list[Any] = []
    for node in model.graph.node:
        name = wide.get(node.output[0], node.output[0])
        if node.op_type == "Cast" and name in wide.values():
            continue
        if node.op_type == "QuantizeLinear" and name in declared:
            steps = _Steps(onnx, model.graph, node, known, declared[name].type.tensor_type)
            nodes += steps.clamped(node.input[0], name)
            declared[name].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
        elif node.op_type == "QuantizeLinear" and name in inside:
            steps = _Steps(onnx, model.graph, node, known, types[name].type.tensor_type)
            nodes += steps.clamped(node.input[0], name, rounds=inside[name])
        elif node.op_type == "DequantizeLinear" and node.input[0] in inside:
            nodes += _Steps(onnx, model.graph, node, known, types[node.input[0]].type.tensor_type).real(node.input[0])
        else:
            nodes.append(node)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    del model.graph.value_info[:]
    return model


class _Steps:
    """The arithmetic of a QuantizeLinear or DequantizeLinear in floating point; its constants go into the graph."""

    def __init__(self, onnx: Any, graph: Any, node: Any, known: Mapping[str, Any], declared: Any) -> None:
        to_array = onnx.numpy_helper.to_array
        self._onnx, self._graph, self._node = onnx, graph, node
        self._sizes = [dim.dim_value for dim in declared.shape.dim]
        zeros = to_array(known[node.input[2]]) if len(node.input) > 2 and node.input[2] else None
        kind = onnx.helper.tensor_dtype_to_np_dtype(declared.elem_type) if zeros is None else zeros.dtype
        self._low, self._high = low_bits.LIMITS[kind.name]
        shape = _along(node, len(self._sizes), known.get(node.input[1]))
        self._zero = 0 if zeros is None else zeros.reshape(shape if zeros.size > 1 else ())
        self._scale: Any = node.input[1]
        if self._scale in known:
            scales = to_array(known[self._scale])
            self._scale = scales.reshape(shape if scales.size > 1 else ())

    def clamped(self, value: str, name: str, *, rounds: bool = False) -> Iterator[Any]:
        """The nodes that make of the real ``value`` the steps ``name``, within the range of the integers."""
        yield self._made("Div", [value, self._constant(f"{name}_scale", self._scale)], f"{name}_real")
        yield self._made("Add", [f"{name}_real", self._constant(f"{name}_zero", self._zero)], f"{name}_steps")
        if rounds:
            yield from self._rounded(f"{name}_steps", name)
        last = f"{name}_rounded" if rounds else f"{name}_steps"
        yield self._made("Max", [last, self._constant(f"{name}_low", self._low)], f"{name}_above")
        yield self._made("Min", [f"{name}_above", self._constant(f"{name}_high", self._high)], name)

    def _rounded(self, steps: str, name: str) -> Iterator[Any]:
        """The nodes that round; where constants are perturbed each element is moved by up to 1.2e-4 steps before.

        So near to a tie float32 may go to either side. In large tensors all elements of a channel are moved alike.
        """
        small = math.prod(self._sizes) <= SMALL
        each = [size if axis < 2 or small else 1 for axis, size in enumerate(self._sizes)]
        large = self._constant(f"{name}_large", importlib.import_module("numpy").full(each, NEAR_TIE))
        yield self._made("Round", [large], f"{name}_whole")
        yield self._made("Sub", [large, f"{name}_whole"], f"{name}_tie")
        yield self._made("Add", [steps, f"{name}_tie"], f"{name}_moved")
        yield self._made("Round", [f"{name}_moved"], f"{name}_rounded")

    def real(self, steps: str) -> Iterator[Any]:
        """The nodes that make the real values of the node's output from ``steps``."""
        name = self._node.output[0]
        yield self._made("Sub", [steps, self._constant(f"{name}_zero", self._zero)], f"{name}_centred")
        yield self._made("Mul", [f"{name}_centred", self._constant(f"{name}_scale", self._scale)], name)

    def _made(self, kind: str, inputs: list[str], output: str) -> Any:
        return self._onnx.helper.make_node(kind, inputs, [output])

    def _constant(self, name: str, values: Any) -> str:
        """The name of a constant; a scale that is computed has its own."""
        if isinstance(values, str):
            return values
        array = importlib.import_module("numpy").asarray(values, "float32")
        self._graph.initializer.append(self._onnx.numpy_helper.from_array(array, name))
        return name


def _activations(graph: Any) -> list[Any]:
    """The QuantizeLinear nodes of what is computed (not of weights), in their order."""
    constant = {tensor.name for tensor in graph.initializer}
    return [node for node in graph.node if node.op_type == "QuantizeLinear" and node.input[0] not in constant]


def summands(graph: Any) -> dict[str, bool]:
    """The integers of activations that are added to others, and whether each is rounded by a tool that adds in place.

    Such a tool computes a convolution into the place of the other summand and leaves out the rounding of its result;
    of two convolutions that are added the later one is computed so. OpenVINO is one.
    """
    sums = _Sums(graph)
    return {node.output[0]: not sums.is_fused(node) for node in _activations(graph) if sums.of(node)}


def rounded_inside(model: Any, names: Collection[str], inside: Mapping[str, bool]) -> list[str]:
    """Of the results ``names`` of separated layers those that depend on a rounding ``inside`` of their layer."""
    changed = {name for name, rounds in inside.items() if rounds}
    for node in model.graph.node:
        if not changed.isdisjoint(onnx_names.read_by(node)):
            changed.update(node.output)
    return [name for name in names if name in changed]


class _Sums:
    """The sums of two tensors that depend on the inputs of a quantised graph, whose nodes are in order."""

    def __init__(self, graph: Any) -> None:
        self._readers: dict[str, list[Any]] = {}
        self._makers: dict[str, Any] = {}
        self._places: dict[str, int] = {}
        varying = {value.name for value in graph.input} - {tensor.name for tensor in graph.initializer}
        for place, node in enumerate(graph.node):
            for name in onnx_names.read_by(node):
                self._readers.setdefault(name, []).append(node)
            for name in node.output:
                self._makers[name], self._places[name] = node, place
            if not varying.isdisjoint(onnx_names.read_by(node)):
                varying.update(node.output)
        self._varying = varying

    def of(self, quantised: Any) -> list[Any]:
        """The sums that take what a QuantizeLinear gives."""
        real = [one.output[0] for one in self._reading(quantised.output[0], "DequantizeLinear")]
        return [
            one for name in real for one in self._reading(name, "Add")
            if self._varying.issuperset(one.input) and len({*one.input}) == 2
        ]  # fmt: skip

    def is_fused(self, quantised: Any) -> bool:
        """Whether a QuantizeLinear lies between a convolution and the sum that is computed with it."""
        if not self._is_convolution(quantised):
            return False
        [behind] = self.of(quantised)
        for name in behind.input:
            integers = self._makers[name].input[0] if self._made_by(name, "DequantizeLinear") else ""
            if integers == quantised.output[0] or not self._made_by(integers, "QuantizeLinear"):
                continue
            if self._is_convolution(self._makers[integers]):
                return self._places[quantised.output[0]] > self._places[integers]
        return True

    def _is_convolution(self, node: Any) -> bool:
        """Whether a QuantizeLinear gives the result of a convolution to one sum alone."""
        readers = self._readers.get(node.output[0], [])
        alone = len(readers) == len(self.of(node)) == len(self._readers[readers[0].output[0]]) == 1
        return alone and self._made_by(node.input[0], "Conv")

    def _made_by(self, name: str, kind: str) -> bool:
        return name in self._makers and self._makers[name].op_type == kind

    def _reading(self, name: str, kind: str) -> list[Any]:
        return [node for node in self._readers.get(name, []) if node.op_type == kind]


def _typed(onnx: Any, model: Any) -> dict[str, Any]:
    """Value infos by name, shapes inferred."""
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    return {value.name: value for value in (*inferred.value_info, *inferred.input, *inferred.output)}


def _wide(onnx: Any, graph: Any, value: Any) -> Any:
    """The declaration of a tensor of integers; of fewer than eight bits, that of its Cast, which is added."""
    declared = value.type.tensor_type
    name = onnx.helper.tensor_dtype_to_np_dtype(declared.elem_type).name
    if name not in low_bits.NARROW:
        return value
    wider = onnx.TensorProto.INT8 if name.startswith("int") else onnx.TensorProto.UINT8
    graph.node.append(onnx.helper.make_node("Cast", [value.name], [value.name + "_wide"], to=wider))
    sizes = [dim.dim_value for dim in declared.shape.dim]
    return onnx.helper.make_tensor_value_info(value.name + "_wide", wider, sizes)


def _narrowed(onnx: Any, graph: Any, name: str, kind: int) -> None:
    """Cast an input of eight bits to the narrower type that the nodes after it take."""
    _read_instead(graph, {name: name + "_narrow"})
    graph.node.insert(0, onnx.helper.make_node("Cast", [name], [name + "_narrow"], to=kind))


def _read_instead(graph: Any, names: Mapping[str, str]) -> None:
    """Let every node read the second name for the first, be it a DequantizeLinear or an operator of integers.

    Those that make an output read what they did.
    """
    outputs = {value.name for value in graph.output}
    for node in graph.node:
        if outputs & set(node.output) and node.op_type == "Cast":
            continue
        for place, name in enumerate(node.input):
            node.input[place] = names.get(name, name)


def _along(node: Any, rank: int, scale: Any) -> list[int]:
    """The shape with which parameters along the node's axis are broadcast over a tensor of this rank."""
    axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 1)
    return [-1 if scale is not None and place == axis % max(rank, 1) else 1 for place in range(rank)]


def _alive(model: Any) -> Any:
    """The model without nodes that no output needs."""
    needed = {value.name for value in model.graph.output}
    kept = []
    for node in reversed(model.graph.node):
        if any(name in needed for name in node.output):
            needed |= onnx_names.read_by(node)
            kept.append(node)
    del model.graph.node[:]
    model.graph.node.extend(reversed(kept))
    inputs = [value for value in model.graph.input if value.name in needed]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    return model
