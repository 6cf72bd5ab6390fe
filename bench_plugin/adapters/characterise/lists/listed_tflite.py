"""The operators that onnx2tf converts on the way from ONNX to TFLite."""

from __future__ import annotations

import importlib.util
import json
import os
from typing import Any

from bench_plugin.adapters.characterise.compliance_calls import ListCall
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "listed_tflite",
    "kind": "tool",
    "toolchain": "tensorflow",
    "title": "Operators that onnx2tf lists",
    "distribution": "onnx2tf",
    "operations": ["list"],
    "uses": ["compliance_calls"],
}


CALLS = {"list": ListCall}
SOURCE = "the converters of onnx2tf %s"


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx2tf")

    def reset(self) -> None:
        """Nothing to forget."""

    def list(self, call: ListCall) -> Reply:
        """``operators.json``: the names of the operators, with the domain before those of other domains than ONNX's."""
        call.stage("build")
        path = call.path("operators.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(_operators(), file)
        return Reply({"source": SOURCE % self.versions()["onnx2tf"]}, files={"operators.json": path})


def _operators() -> list[str]:
    """The modules of its folder of operators, one for each."""
    found: Any = importlib.util.find_spec("onnx2tf")
    names = (
        name[: -len(".py")]
        for name in os.listdir(os.path.join(os.path.dirname(found.origin), "ops"))
        if name.endswith(".py")
    )
    return sorted(name for name in names if name[:1].isupper())
