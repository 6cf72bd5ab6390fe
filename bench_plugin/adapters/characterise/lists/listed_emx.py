"""The operators that emx-onnx-cgen lowers to C."""

from __future__ import annotations

import importlib
import json
from typing import Any

from bench_plugin.adapters.characterise.compliance_calls import ListCall
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "listed_emx",
    "kind": "tool",
    "toolchain": "emx",
    "title": "Operators that emx-onnx-cgen lists",
    "distribution": "emx-onnx-cgen",
    "operations": ["list"],
    "uses": ["compliance_calls"],
}


CALLS = {"list": ListCall}
SOURCE = "the registry of lowerings of emx-onnx-cgen %s"


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("emx-onnx-cgen")

    def reset(self) -> None:
        """Nothing to forget."""

    def list(self, call: ListCall) -> Reply:
        """``operators.json``: the names of the operators, with the domain before those of other domains than ONNX's."""
        call.stage("build")
        path = call.path("operators.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(_operators(), file)
        return Reply({"source": SOURCE % self.versions()["emx-onnx-cgen"]}, files={"operators.json": path})


def _operators() -> list[str]:
    """The registry of its lowerings."""
    importlib.import_module("emx_onnx_cgen.lowering").load_lowering_registry()
    registry: Any = importlib.import_module("emx_onnx_cgen.lowering.registry")
    return sorted(registry.get_lowering_registry())
