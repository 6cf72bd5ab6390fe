"""Weights stored as float16, as tools do it: as the file has them, with biases summed, or BatchNormalization folded."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from bench_plugin.adapters.onnx_tools.rounding import onnx_computed, onnx_constants, onnx_folding, onnx_places
from bench_plugin.adapters.onnx_tools.shared import onnx_names, onnx_tied
from bench_plugin.agent.adapter import Reply, Unsupported
from bench_plugin.agent.contract import PrepareCall
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_rounding",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Weights in float16",
    "distribution": "onnx",
    "operations": ["prepare"],
    "uses": ["onnx_computed", "onnx_constants", "onnx_folding", "onnx_names", "onnx_places", "onnx_tied"],
    "errors": [{"package": "onnx"}],
}

# What a graph is called: a base, and what is done before the rounding, as in ``w16-all+folded+summed``. The last step
# may say which constants are rounded: ``only-5`` the first and the third one.
BASES = {
    "w16": onnx_constants.to_nearest, "w16-all": onnx_constants.to_nearest, "w16-cut": onnx_constants.towards_zero,
    "w16-flush": onnx_constants.without_subnormals,
}  # fmt: skip
STEPS = ("computed", "folded", "scaled", "summed")
ONLY = "only-"
PRECONVERTED = "w16"  # the graph that is compiled itself; others are references of what a tool rounds


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""

    def prepare(self, call: PrepareCall) -> Reply:
        """``model.onnx`` with its weights rounded as the graph says (:func:`rounded`)."""
        call.stage("build")
        onnx = importlib.import_module("onnx")
        model = rounded(onnx, onnx_names.loaded(onnx, call.files["model.onnx"]), call.graph)
        path = call.path("model.onnx")
        onnx.save(model, path)
        operators = [node.op_type for node in model.graph.node]
        counted = {name: operators.count(name) for name in sorted(set(operators))}
        meta: dict[str, object] = {
            "graph": call.graph,
            "operators": counted,
            "output_scales": [None] * len(model.graph.output),
        }
        return Reply(meta, files={"model.onnx": path})


def converter(graph: str) -> Callable[[Any], Any]:
    """The function by which the graph ``graph`` turns float32 [...] into float16."""
    return BASES[graph.partition("+")[0]]


def rounded(onnx: Any, model: Any, graph: str) -> Any:
    """The model with its weights stored as float16 and cast back in front of their use.

    ``w16`` rounds weights of two dimensions and more to the nearest, ``w16-all`` biases and other vectors too (single
    numbers stay), ``w16-cut`` rounds weights towards zero, ``w16-flush`` to the nearest, of a tie to the larger one,
    with zeros for what is below the normal numbers of float16. Of ``w16`` the weights of recurrent layers that the
    graph computes from others are computed first. Steps before: ``folded`` puts BatchNormalization into
    the layer in front of it, ``scaled`` does so with a product with one number per channel, ``summed`` adds the two
    biases of a recurrent layer, which are rounded then. With any step the weights of recurrent layers that the graph
    computes from others are computed first; ``computed`` rounds their biases too.

    ``only-N`` rounds the constants whose bits are set in the hexadecimal number N, and no others: the first one of
    :func:`onnx_places.places` of the :func:`unrounded` model is the lowest bit.

    Raises Unsupported for ``w16`` where the file has no weight that could be stored as float16, such as one whose
    weights are integers.
    """
    base, *steps = graph.split("+")
    if steps and steps[-1].startswith(ONLY):
        bits = int(steps[-1].removeprefix(ONLY), 16)
        model = unrounded(onnx, model, graph)
        for index, place in enumerate(onnx_places.places(onnx, model, converter(graph))):
            if bits >> index & 1:
                place.round(model)
        return model
    _store_constants(onnx, model)
    if graph == PRECONVERTED:
        onnx_folding.compute_weights(onnx, model)
    weights = _changed(onnx, model, steps)
    convert = converter(graph)
    halves = {name: convert(values) for name, values in weights.values.items() if _is_rounded(name, weights, base)}
    narrow = any(values.dtype.name == "float16" for values in weights.values.values())
    if graph == PRECONVERTED and not halves and not narrow:
        raise Unsupported("the file has no float32 weights that could be stored as float16")
    return onnx_folding.stored(onnx, model, weights, halves)


def _store_constants(onnx: Any, model: Any) -> None:
    """Make stored tensors of the model's Constant nodes, in place: some exporters write weights so."""
    kept = []
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            tensor = model.graph.initializer.add()
            tensor.CopyFrom(node.attribute[0].t)
            tensor.name = node.output[0]
        else:
            kept.append(node)
    if len(kept) < len(model.graph.node):
        nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in kept]
        del model.graph.node[:]
        model.graph.node.extend(nodes)


def unrounded(onnx: Any, model: Any, graph: str) -> Any:
    """The model after the steps of ``graph``, with what it computes from constants stored; nothing is rounded."""
    weights = _changed(onnx, model, graph.split("+")[1:])
    model = onnx_folding.stored(onnx, model, weights, {})
    onnx_computed.store_of_shapes(onnx, model, rank=0)
    onnx_computed.store(onnx, model)
    return model


def _changed(onnx: Any, model: Any, steps: list[str]) -> onnx_folding.Weights:
    """The weights after the steps; the nodes of the model are changed in place."""
    computed = onnx_folding.compute_weights(onnx, model) if set(STEPS).intersection(steps) else set()
    if "folded" in steps or "scaled" in steps:
        onnx_tied.untie(model.graph, onnx_folding.parameters)
    weights = onnx_folding.read(onnx, model)
    if "computed" in steps:
        weights.made.update(computed)
    if "folded" in steps:
        onnx_folding.fold(onnx, model, weights)
    if "scaled" in steps:
        onnx_folding.scale(model, weights)
    if "summed" in steps:
        onnx_folding.sum_biases(model, weights)
    return weights


def _is_rounded(name: str, weights: onnx_folding.Weights, base: str) -> bool:
    values = weights.values[name]
    if values.dtype.name != "float32" or not values.ndim:
        return False
    if name in weights.made or base == "w16-all":
        return True
    return values.ndim >= 2 and name not in weights.vectors
