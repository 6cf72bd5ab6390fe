"""TorchInductor: ahead of time into a package that another process loads, or compiled just in time."""

from __future__ import annotations

import copy
import gc
import importlib
import importlib.metadata
import os
import shutil
from collections.abc import Callable, Sequence
from typing import Any

from bench_plugin.agent import samples
from bench_plugin.agent.adapter import Call, Reply, Unsupported

ADAPTER = {
    "name": "inductor",
    "kind": "compiler",
    "toolchain": "pytorch",
    "title": "TorchInductor",
    "distribution": "torch",
    "operations": ["compile", "run"],
    "takes": ["pytorch"],
    "precisions": {"fp32": ["original"], "bf16": ["original"]},
    "artefact": True,
    "targets": ["local"],
    "portable": False,
    "backends": ["aot", "jit"],
    "jit_backends": ["jit"],
    "options": {"freezing": ["on", "off"]},
    "needs": ["g++"],
    "uses": ["pytorch"],
    "unsupported": [{"operation": "compile", "exception": "Unsupported", "pattern": ""}],
}

WORKERS = 2  # each is a compiler at work


class Adapter:
    """Keeps the module that was compiled just in time, and the framework's adapter, which keeps the model."""

    def __init__(self) -> None:
        self._builder: Any = None
        self._compiled: Callable[..., Any] | None = None
        self._key: Any = None
        self._loaded: Callable[..., Any] | None = None

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return {name: importlib.metadata.version(name) for name in ("torch", "torchvision", "numpy")}

    def reset(self) -> None:
        """Forget every model."""
        self._compiled = self._key = self._loaded = None
        if self._builder is not None:
            self._builder.reset()
            importlib.import_module("torch._dynamo").reset()
        gc.collect()

    def compile(self, call: Call) -> Reply:
        """``model.pt2`` by AOTInductor; with the backend ``jit`` no file, the module is kept for :meth:`run`.

        The number of threads becomes a part of the code. Shapes are those of the example.
        """
        if shutil.which("g++") is None:
            raise Unsupported("g++ not found; install g++")
        base = importlib.import_module("bench_adapter_pytorch")
        self._builder = self._builder or base.Adapter()
        self._compiled = None
        torch = self._builder._torch()
        torch.set_num_threads(os.cpu_count() or 1)  # another number conditions other weights
        net = self._builder.built(call)
        inductor = _inductor(call)
        narrow = call.meta["precision"] == "bf16"
        model: Any = call.meta["model"]
        module = base._plain(torch, copy.deepcopy(net).bfloat16() if narrow else net, model["spec"])
        examples = _tensors(torch, [x if call.meta["batched"] else x[0] for x in samples.given(call)], narrow)
        configuration = _configuration(call)
        importlib.import_module("torch._inductor.compile_fx")
        call.stage("compile")
        torch.set_num_threads(_threads(call))
        files, notes = {}, []
        try:
            with torch.no_grad():
                if call.meta.get("backend") == "jit":
                    compiled = torch.compile(module, fullgraph=True, options=dict(configuration))
                    compiled(*examples)  # it compiles at the first call
                    self._compiled = compiled
                    notes = ["shapes other than the example's compile again"]
                else:
                    path = os.path.join(call.folder, "model.pt2")
                    program = torch.export.export(module, tuple(examples))
                    inductor.aoti_compile_and_package(program, package_path=path, inductor_configs=dict(configuration))
                    files["model.pt2"] = path
        finally:
            importlib.import_module("torch._inductor.async_compile").shutdown_compile_workers()
        meta: dict[str, object] = {
            "effective": "", "integer": "", "notes": notes, "shims": self._builder._shims,
            "switches": {
                **configuration, "threads": _threads(call),
                "float32_matmul_precision": torch.get_float32_matmul_precision(),
            },
        }  # fmt: skip
        return Reply(meta, files=files)

    def run(self, call: Call) -> Reply:
        """Outputs out0, out1 ... sample by sample, or once (``meta["whole"]``); floats as float32."""
        torch = importlib.import_module("torch")
        torch.set_num_threads(_threads(call))
        function = self._compiled if call.meta.get("backend") == "jit" else self._opened(call)
        if function is None:
            raise RuntimeError("no module is compiled in this agent; compile must come first in the same lease")
        call.stage("run")
        narrow = call.meta["precision"] == "bf16"
        types: set[str] = set()

        def run(xs: Sequence[Any]) -> list[Any]:
            with torch.no_grad():
                found = torch.utils._pytree.tree_leaves(function(*_tensors(torch, xs, narrow)))
            types.update(str(y.dtype).partition(".")[2] for y in found)
            return [(y.float() if y.is_floating_point() else y).numpy().copy() for y in found]

        given, batched = samples.given(call), bool(call.meta["batched"])
        if call.meta.get("whole"):
            ys = run(given)
            arrays = dict(zip(samples.numbered(len(ys)), ys))
        else:
            results = samples.one_by_one(run, given, batched)
            arrays = samples.joined(results, samples.numbered(len(results[0])), batched)
        named = {"float32": "fp32", "bfloat16": "bf16"}
        computed = [named[dtype] for dtype in sorted(types & set(named))]
        return Reply({"effective": computed[0] if len(computed) == 1 else ""}, samples.blobs(arrays))

    def _opened(self, call: Call) -> Callable[..., Any]:
        path = call.files["model.pt2"]
        key = (path, os.stat(path).st_mtime_ns)
        if key != self._key or self._loaded is None:
            self._loaded = _inductor(call).aoti_load_package(path)
            self._key = key
        return self._loaded


def _threads(call: Call) -> int:
    return int(str(call.meta.get("threads") or os.cpu_count() or 1))


def _inductor(call: Call) -> Any:
    """torch._inductor, with its caches in the call's folder."""
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(call.folder, "inductor")
    return importlib.import_module("torch._inductor")


def _configuration(call: Call) -> dict[str, Any]:
    options: Any = call.meta.get("options") or {}
    return {
        "freezing": options.get("freezing", "on") == "on",
        "compile_threads": WORKERS,
        # It remembers headers by paths in the folder of an earlier call.
        "cpp_cache_precompile_headers": False,
    }


def _tensors(torch: Any, xs: Sequence[Any], narrow: bool) -> list[Any]:
    given = [torch.from_numpy(x.copy()) for x in xs]
    return [x.bfloat16() if narrow and x.is_floating_point() else x for x in given]
