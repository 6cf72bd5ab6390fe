"""ONNX Runtime: its artefact is the ONNX file itself, compiled anew in every session."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Sequence
from typing import Any

from bench_plugin.agent import external
from bench_plugin.agent.adapter import NotProvided, Reply, Unsupported, VersionSkew
from bench_plugin.agent.contract import QDQ, CompileCall, CompilerCall, RunCall
from bench_plugin.agent.toolkit import samples, versions

ADAPTER = {
    "name": "onnxruntime",
    "kind": "compiler",
    "toolchain": "onnxruntime",
    "title": "ONNX Runtime",
    "distribution": "onnxruntime",
    "operations": ["compile", "run"],
    "imports": ["onnxruntime"],
    "operators": True,
    "takes": ["onnx"],
    "precisions": {"fp32": ["original"], "w16": ["w16"], "w8a8": ["qdq"], "w8a8-dyn": ["dynamic"]},
    "targets": ["local", "aarch64", "armhf", "riscv64"],
    "portable": True,
    "artefact_is_model": True,
    "backends": ["cpu", "xnnpack", "cuda"],
    "options": {"optimisation": ["all", "none"]},
    "opsets": [7, 26],
    "ir": [3, 13],
    "values": ["sequence", "optional", "str"],
    "errors": [{"package": "onnxruntime"}],
    "unsupported": [{"exception": "NotImplemented", "pattern": ""}],
}

PROVIDERS = {"cpu": "CPUExecutionProvider", "xnnpack": "XnnpackExecutionProvider", "cuda": "CUDAExecutionProvider"}

# What a session says of a file that is newer than it.
SKEW = re.compile(
    r"[Uu]nsupported model IR version|max supported IR version|ValidateOpsetForDomain|under development and support"
)

# StringNormalizer asks the C library for a locale that a small machine does not have; with it the same file runs.
LOCALE = re.compile(r"Failed to construct locale with name:([^:\s]+)")


class Adapter:
    """Keeps the session that was made last."""

    def __init__(self) -> None:
        self._key: Any = None
        self._session: Any = None

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnxruntime", "numpy")

    def reset(self) -> None:
        """Forget the session."""
        self._key = self._session = None

    def compile(self, call: CompileCall) -> Reply:
        """``model.onnx`` as it is, with the weights that lie beside it, once a session could be made of it.

        Raises VersionSkew for a file that is newer than the runtime, Unsupported for a backend that its build lacks,
        NotProvided for a locale that the machine lacks.
        """
        provider = PROVIDERS[call.backend or "cpu"]
        if provider not in importlib.import_module("onnxruntime").get_available_providers():
            raise Unsupported("this build of onnxruntime has no %s" % provider)
        call.stage("compile")
        session = self._opened(call)
        files = external.artefact(call.files["model.onnx"], call.folder)
        integer = "integer" if call.graph in (QDQ, "dynamic") else ""
        meta: dict[str, object] = {
            "effective": call.precision, "integer": integer, "portable": True, "dynamic": True,
            "placement": {"providers": session.get_providers()},
        }  # fmt: skip
        return Reply(meta, files=files)

    def run(self, call: RunCall) -> Reply:
        """Outputs out0, out1 ... of ``model.onnx``."""
        session = self._opened(call)
        call.stage("run")
        given = call.named([row.name for row in session.get_inputs()])

        def run(xs: Sequence[Any]) -> list[Any]:
            return list(session.run(None, dict(zip(given, xs))))

        meta: dict[str, object] = {
            "outputs": [{"name": row.name, "type": row.type} for row in session.get_outputs()],
            "placement": {"providers": session.get_providers()},
        }  # fmt: skip
        return samples.answered(call, run, list(given.values()), meta)

    def _opened(self, call: CompilerCall) -> Any:
        path = call.files["model.onnx"]
        providers = list(dict.fromkeys([PROVIDERS[call.backend or "cpu"], PROVIDERS["cpu"]]))
        optimisation = call.option("optimisation", "all")
        key = (path, os.stat(path).st_mtime_ns, optimisation, call.threads, providers)
        if key != self._key:
            self.reset()
            runtime = importlib.import_module("onnxruntime")
            chosen = runtime.SessionOptions()
            chosen.log_severity_level = 3
            chosen.intra_op_num_threads = call.threads
            chosen.inter_op_num_threads = 1
            chosen.add_session_config_entry("session.intra_op.allow_spinning", "0")  # other agents work beside
            if optimisation == "none":
                chosen.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
            whole = external.placed(call.files, call.folder)
            try:
                self._session = runtime.InferenceSession(whole, chosen, providers=providers)
            except Exception as error:
                if SKEW.search(str(error)):
                    raise VersionSkew(str(error)) from error
                locale = LOCALE.search(str(error))
                if locale:
                    raise NotProvided("this machine has no locale %s; Debian: package locales" % locale[1]) from error
                raise
            self._key = key
        return self._session
