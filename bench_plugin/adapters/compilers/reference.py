"""ONNX's own reference evaluator as a compiler: slow, in numpy, and an executable form of the specification."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from typing import Any

from bench_plugin.agent import external
from bench_plugin.agent.adapter import InvalidModel, Reply
from bench_plugin.agent.contract import ORIGINAL, CompileCall, CompilerCall, RunCall
from bench_plugin.agent.toolkit import samples, versions

ADAPTER = {
    "name": "reference",
    "kind": "compiler",
    "toolchain": "onnxruntime",
    "title": "ONNX reference evaluator",
    "distribution": "onnx",
    "operations": ["compile", "run"],
    "operators": True,
    "takes": ["onnx"],
    "precisions": {
        "fp32": ["original"], "w4": ["weights"], "w4a8": ["qdq"],
        "int4": ["weights", "qdq", "fixed", "kmeans"], "uint4": ["weights", "qdq"],
        "int2": ["weights", "qdq", "fixed", "kmeans"], "uint2": ["weights", "qdq"],
    },
    "targets": ["local"],
    "portable": True,
    "artefact_is_model": True,
    "on_request": True,
    "values": ["sequence", "optional", "str", "bfloat16", "int2", "uint2", "int4", "uint4", "float4_e2m1fn",
               "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"],
    # It is of the same release as the specification.
    "opsets": [1, 0],
    "errors": [{"package": "onnx"}],
    "unsupported": [
        {"exception": "ImportError", "pattern": "PIL|Pillow"},
        {"exception": "NotImplementedError", "pattern": ""},
        {"exception": "RuntimeImplementationError", "pattern": ""},
        {"exception": "RuntimeError", "pattern": "^No implementation for operator"},
    ],
}  # fmt: skip


class Adapter:
    """Keeps the evaluator that was made last."""

    def __init__(self) -> None:
        self._key: Any = None
        self._evaluator: Any = None

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Forget the evaluator."""
        self._key = self._evaluator = None

    def compile(self, call: CompileCall) -> Reply:
        """``model.onnx`` as it is, once the checker and the evaluator take it. Raises InvalidModel."""
        onnx = importlib.import_module("onnx")
        importlib.import_module("onnx.reference")
        call.stage("compile")
        try:
            onnx.checker.check_model(call.files["model.onnx"])
        except onnx.checker.ValidationError as error:
            raise InvalidModel(str(error)) from error
        self._opened(call)
        files = external.artefact(call.files["model.onnx"], call.folder)
        placement = {} if call.graph == ORIGINAL else {"emulated": "yes"}  # DequantizeLinear gives numpy's float32
        return Reply({"effective": call.precision, "portable": True, "placement": placement}, files=files)

    def run(self, call: RunCall) -> Reply:
        """Outputs out0, out1 ... of ``model.onnx``."""
        evaluator = self._opened(call)
        call.stage("run")
        given = call.named(evaluator.input_names)

        def run(xs: Sequence[Any]) -> list[Any]:
            return list(evaluator.run(None, dict(zip(given, xs))))

        return samples.answered(call, run, list(given.values()))

    def _opened(self, call: CompilerCall) -> Any:
        path = call.files["model.onnx"]
        key = (path, os.stat(path).st_mtime_ns)
        if key != self._key:
            self.reset()
            reference = importlib.import_module("onnx.reference")
            self._evaluator = reference.ReferenceEvaluator(external.placed(call.files, call.folder))
            self._key = key
        return self._evaluator
