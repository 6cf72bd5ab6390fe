"""TensorFlow and Keras: models and their float64 references, export by tf2onnx and by Keras, import by onnx2tf."""

from __future__ import annotations

import contextlib
import gc
import importlib
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bench_plugin.adapters.frameworks import onnx2tf_conversion, onnx2tf_layouts, onnx_simplifier, pruning
from bench_plugin.agent import external
from bench_plugin.agent.adapter import Reply, Unsupported
from bench_plugin.agent.contract import (
    WEIGHTS,
    ExportCall,
    ImportCall,
    ModelCall,
    ReferenceCall,
    RunImportedCall,
    processors,
)
from bench_plugin.agent.toolkit import conditioning, conditioning_inputs, construct, samples, versions

if TYPE_CHECKING:
    import numpy as np

    Arrays = list[np.ndarray[Any, Any]]

ADAPTER = {
    "name": "tensorflow",
    "kind": "framework",
    "toolchain": "tensorflow",
    "title": "TensorFlow/Keras",
    "distribution": "tensorflow-cpu",
    "operations": ["reference", "export", "import_model", "run_imported"],
    "exporters": {
        "tf2onnx": {"opsets": [13, 18], "opset": 18, "distribution": "tf2onnx"},
        "keras": {"opsets": [13, 18], "opset": 18, "distribution": "keras"},
    },
    "importers": {"onnx2tf": {"opsets": [7, 28], "opset": 18, "distribution": "onnx2tf"}},
    "default_pairs": [["tf2onnx", "onnx2tf"]],
    "uses": ["onnx2tf_conversion", "onnx2tf_layouts", "onnx_simplifier", "pruning"],
    "errors": [
        {"package": "tensorflow"},
        {"package": "keras"},
        {"package": "tf_keras"},
        {"package": "tf2onnx"},
        {"package": "onnx2tf"},
        {"operation": "import_model", "exception": "RuntimeError"},
    ],
    "unsupported": [
        # onnx2tf has one module per operator
        {
            "operation": "import_model",
            "exception": "ModuleNotFoundError",
            "pattern": r"No module named 'onnx2tf\.ops\.",
        },
        {"operation": "import_model", "exception": "NotImplementedError", "pattern": ""},
    ],
}

DISTRIBUTIONS = (
    "tensorflow-cpu",
    "keras",
    "tf2onnx",
    "onnx2tf",
    "onnxsim",
    "tf-keras",
    "onnx",
    "onnx-graphsurgeon",
    "numpy",
    "protobuf",
)

# Set before TensorFlow is imported, and named in the row.
SWITCHES = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_ENABLE_ONEDNN_OPTS": "0",  # Eigen's kernels: the same sums on every machine
    "KERAS_BACKEND": "tensorflow",
    # tf2onnx rewrites every node's attributes 24 times, and upb's arenas keep each copy of the weights (17 GB for
    # VGG16).
    "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python",
}

# Above this many bytes of weights tf2onnx is called with large_model, which keeps them out of the graphs that it
# rewrites.
LARGE_MODEL_BYTES = 1 << 28


