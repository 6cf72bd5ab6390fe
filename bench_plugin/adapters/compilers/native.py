"""The framework itself, without a compiler: the base line of every speed-up."""

from __future__ import annotations

import copy
import ctypes
import gc
import importlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from bench_plugin.adapters.frameworks import mxnet, pytorch, tensorflow
from bench_plugin.agent.adapter import Reply, Unsupported
from bench_plugin.agent.contract import CompileCall, RunCall, TimeCall, processors
from bench_plugin.agent.toolkit import samples, versions

ADAPTER = {
    "name": "native",
    "kind": "compiler",
    "toolchain": "pytorch",
    "toolchains": {"pytorch": "pytorch", "tensorflow": "tensorflow", "mxnet": "mxnet"},
    "title": "The framework itself",
    "distribution": "torch",
    "operations": ["compile", "run"],
    "imports": ["torch"],
    "takes": ["pytorch", "tensorflow", "mxnet"],
    "precisions": {"fp32": ["original"], "bf16": ["original"]},
    "artefact": False,
    "concurrent": True,
    "targets": ["local"],
    "uses": ["pytorch", "tensorflow", "mxnet"],
    "errors": [{"package": "torch"}, {"package": "tensorflow"}, {"package": "keras"}, {"package": "mxnet"}],
}

DISTRIBUTIONS = ("torch", "tensorflow-cpu", "keras", "mxnet", "numpy")

CONTRACTIONS = ("Convolution", "Deconvolution", "FullyConnected", "RNN", "batch_dot", "dot", "_linalg_gemm2")  # MXNet's

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
        return versions.found(*DISTRIBUTIONS)

    def reset(self) -> None:
        """Forget the model."""
        self._function, self._meta = None, {}
        for builder in self._builders.values():
            builder.reset()
        gc.collect()

    def compile(self, call: CompileCall) -> Reply:
        """Build the model and cast it; it is kept for :meth:`run`.

        It is built with every core, whatever ``threads`` says: the pass that conditions its weights finds slightly
        other statistics on another number of threads, and so another model (MXNet's MobileNetV2: E of 1e-3).
        """
        adapter, make = FRAMEWORKS[call.framework]
        if call.framework not in self._builders:
            self._builders[call.framework] = adapter()
        self._function, self._meta = None, {}
        self._function, switches, notes = make(call, self._builders[call.framework])
        self._meta = {"integer": "", "switches": switches, "notes": notes, "shims": []}
        return Reply({**self._meta, "effective": "", "dynamic": "preserved"})

    def run(self, call: RunCall) -> Reply:
        """Outputs out0, out1 ... of the model; floats as float32. Raises RuntimeError without a compile before it."""
        if self._function is None:
            raise RuntimeError("no model is in this agent; compile must come first in the same lease")
        if isinstance(call, TimeCall) and call.streams > 1 and call.framework == "mxnet":
            raise Unsupported("an executor of MXNet answers one call at a time")
        call.stage("run")
        function = self._function
        types: set[str] = set()

        def run(xs: Sequence[Any]) -> list[Any]:
            ys = function(xs)
            types.update(dtype for dtype, _ in ys)
            return [y for _, y in ys]

        reply = samples.answered(call, run, list(call.inputs.values()), self._meta)
        reply.meta["effective"] = samples.computed_in(types)
        return reply


def _pytorch(call: CompileCall, builder: pytorch.Adapter) -> Made:
    torch = builder.torch()
    torch.set_num_threads(processors())
    model = call.of_model
    net = builder.built(model)
    call.stage("compile")
    torch.set_num_threads(call.threads)
    narrow = call.precision == "bf16"
    module = pytorch.plain(torch, copy.deepcopy(net).bfloat16() if narrow else net, model.model.spec)

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


