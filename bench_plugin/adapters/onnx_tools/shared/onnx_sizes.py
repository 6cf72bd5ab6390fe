"""Sizes of inner tensors that shape inference does not find: those that two runs of the model agree on."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_sizes",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Sizes of tensors in ONNX graphs",
    "distribution": "onnxruntime",
    "operations": [],
}

SEEDS = (0, 1)


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnxruntime", "onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def declare(onnx: Any, model: Any, names: Sequence[str]) -> None:
    """Declare the sizes of these tensors in a model whose inputs have numbers as sizes, where inference finds none.

    A size that depends on the values of the inputs is left out; so are all of a file that onnxruntime does not take.
    """
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    known = {value.name: value for value in (*inferred.value_info, *inferred.output)}
    missing = [name for name in names if name in known and not _whole(known[name])]
    if missing:
        found = _seen(onnx, model, [_declared(onnx, known[name], None) for name in missing])
        model.graph.value_info.extend(_declared(onnx, known[name], found[name]) for name in missing if name in found)


def _whole(value: Any) -> bool:
    tensor = value.type.tensor_type
    return tensor.HasField("shape") and all(dim.HasField("dim_value") for dim in tensor.shape.dim)


def _declared(onnx: Any, value: Any, sizes: Sequence[int | None] | None) -> Any:
    return onnx.helper.make_tensor_value_info(value.name, value.type.tensor_type.elem_type, sizes)


def _seen(onnx: Any, model: Any, tensors: Sequence[Any]) -> dict[str, list[int | None]]:
    """The sizes that the tensors have in runs with other values; None is a size that is not the same in all."""
    state: Any = importlib.import_module("onnxruntime.capi.onnxruntime_pybind11_state")
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    del shown.graph.output[:]
    shown.graph.output.extend(tensors)
    names = [value.name for value in tensors]
    try:
        runs = [_shapes(shown, names, seed) for seed in SEEDS]
    except (state.Fail, state.InvalidArgument, state.InvalidGraph, state.NotImplemented, state.RuntimeException):
        return {}
    alike = (name for name in names if len({len(run[name]) for run in runs}) == 1)
    return {name: [one if one == other else None for one, other in zip(*(run[name] for run in runs))] for name in alike}


def _shapes(model: Any, names: Sequence[str], seed: int) -> dict[str, tuple[int, ...]]:
    runtime = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 4  # that a size differs from a declared one is what is looked for
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    given = {value.name: _drawn(value, seed) for value in model.graph.input}
    return {name: values.shape for name, values in zip(names, session.run(list(names), given))}


def _drawn(value: Any, seed: int) -> Any:
    """Values of an input: normal numbers; integers are 0 or 1, so that they index any table."""
    numpy = importlib.import_module("numpy")
    onnx = importlib.import_module("onnx")
    rng = numpy.random.default_rng(seed)
    kind = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    sizes = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
    return (rng.standard_normal(sizes) if kind.kind == "f" else rng.integers(0, 2, sizes)).astype(kind)
