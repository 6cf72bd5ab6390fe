"""A compiler that is wrong in known ways: ONNX Runtime, of which this adapter spoils three operators.

Agents load this file by content, so it imports the standard library and ``bench_plugin.agent`` only.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from bench_plugin.agent import external, packs
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.contract import CompileCall, RunCall
from bench_plugin.agent.toolkit import samples

ADAPTER = {
    "name": "wrong",
    "kind": "compiler",
    "toolchain": "onnxruntime",
    "title": "Wrong",
    "distribution": "onnxruntime",
    "operations": ["compile", "run"],
    "takes": ["onnx"],
    "precisions": {"fp32": ["original"]},
    "targets": ["local"],
    "unsupported": [{"exception": "NotImplemented", "pattern": ""}],
}

SPOILT = ("Elu", "Add", "Sub", "Mul", "Exp", "Tanh", "Sigmoid", "Transpose", "Softmax", "MatMul", "ReduceMean", "Conv")


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Of what does the work."""
        return {"onnxruntime": importlib.metadata.version("onnxruntime")}

    def reset(self) -> None:
        """Nothing to forget."""

    def compile(self, call: CompileCall) -> Reply:
        """The file as it is; Shrink is refused with a message that differs each time, Softplus ends the process."""
        call.stage("compile")
        onnx = importlib.import_module("onnx")
        nodes = onnx.load(call.files["model.onnx"]).graph.node
        for number, node in enumerate(nodes):
            if node.op_type == "Shrink":
                raise ValueError(f"node {number} {node.output[0]!r} at {hex(id(node))} cannot be placed")
            if node.op_type == "Softplus":
                os._exit(3)
        return Reply({"effective": "fp32"}, files=external.artefact(call.files["model.onnx"], call.folder))

    def run(self, call: RunCall) -> Reply:
        """ONNX Runtime's outputs; with an operator of SPOILT one hundredth too much in more than one element."""
        call.stage("run")
        runtime = importlib.import_module("onnxruntime")
        onnx = importlib.import_module("onnx")
        path = call.files["model.onnx"]
        spoilt = any(node.op_type in SPOILT for node in onnx.load(path).graph.node)
        session = runtime.InferenceSession(path)

        def outputs(inputs: dict[str, Any]) -> list[Any]:
            found: list[Any] = session.run(None, inputs)
            if spoilt:
                found = [x * x.dtype.type(1.01) if x.size > 1 and x.dtype.kind == "f" else x for x in found]
            return found

        if call.once:
            return Reply(*packs.reply(outputs(call.inputs)))
        given = list(call.inputs.items())
        results = samples.one_by_one(
            lambda xs: outputs({name: x for (name, _), x in zip(given, xs, strict=True)}),
            [x for _, x in given],
            call.batched,
        )
        return samples.reply(call, results)
