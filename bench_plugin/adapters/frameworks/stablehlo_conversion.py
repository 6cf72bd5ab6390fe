"""ONNX to StableHLO by torch-mlir, and StableHLO as a function of JAX, through what jax.export reads."""

from __future__ import annotations

import dataclasses
import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "stablehlo_conversion",
    "kind": "tool",
    "toolchain": "jax",
    "title": "torch-mlir",
    "distribution": "torch-mlir",
    "operations": [],
}

PIPELINES = ("torch-onnx-to-torch-backend-pipeline", "torch-backend-to-stablehlo-backend-pipeline", "canonicalize,cse")
ARITH = "constants of MLIR's arith dialect, which torch-mlir leaves in StableHLO, renamed to StableHLO's own"
MAIN = re.compile(r"func\.func @[\w$.-]+\((?P<takes>[^)]*)\) -> (?P<gives>\([^)]*\)|tensor<[^>]*>)")
TENSOR = re.compile(r"tensor<((?:\d+x)*)(\w+)>")
TYPES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i1": "bool",
    **{f"{letter}{bits}": f"{sign}int{bits}" for letter, sign in (("i", ""), ("ui", "u")) for bits in (8, 16, 32, 64)},
}  # fmt: skip


class Adapter:
    """Nothing to call: other adapters use the functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("torch-mlir")

    def reset(self) -> None:
        """Nothing to forget."""


def program(model: Any, shapes: Mapping[str, Sequence[int]]) -> str:
    """The StableHLO of an ONNX model for inputs of these shapes, as text, with the function ``main``.

    Raises Unsupported for a size that depends on values; what torch-mlir cannot convert is an MLIRError of its own.
    """
    onnx = importlib.import_module("onnx")
    ir, passes = importlib.import_module("torch_mlir.ir"), importlib.import_module("torch_mlir.passmanager")
    importer = importlib.import_module("torch_mlir.extras.onnx_importer")
    torch_dialect = importlib.import_module("torch_mlir.dialects.torch")
    bound = onnx.ModelProto()
    bound.CopyFrom(model)
    for value in bound.graph.input:
        for dim, size in zip(value.type.tensor_type.shape.dim, shapes.get(value.name, ())):
            dim.dim_value = size
    del bound.graph.value_info[:]  # they may hold symbols, and shapes that an exporter left behind
    for value in bound.graph.output:
        value.type.tensor_type.ClearField("shape")
    bound = onnx.shape_inference.infer_shapes(bound, data_prop=True)
    with ir.Context() as context:
        torch_dialect.register_dialect(context)
        info = importer.ModelInfo(bound)
        module = info.create_module(context=context).operation
        importer.NodeImporter.define_function(info.main_graph, module).import_all()
        for pipeline in PIPELINES:
            passes.PassManager.parse(f"builtin.module({pipeline})", context).run(module)
        text = str(module)
    main = MAIN.search(text)
    if main is None or "?" in main[0]:
        raise Unsupported("sizes of outputs depend on the values of inputs: %s" % (main[0] if main else "no function"))
    text = text[: main.start()] + re.sub(r"@[\w$.-]+\(", "public @main(", main[0], count=1) + text[main.end() :]
    return re.sub(r"\barith\.constant dense", "stablehlo.constant dense", text)


def function(jax: Any, text: str) -> Callable[[Sequence[Any]], list[Any]]:
    """From numpy inputs to numpy outputs: the program as a function that jax.export has read."""
    import numpy as np

    export, dialect = importlib.import_module("jax.export"), importlib.import_module("jaxlib.mlir.dialects.stablehlo")
    head = re.search(r"@main\((?P<takes>[^)]*)\) -> (?P<gives>\([^)]*\)|tensor<[^>]*>)", text)
    assert head is not None
    takes, gives = ([_type(jax, *found) for found in TENSOR.findall(head[name])] for name in ("takes", "gives"))

    def zeros(*_: Any) -> tuple[Any, ...]:
        return tuple(jax.numpy.zeros(one.shape, one.dtype) for one in gives)

    with jax.enable_x64(True):
        # jax.export makes such objects of functions only: this one has the same inputs and outputs.
        same = export.export(jax.jit(zeros))(*takes)
        content = dialect.serialize_portable_artifact_str(text, dialect.get_minimum_version())
        read = dataclasses.replace(
            same, mlir_module_serialized=content, module_kept_var_idx=tuple(range(len(takes)))
        )  # fmt: skip
        call = jax.jit(read.call)

    def run(xs: Sequence[Any]) -> list[Any]:
        with jax.enable_x64(True):
            return [np.asarray(y) for y in call(*xs)]

    return run


def _type(jax: Any, sizes: str, kind: str) -> Any:
    if kind not in TYPES:
        raise Unsupported("JAX is given no tensor of %s" % kind)
    return jax.ShapeDtypeStruct(tuple(int(size) for size in sizes.split("x") if size), TYPES[kind])
