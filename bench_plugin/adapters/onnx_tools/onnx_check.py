"""The result of onnx's checker on a file, and the inputs and outputs that the file declares."""

from __future__ import annotations

import importlib
import os
from typing import Any

from bench_plugin.adapters.onnx_tools import onnx_ranges
from bench_plugin.adapters.onnx_tools.shared import onnx_names
from bench_plugin.agent import external
from bench_plugin.agent.adapter import InvalidModel, Reply
from bench_plugin.agent.contract import CheckCall
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_check",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "ONNX checker",
    "distribution": "onnx",
    "operations": ["check"],
    "uses": ["onnx_names", "onnx_ranges"],
    "errors": [{"package": "onnx"}],
}

STANDARD_DOMAINS = ("", "ai.onnx", "ai.onnx.ml")
WHOLE_NUMBERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64", "bfloat16")
UNIDIRECTIONAL = 7  # the opset from which the slope of PRelu is broadcast to its input


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy", "protobuf")

    def reset(self) -> None:
        """Nothing to forget."""

    def check(self, call: CheckCall) -> Reply:
        """The declaration of ``model.onnx``: opsets, IR, inputs, outputs, sizes, and the checker's objection if any.

        Raises InvalidModel for what is no ONNX file, is truncated, has a cycle or the same name twice, lacks its
        external data, or has a PRelu whose slope does not fit, which onnx's checker does not look at.
        """
        onnx = importlib.import_module("onnx")
        call.stage("check")
        path = call.files["model.onnx"]
        model = _load(onnx, path)
        beside = _external_files(path)
        objection = _objection(onnx, path)
        if _made_twice(model.graph):  # no tool can tell which of the two is meant
            raise InvalidModel("onnx's checker: %s" % objection)
        _check_cycles(model.graph)
        _check_slopes(onnx, model)
        nodes = onnx_names.nodes(model.graph)
        operators: dict[str, int] = {}
        for node in nodes:
            operators[node.op_type] = operators.get(node.op_type, 0) + 1
        weights = {tensor.name for tensor in model.graph.initializer}
        rows = [_described(onnx, value) for value in model.graph.input if value.name not in weights]
        whole, floats = (
            {str(row["name"]) for row in rows if row["dtype"] in kinds} for kinds in (WHOLE_NUMBERS, FLOATS)
        )
        ranges = onnx_ranges.of_integers(onnx, model, whole) | onnx_ranges.of_masks(onnx, model, floats)
        meta: dict[str, object] = {
            "valid": not objection,
            "objection": objection,
            "ir": model.ir_version,
            "opsets": {row.domain or "ai.onnx": row.version for row in model.opset_import},
            "custom_domains": sorted({node.domain for node in nodes} - set(STANDARD_DOMAINS)),
            "external_data": bool(beside),
            "inputs": [{**row, **ranges.get(str(row["name"]), {})} for row in rows],
            "outputs": [_described(onnx, value) for value in model.graph.output],
            "nodes": len(nodes),
            "operators": operators,
            "computes": _computes(onnx, model),
            "bytes": sum(os.path.getsize(one) for one in (path, *beside)),
            "parameters": sum(
                _elements(tensor) for tensor in model.graph.initializer if tensor.data_type in (1, 10, 11, 16)
            ),
        }
        return Reply(meta)


def _computes(onnx: Any, model: Any) -> str:
    """The narrowest floating-point type that the graph computes in: fp32, fp16 or bf16.

    Weights that are stored in a narrow type and cast before use do not count: nothing is computed in it.
    """
    graph, known = model.graph, onnx_names.types_of(onnx, model)
    constant = {tensor.name for tensor in graph.initializer}
    found = {known.get(value.name) for value in graph.input if value.name not in constant}
    for node in graph.node:
        if all(name in constant for name in node.input if name):
            constant.update(node.output)
        else:
            found.update(known.get(name) for name in node.output)
    types = onnx.TensorProto
    return "bf16" if types.BFLOAT16 in found else "fp16" if types.FLOAT16 in found else "fp32"


