"""The operators that emx-onnx-cgen lowers to C."""

from __future__ import annotations

import importlib
from typing import Any

from bench_plugin.adapters.characterise.compliance_calls import ListCall
from bench_plugin.adapters.characterise.lists.listing import Lister
from bench_plugin.agent.adapter import Reply

ADAPTER = {
    "name": "listed_emx",
    "kind": "tool",
    "toolchain": "emx",
    "title": "Operators that emx-onnx-cgen lists",
    "distribution": "emx-onnx-cgen",
    "operations": ["list"],
    "uses": ["compliance_calls", "listing"],
}

CALLS = {"list": ListCall}
SOURCE = "the registry of lowerings of emx-onnx-cgen %s"


class Adapter(Lister):
    """Lists the operators of the distribution."""

    def __init__(self) -> None:
        super().__init__("emx-onnx-cgen", SOURCE)

    def list(self, call: ListCall) -> Reply:
        """``operators.json``, the names of the operators."""
        call.stage("build")
        return self.listed(call, _operators())


def _operators() -> list[str]:
    """The registry of its lowerings."""
    importlib.import_module("emx_onnx_cgen.lowering").load_lowering_registry()
    registry: Any = importlib.import_module("emx_onnx_cgen.lowering.registry")
    return sorted(registry.get_lowering_registry())
