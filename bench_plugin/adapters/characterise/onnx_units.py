"""Parts of a graph as files of their own, all of them in one call, and the file with the tensors that they take."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Optional, Tuple

from bench_plugin.adapters.onnx_tools import onnx_subgraphs
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.contract import Call, Segment
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_units",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Layers as ONNX files",
    "distribution": "onnx",
    "operations": ["cut"],
    "uses": ["onnx_subgraphs"],
    "errors": [{"package": "onnx"}],
}

BATCH = "batch"  # the symbol of the first dimension of what grows with the batch
SMALL = 1024  # the most elements of a weight that inference of shapes needs the values of

Shape = Tuple[int, ...]
Typed = Tuple[str, Optional[Shape]]


@dataclass(frozen=True, eq=False, repr=False)
class CutCall(Call):
    """Write parts of ``model.onnx`` as ``part0.onnx``, ``part1.onnx`` ..., and ``exposed.onnx``, the same file whose
    outputs are the tensors that the parts take.

    parts: of each part ``nodes``, the first outputs of its nodes, and ``outputs``, the tensors that it gives.
    binding: sizes of symbolic dimensions for one sample.
    """

    operation = "cut"

    parts: Tuple[Mapping[str, Any], ...]
    binding: Mapping[str, int]


CALLS = {"cut": CutCall}


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""

    def cut(self, call: CutCall) -> Reply:
        """``part<n>.onnx`` for each part that can be cut; ``parts`` of the reply say what it takes, or why it cannot.

        A tensor whose first dimension grows with the batch, and no other, has the symbol ``batch`` there, also where
        the file fixes a batch of 1. All others are as they are for one sample. Raises KeyError for a tensor that no
        node makes.
        """
        call.stage("build")
        onnx = importlib.import_module("onnx")
        model = onnx.load(call.files["model.onnx"])
        if model.functions:
            model = importlib.import_module("onnx.inliner").inline_local_functions(model)
        types = _types(onnx, model, call.binding)
        del model.graph.value_info[:]  # what the file says may be true of other sizes only
        for value in _ports(model.graph):
            if (types[value.name][1] or ("",))[0] == BATCH:
                value.type.tensor_type.shape.dim[0].dim_param = BATCH
        files: dict[str, str] = {}
        rows: list[dict[str, object]] = []
        needed: dict[str, None] = {}
        given = {value.name for value in model.graph.input}
        for number, row in enumerate(call.parts):
            taken = _taken(model.graph, row["nodes"])
            unknown = [name for name in (*taken, *row["outputs"]) if types.get(name, ("", None))[1] is None]
            if unknown:
                rows.append({"inputs": [], "error": "the shape of %s is not known before it runs" % unknown[0]})
                continue
            name = "part%d.onnx" % number
            files[name] = call.path(name)
            onnx.save(_part(onnx, model, row, taken, types), files[name])
            rows.append({"inputs": [_row(one, types[one]) for one in taken], "error": ""})
            needed.update(dict.fromkeys(one for one in taken if one not in given))
        files["exposed.onnx"] = call.path("exposed.onnx")
        _expose(onnx, model, list(needed), types)
        onnx.save(model, files["exposed.onnx"])
        return Reply({"parts": rows, "exposed": list(needed)}, files=files)


def _part(onnx: Any, model: Any, row: Mapping[str, Any], taken: list[str], types: Mapping[str, Any]) -> Any:
    wanted = set(row["nodes"])
    numbers = tuple(place for place, node in enumerate(model.graph.node) if wanted.intersection(node.output))
    segment = Segment(nodes=numbers, given={name: name for name in taken}, fixed={}, outputs=tuple(row["outputs"]))
    return onnx_subgraphs.part(onnx, model, [segment], types, {})


def _taken(graph: Any, outputs: Any) -> list[str]:
    """The tensors that these nodes take from others: no constants, and nothing that they make."""
    wanted = set(outputs)
    nodes = [node for node in graph.node if wanted.intersection(node.output)]
    made = {name for node in nodes for name in node.output}
    fixed = {tensor.name for tensor in graph.initializer}
    fixed |= {tensor.values.name for tensor in graph.sparse_initializer}
    fixed |= {node.output[0] for node in graph.node if node.op_type == "Constant"}
    return list(dict.fromkeys(name for node in nodes for name in node.input if name and name not in made | fixed))


def _expose(onnx: Any, model: Any, names: list[str], types: Mapping[str, Any]) -> None:
    del model.graph.output[:]
    numpy = importlib.import_module("numpy")
    for name in names:
        elem = onnx.helper.np_dtype_to_tensor_dtype(numpy.dtype(types[name][0]))
        model.graph.output.append(onnx.helper.make_tensor_value_info(name, elem, None))


def _row(name: str, typed: Any) -> dict[str, object]:
    return {"name": name, "dtype": typed[0], "shape": list(typed[1])}


def _types(onnx: Any, model: Any, binding: Mapping[str, int]) -> dict[str, tuple[str, Any]]:
    """dtype and shape of every tensor; the first dimension is ``batch`` where it is the only one that grows with it."""
    light = _light(onnx, model)
    ports = [value.name for value in _ports(model.graph)]
    one, two = (_inferred(onnx, light, binding, ports, batch) for batch in (1, 2))
    return {name: (dtype, _growing(shape, two.get(name, ("", None))[1])) for name, (dtype, shape) in one.items()}


def _growing(one: Shape | None, two: Shape | None) -> Any:
    """A shape for one sample, with ``batch`` at its head where two samples double that dimension alone."""
    if one and two and one[0] == 1 and two == (2, *one[1:]):
        return (BATCH, *one[1:])
    return one


def _light(onnx: Any, model: Any) -> Any:
    """A copy without the values of large weights, which are inputs there: shapes do not follow from them."""
    light = onnx.ModelProto()
    light.ir_version = model.ir_version
    light.opset_import.extend(model.opset_import)
    light.graph.name = "light"
    light.graph.node.extend(model.graph.node)
    light.graph.input.extend(model.graph.input)
    light.graph.output.extend(model.graph.output)
    listed = {value.name for value in model.graph.input}
    for tensor in model.graph.initializer:
        count = 1
        for size in tensor.dims:
            count *= size
        if count <= SMALL and tensor.data_location != onnx.TensorProto.EXTERNAL:
            light.graph.initializer.append(tensor)
        elif tensor.name not in listed:
            light.graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    return light


def _ports(graph: Any) -> list[Any]:
    """The inputs of a graph that are no weights."""
    weights = {tensor.name for tensor in graph.initializer}
    return [value for value in graph.input if value.name not in weights]


def _inferred(onnx: Any, light: Any, binding: Mapping[str, int], ports: list[str], batch: int) -> dict[str, Typed]:
    """numpy's dtype and the shape of every tensor for a batch of samples; None for a shape that is not known.

    The first dimension of each input in ``ports`` is the batch where it is a symbol, or 1 for one sample.
    """
    model = onnx.ModelProto()
    model.CopyFrom(light)
    for value in model.graph.input:
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if not dim.HasField("dim_value") and (axis == 0 or dim.dim_param in binding):
                dim.dim_value = binding.get(dim.dim_param, 1)
            if axis == 0 and value.name in ports and dim.dim_value == 1:
                dim.dim_value = batch
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    graph = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    found: dict[str, Typed] = {}
    for value in (*graph.input, *graph.value_info, *graph.output):
        kind = value.type.tensor_type
        if not kind.elem_type:
            continue
        dims = kind.shape.dim
        known = kind.HasField("shape") and all(dim.HasField("dim_value") for dim in dims)
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type).name
        found[value.name] = (dtype, tuple(dim.dim_value for dim in dims) if known else None)
    return found
