"""The calls that say which operators there are, and which of a model's nodes a compiled graph still names."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.contract import Call, CompileCall
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "compliance_calls",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Calls about operators and compiled graphs",
    "distribution": "onnx",
    "operations": [],
}


class Adapter:
    """Remembers nothing; the adapters that use this file take its calls."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx")

    def reset(self) -> None:
        """Nothing to forget."""


@dataclass(frozen=True, eq=False, repr=False)
class SignaturesCall(Call):
    """Say which versions ONNX's operators have, as ``schemas.json``, and what the operator cases of ``cases.json`` and
    ``cases.bin`` are made of, as ``facts.json``.
    """

    operation = "signatures"


@dataclass(frozen=True, eq=False, repr=False)
class ListCall(Call):
    """Say which of ONNX's operators a tool lists as its own, as ``operators.json``: their names, with the domain before
    those of other domains than ONNX's own.
    """

    operation = "list"


@dataclass(frozen=True, eq=False, repr=False)
class TraceCall(CompileCall):
    """Compile ``model.onnx``, and say what the compiled graph is made of, as ``compiled.json``: a list of nodes.

    Of each compiled node: its ``name`` and ``operator``, the ``names`` of the model's nodes that it says it comes from,
    and the ``tensors`` that it makes.
    """

    operation = "trace"


def traced(call: TraceCall, nodes: list[dict[str, Any]], source: str) -> Reply:
    """The reply to a trace: the compiled nodes, and what they were read from, in words."""
    path = call.path("compiled.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(nodes, file)
    return Reply({"source": source}, files={"compiled.json": path})


def compiled(name: str, operator: str, names: list[str], tensors: list[str]) -> dict[str, Any]:
    """One compiled node."""
    return {"name": name, "operator": operator, "names": names, "tensors": tensors}
