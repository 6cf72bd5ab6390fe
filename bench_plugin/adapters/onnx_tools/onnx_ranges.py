"""The ranges of a file's inputs: identifiers lie within the tables that they index, masks are 0 and 1."""

from __future__ import annotations

import importlib
import math
from typing import Any

from bench_plugin.adapters.onnx_tools.shared import onnx_names
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_ranges",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Ranges of inputs",
    "distribution": "onnx",
    "operations": [],
    "uses": ["onnx_names"],
}

MASKING = 100.0  # what a mask is multiplied by, at least, so that a softmax leaves out what it masks
BOOL = 9  # the type as an attribute of Cast has it
# Operators whose output holds numbers of their first input and no others, which are identifiers still.
CARRYING = frozenset([
    "Identity", "Cast", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Transpose", "Slice", "Expand", "Tile", "Split",
    "Gather", "GatherElements", "GatherND",
])  # fmt: skip
JOINING = {"Concat": 0, "Where": 1}  # whose output holds numbers of all their inputs from this one on
MOST = 1 << 16  # elements of a constant that is looked at


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx")

    def reset(self) -> None:
        """Nothing to forget."""


def of_integers(onnx: Any, model: Any, wanted: set[str]) -> dict[str, dict[str, int]]:
    """For each of these inputs that indexes a table, as ``high``, the size of the smallest one; 2 for a mask.

    A table is data of known size of a Gather, or the depth of a OneHot. Where a constant is added before, as the places
    of several tables in one, its largest element is taken off. A mask is what is taken from 1, as in ``(1 - mask) *
    -10000``, or cast to bool, and indexes no table. Operators that only move or cast the numbers of an input are
    followed, in subgraphs too.
    """
    if not wanted:
        return {}
    if model.functions:
        model = importlib.import_module("onnx.inliner").inline_local_functions(model)
    sizes, constants = _sizes(onnx, model), _constants(onnx, model)
    source = {name: [(name, 0)] for name in wanted}  # the inputs whose numbers a tensor holds, and what was added
    found: dict[str, int] = {}
    masks: set[str] = set()

    def bound(name: str, size: Any) -> None:
        for one, added in source[name]:
            if isinstance(size, int) and size - added > 0:
                found[one] = min(size - added, found.get(one, size - added))

    for node in onnx_names.nodes(model.graph):
        first, second = (*node.input, "", "")[:2]
        if node.op_type == "Sub" and second in source and constants.get(first) == (1.0, 1.0):
            masks.update(one for one, _ in source[second])
        if node.op_type == "Cast" and first in source and any(one.i == BOOL for one in node.attribute):
            masks.update(one for one, _ in source[first])
        if node.op_type in ("Gather", "GatherElements") and second in source and first in sizes:
            axis = next((one.i for one in node.attribute if one.name == "axis"), 0)
            bound(second, sizes[first][axis] if -len(sizes[first]) <= axis < len(sizes[first]) else None)
        elif node.op_type == "GatherND" and second in source and sizes.get(first):
            known = [size for size in sizes[first] if isinstance(size, int)]
            bound(second, min(known, default=None))
        elif node.op_type == "OneHot" and first in source and second in constants:
            bound(first, int(constants[second][0]))
        elif node.op_type in CARRYING and first in source:
            source.update({name: source[first] for name in node.output if name})
        elif node.op_type in JOINING:
            joined = [row for name in node.input[JOINING[node.op_type] :] for row in source.get(name, ())]
            source.update({node.output[0]: joined} if joined else {})
        elif node.op_type == "Add":
            for one, other in ((first, second), (second, first)):
                if one in source and other in constants:
                    source[node.output[0]] = [(name, added + int(constants[other][1])) for name, added in source[one]]
    return {name: {"high": size} for name, size in (dict.fromkeys(masks, 2) | found).items()}


def of_masks(onnx: Any, model: Any, wanted: set[str]) -> dict[str, dict[str, int]]:
    """As ``high`` 2 for each of these inputs in floating point that is a mask, as in ``(1 - mask) * -10000``.

    What is taken from 1 and not multiplied by a large number may be anything, such as a gate.
    """
    constants, masks = _constants(onnx, model), set()
    source = {name: name for name in wanted}
    taken: dict[str, str] = {}  # what is taken from 1, by its result
    for node in onnx_names.nodes(model.graph):
        first, second = (*node.input, "", "")[:2]
        if node.op_type in CARRYING and first in source:
            source.update({name: source[first] for name in node.output if name})
        elif node.op_type == "Sub" and second in source and constants.get(first) == (1.0, 1.0):
            taken[node.output[0]] = source[second]
        elif node.op_type in CARRYING and first in taken:
            taken.update({name: taken[first] for name in node.output if name})
        elif node.op_type == "Mul":
            for one, other in ((first, second), (second, first)):
                least, largest = constants.get(other, (0.0, 0.0))
                if one in taken and least == largest and abs(least) >= MASKING:
                    masks.add(taken[one])
    return {name: {"high": 2} for name in masks}


def _constants(onnx: Any, model: Any) -> dict[str, tuple[float, float]]:
    """The least and the largest element of weights and constants of at most MOST elements."""
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in onnx_names.nodes(model.graph):
        if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
            tensors[node.output[0]] = node.attribute[0].t
    kinds = (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.INT32, onnx.TensorProto.INT64)
    found = {}
    for name, tensor in tensors.items():
        beside = tensor.data_location == onnx.TensorProto.EXTERNAL  # was not read
        if tensor.data_type in kinds and not beside and 0 < math.prod(tensor.dims) <= MOST:
            values = onnx.numpy_helper.to_array(tensor)
            found[name] = float(values.min()), float(values.max())
    return found


def _sizes(onnx: Any, model: Any) -> dict[str, list[Any]]:
    """The dimensions of tensors by name, as far as weights, constants and shape inference say them."""
    try:
        inferred = onnx.shape_inference.infer_shapes(model).graph
    except onnx.shape_inference.InferenceError:  # the checker's objection says it
        inferred = model.graph
    found = {value.name: onnx_names.dimensions(value) for value in inferred.value_info}
    found.update({tensor.name: list(tensor.dims) for tensor in model.graph.initializer})
    return found
