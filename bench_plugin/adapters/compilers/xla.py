"""XLA: Keras' models through TensorFlow's ``jit_compile``, just in time, so nothing is left to store."""

from __future__ import annotations

import gc
import importlib
import os
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from bench_plugin.adapters.frameworks import tensorflow
from bench_plugin.agent.adapter import Reply, Unsupported
from bench_plugin.agent.contract import CompileCall, RunCall
from bench_plugin.agent.toolkit import samples, versions

if TYPE_CHECKING:
    import numpy as np

    Arrays = Sequence[np.ndarray[Any, Any]]

ADAPTER = {
    "name": "xla",
    "kind": "compiler",
    "toolchain": "tensorflow",
    "title": "XLA (TensorFlow)",
    "distribution": "tensorflow-cpu",
    "distributions": ["keras"],
    "operations": ["compile", "run"],
    "imports": ["tensorflow"],
    "takes": ["tensorflow"],
    "precisions": {"fp32": ["original"], "bf16": ["original"]},
    "artefact": False,
    "targets": ["local"],
    "uses": ["tensorflow"],
    "errors": [{"package": "tensorflow"}, {"package": "keras"}],
    "unsupported": [
        {"operation": "compile", "exception": "UnimplementedError", "pattern": ""},
        {
            "operation": "compile",
            "exception": "InvalidArgumentError",
            "pattern": r"unsupported operations|No registered",
        },
    ],
}

# Each value is rounded to the type that it is said to be of; by default XLA leaves such roundings out. The flags are
# read once per process, when XLA compiles for the first time.
FLAGS = "--xla_allow_excess_precision=false --xla_cpu_enable_fast_math=false --xla_cpu_enable_fast_min_max=false"
PRECISIONS = {"f32": "fp32", "bf16": "bf16"}
# Instructions that compute, as they are written in the program that XLA gets: "%name = bf16[1,10]{1,0} dot(".
COMPUTES = re.compile(r"= (f32|bf16)\[[^ ]* (dot|convolution)\(")
COMPUTES_LITTLE = re.compile(r"= (f32|bf16)\[[^ ]* (add|subtract|multiply|divide|maximum|minimum|tanh|exponential)\(")


class Adapter:
    """Keeps the function that was compiled last, and the framework's adapter, which keeps the model."""

    def __init__(self) -> None:
        os.environ.update(tensorflow.SWITCHES)
        before = os.environ.get("XLA_FLAGS", "")
        os.environ["XLA_FLAGS"] = before if FLAGS in before else f"{before} {FLAGS}".strip()
        self._framework: Any = None
        self._function: Callable[..., Any] | None = None
        self._meta: dict[str, object] = {}

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("tensorflow-cpu", "keras", "numpy")

    def reset(self) -> None:
        """Forget the model."""
        self._function, self._meta = None, {}
        if self._framework is not None:
            self._framework.reset()
        gc.collect()

    def compile(self, call: CompileCall) -> Reply:
        """Compile the model for the example's shapes; it is kept for :meth:`run`.

        Raises Unsupported where the program that XLA gets computes in another precision than the call's.
        """
        precision = call.precision
        self._function, self._meta = None, {}
        if self._framework is None:
            self._framework = tensorflow.Adapter()
        keras = self._framework.keras()
        tf = importlib.import_module("tensorflow")
        threads, notes = _threads(tf, call)
        net = self._framework.built(call.of_model)
        if precision == "bf16":
            net = _narrow(keras, net, call)
        examples = [tf.constant(x) for x in call.example]
        function = tf.function(
            lambda *xs: tf.nest.flatten(net(xs[0] if len(xs) == 1 else list(xs), training=False)),
            input_signature=[tf.TensorSpec(x.shape, x.dtype) for x in examples],
            autograph=False,
            jit_compile=True,
        )
        call.stage("compile")
        function(*examples)  # it compiles at the first call
        found = _read_back(function.experimental_get_compiler_ir(*examples)(stage="hlo"))
        if found and found != {precision}:
            raise Unsupported(f"asked {precision}, ran {' and '.join(sorted(found))}")
        excess = _keeps_excess(tf)
        if excess:
            notes.append("XLA had been set up in this process before: values may keep more than their type's precision")
        switches = {
            **tensorflow.SWITCHES,
            "XLA_FLAGS": os.environ["XLA_FLAGS"],
            "excess_precision": excess,
            "threads": threads,
        }
        self._function = function
        self._meta = {
            "effective": precision if found else "", "integer": "", "switches": switches, "notes": notes, "shims": [],
        }  # fmt: skip
        return Reply(self._meta)

    def run(self, call: RunCall) -> Reply:
        """Outputs out0, out1 ... of the model; floats as float32. Raises RuntimeError without a compile before it."""
        function = self._function
        if function is None:
            raise RuntimeError("no model is compiled in this agent; compile must come first in the same lease")
        tf = importlib.import_module("tensorflow")
        call.stage("run")

        def run(xs: Arrays) -> list[Any]:
            ys = function(*[tf.constant(x) for x in xs])
            return [(tf.cast(y, tf.float32) if y.dtype.is_floating else y).numpy() for y in ys]

        return samples.answered(call, run, list(call.inputs.values()), self._meta)


def _threads(tf: Any, call: CompileCall) -> tuple[int, list[str]]:
    """TensorFlow's threads, which XLA's code runs in, as asked where they were not started before."""
    threading = tf.config.threading
    try:
        threading.set_intra_op_parallelism_threads(call.threads)
        threading.set_inter_op_parallelism_threads(call.threads)
    except RuntimeError:
        started = int(threading.get_intra_op_parallelism_threads())
        return started, [f"threads: TensorFlow had started {started} before"] if started != call.threads else []
    return call.threads, []


def _narrow(keras: Any, net: Any, call: CompileCall) -> Any:
    """The same model with weights and activations in bfloat16."""
    orthogonal = keras.initializers.Orthogonal
    drawn = orthogonal.__call__
    keras.config.set_dtype_policy("bfloat16")
    # Initial values are overwritten below; an orthogonal matrix needs a QR decomposition, which TensorFlow lacks here.
    orthogonal.__call__ = lambda self, shape, dtype=None: keras.ops.zeros(shape, dtype)
    try:
        twin = tensorflow.constructed(call.of_model)
    finally:
        orthogonal.__call__ = drawn
        keras.config.set_dtype_policy("float32")
    for own, weight in zip(twin.weights, net.weights, strict=True):
        if own.shape != weight.shape or (own.dtype == "float32" and weight.dtype == "float32"):
            raise RuntimeError(f"{own.path} is {own.dtype} {own.shape} under the bfloat16 policy")
        own.assign(weight.numpy())
    return twin


def _read_back(program: str) -> set[str]:
    """The precisions that the program's products are computed in; of other arithmetic where it has no products."""
    for pattern in (COMPUTES, COMPUTES_LITTLE):
        found = {PRECISIONS[match[1]] for match in pattern.finditer(program)}
        if found:
            return found
    return set()


def _keeps_excess(tf: Any) -> bool:
    """Whether XLA leaves out a rounding to bfloat16 and back, although its flags forbid it."""
    value = 1 + 2.0**-12  # between two neighbours in bfloat16
    rounded = tf.function(lambda x: tf.cast(tf.cast(x, tf.bfloat16), tf.float32), autograph=False, jit_compile=True)
    return bool(rounded(tf.constant(value)).numpy() != 1.0)
