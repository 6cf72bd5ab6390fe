"""Which nodes of a model onnxruntime's optimised graph still names."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from bench_plugin.adapters.characterise.compliance_calls import TraceCall, compiled, traced
from bench_plugin.adapters.compilers import onnxruntime
from bench_plugin.agent import external
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "trace_onnxruntime",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Traces of onnxruntime",
    "distribution": "onnxruntime",
    "operations": ["trace"],
    "uses": ["compliance_calls", "onnxruntime"],
}
CALLS = {"trace": TraceCall}
REORDERS = frozenset({"ReorderInput", "ReorderOutput"})  # what moves elements between its layouts


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnxruntime", "onnx")

    def reset(self) -> None:
        """Nothing to forget."""

    def trace(self, call: TraceCall) -> Reply:
        """``compiled.json``: the nodes of the graph that a session optimises and writes, those of subgraphs too."""
        call.stage("compile")
        path = call.path("optimised.onnx")
        runtime = importlib.import_module("onnxruntime")
        chosen = runtime.SessionOptions()
        chosen.log_severity_level = 3
        chosen.optimized_model_filepath = path
        for name, value in onnxruntime.EXACT.items():  # as artefacts are run
            chosen.add_session_config_entry(name, value)
        chosen.add_session_config_entry("session.optimized_model_external_initializers_file_name", onnxruntime.BESIDE)
        provider = onnxruntime.PROVIDERS[call.backend or "cpu"]
        runtime.InferenceSession(external.placed(call.files, call.folder), chosen, providers=[provider])
        onnx = importlib.import_module("onnx")
        graph = onnx.load(path, load_external_data=False).graph
        found = (node for node in _nodes(graph) if node.op_type not in REORDERS)
        nodes = [compiled(node.name, node.op_type, [], list(node.output)) for node in found]
        return traced(call, nodes, "the optimised graph of its session")


def _nodes(graph: Any) -> Iterator[Any]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
                yield from _nodes(inner)
