"""Subgraph extraction: intermediate outputs exposed, parts as files of their own, smaller dimensions."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.contract import Call, ExtractCall, OpenCall, Segment, ShrinkCall
from bench_plugin.agent.toolkit import samples, versions

ADAPTER = {
    "name": "onnx_subgraphs",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "ONNX subgraph extraction",
    "distribution": "onnx",
    "operations": ["open", "extract", "shrink"],
}

FLOAT, HALF = 1, 10
# Their results are no tensors, so they can be neither an input nor an output of a part.
OPAQUE = ("Sequence", "SplitToSequence", "Optional")
RANDOM = ("Random", "Bernoulli", "Multinomial")
SHAPES = ("Shape", "Size")
INPUTS_TOO = 4  # before this IR version initializers are graph inputs too

Type = tuple[str, tuple[int, ...]]  # dtype and shape


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""

    def open(self, call: OpenCall) -> Reply:
        """``bound.onnx``, the graph to extract from, and ``exposed.onnx`` with its intermediate outputs exposed.

        ``nodes`` (constants are none) say what they read and write; ``fixed`` are the tensors that no input's values
        decide; ``taps`` the order of the exposed outputs.
        """
        call.stage("build")
        onnx = importlib.import_module("onnx")
        model = onnx.load(call.files["model.onnx"])
        if model.functions:
            model = importlib.import_module("onnx.inliner").inline_local_functions(model)
        bound = call.binding is not None
        if call.binding is not None:
            _bind(model, call.binding)
        paths = {name: call.path(name) for name in ("bound.onnx", "exposed.onnx")}
        onnx.save(model, paths["bound.onnx"])
        graph = model.graph
        rows, fixed = _described_nodes(graph, bound)
        types = _types(onnx, model)
        taps = [name for row in rows if not row["opaque"] for name in row["writes"]]
        meta: dict[str, object] = {
            "nodes": rows, "fixed": sorted(fixed), "exposed": taps, "outputs": [value.name for value in graph.output],
            "inputs": [_row(onnx, value) for value in _inputs(graph)], "types": types,
            "half": _has_half(graph), "ir": model.ir_version,
        }  # fmt: skip
        known = {value.name: value for value in graph.output}
        del graph.output[:]
        for name in taps:
            elem = onnx.helper.np_dtype_to_tensor_dtype(_numpy().dtype(types[name])) if name in types else FLOAT
            graph.output.append(known.get(name) or onnx.helper.make_tensor_value_info(name, elem, None))
        if _has_half(graph):
            _widen(onnx, graph)
        onnx.save(model, paths["exposed.onnx"])
        return Reply(meta, files=paths)

    def extract(self, call: ExtractCall) -> Reply:
        """``part.onnx``: the segments side by side, and ``exact.onnx`` where it has float16 in it."""
        call.stage("build")
        onnx = importlib.import_module("onnx")
        model = onnx.load(call.files["bound.onnx"])
        made = part(onnx, model, call.segments, call.types, call.fixed)
        path = call.path("part.onnx")
        onnx.save(made, path)
        return Reply(_summary(onnx, made), files={"part.onnx": path, **_exact(onnx, made, call)})

    def shrink(self, call: ShrinkCall) -> Reply:
        """The model with every dimension of one size cut to another; inputs are cut alike.

        Wherever the size stands: inputs, initializers, numbers in lists of sizes, and attributes. Whether the result is
        a model at all is for the checker to say: it raises.
        """
        call.stage("build")
        onnx = importlib.import_module("onnx")
        model = onnx.load(call.files["part.onnx"])
        size, to = call.size, call.to
        _shrink(onnx, model, size, to)
        onnx.checker.check_model(onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True))
        arrays = {}
        for name, values in call.inputs.items():
            cut = tuple(slice(0, to if length == size else None) for length in values.shape[1:])
            arrays[name] = _numbers(values[(slice(None), *cut)], size, to)
        path = call.path("part.onnx")
        onnx.save(model, path)
        files = {"part.onnx": path, **_exact(onnx, model, call)}
        return Reply(_summary(onnx, model), samples.blobs(arrays, "in:"), files)


def _numpy() -> Any:
    return importlib.import_module("numpy")


def _bind(model: Any, binding: Mapping[str, int]) -> None:
    """Replace symbolic dimensions by sizes and remove intermediate shapes, which can be inferred again."""
    for value in (*model.graph.input, *model.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            if not dim.HasField("dim_value"):
                dim.dim_value = binding.get(dim.dim_param, 1)
    for output in model.graph.output:  # what the file says of them may have been true of other sizes only
        output.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    inferred = importlib.import_module("onnx").shape_inference.infer_shapes(model, data_prop=True)
    for output, found in zip(model.graph.output, inferred.graph.output):
        output.CopyFrom(found)
    model.graph.value_info.extend(inferred.graph.value_info)  # as exporters write them


def _inputs(graph: Any) -> list[Any]:
    weights = {tensor.name for tensor in graph.initializer}
    return [value for value in graph.input if value.name not in weights]


def _outer_reads(node: Any) -> list[str]:
    """Names that a node reads, those that its inner graphs take from outside included."""
    found = [name for name in node.input if name]
    for inner in _inner(node):
        own = {value.name for value in inner.input} | {tensor.name for tensor in inner.initializer}
        for child in inner.node:
            found += [name for name in _outer_reads(child) if name not in own]
            own.update(child.output)
        found += [value.name for value in inner.output if value.name not in own]
    return list(dict.fromkeys(found))


def _inner(node: Any) -> Iterator[Any]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def _described_nodes(graph: Any, bound: bool) -> tuple[list[dict[str, Any]], set[str]]:
    varying = {value.name for value in _inputs(graph)}
    fixed: set[str] = set()
    rows = []
    for index, node in enumerate(graph.node):
        if node.op_type == "Constant":
            continue
        reads = _outer_reads(node)
        by_shape = bound and node.op_type in SHAPES
        moves = not by_shape and any(name in varying for name in reads)
        writes = [name for name in node.output if name]
        (varying if moves or node.op_type.startswith(RANDOM) else fixed).update(writes)
        rows.append(
            {
                "index": index, "operator": node.op_type, "domain": node.domain, "name": node.name, "reads": reads,
                "writes": writes, "opaque": node.op_type.startswith(OPAQUE),
            }
        )  # fmt: skip
    return rows, fixed


def _types(onnx: Any, model: Any) -> dict[str, str]:
    """Types of tensors as far as onnx infers them."""
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    found = {}
    for value in (*inferred.value_info, *inferred.input, *inferred.output):
        elem = value.type.tensor_type.elem_type
        if elem:
            found[value.name] = onnx.helper.tensor_dtype_to_np_dtype(elem).name
    return found


def _row(onnx: Any, value: Any) -> dict[str, Any]:
    tensor = value.type.tensor_type
    shape = [dim.dim_value if dim.HasField("dim_value") else dim.dim_param for dim in tensor.shape.dim]
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type).name if tensor.elem_type else ""
    return {"name": value.name, "dtype": dtype, "shape": shape}


def _summary(onnx: Any, model: Any) -> dict[str, object]:
    nodes = [node for node in model.graph.node if node.op_type != "Constant"]
    return {
        "inputs": [_row(onnx, value) for value in _inputs(model.graph)],
        "outputs": [_row(onnx, value) for value in model.graph.output],
        "operators": [node.op_type for node in nodes], "half": _has_half(model.graph),
        "sizes": sorted(_sizes(onnx, model), reverse=True), "text": onnx.printer.to_text(_without_weights(onnx, model)),
        "opsets": {entry.domain: entry.version for entry in model.opset_import}, "ir": model.ir_version,
    }  # fmt: skip


def _without_weights(onnx: Any, model: Any) -> Any:
    """A copy whose large weights are empty, to be read by a person."""
    short = onnx.ModelProto()
    short.CopyFrom(model)
    kept = [tensor for tensor in short.graph.initializer if _elements(tensor) <= 8]
    del short.graph.initializer[:]
    short.graph.initializer.extend(kept)
    return short


def _elements(tensor: Any) -> int:
    count = 1
    for dim in tensor.dims:
        count *= dim
    return count


def _sizes(onnx: Any, model: Any) -> set[int]:
    """Dimensions above one of inputs and initializers."""
    found = {dim for tensor in model.graph.initializer for dim in tensor.dims}
    for value in model.graph.input:
        found |= {dim.dim_value for dim in value.type.tensor_type.shape.dim}
    return {size for size in found if size > 1}


def part(
    onnx: Any, model: Any, segments: Sequence[Segment], types: Mapping[str, Type], fixed: Mapping[str, Any]
) -> Any:
    """Segments side by side in one model; ``types`` are those of tensors that become inputs and outputs."""
    graph = model.graph
    weights = {tensor.name: tensor for tensor in graph.initializer}
    constants = {node.output[0]: node for node in graph.node if node.op_type == "Constant"}
    inputs = {value.name: value for value in graph.input}
    outputs = {value.name: value for value in graph.output}
    made = onnx.GraphProto(name="part")
    known: set[str] = set()
    for segment in segments:
        names: dict[str, str] = {**segment.given, **segment.fixed}
        for old, new in segment.given.items():
            if new in known:
                continue
            known.add(new)
            made.input.append(inputs[old] if old == new and old in inputs else _typed(onnx, new, types[old]))
        for old, new in segment.fixed.items():
            if new not in known:
                known.add(new)
                made.initializer.append(onnx.numpy_helper.from_array(fixed[old], new))
        for index in segment.nodes:
            node = onnx.NodeProto()
            node.CopyFrom(graph.node[index])
            node.ClearField("doc_string")
            node.ClearField("metadata_props")
            for name in _outer_reads(node):
                if name in known or name in names:
                    continue
                if name in weights:
                    known.add(name)
                    made.initializer.append(weights[name])
                    if name in inputs:
                        made.input.append(inputs[name])
                elif name in constants:
                    known.add(name)
                    made.node.append(constants[name])
            _rename(node, names)
            made.node.append(node)
        for name in segment.outputs:
            made.output.append(outputs[name] if name in outputs else _typed(onnx, name, types[name]))
    inside = {name for node in made.node for name in node.output} - {value.name for value in made.output}
    made.value_info.extend(value for value in graph.value_info if value.name in inside)
    if model.ir_version < INPUTS_TOO:
        listed = {value.name for value in made.input}
        for tensor in made.initializer:
            if tensor.name not in listed:
                made.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    domains = {_domain(node.domain) for node in made.node}
    used = [entry for entry in model.opset_import if _domain(entry.domain) in domains]
    return onnx.helper.make_model(made, opset_imports=used or list(model.opset_import), ir_version=model.ir_version)


def _domain(name: str) -> str:
    return "" if name == "ai.onnx" else name


def _rename(node: Any, names: Mapping[str, str]) -> None:
    for place, name in enumerate(node.input):
        node.input[place] = names.get(name, name)
    for inner in _inner(node):
        own = {value.name for value in inner.input}
        left = {old: new for old, new in names.items() if old not in own}
        for child in inner.node:
            _rename(child, left)
        for output in inner.output:
            output.name = left.get(output.name, output.name)


def _typed(onnx: Any, name: str, described: Type) -> Any:
    dtype, shape = described
    elem = onnx.helper.np_dtype_to_tensor_dtype(_numpy().dtype(dtype))
    return onnx.helper.make_tensor_value_info(name, elem, shape)


def _has_half(graph: Any) -> bool:
    halves = (tensor.data_type == HALF for tensor in graph.initializer)
    casts = (
        attribute.i == HALF
        for node in graph.node
        for attribute in node.attribute
        if node.op_type == "Cast" and attribute.name == "to"
    )
    inputs = (value.type.tensor_type.elem_type == HALF for value in graph.input)
    return any(inputs) or any(halves) or any(casts)


def _exact(onnx: Any, model: Any, call: Call) -> dict[str, str]:
    """The same with float32 for float16, for float64 references: its values are those that float16 holds."""
    if not _has_half(model.graph):
        return {}
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    _widen(onnx, wide.graph)
    path = call.path("exact.onnx")
    onnx.save(wide, path)
    return {"exact.onnx": path}


def _widen(onnx: Any, graph: Any) -> None:
    for tensor in graph.initializer:
        _widen_tensor(onnx, tensor)
    for value in (*graph.input, *graph.output, *graph.value_info):
        if value.type.tensor_type.elem_type == HALF:
            value.type.tensor_type.elem_type = FLOAT
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                _widen_tensor(onnx, attribute.t)
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == HALF:
                attribute.i = FLOAT
        for inner in _inner(node):
            _widen(onnx, inner)


def _widen_tensor(onnx: Any, tensor: Any) -> None:
    if tensor.data_type == HALF:
        values = onnx.numpy_helper.to_array(tensor).astype("float32")
        tensor.CopyFrom(onnx.numpy_helper.from_array(values, tensor.name))


def _numbers(values: Any, size: int, to: int) -> Any:
    """Sizes in a tensor of sizes."""
    if values.dtype.kind == "i" and values.ndim <= 2 and values.size <= 16:
        return _numpy().where(values == size, _numpy().array(to, values.dtype), values)
    return values


def _shrink(onnx: Any, model: Any, size: int, to: int) -> None:
    change: Callable[[int], int] = lambda number: to if number == size else number  # noqa: E731
    graph = model.graph

    def tensor(given: Any) -> Any:
        values = onnx.numpy_helper.to_array(given)
        cut = tuple(slice(0, to if length == size else None) for length in values.shape)
        return onnx.numpy_helper.from_array(_numbers(_numpy().ascontiguousarray(values[cut]), size, to), given.name)

    for one in graph.initializer:
        one.CopyFrom(tensor(one))
    for value in (*graph.input, *graph.output):
        for dim in value.type.tensor_type.shape.dim:
            if dim.HasField("dim_value"):
                dim.dim_value = change(dim.dim_value)
    for output in graph.output:
        output.type.tensor_type.ClearField("shape")
    del graph.value_info[:]
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.INT and attribute.name not in ("axis", "to"):
                attribute.i = change(attribute.i)
            elif attribute.type == onnx.AttributeProto.INTS and attribute.name not in ("axes", "perm"):
                attribute.ints[:] = [change(number) for number in attribute.ints]
            elif attribute.HasField("t"):
                attribute.t.CopyFrom(tensor(attribute.t))
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    for output, found in zip(graph.output, inferred.graph.output):
        output.CopyFrom(found)
