"""The operators that onnx2tf converts on the way from ONNX to TFLite."""

from __future__ import annotations

import importlib.util
import os
from typing import Any

from bench_plugin.adapters.characterise.compliance_calls import ListCall
from bench_plugin.adapters.characterise.lists.listing import Lister
from bench_plugin.agent.adapter import Reply

ADAPTER = {
    "name": "listed_tflite",
    "kind": "tool",
    "toolchain": "tensorflow",
    "title": "Operators that onnx2tf lists",
    "distribution": "onnx2tf",
    "operations": ["list"],
    "uses": ["compliance_calls", "listing"],
}

CALLS = {"list": ListCall}
SOURCE = "the converters of onnx2tf %s"


class Adapter(Lister):
    """Lists the operators of the distribution."""

    def __init__(self) -> None:
        super().__init__("onnx2tf", SOURCE)

    def list(self, call: ListCall) -> Reply:
        """``operators.json``, the names of the operators."""
        call.stage("build")
        return self.listed(call, _operators())


def _operators() -> list[str]:
    """The modules of its folder of operators, one for each."""
    found: Any = importlib.util.find_spec("onnx2tf")
    names = (
        name[: -len(".py")]
        for name in os.listdir(os.path.join(os.path.dirname(found.origin), "ops"))
        if name.endswith(".py")
    )
    return sorted(name for name in names if name[:1].isupper())
