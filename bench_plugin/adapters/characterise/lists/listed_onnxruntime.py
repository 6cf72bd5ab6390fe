"""The operators that onnxruntime has kernels for on a processor."""

from __future__ import annotations

import importlib
from typing import Any

from bench_plugin.adapters.characterise.compliance_calls import ListCall
from bench_plugin.adapters.characterise.lists.listing import Lister
from bench_plugin.agent.adapter import Reply

ADAPTER = {
    "name": "listed_onnxruntime",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Operators that onnxruntime lists",
    "distribution": "onnxruntime",
    "operations": ["list"],
    "uses": ["compliance_calls", "listing"],
}

CALLS = {"list": ListCall}
SOURCE = "the list of kernels of onnxruntime %s for processors, and the functions of ONNX, which it expands"
PROVIDER = "CPUExecutionProvider"


class Adapter(Lister):
    """Lists the operators of the distribution."""

    def __init__(self) -> None:
        super().__init__("onnxruntime", SOURCE)

    def list(self, call: ListCall) -> Reply:
        """``operators.json``, the names of the operators."""
        call.stage("build")
        return self.listed(call, _operators())


def _operators() -> list[str]:
    """The kernels of the CPU provider, and ONNX's functions."""
    state: Any = importlib.import_module("onnxruntime.capi.onnxruntime_pybind11_state")
    found = {_name(one.domain, one.op_name) for one in state.get_all_opkernel_def() if one.provider == PROVIDER}
    onnx = importlib.import_module("onnx")
    functions = (one for one in onnx.defs.get_all_schemas() if one.has_function or one.has_context_dependent_function)
    return sorted(found.union(_name(one.domain, one.name) for one in functions))


def _name(domain: str, operator: str) -> str:
    return operator if domain in ("", "ai.onnx") else "%s.%s" % (domain, operator)
