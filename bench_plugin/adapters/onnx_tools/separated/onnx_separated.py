"""Graphs taken apart: what one layer gives another as outputs, and as inputs of every layer, too."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bench_plugin.adapters.characterise.few_bits import low_bits
from bench_plugin.adapters.onnx_tools.shared import onnx_names, onnx_sizes
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_separated",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Layers of QDQ graphs",
    "distribution": "onnx",
    "operations": [],
    "uses": ["low_bits", "onnx_names", "onnx_sizes"],
}

GIVEN = "_given"  # behind the name of a tensor between two layers, where it is an input
WIDE = "_wide"  # behind the name of narrow integers that are cast to eight bits
UNCHANGED = ("Cast", "Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze")  # in their values
FLOATS = (1, 11)  # ONNX's numbers for float32 and float64
DYNAMIC = "DynamicQuantizeLinear"


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
    onnx_sizes.declare(onnx, model, _between(model.graph))
    return model


def exposed(
    onnx: Any, given: Any, inside: Collection[str] = (), ends: Sequence[str] = ()
) -> tuple[Any, list[str]]:  # fmt: skip
    """A copy of the model with what lies between its layers as outputs, in front of its own, and the names of these.

    That are the integers of every activation but those ``inside``. Those of fewer than eight bits are cast to eight,
    which every runtime can hand over, as <name>_wide. Of activations that are quantised as the model runs it is also
    what was quantised, and the scale and the zero point. Outputs that are computed in floating point end a layer, too.
    Of a file in floating point it is what ends a layer by ``ends``.
    """
    model = onnx.ModelProto()
    model.CopyFrom(given)
    types = typed(onnx, model)
    own = list(model.graph.output)
    dynamic = any(node.op_type == DYNAMIC for node in model.graph.node)
    made = [name for name in _between(model.graph) if name in types and name not in inside]
    names = [name for name in made if dynamic or types[name].type.tensor_type.shape.dim]  # no layer is a single number
    names += [name for name in _computed(model.graph) if name not in names]
    names = [name for name in ends if name in types] or names
    del model.graph.output[:]
    model.graph.output.extend([_wide(onnx, model.graph, types[name]) for name in names])
    model.graph.output.extend([value for value in own if value.name not in names])
    return model, names


def separated(onnx: Any, model: Any, inside: Collection[str] = (), ends: Sequence[str] = ()) -> Any:
    """All layers side by side in one graph, with what lies between them but ``inside`` as inputs and as outputs.

    Of a file in floating point they end at ``ends``.

    The nodes between two quantisations stay as they were, so that a tool fuses them as before.
    """
    apart, names = exposed(onnx, model, inside, ends)
    given = dict(zip(names, apart.graph.output))
    types = typed(onnx, model)
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


def activations(graph: Any) -> list[Any]:
    """The QuantizeLinear nodes of what is computed (not of weights), in their order."""
    constant = {tensor.name for tensor in graph.initializer}
    return [node for node in graph.node if node.op_type == "QuantizeLinear" and node.input[0] not in constant]


def _between(graph: Any) -> list[str]:
    """The tensors between two layers: what QuantizeLinear gives, and what DynamicQuantizeLinear takes and gives."""
    made = {name for node in graph.node for name in node.output}
    quantised = {node.output[0] for node in activations(graph)}
    found: dict[str, None] = {}
    for node in graph.node:
        names = [node.input[0], *node.output] if node.op_type == DYNAMIC else quantised.intersection(node.output)
        found.update(dict.fromkeys(name for name in names if name in made))
    return list(found)


def _computed(graph: Any) -> list[str]:
    """The outputs in floating point that are more than the real values of integers."""
    makers = {name: node for node in graph.node for name in node.output}
    found = []
    for value in graph.output:
        maker = makers.get(value.name)
        while maker is not None and maker.op_type in UNCHANGED:
            maker = makers.get(maker.input[0])
        computed = maker is not None and maker.op_type not in ("QuantizeLinear", "DequantizeLinear")
        if computed and value.type.tensor_type.elem_type in FLOATS:
            found.append(value.name)
    return found


def typed(onnx: Any, model: Any) -> dict[str, Any]:
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
    graph.node.append(onnx.helper.make_node("Cast", [value.name], [value.name + WIDE], to=wider))
    sizes = [dim.dim_value for dim in declared.shape.dim]
    return onnx.helper.make_tensor_value_info(value.name + WIDE, wider, sizes)


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
