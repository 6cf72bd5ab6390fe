"""A compiler that breaks in known ways, by the operator of the case; what it does not break it computes in numpy."""

from __future__ import annotations

import importlib
import os
import signal
import time

from bench_plugin.agent import external
from bench_plugin.agent.adapter import Reply, Unsupported, VersionSkew
from bench_plugin.agent.contract import CompileCall, CompilerCall, RunCall
from bench_plugin.agent.toolkit import samples

ADAPTER = {
    "name": "breaking",
    "kind": "compiler",
    "toolchain": "onnxruntime",
    "title": "Breaking",
    "distribution": "numpy",
    "operations": ["compile", "run"],
    "takes": ["onnx"],
    "precisions": {"fp32": ["original"]},
    "opsets": [7, 20],
    "ir": [3, 10],
    "errors": [{"exception": "ValueError"}],
}


class Adapter:
    """Remembers how often it ran."""

    def __init__(self) -> None:
        self._runs = 0

    def versions(self) -> dict[str, str]:
        """None."""
        return {}

    def reset(self) -> None:
        """Nothing is kept."""

    def compile(self, call: CompileCall) -> Reply:
        """The file as it is, unless its operator is one that ends badly."""
        call.stage("compile")
        operator = _operator(call)
        if operator == "Exp":
            os.kill(os.getpid(), signal.SIGSEGV)
        if operator in ("Neg", "StringNormalizer"):
            raise Unsupported(f"there is no {operator} here")
        if operator == "StringConcat":
            raise KeyError(operator)  # a mistake of the adapter: no exception of the tool, as "errors" declares them
        if operator == "Cosh":
            raise ValueError("Unrecognized attribute: window_size for operator Cosh")
        if operator == "Abs" and _opset(call) > ADAPTER["opsets"][1]:
            raise ValueError("an operator set as new as that is not known")
        if operator == "Relu":
            raise VersionSkew("Relu is too new")
        return Reply({"effective": "fp32"}, files=external.artefact(call.files["model.onnx"], call.folder))

    def run(self, call: RunCall) -> Reply:
        """numpy's result; of Tanh a little too much, of Sin, Cos and Sinh more, and of Sqrt if asked for a second time.

        Of Ceil it is another one each time, and of Log another last bit.
        """
        import numpy as np

        call.stage("run")
        with open(os.environ["FAKE_CALLS"], "a") as log:
            log.write("run\n")
            count = log.tell()
        (x,) = call.inputs.values()
        operator = _operator(call)
        self._runs += 1
        if operator == "Sqrt" and os.environ.get("FAKE_HANG"):
            time.sleep(600)
        if operator == "Sqrt" and os.environ.get("FAKE_LEAK") and self._runs > 1:
            return Reply({}, samples.blobs({"out0": np.sqrt(x) + 1}))
        result = {
            "Abs": np.abs, "Sqrt": np.sqrt, "Tanh": lambda values: np.tanh(values) * np.float32(1.00001),
            "Sin": lambda values: np.sin(values) * np.float32(1.01), "Atan": np.arctan,
            "Cos": lambda values: np.cos(values) * np.float32(1.01), "Ceil": lambda values: np.ceil(values) + count,
            "Sinh": lambda values: np.sinh(values) * np.float32(1.01),
            "Log": lambda values: np.nextafter(np.log(values), np.float32(9 if count // len("run\n") % 2 else -9)),
        }[operator](x)  # fmt: skip
        return Reply({}, samples.blobs({"out0": result}))


def _opset(call: CompilerCall) -> int:
    onnx = importlib.import_module("onnx")
    return int(onnx.load(call.files["model.onnx"]).opset_import[0].version)


def _operator(call: CompilerCall) -> str:
    onnx = importlib.import_module("onnx")
    return str(onnx.load(call.files["model.onnx"]).graph.node[0].op_type)
