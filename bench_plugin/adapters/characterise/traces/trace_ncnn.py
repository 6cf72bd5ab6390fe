"""Which nodes of a model the graph that pnnx writes for ncnn still names."""

from __future__ import annotations

from bench_plugin.adapters.characterise.compliance_calls import TraceCall, compiled, traced
from bench_plugin.adapters.compilers import ncnn
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "trace_ncnn",
    "kind": "tool",
    "toolchain": "ncnn",
    "title": "Traces of ncnn",
    "distribution": "ncnn",
    "operations": ["trace"],
    "uses": ["compliance_calls", "ncnn"],
}
CALLS = {"trace": TraceCall}
HEAD = 2  # lines before the layers: a magic number, and counts of layers and blobs
PASSIVE = frozenset({"Input", "MemoryData", "Split"})


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("ncnn", "pnnx")

    def reset(self) -> None:
        """Nothing to forget."""

    def trace(self, call: TraceCall) -> Reply:
        """``compiled.json``: the layers of ``model.param`` with the blobs that they make."""
        reply = ncnn.Adapter().compile(call)
        nodes = []
        with open(reply.files["model.param"], encoding="utf-8") as file:
            lines = file.read().splitlines()[HEAD:]
        for line in lines:
            kind, name, takes, gives, *rest = line.split()
            if kind not in PASSIVE:
                nodes.append(compiled(name, kind, [], rest[int(takes) : int(takes) + int(gives)]))
        return traced(call, nodes, "the names of layers and blobs in its .param file")
