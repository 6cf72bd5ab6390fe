"""The float64 reference of an ONNX file: its graph promoted to float64, evaluated by onnx's reference evaluator.

Operators that it lacks, or computes too slowly for real networks, are those of ``onnx_operators``.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import os
from collections.abc import Callable, Sequence
from typing import Any

from bench_plugin.adapters.onnx_tools import onnx_evaluator, onnx_operators
from bench_plugin.adapters.onnx_tools.shared import onnx_memory
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.contract import EvaluateCall
from bench_plugin.agent.toolkit import conditioning, samples, versions

ADAPTER = {
    "name": "onnx_float64",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "ONNX reference in float64",
    "distribution": "onnx",
    "operations": ["evaluate"],
    "uses": ["onnx_evaluator", "onnx_memory", "onnx_operators"],
    "errors": [{"package": "onnx"}],
    "unsupported": [
        {"operation": "evaluate", "exception": "NotImplementedError", "pattern": ""},
        {"operation": "evaluate", "exception": "RuntimeImplementationError", "pattern": ""},
    ],
}

FLOAT, DOUBLE = 1, 11
NARROW = (10, 16)  # float16 and bfloat16: the types that a file may compute in, whose rounding is noise
# Inputs that control an operator: an error of one ULP may change what it does, not only how exactly.
STEERING = (
    "Resize",
    "Upsample",
    "Range",
    "OneHot",
    "Pad",
    "NonMaxSuppression",
    "Clip",
    "TopK",
    "Floor",
    "Ceil",
    "Cast",
    "Pow",  # an exponent beside a whole number makes negative bases NaN
)
TYPE_ATTRIBUTES = {
    "Cast": "to",
    "EyeLike": "dtype",
    "RandomNormal": "dtype",
    "RandomUniform": "dtype",
    "Bernoulli": "dtype",
}


class Adapter:
    """Keeps the evaluator that was made last."""

    def __init__(self) -> None:
        self._key: Any = None
        self._model: Any = None

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Forget the model."""
        self._key = self._model = None

    def evaluate(self, call: EvaluateCall) -> Reply:
        """Outputs out0 ... of ``model.onnx`` in float64, sample by sample.

        Raises Unsupported for an operator without a reference, RuntimeError when float32 is left.
        """
        call.stage("reference")
        onnx = importlib.import_module("onnx")
        model, beside = _opened(onnx, call.files["model.onnx"])
        perturbation = conditioning.Perturbation(call.perturb) if call.perturb is not None else None
        steering = _steering(model.graph)
        if perturbation is not None:
            _perturb(onnx, model.graph, perturbation, steering)
        names = [value.name for value in model.graph.output]
        operators = onnx_operators.fast_operators(onnx)
        if perturbation is not None:
            operators = onnx_operators.perturbed_operators(onnx, perturbation)
        evaluator = onnx_evaluator.evaluator(model, operators)
        for name, read in beside.items():
            values = read()
            if perturbation is not None and name not in steering:
                values = perturbation(values)
            evaluator.rt_inits_[name] = values
        _dequantise_weights(evaluator)
        given = {name: doubled(values[: call.samples]) for name, values in call.inputs.items()}
        if perturbation is not None:
            given = {name: perturbation.given(values) for name, values in given.items()}
        order = [name for name in evaluator.input_names if name in given]
        single = [name for name, value in evaluator.rt_inits_.items() if _is_single(value)]
        onnx_memory.frugal(evaluator, lambda name, value: single.append(name) if _is_single(value) else None)

        def run(xs: Sequence[Any]) -> list[Any]:
            found: list[Any] = evaluator.run(None, dict(zip(order, xs)))
            if single:
                raise RuntimeError(
                    f"{len(single)} results are still float32 after promotion, the first is {min(single)!r}"
                )
            return found

        results = samples.one_by_one(run, [given[name] for name in order], call.batched)
        joined = samples.joined(results, samples.numbered(len(names)), call.batched, call.ragged)
        return Reply({"truth": "file in float64"}, samples.blobs(joined))