class Adapter:
    """Keeps the model that was built last and the one that was imported last."""

    def __init__(self) -> None:
        os.environ.update(SWITCHES)
        self._key = ""
        self._net: Any = None
        self._build_seconds = 0.0
        self._imported: Any = None
        self._simplifier = onnx_simplifier.Simplifier()
        self._outputs: list[onnx2tf_layouts.Output] = []
        self._configured = False

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed(*DISTRIBUTIONS)

    def reset(self) -> None:
        """Forget both models."""
        self._key, self._net, self._imported = "", None, None
        if self._configured:
            self.keras().backend.clear_session()
        gc.collect()

    def reference(self, call: ReferenceCall) -> Reply:
        """The float64 reference, default kernels, XLA as the variant, and float64 with all off by one ulp."""
        net = self.built(call)
        call.stage("reference")
        given, batched, few = list(call.inputs.values()), call.batched, call.noise_samples
        runs = {"default": _each(self._function(net), given, batched)}
        runs["variant"] = _each(self._function(net, xla=True), [x[:few] for x in given], batched)
        twin = self._twin(call, net)
        exact = self._function(twin)
        runs["truth"] = _each(exact, [samples.doubled(x) for x in given], batched)
        second = [samples.doubled(x) for x in call.second_binding.values()]
        if second:
            runs["alt"] = exact(second)
        perturbation = conditioning.Perturbation(call.seed)
        for weight in twin.weights:
            weight.assign(perturbation(weight.numpy()))
        runs["perturbed"] = _each(exact, [perturbation.given(samples.doubled(x[:few])) for x in given], batched)
        names = call.model.output_names(len(runs["default"]))
        arrays = {f"{kind}:{name}": y for kind, ys in runs.items() for name, y in zip(names, ys)}
        outputs = [
            {"name": name, "dtype": y.dtype.name, "shape": list(y.shape[1:])} for name, y in zip(names, runs["default"])
        ]
        meta: dict[str, object] = {
            "outputs": outputs, "parameters": net.count_params(), "truth": "float64", "switches": SWITCHES,
            "notes": ["variant: the same function compiled by XLA"], "build_seconds": self._build_seconds,
        }  # fmt: skip
        return Reply(meta, samples.blobs(arrays))

    def export(self, call: ExportCall) -> Reply:
        """``model.onnx`` by the call's exporter, static or with the model's symbolic dimensions.

        Raises Unsupported for operators that tf2onnx does not support.
        """
        net = self.built(call)
        convert = {"tf2onnx": _by_tf2onnx, "keras": _by_keras}[call.exporter]
        path = call.path("model.onnx")
        importlib.import_module("tf2onnx.convert")
        call.stage("export")
        with _log_of("tf2onnx") as said:
            notes = convert(net, self._signature(call), call.opset, path)
        refused = [line for line in said if "is not supported" in line or line.startswith("Unsupported ops")]
        if refused:  # tf2onnx logs it and writes the file all the same
            raise Unsupported("\n".join(refused))
        meta: dict[str, object] = {
            "requested_opset": call.opset, "shims": [], "warnings": said, "notes": notes, "switches": SWITCHES,
        }  # fmt: skip
        return Reply(meta, files={"model.onnx": path})

    def import_model(self, call: ImportCall) -> Reply:
        """Convert ``model.onnx`` with onnx2tf; the result is kept for :meth:`run_imported`."""
        self.tensorflow()
        importlib.import_module("onnx2tf")
        call.stage("import")
        self._imported = None
        folder = call.path("onnx2tf")
        os.mkdir(folder)
        path = external.copied(call.files["model.onnx"], folder)  # onnx2tf writes node names into its file
        onnx2tf_conversion.save_dry_run_images(folder)
        options = onnx2tf_conversion.layout_options(call.input_ports)
        notes = onnx2tf_conversion.simplified(self._simplifier, path)
        # onnx2tf writes into its file; what it is given declares the outputs.
        model = importlib.import_module("onnx").load(path)
        self._imported = onnx2tf_conversion.converted(path, options)
        moved = "keep_ncw_or_nchw_or_ncdhw_input_names" in options
        outputs = onnx2tf_layouts.of_outputs(model.graph, self._imported, moved)
        self._outputs, doubts = onnx2tf_layouts.settled(model, self._imported, outputs)
        shims = [onnx2tf_conversion.OUTPUT_LAYOUT] if any(len(one.shape) > 2 for one in self._outputs) else []
        shims += [f"{onnx2tf_conversion.DRY_RUN_IMAGES}: seeded images of the project's own instead of a download"]
        notes += [*doubts, *(f"{key}={names}" for key, names in options.items())]
        return Reply({"shims": shims, "notes": notes, "switches": {**SWITCHES, **onnx2tf_conversion.SWITCHES}})

    def run_imported(self, call: RunImportedCall) -> Reply:
        """Outputs out0, out1 ... of the imported model.

        Raises RuntimeError without an import before it, or where onnx2tf changed the number of inputs.
        """
        if self._imported is None:
            raise RuntimeError("no model is imported in this agent; import_model must come first in the same lease")
        call.stage("run")
        given, net = list(call.inputs.values()), self._imported
        if len(net.inputs) != len(given):
            raise RuntimeError(f"onnx2tf made a model of {len(net.inputs)} inputs from a file of {len(given)}")

        def run(xs: Arrays) -> Arrays:
            tf = self.tensorflow()
            ys = net([tf.constant(x) for x in xs] if len(xs) > 1 else tf.constant(xs[0]), training=False)
            return [output.put_back(y.numpy()) for y, output in zip(tf.nest.flatten(ys), self._outputs)]

        reply = samples.answered(call, run, given)
        reply.meta["outputs"] = [array.dtype for array in reply.arrays.values()]
        return reply

    def tensorflow(self) -> Any:
        """TensorFlow, configured once: threads, determinism, Keras' defaults whatever the user's keras.json says."""
        tf = importlib.import_module("tensorflow")
        if not self._configured:
            _start_threads(tf, processors())
            tf.config.experimental.enable_op_determinism()
            tf.get_logger().setLevel("ERROR")
            _keras_defaults(importlib.import_module("keras"), "float32")
            self._configured = True
        return tf

    def keras(self) -> Any:
        self.tensorflow()
        return importlib.import_module("keras")

    def built(self, call: ModelCall) -> Any:
        """The model in float32 with trained, or seeded and conditioned weights: the last call's if it is the same."""
        key = call.identity
        if key != self._key:
            self.keras()
            call.stage("build")
            since = time.monotonic()
            self.reset()
            net = self._constructed(call)
            if WEIGHTS in call.files:
                load_weights(net, call.files[WEIGHTS])
            else:
                _condition(self.keras(), net, call)
            self._key, self._net, self._build_seconds = key, net, time.monotonic() - since
        return self._net

    def _constructed(self, call: ModelCall, dtype: str = "float32") -> Any:
        """A new model, built for the call's example inputs."""
        keras = self.keras()
        keras.utils.set_random_seed(call.seed)
        _keras_defaults(keras, dtype)
        try:
            net = constructed(call)
        finally:
            _keras_defaults(keras, "float32")
        return net

    def _twin(self, call: ModelCall, net: Any) -> Any:
        """The same model in float64 with the same weights."""
        twin = self._constructed(call, "float64")
        for own, weight in zip(twin.weights, net.weights):
            if own.path.rpartition("/")[2] != weight.path.rpartition("/")[2] or own.shape != weight.shape:
                raise RuntimeError(
                    f"the constructor made {own.path} {own.shape} where it made {weight.path} {weight.shape} before"
                )
            own.assign(weight.numpy())
            if weight.numpy().dtype.kind == "f" and own.numpy().dtype.name != "float64":
                raise RuntimeError(
                    f"{own.path} is {own.dtype} under the float64 policy; a constructor must not fix a dtype"
                )
        _finish(twin)
        return twin

    def _function(self, net: Any, xla: bool = False) -> Callable[[Arrays], Arrays]:
        tf = self.tensorflow()
        compiled = tf.function(lambda xs: apply(net, xs), autograph=False, jit_compile=xla)
        return lambda xs: [y.numpy() for y in tf.nest.flatten(compiled([tf.constant(x) for x in xs]))]

    def _signature(self, call: ExportCall) -> list[Any]:
        tf = self.tensorflow()
        signature = []
        for port, x in zip(call.model.inputs, call.example):
            shape: list[int | None] = list(x.shape)
            if call.dynamic:
                shape = [None if isinstance(size, str) else size for size in port.shape]
            signature.append(tf.TensorSpec(shape, x.dtype.name, name=port.name))
        return signature


