"""A framework of the tests' own: a two-layer network in numpy that goes wrong where its model's table says so.

``arguments.fault = "<operation>:<kind>"`` in a model's constructor asks for it, such as ``export:segfault``; with
``?<path>`` behind it only as long as that file is there. It runs in an environment that has numpy and onnx.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import mmap
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bench_plugin.agent.adapter import InvalidModel, Reply, Unsupported
from bench_plugin.agent.channel import Channel
from bench_plugin.agent.contract import (
    Call,
    ExportCall,
    ImportCall,
    ModelCall,
    ReferenceCall,
    RunImportedCall,
)
from bench_plugin.agent.toolkit import conditioning, programs, samples
from bench_plugin.agent.wire import Array

ADAPTER = {
    "name": "fake",
    "kind": "framework",
    "toolchain": "fake",
    "title": "Fake",
    "distribution": "onnx",
    "operations": ["reference", "export", "import_model", "run_imported"],
    "exporters": {
        "fakeout": {"opsets": [13, 18], "opset": 17, "distribution": "onnx"},
        "otherout": {"opsets": [13, 18], "opset": 17, "distribution": "onnx"},
    },
    "importers": {
        "fakein": {"opsets": [13, 18], "opset": 17, "distribution": "onnx"},
        "otherin": {"opsets": [13, 18], "opset": 17, "distribution": "onnx"},
    },
    "default_pairs": [["fakeout", "fakein"]],
    "on_request": True,
    "errors": [{"exception": "FakeFailed"}],
    "unsupported": [{"operation": "export", "exception": "LookupError", "pattern": "no translation"}],
}


class Adapter:
    """Remembers the fault of the model that it works on, and the weights of the imported one."""

    def __init__(self) -> None:
        self._weights: dict[str, Any] = {}
        self._fault = ""
        self._calls = 0
        self._was_used = False
        self._runs = 0  # of the imported model

    def versions(self) -> dict[str, str]:
        """None of its own."""
        return {}

    def reset(self) -> None:
        """Forget the imported model, unless the last model's fault says that this hangs."""
        self._weights = {}
        if self._fault == "import:reset-hangs":
            _sleep(0)

    def reference(self, call: ReferenceCall) -> Reply:
        """Truth in float64, float32 runs, and one that is off by an ulp."""
        self._begin(call, "reference")
        weights = _weights(call)
        (x,) = call.inputs.values()
        exact = {name: value.astype("float64") for name, value in weights.items()}
        perturbation = conditioning.Perturbation(1)
        off = {name: perturbation(value) for name, value in exact.items()}
        runs = {
            "truth": _apply(exact, x.astype("float64")),
            "default": _apply(weights, x),
            "variant": _one_by_one(weights, x[:4]),
            "perturbed": _apply(off, perturbation(x[:4].astype("float64"))),
        }
        arrays = {f"{kind}:y": y for kind, y in runs.items()}
        for other in call.second_binding.values():
            arrays["alt:y"] = _apply(exact, other.astype("float64"))
        return HOSTILE.get(self._fault, _as_it_is)(call, Reply({"truth": "float64"}, samples.blobs(arrays)))

    def export(self, call: ExportCall) -> Reply:
        """The network as ``model.onnx``."""
        self._begin(call, "export")
        path = call.path("model.onnx")
        weights = _weights(call)
        if self._fault == "export:wrong-weights" or (self._fault == "export:used-wrong" and self._calls > 1):
            weights["a"] = weights["a"] * np.float32(1.01)
        kind = self._fault.partition(":")[2] if self._fault.startswith("export:file-") else ""
        _write(path, weights, call.opset, call.dynamic, kind, self._fault)
        reply = Reply({"warnings": []}, files={"model.onnx": path})
        return HOSTILE.get(self._fault, _as_it_is)(call, reply)

    def import_model(self, call: ImportCall) -> Reply:
        """Weights and producer (which carries the fault of the model) of ``model.onnx``."""
        import onnx

        model = onnx.load(call.files["model.onnx"])
        self._fault = model.producer_name
        self._was_used = self._calls > 0
        self._runs = 0
        self._do(call, "import", "import")
        self._weights = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
        reply = Reply({"shims": ["a shim of the fake framework"]} if self._fault == "import:shim" else {})
        return HOSTILE.get(self._fault, _as_it_is)(call, reply)

    def run_imported(self, call: RunImportedCall) -> Reply:
        """The imported network's output."""
        self._runs += 1
        self._do(call, "run", "run" if self._runs == 1 else "again")
        y = _apply(self._weights, *call.inputs.values())
        kind = self._fault.partition(":")[2] if self._fault.startswith("run:") else ""
        changes = {
            "wrong": lambda: y * np.float32(1.01), "nan": lambda: y * np.float32("nan"), "shape": lambda: y[:, :-1],
            "dtype": lambda: y.astype("int32"), "mean": lambda: np.broadcast_to(y.mean(axis=0), y.shape).copy(),
            "rolled": lambda: np.roll(y, 1, axis=0), "used-wrong": lambda: y * np.float32(1 + 0.01 * self._was_used),
        }  # fmt: skip
        if kind == "missing":
            return Reply({})
        if kind == "misnamed":
            return Reply({}, samples.blobs({"output": y}))
        return Reply({}, samples.blobs({"out0": changes[kind]() if kind in changes else y}))

    def _begin(self, call: ModelCall, stage: str) -> None:
        self._fault = str(call.model.spec.get("arguments", {}).get("fault", ""))
        self._do(call, stage, stage)

    def _do(self, call: Call, stage: str, operation: str) -> None:
        call.stage(stage)
        self._calls += 1
        wanted, _, rest = self._fault.partition(":")
        kind, _, path = rest.partition("?")
        if path and not os.path.exists(path):
            return
        _note(f"begin {operation}")
        if wanted == operation and kind in FAULTS:
            FAULTS[kind](self._calls)
        _note(f"end {operation}")


