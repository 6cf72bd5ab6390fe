"""The operators that TVM's ONNX frontend converts."""

from __future__ import annotations

import importlib
from typing import Any

from bench_plugin.adapters.characterise.compliance_calls import ListCall
from bench_plugin.adapters.characterise.lists.listing import Lister
from bench_plugin.agent.adapter import Reply

ADAPTER = {
    "name": "listed_tvm",
    "kind": "tool",
    "toolchain": "tvm",
    "title": "Operators that TVM lists",
    "distribution": "apache-tvm",
    "operations": ["list"],
    "uses": ["compliance_calls", "listing"],
}

CALLS = {"list": ListCall}
SOURCE = "the table of converters in the ONNX frontend of TVM %s"


class Adapter(Lister):
    """Lists the operators of the distribution."""

    def __init__(self) -> None:
        super().__init__("apache-tvm", SOURCE)

    def list(self, call: ListCall) -> Reply:
        """``operators.json``, the names of the operators."""
        call.stage("build")
        return self.listed(call, _operators())


def _operators() -> list[str]:
    """The table by which its frontend finds the converter of an operator."""
    frontend: Any = importlib.import_module("tvm.relax.frontend.onnx.onnx_frontend")
    return sorted(frontend._get_convert_map())