def _by_tf2onnx(net: Any, signature: list[Any], opset: int, path: str) -> list[str]:
    """``tf2onnx.convert.from_function``; weights that large_model kept aside are put back, so that one file holds
    all.
    """
    tf = importlib.import_module("tensorflow")
    convert = importlib.import_module("tf2onnx.convert")
    function = tf.function(lambda *xs: apply(net, xs), input_signature=signature, autograph=False)
    large = sum(weight.numpy().nbytes for weight in net.weights) > LARGE_MODEL_BYTES
    if not large:
        convert.from_function(function, input_signature=signature, opset=opset, output_path=path)
        return []
    model, aside = convert.from_function(function, input_signature=signature, opset=opset, large_model=True)
    for tensor in model.graph.initializer:
        if tensor.data_location == tensor.EXTERNAL:
            tensor.raw_data = aside.name_to_tensor_data[tensor.external_data[0].value]
            tensor.data_location = tensor.DEFAULT
            del tensor.external_data[:]
    with open(path, "wb") as file:
        file.write(model.SerializeToString())
    return ["large_model"]


def _by_keras(net: Any, signature: list[Any], opset: int, path: str) -> list[str]:
    """``keras.Model.export(format="onnx")``, which is tf2onnx behind Keras' own tracing."""
    given = signature if len(signature) == 1 else [signature]
    net.export(path, format="onnx", verbose=False, input_signature=given, opset_version=opset)
    return []


