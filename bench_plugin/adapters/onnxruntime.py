"""ONNX Runtime: runs ONNX files."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import re
from collections.abc import Sequence
from typing import Any

from bench_plugin.agent import samples
from bench_plugin.agent.adapter import Call, Reply, VersionSkew

ADAPTER = {
    "name": "onnxruntime",
    "kind": "compiler",
    "toolchain": "onnxruntime",
    "title": "ONNX Runtime",
    "distribution": "onnxruntime",
    "operations": ["run"],
    "precisions": ["fp32"],
    "targets": ["local"],
    "unsupported": [{"exception": "NotImplemented", "pattern": ""}],
}

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

    def run(self, call: Call) -> Reply:
        """Outputs out0, out1 ... of ``model.onnx``: sample by sample, or once (``meta["whole"]``).

        ``meta``: ``threads``, ``optimisation`` (all or none), ``providers``, ``ragged`` (outputs of varying length).
        """
        session = self._opened(call)
        call.stage("run")
        names = [row.name for row in session.get_inputs()]
        given = samples.given_by_name(call)
        order = [name for name in names if name in given]

        def run(xs: Sequence[Any]) -> list[Any]:
            return list(session.run(None, dict(zip(order, xs))))

        inputs = [given[name] for name in order]
        meta: dict[str, object] = {
            "outputs": [{"name": row.name, "type": row.type} for row in session.get_outputs()],
            "placement": {"providers": session.get_providers()},
        }  # fmt: skip
        if call.meta.get("whole"):
            ys = run(inputs)
            return Reply(meta, samples.blobs(dict(zip(samples.numbered(len(ys)), ys))))
        batched = bool(call.meta["batched"])
        results = samples.one_by_one(run, inputs, batched)
        joined = samples.joined(results, samples.numbered(len(results[0])), batched, bool(call.meta.get("ragged")))
        return Reply(meta, samples.blobs(joined))

    def _opened(self, call: Call) -> Any:
        path = call.files["model.onnx"]
        providers = list(call.meta.get("providers", ["CPUExecutionProvider"]))  # type: ignore[call-overload]
        threads = int(str(call.meta.get("threads") or os.cpu_count() or 1))
        key = (path, os.stat(path).st_mtime_ns, str(call.meta.get("optimisation")), threads, providers)
        if key != self._key:
            self.reset()
            runtime = importlib.import_module("onnxruntime")
            options = runtime.SessionOptions()
            options.log_severity_level = 3
            options.intra_op_num_threads = threads
            options.inter_op_num_threads = 1
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # other agents work beside
            if call.meta.get("optimisation") == "none":
                options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
            try:
                self._session = runtime.InferenceSession(path, options, providers=providers)
            except Exception as error:
                if SKEW.search(str(error)):
                    raise VersionSkew(str(error)) from error
                raise
            self._key = key
        return self._session
