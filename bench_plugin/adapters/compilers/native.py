"""The framework itself, without a compiler: the base line of every speed-up."""

from __future__ import annotations

import copy
import ctypes
import gc
import importlib
import importlib.metadata
import os
from collections.abc import Callable, Sequence
from typing import Any, cast

from bench_plugin.agent import construct, samples
from bench_plugin.agent.adapter import Call, Reply

ADAPTER = {
    "name": "native",
    "kind": "compiler",
    "toolchain": "pytorch",
    "toolchains": {"pytorch": "pytorch", "tensorflow": "tensorflow", "mxnet": "mxnet"},
    "title": "The framework itself",
    "distribution": "torch",
    "operations": ["compile", "run"],
    "takes": ["pytorch", "tensorflow", "mxnet"],
    "precisions": {"fp32": ["original"], "bf16": ["original"]},
    "artefact": False,
    "targets": ["local"],
    "uses": ["pytorch", "tensorflow", "mxnet"],
}

DISTRIBUTIONS = ("torch", "tensorflow-cpu", "keras", "mxnet", "numpy")

Function = Callable[[Sequence[Any]], "list[Any]"]  # from arrays to pairs of a dtype's name and an array
Made = tuple[Function, "dict[str, object]", "list[str]"]  # with switches and notes