def constructed(call: ModelCall) -> Any:
    """A new model under Keras' present policy of types, built for the call's example, with the channels it keeps."""
    net = construct.build(call.model)
    apply(net, call.example)
    return pruning.of_keras(net, call.model.kept)[0]


def apply(net: Any, xs: Sequence[Any], training: bool = False) -> Any:
    """What a Keras model makes of tensors; a single input is given as it is, several as a list."""
    return net(xs[0] if len(xs) == 1 else list(xs), training=training)


def _start_threads(tf: Any, threads: int) -> None:
    """Let TensorFlow have so many threads, unless it runs already: another adapter of this process started it then."""
    with contextlib.suppress(
        RuntimeError
    ):  # it raises this after its first operation; a deterministic operator's result stays
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(threads)


def _keras_defaults(keras: Any, dtype: str) -> None:
    keras.config.set_image_data_format("channels_last")
    keras.config.set_floatx(dtype)
    keras.config.set_dtype_policy(dtype)


def _each(run: Callable[[Arrays], Arrays], given: Arrays, batched: bool) -> Arrays:
    results = samples.one_by_one(run, given, batched)
    return list(samples.joined(results, samples.numbered(len(results[0])), batched).values())


def load_weights(net: Any, path: str) -> None:
    """Give a built Keras model the weights that a file holds in their order."""
    import numpy as np

    with np.load(path, allow_pickle=False) as stored:
        net.set_weights([stored[name] for name in stored.files])
    _finish(net)


def _finish(net: Any) -> None:
    """Layers that keep values made of their weights (Normalization does) make them again from their present weights."""
    for layer in net._flatten_layers(include_self=False):
        if layer.built and layer.weights and hasattr(layer, "finalize_state"):
            layer.finalize_state()


def _condition(keras: Any, net: Any, call: ModelCall) -> None:
    """Seeded kernels, scales, shifts and biases; statistics of every BatchNorm from a pass over seeded inputs."""
    seed = call.seed
    weights = conditioning.Weights(seed)
    layers = list(net._flatten_layers(include_self=False))
    norms = [layer for layer in layers if isinstance(layer, keras.layers.BatchNormalization)]
    for index, layer in enumerate(layers):
        for weight in layer.weights if not hasattr(layer, "layers") else ():
            draw = _draw_of(keras, weights, layer, weight)
            if draw is not None:
                weight.assign(draw(f"{index}:{weight.name}", weight.numpy()))
    if norms:
        before = [layer.momentum for layer in norms]
        for index, inputs in enumerate(conditioning_inputs.passes(call.model, seed, channels_last=True)):
            for layer in norms:
                layer.momentum = index / (index + 1)  # the plain mean over what it sees
            apply(net, inputs, training=True)
        for layer, momentum in zip(norms, before):
            layer.momentum = momentum


def _draw_of(keras: Any, weights: conditioning.Weights, layer: Any, weight: Any) -> Any:
    if isinstance(layer, keras.layers.BatchNormalization):
        return {"gamma": weights.scale, "beta": weights.shift}.get(weight.name)
    if weight.name == "bias" and len(weight.shape) == 1:
        return weights.bias
    if isinstance(layer, (keras.layers.Conv2D, keras.layers.Dense)) and weight.name == "kernel":
        return weights.kernel
    return weights.vector if weight.trainable else None


@contextlib.contextmanager
def _log_of(name: str) -> Iterator[list[str]]:
    """The messages from warning upwards that a logger receives, as a list that fills."""
    said: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    handler = Keep(logging.WARNING)
    logging.getLogger(name).addHandler(handler)
    try:
        yield said
    finally:
        logging.getLogger(name).removeHandler(handler)
