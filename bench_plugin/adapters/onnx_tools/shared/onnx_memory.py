"""Files and results with the memory that they need: ONNX's evaluator keeps all results, its messages all weights."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from bench_plugin.adapters.onnx_tools.shared import onnx_names
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_memory",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Memory of ONNX's evaluator",
    "distribution": "onnx",
    "operations": [],
    "uses": ["onnx_names"],
}

LARGE = 2**20  # bytes of a weight from which on it is large


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx")

    def reset(self) -> None:
        """Nothing to forget."""


class _Dropping:
    """A node of the evaluator, before which results are dropped that nothing takes any more."""

    def __init__(self, node: Any, dead: list[str], seen: Callable[[str, Any], None] | None) -> None:
        self._node, self._dead, self._seen = node, dead, seen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._node, name)

    def need_context(self) -> bool:
        """Always: the context is all that was computed so far, by name."""
        return True

    def run(self, *inputs: Any, context: dict[str, Any], bindings: Any = None, **linked: Any) -> Any:
        """The results of the node."""
        for name in self._dead:
            context.pop(name, None)
        if self._node.need_context():
            linked |= {"context": context, "bindings": bindings}
        found = self._node.run(*inputs, **linked)
        if self._seen is not None:
            for name, value in zip(self._node.output, found):
                self._seen(name, value)
        return found


def frugal(evaluator: Any, seen: Callable[[str, Any], None] | None = None) -> Any:
    """The same ReferenceEvaluator, which now drops each result after the node that takes it last.

    In DenseNet every layer has a result that holds those of all layers before, of which few are needed at a time.
    ``seen`` is called with the name and the value of every result of a node. Branches and bodies keep what is theirs
    until they end.
    """
    nodes, last = evaluator.rt_nodes_, {}
    for place, node in enumerate(nodes):
        last.update(dict.fromkeys((*node.output, *onnx_names.read_by(node.onnx_node)), place))
    dead: list[list[str]] = [[] for _ in range(len(nodes) + 1)]
    made = {name for node in nodes for name in node.output} - set(evaluator.output_names) - {""}
    for name in made:
        dead[last[name] + 1].append(name)
    evaluator.rt_nodes_ = [_Dropping(node, gone, seen) for node, gone in zip(nodes, dead)]
    return evaluator


def without_weights(onnx: Any, path: str) -> tuple[Any, dict[str, Any]]:
    """The model of a file, and its large weights of float32 as arrays [...] by name, which are empty in the model.

    A message does not give back the memory of what is replaced in it, so the model is one that never had the weights.
    """
    import numpy as np

    model = onnx.load(path, load_external_data=False)
    folder = os.path.dirname(path)
    weights: dict[str, Any] = {}
    for tensor in model.graph.initializer:
        if tensor.data_type != onnx.TensorProto.FLOAT or 4 * int(np.prod(tensor.dims, dtype="int64")) < LARGE:
            continue
        weights[tensor.name] = onnx.numpy_helper.to_array(tensor, folder)
        empty = onnx.numpy_helper.from_array(np.empty(0, np.float32), tensor.name)
        tensor.CopyFrom(empty)
    slim = onnx.ModelProto()
    slim.ParseFromString(model.SerializeToString())
    del model
    onnx.load_external_data_for_model(slim, folder)
    return slim, weights