class Adapter:
    """Keeps the function that was made last, and the framework's adapter, which keeps the model."""

    def __init__(self) -> None:
        self._builders: dict[str, Any] = {}
        self._function: Function | None = None
        self._meta: dict[str, object] = {}

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that are in this environment."""
        found = {}
        for name in DISTRIBUTIONS:
            try:
                found[name] = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:  # another framework's
                continue
        return found

    def reset(self) -> None:
        """Forget the model."""
        self._function, self._meta = None, {}
        for builder in self._builders.values():
            builder.reset()
        gc.collect()

    def compile(self, call: Call) -> Reply:
        """Build the model and cast it; it is kept for :meth:`run`. ``meta``: ``framework``, ``precision``.

        It is built with every core, whatever ``threads`` says: the pass that conditions its weights finds slightly
        other statistics on another number of threads, and so another model (MXNet's MobileNetV2: E of 1e-3).
        """
        framework = str(call.meta["framework"])
        base = importlib.import_module("bench_adapter_" + framework)
        if framework not in self._builders:
            self._builders[framework] = base.Adapter()
        self._function, self._meta = None, {}
        made = {"pytorch": _pytorch, "tensorflow": _tensorflow, "mxnet": _mxnet}[framework]
        self._function, switches, notes = made(call, base, self._builders[framework])
        self._meta = {"integer": "", "switches": switches, "notes": notes, "shims": []}
        return Reply({**self._meta, "effective": ""})

    def run(self, call: Call) -> Reply:
        """Outputs out0, out1 ... sample by sample, or once (``meta["whole"]``); floats as float32."""
        if self._function is None:
            raise RuntimeError("no model is in this agent; compile must come first in the same lease")
        call.stage("run")
        given, function = samples.given(call), self._function
        types: set[str] = set()

        def run(xs: Sequence[Any]) -> list[Any]:
            ys = function(xs)
            types.update(dtype for dtype, _ in ys)
            return [y for _, y in ys]

        batched, ragged = bool(call.meta["batched"]), bool(call.meta.get("ragged"))
        if call.meta.get("whole"):
            ys = run(given)
            found = dict(zip(samples.numbered(len(ys)), ys))
        else:
            results = samples.one_by_one(run, given, batched)
            found = samples.joined(results, samples.numbered(len(results[0])), batched, ragged)
        named = {"float32": "fp32", "bfloat16": "bf16"}
        computed = [named[dtype] for dtype in sorted(types & set(named))]
        effective = computed[0] if len(computed) == 1 else ""
        return Reply({**self._meta, "effective": effective}, samples.blobs(found))


def _threads(call: Call) -> int:
    return int(str(call.meta.get("threads") or os.cpu_count() or 1))


def _pytorch(call: Call, base: Any, builder: Any) -> Made:
    torch = builder._torch()
    torch.set_num_threads(os.cpu_count() or 1)
    net = builder.built(call)
    call.stage("compile")
    torch.set_num_threads(_threads(call))
    narrow = call.meta["precision"] == "bf16"
    model: Any = call.meta["model"]
    module = base._plain(torch, copy.deepcopy(net).bfloat16() if narrow else net, model["spec"])

    def function(xs: Sequence[Any]) -> list[Any]:
        given = [torch.from_numpy(x.copy()) for x in xs]
        if narrow:
            given = [x.bfloat16() if x.is_floating_point() else x for x in given]
        with torch.inference_mode():
            found = module(*given)
        return [
            (str(y.dtype).partition(".")[2], (y.float() if y.is_floating_point() else y).numpy())
            for y in torch.utils._pytree.tree_leaves(found)
        ]

    switches: dict[str, object] = {"float32_matmul_precision": torch.get_float32_matmul_precision()}
    return function, {**switches, "threads": torch.get_num_threads()}, []


def _tensorflow(call: Call, base: Any, builder: Any) -> Made:
    tf = builder._tensorflow()
    threading = tf.config.threading
    notes = []
    try:
        threading.set_intra_op_parallelism_threads(_threads(call))
        threading.set_inter_op_parallelism_threads(_threads(call))
    except RuntimeError:  # it started its threads for an earlier call in this agent
        notes.append(f"threads: TensorFlow had started {threading.get_intra_op_parallelism_threads()} before")
    net = builder.built(call)
    call.stage("compile")
    if call.meta["precision"] == "bf16":
        twin = _mixed(call, base)
        for own, weight in zip(twin.weights, net.weights, strict=True):
            own.assign(weight.numpy())
        net = twin

    def function(xs: Sequence[Any]) -> list[Any]:
        given = [tf.constant(x) for x in xs]
        found = tf.nest.flatten(base._apply(net, given))
        return [(y.dtype.name, (tf.cast(y, tf.float32) if y.dtype.is_floating else y).numpy()) for y in found]

    return function, {**base.SWITCHES, "threads": threading.get_intra_op_parallelism_threads()}, notes


def _mixed(call: Call, base: Any) -> Any:
    """A new model that keeps its weights in float32 and computes in bfloat16: Keras' own way."""
    keras = importlib.import_module("keras")
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        net = construct.build(cast(Any, call.meta["model"]))
        base._apply(net, [x[:1] if call.meta["batched"] else x[0] for x in samples.given(call)])
        return net
    finally:
        keras.config.set_dtype_policy("float32")


def _mxnet(call: Call, base: Any, builder: Any) -> Made:
    mx = importlib.import_module("mxnet")
    limit = mx.base._LIB.MXSetNumOMPThreads
    mx.base.check_call(limit(ctypes.c_int(os.cpu_count() or 1)))
    net = builder.built(call)
    call.stage("compile")
    narrow = call.meta["precision"] == "bf16"
    if narrow:
        amp = importlib.import_module("mxnet.contrib.amp")
        statistics = {name: net.values[name] for name in net.graph.list_auxiliary_states()}
        weights = {name: value for name, value in net.values.items() if name not in statistics}
        graph, weights, statistics = amp.convert_model(net.graph, weights, statistics, target_dtype="bfloat16")
        net = net._replace(graph=graph, values={**weights, **statistics})
    mx.base.check_call(limit(ctypes.c_int(_threads(call))))
    execute = base._function(net)

    def function(xs: Sequence[Any]) -> list[Any]:
        # AMP casts its outputs back: they do not say what was computed in.
        return [("" if narrow else y.dtype.name, y) for y in execute(xs)]

    return function, {"threads": _threads(call)}, []