def _load(onnx: Any, path: str) -> Any:
    decode_error = importlib.import_module("google.protobuf.message").DecodeError
    try:
        model = onnx.load(path, load_external_data=False)
    except decode_error as error:
        raise InvalidModel(
            "%s is not an ONNX file, or it is truncated: %s" % (os.path.basename(path), error)
        ) from error
    if not model.ir_version or not model.HasField("graph") or not model.graph.output:
        raise InvalidModel("%s is not an ONNX file: it has no graph with outputs" % os.path.basename(path))
    return model


def _external_files(path: str) -> list[str]:
    found = []
    for location in external.locations(path):
        found.append(os.path.join(os.path.dirname(path), location))
        if not os.path.isfile(found[-1]):
            raise InvalidModel("weights lie in external file %r, which is not beside the model" % location)
    return found


def _objection(onnx: Any, path: str) -> str:
    """What onnx's checker objects to, in its own words; empty where the file is valid."""
    try:
        onnx.checker.check_model(path, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        return str(str(error).strip().splitlines()[0])
    return ""


def _made_twice(graph: Any) -> bool:
    """Whether two nodes, or a node and an input or a weight, give the same name to a tensor (no SSA form)."""
    made = [name for node in graph.node for name in node.output if name]
    made += {value.name for value in (*graph.input, *graph.initializer)}
    return len(set(made)) < len(made)


def _check_slopes(onnx: Any, model: Any) -> None:
    """Raises InvalidModel for a PRelu whose slope cannot be broadcast to its input, as it has to be from opset 7 on.

    mx2onnx writes one number per channel, [C], which onnx's own evaluator takes for the channels all the same.
    """
    if onnx_names.opset(model) < UNIDIRECTIONAL or not any(node.op_type == "PRelu" for node in model.graph.node):
        return
    inferred = onnx.shape_inference.infer_shapes(model).graph
    values = (*inferred.value_info, *inferred.input, *inferred.output)
    known = {one.name: [dim.dim_value for dim in one.type.tensor_type.shape.dim] for one in values}
    known.update({tensor.name: list(tensor.dims) for tensor in model.graph.initializer})
    for node in model.graph.node:
        given, slope = (known.get(name, []) for name in (*node.input, "", "")[:2])
        if node.op_type != "PRelu" or not given or not slope:
            continue
        beside = zip(reversed(given), reversed(slope))
        fits = len(slope) <= len(given) and all(own in (1, size) or not (own and size) for size, own in beside)
        if not fits:
            sizes = ", ".join(str(size or "?") for size in given)
            raise InvalidModel(f"PRelu {node.output[0]!r}: a slope of shape {slope} cannot be broadcast to [{sizes}]")


def _check_cycles(graph: Any) -> None:
    """Kahn's algorithm over the top-level graph."""
    makers = {name: index for index, node in enumerate(graph.node) for name in node.output if name}
    waits: list[set[int]] = [{makers[name] for name in node.input if name in makers} for node in graph.node]
    users: dict[int, list[int]] = {}
    for index, needed in enumerate(waits):
        for maker in needed:
            users.setdefault(maker, []).append(index)
    ready = [index for index, needed in enumerate(waits) if not needed]
    done = 0
    while ready:
        index = ready.pop()
        done += 1
        for user in users.get(index, ()):
            waits[user].discard(index)
            if not waits[user]:
                ready.append(user)
    if done < len(graph.node):
        stuck = next(node for node, needed in zip(graph.node, waits) if needed)
        raise InvalidModel(
            "the graph has a cycle through node %r (%s)" % (stuck.name or stuck.output[0], stuck.op_type)
        )


def _described(onnx: Any, value: Any) -> dict[str, object]:
    kind = value.type.tensor_type.elem_type
    dtype = onnx.helper.tensor_dtype_to_np_dtype(kind).name if kind else ""
    row = {"name": value.name, "dtype": dtype, "shape": onnx_names.dimensions(value)}
    return row if not kind or value.type.tensor_type.HasField("shape") else {**row, "unranked": True}


def _elements(tensor: Any) -> int:
    count = 1
    for dim in tensor.dims:
        count *= dim
    return count
