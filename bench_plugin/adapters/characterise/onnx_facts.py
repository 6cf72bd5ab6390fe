"""What an ONNX file is made of, as plain data: nodes, their tensors with shapes, small constants. No weight is read."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from typing import Any

from bench_plugin.adapters.onnx_tools.shared import onnx_names
from bench_plugin.agent.adapter import InvalidModel, Reply
from bench_plugin.agent.contract import FactsCall
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_facts",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Facts of an ONNX file",
    "distribution": "onnx",
    "operations": ["facts"],
    "uses": ["onnx_names"],
    "errors": [{"package": "onnx"}],
}

SMALL = 64  # the most elements of a constant whose values are told: axes, sizes, scales
INTEGERS = (2, 3, 4, 5, 6, 7, 12, 13)
FLOAT, INT, STRING, INTS, FLOATS = 1, 2, 3, 7, 6  # of AttributeProto


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy", "protobuf")

    def reset(self) -> None:
        """Nothing to forget."""

    def facts(self, call: FactsCall) -> Reply:
        """``facts.json``: inputs, outputs, nodes in the order of the file and of their subgraphs, and their tensors.

        A symbol at the first dimension of an input is the batch where the call gives it no size. Raises InvalidModel
        for what is no ONNX file, and for a size that contradicts the file's own.
        """
        call.stage("check")
        onnx = importlib.import_module("onnx")
        model = _inlined(_loaded(onnx, call.files["model.onnx"]))
        ports = _ports(model)
        symbols = _symbols(ports)
        free = _bind(ports, dict(call.sizes), call.batch)
        for kept in (model.graph.value_info, model.graph.output):  # they may hold other sizes than those asked for
            for value in kept:
                value.type.tensor_type.ClearField("shape")
        path = call.path("facts.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(_whole(onnx, model), file)
        return Reply({"opsets": _opsets(model), "free": sorted(free), "symbols": symbols}, files={"facts.json": path})


def described(onnx: Any, model: Any) -> dict[str, object]:
    """The content of ``facts.json`` for a model that is loaded, at the sizes that it declares."""
    return _whole(onnx, _inlined(model))


def _whole(onnx: Any, model: Any) -> dict[str, object]:
    """The facts of a model without functions of its own."""
    return {**_described(onnx, _inferred(onnx, model).graph, _ports(model)), "opsets": _opsets(model)}


def _opsets(model: Any) -> dict[str, int]:
    return {row.domain or "ai.onnx": row.version for row in model.opset_import}


def _inlined(model: Any) -> Any:
    """The model with its own functions in their places."""
    return importlib.import_module("onnx.inliner").inline_local_functions(model) if model.functions else model


def _ports(model: Any) -> list[Any]:
    """The inputs of a model, without those that initializers give values."""
    constant = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in constant]


def _loaded(onnx: Any, path: str) -> Any:
    decode_error = importlib.import_module("google.protobuf.message").DecodeError
    try:
        model = onnx.load(path, load_external_data=False)
    except decode_error as error:
        raise InvalidModel("not an ONNX file, or it is truncated: %s" % error) from error
    if not model.ir_version or not model.HasField("graph"):
        raise InvalidModel("not an ONNX file: it has no graph")
    return model


def _symbols(ports: list[Any]) -> list[str]:
    """The names of the symbolic dimensions of the inputs."""
    dims = [dim for port in ports for dim in port.type.tensor_type.shape.dim]
    return sorted({dim.dim_param for dim in dims if dim.dim_param})


def _bind(ports: list[Any], sizes: dict[str, int], batch: int) -> set[str]:
    """Write sizes over the symbols of the inputs; returns the symbols that have none. Raises InvalidModel."""
    free = set()
    for port in ports:
        for axis, dim in enumerate(port.type.tensor_type.shape.dim):
            if dim.HasField("dim_value"):
                if axis == 0 and batch > 1 and dim.dim_value != batch:
                    text = "input %s has the fixed size %d at its first dimension, so it cannot be run at batch %d"
                    raise InvalidModel(text % (port.name, dim.dim_value, batch))
            elif dim.dim_param in sizes:
                dim.dim_value = sizes[dim.dim_param]
            elif axis == 0:
                dim.dim_value = batch
            else:
                free.add(dim.dim_param or "%s[%d]" % (port.name, axis))
    return free


def _inferred(onnx: Any, model: Any) -> Any:
    """The model with the shapes that follow from its inputs; as it is where inference objects."""
    try:
        return onnx.shape_inference.infer_shapes(model, data_prop=True)
    except (onnx.shape_inference.InferenceError, ValueError, RuntimeError):
        return model


def _described(onnx: Any, graph: Any, ports: list[Any]) -> dict[str, object]:
    tensors: dict[str, dict[str, object]] = {}
    for inner in onnx_names.graphs(graph):
        for value in (*inner.input, *inner.output, *inner.value_info):
            kind = value.type.tensor_type
            if kind.elem_type:
                known = kind.HasField("shape")
                tensors[value.name] = {"dtype": _dtype(onnx, kind.elem_type), "shape": _shape(value) if known else None}
        for tensor in inner.initializer:
            tensors[tensor.name] = _weight(onnx, tensor)
        for sparse in inner.sparse_initializer:
            row = {"dtype": _dtype(onnx, sparse.values.data_type), "shape": list(sparse.dims), "weight": True}
            tensors[sparse.values.name] = row
    nodes = list(_nodes(onnx, graph, "", tensors))
    return {
        "inputs": [value.name for value in ports], "outputs": [value.name for value in graph.output],
        "nodes": nodes, "tensors": tensors,
    }  # fmt: skip


def _nodes(onnx: Any, graph: Any, within: str, tensors: dict[str, dict[str, object]]) -> Iterator[dict[str, object]]:
    for node in graph.node:
        if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
            tensors[node.output[0]] = _constant(onnx, node)
            continue
        yield {
            "name": node.name or (node.output[0] if node.output else node.op_type), "operator": node.op_type,
            "domain": node.domain or "ai.onnx", "inputs": list(node.input), "outputs": list(node.output),
            "within": within, "attributes": _attributes(node),
        }  # fmt: skip
        for attribute in node.attribute:
            for inner in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
                yield from _nodes(onnx, inner, "%s of %s" % (attribute.name, node.op_type), tensors)


def _attributes(node: Any) -> dict[str, object]:
    found: dict[str, object] = {}
    for one in node.attribute:
        if one.type in (FLOAT, INT):
            found[one.name] = one.f if one.type == FLOAT else one.i
        elif one.type == STRING:
            found[one.name] = one.s.decode("utf-8", "replace")
        elif one.type in (INTS, FLOATS):
            found[one.name] = list(one.ints if one.type == INTS else one.floats)[:SMALL]
    return found


def _weight(onnx: Any, tensor: Any) -> dict[str, object]:
    row: dict[str, object] = {
        "dtype": _dtype(onnx, tensor.data_type), "shape": list(tensor.dims), "weight": True,
    }  # fmt: skip
    count = 1
    for size in tensor.dims:
        count *= size
    if count <= SMALL and tensor.data_type in INTEGERS and tensor.data_location != onnx.TensorProto.EXTERNAL:
        row["values"] = [int(one) for one in onnx.numpy_helper.to_array(tensor).reshape(-1)]
    return row


def _constant(onnx: Any, node: Any) -> dict[str, object]:
    """The output of a Constant as a weight."""
    for one in node.attribute:
        if one.name == "value":
            return _weight(onnx, one.t)
        if one.name in ("value_int", "value_ints"):
            values = [one.i] if one.name == "value_int" else list(one.ints)
            shape = [] if one.name == "value_int" else [len(values)]
            return {"dtype": "int64", "shape": shape, "weight": True, "values": values[:SMALL]}
        if one.name in ("value_float", "value_floats"):
            shape = [] if one.name == "value_float" else [len(one.floats)]
            return {"dtype": "float", "shape": shape, "weight": True}
    return {"dtype": "", "shape": None, "weight": True}


def _dtype(onnx: Any, kind: int) -> str:
    """ONNX's own name of a type, in lower case: float, float16, bfloat16, int8, int4."""
    return str(onnx.TensorProto.DataType.Name(kind)).lower()


def _shape(value: Any) -> list[int | None]:
    dims = value.type.tensor_type.shape.dim
    return [dim.dim_value if dim.HasField("dim_value") else None for dim in dims]
