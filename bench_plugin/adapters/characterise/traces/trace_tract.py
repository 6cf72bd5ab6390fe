"""Which nodes of a model tract's optimised graph still names."""

from __future__ import annotations

import dataclasses
from typing import Any

from bench_plugin.adapters.characterise.compliance_calls import TraceCall, compiled, traced
from bench_plugin.adapters.compilers import tract
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.contract import CompilerCall
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "trace_tract",
    "kind": "tool",
    "toolchain": "tract",
    "title": "Traces of tract",
    "distribution": "tract",
    "operations": ["trace"],
    "uses": ["compliance_calls", "tract"],
}
CALLS = {"trace": TraceCall}
PASSIVE = frozenset({"Source", "Const"})


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("tract")

    def reset(self) -> None:
        """Nothing to forget."""

    def trace(self, call: TraceCall) -> Reply:
        """``compiled.json``: the nodes of the graph that tract optimises, as its profile names them."""
        shared = {field.name: getattr(call, field.name) for field in dataclasses.fields(CompilerCall)}
        reply = tract.Adapter().profile(tract.ProfileCall(**shared).at(call.place))
        nodes: Any = reply.meta["nodes"]
        found = [node for node in nodes if node["operator"] not in PASSIVE]
        return traced(call, [compiled(node["name"], node["operator"], [], []) for node in found], "its profile")
