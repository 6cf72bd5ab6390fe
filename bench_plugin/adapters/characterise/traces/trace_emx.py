"""Which nodes of a model the C code of emx-onnx-cgen still names."""

from __future__ import annotations

import re

from bench_plugin.adapters.characterise.compliance_calls import TraceCall, compiled, traced
from bench_plugin.adapters.compilers import emx
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "trace_emx",
    "kind": "tool",
    "toolchain": "emx",
    "title": "Traces of emx-onnx-cgen",
    "distribution": "emx-onnx-cgen",
    "operations": ["trace"],
    "uses": ["compliance_calls", "emx"],
}
CALLS = {"trace": TraceCall}
# Its comment before each function.
COMMENT = re.compile(
    r"^ \* OpType: (?P<operator>.*)\n \* Name: (?P<name>.*)\n \* Inputs: .*\n \* Outputs: (?P<outputs>.*)$", re.M
)
NONE = "n/a"


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("emx-onnx-cgen")

    def reset(self) -> None:
        """Nothing to forget."""

    def trace(self, call: TraceCall) -> Reply:
        """``compiled.json``: the nodes that the comments of ``model.c`` name, one before each function."""
        reply = emx.Adapter().compile(call)
        with open(reply.files["model.c"], encoding="utf-8") as file:
            found = list(COMMENT.finditer(file.read()))
        nodes = [
            compiled(
                one["name"], one["operator"], [one["name"]] if one["name"] != NONE else [],
                [name for name in one["outputs"].split(", ") if name != NONE],
            )
            for one in found
        ]  # fmt: skip
        return traced(call, nodes, "the comments of its C code")
