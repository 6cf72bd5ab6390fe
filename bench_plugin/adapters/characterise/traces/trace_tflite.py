"""Which nodes of a model the tensors of a .tflite file still name."""

from __future__ import annotations

from bench_plugin.adapters.characterise.compliance_calls import TraceCall, compiled, traced
from bench_plugin.adapters.compilers import tflite
from bench_plugin.adapters.readback import tflite_layers
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "trace_tflite",
    "kind": "tool",
    "toolchain": "tensorflow",
    "title": "Traces of TFLite",
    "distribution": "ai-edge-litert",
    "operations": ["trace"],
    "uses": ["compliance_calls", "tflite", "tflite_layers"],
}
CALLS = {"trace": TraceCall}


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("ai-edge-litert", "onnx2tf")

    def reset(self) -> None:
        """Nothing to forget."""

    def trace(self, call: TraceCall) -> Reply:
        """``compiled.json``: the operators of ``model.tflite`` with the names of the tensors that they make."""
        reply = tflite.Adapter().compile(call)
        with open(reply.files["model.tflite"], "rb") as file:
            content = tflite_layers.File(file.read(), False)
        nodes = []
        for node in content.graph.operators:
            tensors = [content.graph.tensors[int(index)].name.decode("utf-8", "replace") for index in node.outputs]
            nodes.append(compiled("", content.operator(node), [], tensors))
        return traced(call, nodes, "the names of tensors in its .tflite file")