def _tensorflow(call: CompileCall, builder: tensorflow.Adapter) -> Made:
    tf = builder.tensorflow()
    threading = tf.config.threading
    notes = []
    try:
        threading.set_intra_op_parallelism_threads(call.threads)
        threading.set_inter_op_parallelism_threads(call.threads)
    except RuntimeError:  # it started its threads for an earlier call in this agent
        notes.append(f"threads: TensorFlow had started {threading.get_intra_op_parallelism_threads()} before")
    net = builder.built(call.of_model)
    call.stage("compile")
    if call.precision == "bf16":
        twin = _mixed(call)
        for own, weight in zip(twin.weights, net.weights, strict=True):
            own.assign(weight.numpy())
        net = twin

    def function(xs: Sequence[Any]) -> list[Any]:
        given = [tf.constant(x) for x in xs]
        found = tf.nest.flatten(tensorflow.apply(net, given))
        return [(y.dtype.name, (tf.cast(y, tf.float32) if y.dtype.is_floating else y).numpy()) for y in found]

    return function, {**tensorflow.SWITCHES, "threads": threading.get_intra_op_parallelism_threads()}, notes


def _mixed(call: CompileCall) -> Any:
    """A new model that keeps its weights in float32 and computes in bfloat16: Keras' own way."""
    keras = importlib.import_module("keras")
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        return tensorflow.constructed(call.of_model)
    finally:
        keras.config.set_dtype_policy("float32")


def _mxnet(call: CompileCall, builder: mxnet.Adapter) -> Made:
    """Raises Unsupported where AMP leaves a contraction of the model in float32 though bf16 was asked for."""
    mx = importlib.import_module("mxnet")
    limit = mx.base._LIB.MXSetNumOMPThreads
    mx.base.check_call(limit(ctypes.c_int(processors())))
    net = builder.built(call.of_model)
    call.stage("compile")
    narrow: list[str] = []
    if call.precision == "bf16":
        amp = importlib.import_module("mxnet.contrib.amp")
        statistics = {name: net.values[name] for name in net.graph.list_auxiliary_states()}
        weights = {name: value for name, value in net.values.items() if name not in statistics}
        graph, weights, statistics = amp.convert_model(net.graph, weights, statistics, target_dtype="bfloat16")
        narrow, wide = _contractions(graph, net.inputs)
        if wide:
            ran = "bf16 and fp32" if narrow else "fp32"
            raise Unsupported(f"asked bf16, ran {ran}: MXNet's AMP keeps {', '.join(wide)} in float32")
        net = net._replace(graph=graph, values={**weights, **statistics})
    mx.base.check_call(limit(ctypes.c_int(call.threads)))
    execute = mxnet.function(net)
    dtype = "bfloat16" if narrow else ""

    def function(xs: Sequence[Any]) -> list[Any]:
        # AMP casts its outputs back: they do not say what was computed in.
        return [(dtype or y.dtype.name, y) for y in execute(xs)]

    return function, {"threads": call.threads}, []


def _contractions(graph: Any, inputs: Sequence[str]) -> tuple[list[str], list[str]]:
    """The operators with sums of products, by MXNet's names: those with a narrow result, and those with float32."""
    import numpy as np

    inner = graph.get_internals()
    _, types, _ = inner.infer_type(**dict.fromkeys(inputs, "float32"))
    cast = {name for name, dtype in zip(inner.list_outputs(), types, strict=True) if dtype is not np.float32}
    nodes = [node for node in json.loads(graph.tojson())["nodes"] if node["op"] in CONTRACTIONS]
    narrow = {node["op"] for node in nodes if f"{node['name']}_output" in cast}
    wide = {node["op"] for node in nodes if f"{node['name']}_output" not in cast}
    return sorted(narrow), sorted(wide)


FRAMEWORKS: dict[str, tuple[Callable[[], Any], Callable[[CompileCall, Any], Made]]] = {
    "pytorch": (pytorch.Adapter, _pytorch),
    "tensorflow": (tensorflow.Adapter, _tensorflow),
    "mxnet": (mxnet.Adapter, _mxnet),
}
