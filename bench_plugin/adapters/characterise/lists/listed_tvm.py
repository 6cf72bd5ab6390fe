"""The operators that TVM's ONNX frontend converts."""

from __future__ import annotations

import importlib
import json
from typing import Any

from bench_plugin.adapters.characterise.compliance_calls import ListCall
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "listed_tvm",
    "kind": "tool",
    "toolchain": "tvm",
    "title": "Operators that TVM lists",
    "distribution": "apache-tvm",
    "operations": ["list"],
    "uses": ["compliance_calls"],
}


CALLS = {"list": ListCall}
SOURCE = "the table of converters in the ONNX frontend of TVM %s"


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("apache-tvm")

    def reset(self) -> None:
        """Nothing to forget."""

    def list(self, call: ListCall) -> Reply:
        """``operators.json``: the names of the operators, with the domain before those of other domains than ONNX's."""
        call.stage("build")
        path = call.path("operators.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(_operators(), file)
        return Reply({"source": SOURCE % self.versions()["apache-tvm"]}, files={"operators.json": path})


def _operators() -> list[str]:
    """The table by which its frontend finds the converter of an operator."""
    frontend: Any = importlib.import_module("tvm.relax.frontend.onnx.onnx_frontend")
    return sorted(frontend._get_convert_map())
