"""Which nodes of a model OpenVINO's runtime model still names."""

from __future__ import annotations

import importlib

from bench_plugin.adapters.characterise.compliance_calls import TraceCall, compiled, traced
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "trace_openvino",
    "kind": "tool",
    "toolchain": "openvino",
    "title": "Traces of OpenVINO",
    "distribution": "openvino",
    "operations": ["trace"],
    "uses": ["compliance_calls"],
}
CALLS = {"trace": TraceCall}
# As artefacts are compiled at fp32, where a processor has bf16 too.
SETTINGS = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}
PASSIVE = frozenset({"Input", "Output", "Const", "Reorder"})


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("openvino")

    def reset(self) -> None:
        """Nothing to forget."""

    def trace(self, call: TraceCall) -> Reply:
        """``compiled.json``: the layers that the processor's plugin runs, with the layers that they say they are of."""
        call.stage("compile")
        core = importlib.import_module("openvino").Core()
        model = core.compile_model(core.read_model(call.files["model.onnx"]), "CPU", SETTINGS)
        nodes = []
        for layer in model.get_runtime_model().get_ordered_ops():
            said = layer.get_rt_info()
            kind = str(said["layerType"].value)
            if kind not in PASSIVE:
                names = [name for name in str(said["originalLayersNames"].value).split(",") if name]
                nodes.append(compiled(layer.get_friendly_name(), kind, names, []))
        return traced(call, nodes, "originalLayersNames of its runtime model")