def _note(text: str) -> None:
    """A line with the time in nanoseconds, which all processes share, in the file that the tests name, if they do."""
    if path := os.environ.get("FAKE_TIMES"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{time.monotonic_ns()} {os.getpid()} {text}\n")


def _segfault(calls: int) -> None:
    ctypes.string_at(0)


def _kill(calls: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _sleep(calls: int) -> None:
    time.sleep(600)


def _pause(calls: int) -> None:
    time.sleep(1.5)


def _allocate(calls: int) -> None:
    kept = []
    while True:
        kept.append(np.ones(2**23))
        time.sleep(0.01)


def _exception(calls: int) -> None:
    raise ValueError("this is the first line\n" + "x" * 2**20)


def _markup(calls: int) -> None:
    print("last words <script>alert('log')</script> HF_TOKEN=hf_0123456789abcdefghij")
    raise ValueError("<script>alert('reason')</script> token=0123456789abcdef")


def _other(calls: int) -> None:
    raise RuntimeError("node_7 is of another kind")


def _unsupported(calls: int) -> None:
    raise Unsupported("operator Frobnicate is not implemented")


def _declared(calls: int) -> None:
    raise KeyError("no translation of Frobnicate")


def _invalid(calls: int) -> None:
    raise InvalidModel("the model is not one")


def _noise(calls: int) -> None:
    print("noise on stdout " * 1000)
    os.write(1, b"noise below Python " * 1000)
    os.write(2, b"noise on stderr " * 1000)


def _channel() -> int:
    return int(sys.argv[sys.argv.index("--fd") + 1])


def _garbage(calls: int) -> None:
    os.write(_channel(), b"this is no frame, whatever it may look like" * 10)


def _used_only(calls: int) -> None:
    if calls > 1:
        raise RuntimeError("left over from the call before")


class FakeFailed(Exception):
    """The fake framework's own."""


def _own(calls: int) -> None:
    raise FakeFailed("the node cannot be translated")


def _differs(calls: int) -> None:
    raise RuntimeError("".join(secrets.choice("abcdefghij") for _ in range(20)))


def _no_space(calls: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _bad_alloc(calls: int) -> None:
    raise RuntimeError("the pass failed: std::bad_alloc")


def _absent(calls: int) -> None:
    raise Unsupported("mycc not found; install mycc")


def _no_program(calls: int) -> None:
    programs.executable("mycc-of-nowhere")


def _network(calls: int) -> None:
    raise InvalidModel("the schema cannot be read: Connection refused")


def _threads(calls: int) -> None:
    raise InvalidModel(f"OpenBLAS may use {os.environ['OPENBLAS_NUM_THREADS']} threads")


def _grandchild(calls: int) -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    with open(os.environ["FAKE_PIDS"], "a") as file:
        file.write(f"{os.getpid()} {child.pid}\n")
    time.sleep(600)


FAULTS = {
    "segfault": _segfault,
    "kill": _kill,
    "sleep": _sleep,
    "pause": _pause,
    "allocate": _allocate,
    "exception": _exception,
    "unsupported": _unsupported,
    "declared": _declared,
    "markup": _markup,
    "other": _other,
    "invalid": _invalid,
    "noise": _noise,
    "garbage": _garbage,
    "used-only": _used_only,
    "grandchild": _grandchild,
    "own": _own,
    "differs": _differs,
    "no-space": _no_space,
    "bad-alloc": _bad_alloc,
    "absent": _absent,
    "no-program": _no_program,
    "network": _network,
    "threads": _threads,
}


def _weights(call: ModelCall) -> dict[str, Any]:
    rng = np.random.default_rng(call.seed + 7)
    return {
        "a": rng.standard_normal((8, 16)).astype("float32"), "b": rng.standard_normal(16).astype("float32"),
        "c": rng.standard_normal((16, 4)).astype("float32"), "d": rng.standard_normal(4).astype("float32"),
    }  # fmt: skip


def _apply(weights: dict[str, Any], x: Any) -> Any:
    return np.maximum(x @ weights["a"] + weights["b"], 0) @ weights["c"] + weights["d"]


def _one_by_one(weights: dict[str, Any], x: Any) -> Any:
    return np.concatenate([_apply(weights, row[None]) for row in x])


def _write(path: str, weights: dict[str, Any], opset: int, dynamic: bool, kind: str, fault: str) -> None:
    import onnx
    from onnx import helper

    batch = "batch" if dynamic else 1
    nodes: list[Any] = [
        helper.make_node("Gemm", ["x", "a", "b"], ["h"]), helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Gemm", ["r", "c", "d"], ["y"]),
    ]  # fmt: skip
    if kind == "file-no-input":
        weights["x"] = np.ones((1, 8), dtype="float32")
    if kind == "file-cycle":
        nodes[0] = helper.make_node("Gemm", ["y", "a", "b"], ["h"])
    graph = helper.make_graph(
        nodes,
        "fake",
        [] if kind == "file-no-input" else [helper.make_tensor_value_info("x", 1, [batch, 8])],
        [helper.make_tensor_value_info("y", 1, [batch, 4])],
        [onnx.numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    skewed = 27 if kind == "file-skew" else opset
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", skewed)], ir_version=8)
    model.producer_name = fault  # so that the importer knows
    data = model.SerializeToString()
    with open(path, "wb") as file:
        file.write({"file-truncated": data[: len(data) // 2], "file-text": b"hello"}.get(kind, data))


def _as_it_is(call: Call, reply: Reply) -> Reply:
    return reply


def _only(operation: str, change: Callable[[Call, Reply], Reply]) -> Callable[[Call, Reply], Reply]:
    """The change of the reply to one operation."""
    return lambda call, reply: change(call, reply) if call.operation == operation else reply


def _forged(**fields: Any) -> Callable[[Call, Reply], Reply]:
    """The same reply in a frame whose metadata has other fields, as an agent in another language may send it."""

    def change(call: Call, reply: Reply) -> Reply:
        send = Channel.send

        def forge(self: Channel, kind: int, number: int, meta: Any = None, arrays: Any = ()) -> None:
            Channel.send = send  # type: ignore[method-assign]
            send(self, kind, number, {**meta, **{name: _at(value, reply) for name, value in fields.items()}}, arrays)

        Channel.send = forge  # type: ignore[assignment,method-assign]
        return reply

    return change


def _at(value: Any, reply: Reply) -> Any:
    """A forged value, in which the path of the exported file is put for ``<model>``."""
    if isinstance(value, dict):
        return {name: _at(one, reply) for name, one in value.items()}
    return reply.files["model.onnx"] if value == "<model>" else value


def _outside(call: Call, reply: Reply) -> Reply:
    return _forged(files={"model.onnx": os.environ["FAKE_OUTSIDE"]})(call, reply)


def _hard_link(call: Call, reply: Reply) -> Reply:
    os.remove(reply.files["model.onnx"])
    os.link(os.environ["FAKE_OUTSIDE"], reply.files["model.onnx"])
    return reply


def _symbolic_link(call: Call, reply: Reply) -> Reply:
    link = call.path("link.onnx")
    os.symlink(os.environ["FAKE_OUTSIDE"], link)
    return _forged(files={"model.onnx": link})(call, reply)


def _large_file(call: Call, reply: Reply) -> Reply:
    os.truncate(reply.files["model.onnx"], 8 << 30)  # a hole, which takes no space
    return reply


def _large_answer(call: Call, reply: Reply) -> Reply:
    size = 3 << 30  # of zeros that the kernel makes when they are read: the agent itself stays small
    reply.arrays["zeros"] = Array("bytes", (size,), mmap.mmap(-1, size, access=mmap.ACCESS_READ))
    return reply


def _wrong_symptom(call: Call, reply: Reply) -> Reply:
    _forged(symptom="boredom")(call, reply)
    raise ValueError("nothing to do")


def _wrong_types(call: Call, reply: Reply) -> Reply:
    _forged(types="ValueError", message={"not": "a text"})(call, reply)
    raise ValueError("nothing to do")


def _kill_guardian(call: Call, reply: Reply) -> Reply:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(0.5)
    return reply


class _Unreadable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("there is no text")


def _no_samples(call: Call, reply: Reply) -> Reply:
    reply.arrays["variant:y"] = samples.blobs({"y": np.float32(0)})["y"]
    return reply


def _unreadable(call: Call, reply: Reply) -> Reply:
    raise _Unreadable


def _cyclic(call: Call, reply: Reply) -> Reply:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    raise first


def _long_stage(call: Call, reply: Reply) -> Reply:
    call.stage("x" * (2 << 20))
    return reply


HOSTILE: dict[str, Callable[[Call, Reply], Reply]] = {
    "export:no-file": _only("export", lambda call, reply: Reply({})),
    "export:no-reply-table": _only("export", lambda call, reply: Reply([1], files=reply.files)),  # type: ignore[arg-type]
    "export:list-for-meta": _only("export", _forged(meta=[1, 2])),
    "export:list-for-files": _only("export", _forged(files=["model.onnx"])),
    "export:file-twice": _only("export", _forged(files={"model.onnx": "<model>", "copy.onnx": "<model>"})),
    "export:long-name": _only("export", _forged(files={"n" * 300: "<model>"})),
    "export:parent-name": _only("export", _forged(files={"../model.onnx": "<model>"})),
    "export:array-twice": _only("export", _forged(arrays=["a", "a"])),
    "export:seconds": _only("export", _forged(seconds={"export": "long"})),
    "export:seconds-nan": _only("export", _forged(seconds={"export": float("nan")})),
    "export:peak": _only("export", _forged(peak=1.5)),
    "export:deep": _only("export", _forged(meta=functools.reduce(lambda inner, _: {"in": inner}, range(100), {}))),
    "export:nan-meta": _only("export", _forged(meta={"loss": float("inf"), "text": "\ud800"})),
    "export:outside": _only("export", _outside),
    "export:symbolic-link": _only("export", _symbolic_link),
    "export:hard-link": _only("export", _hard_link),
    "export:large-file": _only("export", _large_file),
    "export:large-answer": _only("export", _large_answer),
    "export:wrong-symptom": _only("export", _wrong_symptom),
    "export:wrong-types": _only("export", _wrong_types),
    "export:unreadable": _only("export", _unreadable),
    "export:cyclic": _only("export", _cyclic),
    "export:long-stage": _only("export", _long_stage),
    "export:kill-guardian": _only("export", _kill_guardian),
    "reference:no-truth": _only("reference", lambda call, reply: Reply({}, reply.arrays)),
    "reference:no-arrays": _only("reference", lambda call, reply: Reply(reply.meta)),
    "reference:no-samples": _only("reference", _no_samples),
    "import:shims": _only("import_model", lambda call, reply: Reply({"shims": 5})),
}
