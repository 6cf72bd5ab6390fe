"""TorchInductor: ahead of time into a package that another process loads, or compiled just in time."""

from __future__ import annotations

import copy
import gc
import importlib
import os
from collections.abc import Callable, Sequence
from typing import Any

from bench_plugin.adapters.frameworks import pytorch
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.contract import CompileCall, CompilerCall, RunCall, processors
from bench_plugin.agent.toolkit import programs, samples, versions

ADAPTER = {
    "name": "inductor",
    "kind": "compiler",
    "toolchain": "pytorch",
    "title": "TorchInductor",
    "distribution": "torch",
    "operations": ["compile", "run"],
    "imports": ["torch", "torch._inductor"],
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
    "errors": [{"package": "torch"}],
    "unsupported": [{"operation": "compile", "exception": "Unsupported", "pattern": ""}],
}

# What trades accuracy in the code that it writes. Narrow values are rounded where the model says that they are.
EXACT = {
    "emulate_precision_casts": True,
    "use_fast_math": False,
    "cpp.enable_unsafe_math_opt_flag": False,
    "cpp.enable_floating_point_contract_flag": "off",
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
        return versions.installed("torch", "torchvision", "numpy")

    def reset(self) -> None:
        """Forget every model."""
        self._compiled = self._key = self._loaded = None
        if self._builder is not None:
            self._builder.reset()
            importlib.import_module("torch._dynamo").reset()
        gc.collect()

    def compile(self, call: CompileCall) -> Reply:
        """``model.pt2`` by AOTInductor; with the backend ``jit`` no file, the module is kept for :meth:`run`.

        The number of threads becomes a part of the code. Shapes are those of the example.
        """
        programs.executable("g++")
        self._builder = self._builder or pytorch.Adapter()
        self._compiled = None
        torch = self._builder.torch()
        exact = _exact(torch)
        torch.set_num_threads(processors())  # another number conditions other weights
        model = call.of_model
        net = self._builder.built(model)
        inductor = _inductor(call)
        narrow = call.precision == "bf16"
        module = pytorch.plain(torch, copy.deepcopy(net).bfloat16() if narrow else net, model.model.spec)
        examples = _tensors(torch, call.example, narrow)
        configuration = _configuration(call)
        importlib.import_module("torch._inductor.compile_fx")
        call.stage("compile")
        torch.set_num_threads(call.threads)
        files, notes = {}, []
        try:
            with torch.no_grad():
                if call.backend == "jit":
                    compiled = torch.compile(module, fullgraph=True, options=dict(configuration))
                    compiled(*examples)  # it compiles at the first call
                    self._compiled = compiled
                    notes = ["shapes other than the example's compile again"]
                else:
                    path = call.path("model.pt2")
                    program = torch.export.export(module, tuple(examples))
                    inductor.aoti_compile_and_package(program, package_path=path, inductor_configs=dict(configuration))
                    files["model.pt2"] = path
        finally:
            importlib.import_module("torch._inductor.async_compile").shutdown_compile_workers()
        meta: dict[str, object] = {
            "effective": "", "integer": "", "notes": notes, "shims": self._builder.shims,
            "switches": {
                **configuration, "threads": call.threads, **exact,
            },
        }  # fmt: skip
        return Reply(meta, files=files)

    def run(self, call: RunCall) -> Reply:
        """Outputs out0, out1 ... of the artefact; floats as float32. Raises RuntimeError before a compile."""
        torch = importlib.import_module("torch")
        exact = _exact(torch)
        torch.set_num_threads(call.threads)
        function = self._compiled if call.backend == "jit" else self._opened(call)
        if function is None:
            raise RuntimeError("no module is compiled in this agent; compile must come first in the same lease")
        call.stage("run")
        narrow = call.precision == "bf16"
        types: set[str] = set()

        def run(xs: Sequence[Any]) -> list[Any]:
            with torch.no_grad():
                found = torch.utils._pytree.tree_leaves(function(*_tensors(torch, xs, narrow)))
            types.update(str(y.dtype).partition(".")[2] for y in found)
            return [(y.float() if y.is_floating_point() else y).numpy().copy() for y in found]

        reply = samples.answered(call, run, list(call.inputs.values()))
        reply.meta["switches"] = exact
        reply.meta["effective"] = samples.computed_in(types)
        return reply

    def _opened(self, call: RunCall) -> Callable[..., Any]:
        path = call.files["model.pt2"]
        key = (path, os.stat(path).st_mtime_ns)
        if key != self._key or self._loaded is None:
            inductor = _inductor(call)
            # Without the trial compilations that ask what g++ can do, which take seconds: nothing is compiled here.
            # That the processor has the instructions of the artefact is looked up as before.
            with importlib.import_module("torch._inductor.config").patch({"cpp.vec_isa_ok": True}):
                self._loaded = inductor.aoti_load_package(path)
            self._key = key
        return self._loaded


def _exact(torch: Any) -> dict[str, object]:
    """Forbid products of float32 in a narrower type in this process; the settings, read back."""
    torch.set_float32_matmul_precision("highest")
    parts = {name: getattr(torch.backends.mkldnn, name) for name in ("matmul", "conv", "rnn")}
    for part in parts.values():
        part.fp32_precision = "ieee"
    said: dict[str, object] = {f"mkldnn.{name}.fp32_precision": part.fp32_precision for name, part in parts.items()}
    return {**said, "float32_matmul_precision": torch.get_float32_matmul_precision()}


def _inductor(call: CompilerCall) -> Any:
    """torch._inductor, with its caches in the call's folder."""
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = call.path("inductor")
    return importlib.import_module("torch._inductor")


def _configuration(call: CompileCall) -> dict[str, Any]:
    return {
        "freezing": call.option("freezing", "on") == "on",
        "compile_threads": WORKERS,
        **EXACT,
        # It remembers headers by paths in the folder of an earlier call.
        "cpp_cache_precompile_headers": False,
    }


def _tensors(torch: Any, xs: Sequence[Any], narrow: bool) -> list[Any]:
    given = [torch.from_numpy(x.copy()) for x in xs]
    return [x.bfloat16() if narrow and x.is_floating_point() else x for x in given]