def _opened(onnx: Any, path: str) -> tuple[Any, dict[str, Callable[[], Any]]]:
    """The promoted model, and readers of the float32 weights that lie in files beside it.

    Those weights never enter the message, whose memory is not given back when a field is replaced: of 2.5 GiB of
    weights it would hold 13 GiB before the first result. In the message they are empty.
    """
    import numpy as np

    model = onnx.load(path, load_external_data=False)
    folder = os.path.dirname(path)
    beside: dict[str, Callable[[], Any]] = {}
    for tensor in model.graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL and tensor.data_type == FLOAT and 0 not in tensor.dims:
            said = {entry.key: entry.value for entry in tensor.external_data}
            place = np.memmap(
                os.path.join(folder, said["location"]), "<f4", "r", int(said.get("offset", 0)), tuple(tensor.dims)
            )
            beside[tensor.name] = functools.partial(place.astype, np.float64)
            tensor.CopyFrom(onnx.numpy_helper.from_array(np.empty(0, np.float32), tensor.name))
    onnx.load_external_data_for_model(model, folder)
    return promoted(onnx, model, narrow=True), beside


def _dequantise_weights(evaluator: Any) -> None:
    """Compute once, not for every sample, what DequantizeLinear makes of stored weights."""
    known, given = evaluator.rt_inits_, set(evaluator.input_names)
    left = []
    for node in evaluator.rt_nodes_:
        stored = all(name in known and name not in given for name in node.input if name)
        if node.op_type == "DequantizeLinear" and stored:
            known.update(zip(node.output, node.run(*(known.get(name) for name in node.input)), strict=True))
        else:
            left.append(node)
    evaluator.rt_nodes_ = left


def doubled(values: Any) -> Any:
    """An array [...] of float32 or of a narrower float as float64; any other array as it is."""
    return values.astype("float64") if values.dtype.name in ("float16", "bfloat16", "float32") else values


def _is_single(value: Any) -> bool:
    return bool(getattr(value, "dtype", None) == "float32")


def promoted(onnx: Any, model: Any, *, narrow: bool = False) -> Any:
    """The model with every float32 tensor, type and cast as float64; if ``narrow``, those of float16 and bfloat16 too.

    A case of a single operator keeps its narrow types, because its rule is about them.
    """
    if model.functions:
        model = importlib.import_module("onnx.inliner").inline_local_functions(model)
    _promote_graph(onnx, model.graph, (FLOAT, *NARROW) if narrow else (FLOAT,))
    return model


def _promote_graph(onnx: Any, graph: Any, types: Sequence[int]) -> None:
    for tensor in graph.initializer:
        _promote_tensor(onnx, tensor, types)
    for value in itertools.chain(graph.input, graph.output, graph.value_info):
        if value.type.tensor_type.elem_type in types:
            value.type.tensor_type.elem_type = DOUBLE
    for node in graph.node:
        if node.op_type == "ConstantOfShape" and not node.attribute:  # zeros of float32
            node.attribute.append(onnx.helper.make_attribute("value", onnx.helper.make_tensor("", DOUBLE, [1], [0.0])))
        for attribute in node.attribute:
            _promote_attribute(onnx, node, attribute, types)


def _promote_attribute(onnx: Any, node: Any, attribute: Any, types: Sequence[int]) -> None:
    if attribute.HasField("g"):
        _promote_graph(onnx, attribute.g, types)
    for inner in attribute.graphs:
        _promote_graph(onnx, inner, types)
    if attribute.HasField("t"):
        _promote_tensor(onnx, attribute.t, types)
    if attribute.name == TYPE_ATTRIBUTES.get(node.op_type) and attribute.i in types:
        attribute.i = DOUBLE
    if node.op_type == "Constant" and attribute.name in ("value_float", "value_floats"):
        import numpy as np

        single = attribute.name == "value_float"
        values = np.array(attribute.f if single else list(attribute.floats), dtype=np.float64)
        attribute.CopyFrom(onnx.helper.make_attribute("value", onnx.numpy_helper.from_array(values)))


def _promote_tensor(onnx: Any, tensor: Any, types: Sequence[int]) -> None:
    if tensor.data_type in types:
        values = onnx.numpy_helper.to_array(tensor).astype("float64")
        tensor.CopyFrom(onnx.numpy_helper.from_array(values, tensor.name))


def _steering(graph: Any) -> set[str]:
    return {name for node in graph.node if node.op_type in STEERING for name in node.input}


def _perturb(onnx: Any, graph: Any, perturbation: conditioning.Perturbation, steering: set[str]) -> None:
    for tensor in graph.initializer:
        if tensor.data_type == DOUBLE and tensor.name not in steering:
            values = perturbation(onnx.numpy_helper.to_array(tensor))
            tensor.CopyFrom(onnx.numpy_helper.from_array(values, tensor.name))
