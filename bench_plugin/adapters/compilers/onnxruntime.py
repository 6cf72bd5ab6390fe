"""ONNX Runtime: its artefact is the ONNX file itself, compiled anew in every session."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import re
from collections.abc import Sequence
from typing import Any

from bench_plugin.agent import external, packs, samples
from bench_plugin.agent.adapter import Call, Reply, Unsupported, VersionSkew

ADAPTER = {
    "name": "onnxruntime",
    "kind": "compiler",
    "toolchain": "onnxruntime",
    "title": "ONNX Runtime",
    "distribution": "onnxruntime",
    "operations": ["compile", "run"],
    "operators": True,
    "takes": ["onnx"],
    "precisions": {"fp32": ["original"], "w16": ["w16"], "w8a8": ["qdq"], "w8a8-dyn": ["dynamic"]},
    "targets": ["local", "aarch64", "armhf", "riscv64"],
    "portable": True,
    "backends": ["cpu", "xnnpack", "cuda"],
    "options": {"optimisation": ["all", "none"]},
    "opsets": [7, 26],
    "ir": [3, 13],
    "values": ["sequence", "optional", "str"],
    "unsupported": [{"exception": "NotImplemented", "pattern": ""}],
}

PROVIDERS = {"cpu": "CPUExecutionProvider", "xnnpack": "XnnpackExecutionProvider", "cuda": "CUDAExecutionProvider"}

# What a session says of a file that is newer than it.
SKEW = re.compile(
    r"[Uu]nsupported model IR version|max supported IR version|ValidateOpsetForDomain|under development and support"
)


class Adapter:
    """Keeps the session that was made last."""

    def __init__(self) -> None:
        self._key: Any = None
        self._session: Any = None

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return {name: importlib.metadata.version(name) for name in ("onnxruntime", "numpy")}

    def reset(self) -> None:
        """Forget the session."""
        self._key = self._session = None

    def compile(self, call: Call) -> Reply:
        """``model.onnx`` as it is, with the weights that lie beside it, once a session could be made of it.

        Raises VersionSkew for a file that is newer than the runtime, Unsupported for a backend that its build lacks.
        """
        backend = str(call.meta.get("backend") or "cpu")
        provider = PROVIDERS[backend]
        if provider not in importlib.import_module("onnxruntime").get_available_providers():
            raise Unsupported("this build of onnxruntime has no %s" % provider)
        call.stage("compile")
        session = self._opened(call, [provider, PROVIDERS["cpu"]] if backend != "cpu" else [provider])
        files = external.artefact(call.files["model.onnx"], call.folder)
        integer = {"qdq": "integer", "dynamic": "integer"}.get(str(call.meta["graph"]), "")
        meta: dict[str, object] = {
            "effective": call.meta["precision"], "integer": integer, "portable": True, "dynamic": True,
            "placement": {"providers": session.get_providers()},
        }  # fmt: skip
        return Reply(meta, files=files)

    def run(self, call: Call) -> Reply:
        """Outputs out0, out1 ... of ``model.onnx``: sample by sample, or once (``meta["whole"]``).

        ``meta``: ``threads``, ``options`` (``optimisation``), ``backend``, ``ragged`` (outputs of varying length).
        """
        backend = str(call.meta.get("backend") or "cpu")
        session = self._opened(call, list(dict.fromkeys([PROVIDERS[backend], PROVIDERS["cpu"]])))
        call.stage("run")
        names = [row.name for row in session.get_inputs()]
        given = packs.given(call)
        order = [name for name in names if name in given]

        def run(xs: Sequence[Any]) -> list[Any]:
            return list(session.run(None, dict(zip(order, xs))))

        inputs = [given[name] for name in order]
        meta: dict[str, object] = {
            "outputs": [{"name": row.name, "type": row.type} for row in session.get_outputs()],
            "placement": {"providers": session.get_providers()},
        }  # fmt: skip
        if call.meta.get("whole"):
            described, blobs = packs.reply(run(inputs))
            return Reply({**meta, **described}, blobs)
        batched = bool(call.meta["batched"])
        results = samples.one_by_one(run, inputs, batched)
        joined = samples.joined(results, samples.numbered(len(results[0])), batched, bool(call.meta.get("ragged")))
        return Reply(meta, samples.blobs(joined))

    def _opened(self, call: Call, providers: list[str]) -> Any:
        path = call.files["model.onnx"]
        threads = int(str(call.meta.get("threads") or os.cpu_count() or 1))
        options: Any = call.meta.get("options") or {}
        optimisation = str(options.get("optimisation", "all"))
        key = (path, os.stat(path).st_mtime_ns, optimisation, threads, providers)
        if key != self._key:
            self.reset()
            runtime = importlib.import_module("onnxruntime")
            chosen = runtime.SessionOptions()
            chosen.log_severity_level = 3
            chosen.intra_op_num_threads = threads
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
                raise
            self._key = key
        return self._session
