"""ONNX's own reference evaluator as a compiler: slow, in numpy, and the specification's second voice."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
from collections.abc import Sequence
from typing import Any

from bench_plugin.agent import external, packs, samples
from bench_plugin.agent.adapter import Call, InvalidModel, Reply

ADAPTER = {
    "name": "reference",
    "kind": "compiler",
    "toolchain": "onnxruntime",
    "title": "ONNX reference evaluator",
    "distribution": "onnx",
    "operations": ["compile", "run"],
    "operators": True,
    "takes": ["onnx"],
    "precisions": {"fp32": ["original"]},
    "targets": ["local"],
    "portable": True,
    "on_request": True,
    "values": ["sequence", "optional", "str", "bfloat16", "int2", "uint2", "int4", "uint4", "float4_e2m1fn",
               "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"],
    "unsupported": [
        {"exception": "ImportError", "pattern": "PIL|Pillow"},
        {"exception": "NotImplementedError", "pattern": ""},
        {"exception": "RuntimeImplementationError", "pattern": ""},
    ],
}  # fmt: skip


class Adapter:
    """Keeps the evaluator that was made last."""

    def __init__(self) -> None:
        self._key: Any = None
        self._evaluator: Any = None

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return {name: importlib.metadata.version(name) for name in ("onnx", "numpy")}

    def reset(self) -> None:
        """Forget the evaluator."""
        self._key = self._evaluator = None

    def compile(self, call: Call) -> Reply:
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
        return Reply({"effective": str(call.meta["precision"]), "portable": True}, files=files)

    def run(self, call: Call) -> Reply:
        """Outputs out0, out1 ... of ``model.onnx``: sample by sample, or once (``meta["whole"]``)."""
        evaluator = self._opened(call)
        call.stage("run")
        given = packs.given(call)
        order = [name for name in evaluator.input_names if name in given]

        def run(xs: Sequence[Any]) -> list[Any]:
            return list(evaluator.run(None, dict(zip(order, xs))))

        inputs = [given[name] for name in order]
        if call.meta.get("whole"):
            return Reply(*packs.reply(run(inputs)))
        batched = bool(call.meta["batched"])
        results = samples.one_by_one(run, inputs, batched)
        joined = samples.joined(results, samples.numbered(len(results[0])), batched, bool(call.meta.get("ragged")))
        return Reply({}, samples.blobs(joined))

    def _opened(self, call: Call) -> Any:
        path = call.files["model.onnx"]
        key = (path, os.stat(path).st_mtime_ns)
        if key != self._key:
            self.reset()
            reference = importlib.import_module("onnx.reference")
            self._evaluator = reference.ReferenceEvaluator(external.placed(call.files, call.folder))
            self._key = key
        return self._evaluator
