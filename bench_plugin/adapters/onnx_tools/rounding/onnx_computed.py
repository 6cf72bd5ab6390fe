"""What an ONNX graph computes from constants alone, stored as constants, as a tool does before it rounds them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from bench_plugin.adapters.onnx_tools.shared import onnx_names
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_computed",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Computed constants of ONNX files",
    "distribution": "onnx",
    "operations": [],
    "uses": ["onnx_names"],
}

RANDOM = frozenset({
    "Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
})  # fmt: skip
EVALUATED = 19  # the first opset of which onnx's evaluator knows these two; older forms compute the same
MOST = 2**22  # bytes of a result that is stored: a larger one is made from a shape


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def store(onnx: Any, model: Any, *, unread: bool = True) -> None:
    """Replace the nodes of the graph that read constants alone by their results, in place.

    Without ``unread`` the constants go that nothing reads any more. Nodes with bodies, with random results, of other
    domains and with results of more than ``MOST`` bytes stay, and so do Constant nodes.
    """
    known = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    kept, made = [], {}
    for node in model.graph.node:
        found = _results(onnx, model, node, known)
        known.update(found)
        if node.op_type == "Constant" or not found:
            kept.append(node)
        else:
            made.update(found)
    read = {name for node in kept for name in onnx_names.read_by(node)}.union(one.name for one in model.graph.output)
    del model.graph.node[:]
    model.graph.node.extend(kept)
    if not unread:
        stored = [tensor for tensor in model.graph.initializer if tensor.name in read]
        del model.graph.initializer[:]
        model.graph.initializer.extend(stored)
    model.graph.initializer.extend(
        onnx.numpy_helper.from_array(values, name) for name, values in made.items() if name in read
    )


def store_of_shapes(onnx: Any, model: Any, *, rank: int) -> None:
    """Replace nodes by their results in floating point, in place, which are the same whatever the sizes that are not
    known: what is cut out of a weight by the width of a tensor, or the root of that width, as exporters write an
    attention. ``rank`` is the least number of dimensions of such a result.
    """
    import numpy as np

    one, two = at_size(onnx, model, 1), at_size(onnx, model, 2)
    made = {
        name: values for name, values in one.items()
        if values.dtype.kind == "f" and values.ndim >= rank and name in two and np.array_equal(values, two[name])
    }  # fmt: skip
    kept = [node for node in model.graph.node if not made.keys() >= set(node.output)]
    read = {name for node in kept for name in onnx_names.read_by(node)}.union(one.name for one in model.graph.output)
    nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in kept]
    left = {name for node in nodes for name in node.output}
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.extend(
        onnx.numpy_helper.from_array(values, name) for name, values in made.items() if name in read - left
    )


def at_size(onnx: Any, model: Any, size: int) -> dict[str, Any]:
    """What the graph computes from constants alone once every size of its inputs that is not known is this, by name.

    A tool computes a constant of the shape of an input so, for a size of 1, when it is given inputs one by one.
    """
    if not any(node.op_type == "Shape" for node in model.graph.node):
        return {}
    bound = onnx.ModelProto()
    bound.CopyFrom(model)
    del bound.graph.value_info[:]
    for value in bound.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            if not dim.HasField("dim_value"):
                dim.dim_value = size
    for value in bound.graph.output:
        value.type.tensor_type.ClearField("shape")
    inferred = onnx.shape_inference.infer_shapes(bound, data_prop=True).graph
    sizes = {value.name: value.type.tensor_type.shape.dim for value in (*inferred.value_info, *inferred.input)}
    known = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in bound.graph.initializer}
    found: dict[str, Any] = {}
    for node in bound.graph.node:
        if (
            node.op_type == "Shape"
            and node.input[0] in sizes
            and all(dim.HasField("dim_value") for dim in sizes[node.input[0]])
        ):
            made = _of_shape(node, [dim.dim_value for dim in sizes[node.input[0]]])
        else:
            made = _results(onnx, bound, node, known)
        known.update(made)
        found.update(made)
    return found


def _of_shape(node: Any, sizes: Sequence[int]) -> dict[str, Any]:
    """The result of a Shape node."""
    import numpy as np

    said = {one.name: one.i for one in node.attribute}
    return {node.output[0]: np.array(sizes[said.get("start", 0) : said.get("end", len(sizes))], dtype=np.int64)}


def _results(onnx: Any, model: Any, node: Any, known: Mapping[str, Any]) -> dict[str, Any]:
    """The results of a node by name; none where it does not read constants alone or has to stay."""
    bodies = any(one.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS) for one in node.attribute)
    outside = node.domain not in ("", "ai.onnx")
    if bodies or outside or node.op_type in RANDOM or any(name and name not in known for name in node.input):
        return {}
    arrays = evaluated(onnx, model, node, known)
    return arrays if all(values.nbytes <= MOST for values in arrays.values()) else {}


def evaluated(onnx: Any, model: Any, node: Any, known: Mapping[str, Any]) -> dict[str, Any]:
    """The results of a node without bodies by name, of the arrays ``known`` that it reads, by onnx's evaluator.

    None where the evaluator cannot compute them, which is printed.
    """
    import numpy as np

    names = [name for name in node.output if name]
    outputs = [onnx.helper.make_empty_tensor_value_info(name) for name in names]
    given = dict.fromkeys(name for name in node.input if name)
    stored = [onnx.numpy_helper.from_array(known[name], name) for name in given]
    graph = onnx.helper.make_graph([node], "one", [], outputs, stored)
    opsets = model.opset_import
    if node.op_type in ("DequantizeLinear", "QuantizeLinear") and onnx_names.opset(model) < EVALUATED:
        opsets = [onnx.helper.make_opsetid("", EVALUATED)]
    ir = max(model.ir_version, onnx_names.PLAIN_WEIGHTS)
    one = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=ir)
    try:
        results = importlib.import_module("onnx.reference").ReferenceEvaluator(one).run(None, {})
    except (ArithmeticError, IndexError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        print(f"{names[0]} cannot be computed before: {error}")
        return {}
    return {name: np.asarray(values) for name, values in zip(names, results, strict=True)}
