"""Which nodes of a model an .mnn file still names."""

from __future__ import annotations

import struct

from bench_plugin.adapters.characterise.compliance_calls import TraceCall, compiled, traced
from bench_plugin.adapters.compilers import mnn
from bench_plugin.adapters.readback import mnn_weights
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "trace_mnn",
    "kind": "tool",
    "toolchain": "mnn",
    "title": "Traces of MNN",
    "distribution": "mnn",
    "operations": ["trace"],
    "uses": ["compliance_calls", "mnn", "mnn_weights"],
}
CALLS = {"trace": TraceCall}


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("mnn")

    def reset(self) -> None:
        """Nothing to forget."""

    def trace(self, call: TraceCall) -> Reply:
        """``compiled.json``: the operators of ``model.mnn``, those of subgraphs too, with their names."""
        reply = mnn.Adapter().compile(call)
        with open(reply.files["model.mnn"], "rb") as file:
            content = file.read()
        net = mnn_weights.Table(content, struct.unpack_from("<I", content)[0])
        inner = [node for graph in net.tables(mnn_weights.SUBGRAPHS) for node in graph.tables(mnn_weights.NODES)]
        names = [node.text(mnn_weights.NAME) for node in [*net.tables(mnn_weights.OPLISTS), *inner]]
        nodes = [compiled(name, "", [], [name]) for name in names]
        return traced(call, nodes, "the names of operators in its .mnn file")
