"""TFLite: from ONNX through onnx2tf, from Keras through TensorFlow's own converter; the artefact runs in LiteRT."""

from __future__ import annotations

import gc
import importlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from bench_plugin.adapters.frameworks import onnx2tf_conversion, onnx2tf_layouts, onnx_simplifier, tensorflow
from bench_plugin.adapters.readback import tflite_contents, tflite_layers
from bench_plugin.agent.adapter import Reply, Unsupported
from bench_plugin.agent.contract import CompileCall, RebuildCall, RunCall
from bench_plugin.agent.toolkit import contractions, samples, versions

if TYPE_CHECKING:
    import numpy as np

    Arrays = list[np.ndarray[Any, Any]]

ADAPTER = {
    "name": "tflite",
    "kind": "compiler",
    "toolchain": "tensorflow",
    "title": "TFLite (LiteRT)",
    "distribution": "ai-edge-litert",
    "distributions": ["tensorflow-cpu", "keras", "onnx2tf", "tf-keras"],
    "operations": ["compile", "run", "rebuild"],
    "operators": True,
    "takes": ["onnx", "tensorflow"],
    "precisions": {"fp32": ["original"], "w16": ["original"], "w8": ["original"], "w8a8": ["original"]},
    "targets": ["local", "aarch64", "armhf", "riscv64"],
    "boards": ["aarch64"],
    "portable": True,
    "rounds": "w16-all",  # what float16 weights mean here: biases are rounded too
    "backends": ["xnnpack", "builtin"],
    "uses": [
        "onnx2tf_conversion",
        "onnx2tf_layouts",
        "onnx_simplifier",
        "tensorflow",
        "tflite_contents",
        "tflite_layers",
    ],
    # As its importer (tensorflow.py): onnx2tf reads no `broadcast`, which opset 7 replaced. It states no newest.
    "values": ["int4", "str"],
    "opsets": [7, 0],
    "errors": [
        {"package": "tensorflow"},
        {"package": "keras"},
        {"package": "tf_keras"},
        {"package": "onnx2tf"},
        {"package": "ai_edge_litert"},
        {"operation": "compile", "exception": "RuntimeError"},
    ],
    "unsupported": [
        # onnx2tf has one module per operator.
        {"operation": "compile", "exception": "ModuleNotFoundError", "pattern": r"No module named 'onnx2tf\.ops\."},
        {"operation": "compile", "exception": "RuntimeError", "pattern": r"supports only "},
        {"operation": "compile", "exception": "ValueError", "pattern": r"not supported in conjunction with"},
    ],
}

DISTRIBUTIONS = ("ai-edge-litert", "tensorflow-cpu", "keras", "onnx2tf", "onnxsim", "tf-keras", "onnx", "numpy")

# Set before TensorFlow is imported, and named in the row.
SWITCHES = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0", "KERAS_BACKEND": "tensorflow"}
ARTEFACT = "model.tflite"
SIGNATURE = "serving_default"
WITHOUT_ELEMENTS = "Invalid tensor size."  # what LiteRT's binding says in place of handing out such a tensor
EMPTY_SHIM = "an output without elements is made from its shape: LiteRT's binding does not hand it out"


class Adapter:
    """Keeps nothing but the framework's adapter, which keeps the Keras model that was built last."""

    def __init__(self) -> None:
        os.environ.update(SWITCHES)
        self._framework: Any = None
        self._simplifier = onnx_simplifier.Simplifier()
        self._settled = False

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed(*DISTRIBUTIONS)

    def reset(self) -> None:
        """Forget the model."""
        if self._framework is not None:
            self._framework.reset()
        gc.collect()

    def compile(self, call: CompileCall) -> Reply:
        """``model.tflite`` at the call's precision, with inputs and outputs in the declared layouts.

        Raises Unsupported where the file has another precision than the call's.
        """
        precision, method = call.precision, call.calibration_method
        if precision == "w8a8" and method != "minmax":
            raise Unsupported(f"TFLite's converter calibrates by minimum and maximum only, not by {method}")
        tf = importlib.import_module("tensorflow")
        if "model.onnx" in call.files:
            importlib.import_module("onnx2tf")
            self._settle()
            call.stage("compile")
            kept, apply, specs, notes = _from_onnx(tf, self._simplifier, call)
        else:
            kept, apply, specs, notes = self._from_keras(tf, call)
            call.stage("compile")
        content, said = _converted(tf, kept, apply, specs, call)
        path = call.path(ARTEFACT)
        with open(path, "wb") as file:
            file.write(content)
        found = tflite_contents.read_back(content)
        if found["precision"] != precision:
            why = tflite_contents.why_in_float(precision, found["largest"])
            raise Unsupported(f"asked {precision}, ran {found['precision']}{why}")
        notes.append("bytes of constants by type: " + ", ".join(f"{k} {v}" for k, v in found["constants"].items()))
        if precision == "w16":
            notes.append("biases are float16 too")
        if precision == "w8":
            notes.append("kernels with int8 weights quantise their float inputs as they run")
        meta: dict[str, object] = {
            "effective": precision, "portable": True,
            "integer": contractions.integer(found["contractions"]) if precision in ("w8", "w8a8") else "",
            "placement": {
                "nodes": found["nodes"], "fallback": found["float"] if precision == "w8a8" else [],
                **contractions.placed(found["contractions"]),
            },
            "switches": {**SWITCHES, **said}, "notes": notes, "shims": [],
        }  # fmt: skip
        if "model.onnx" in call.files:
            meta["switches"] = {**SWITCHES, **said, **onnx2tf_conversion.SWITCHES}
            meta["shims"] = ["onnx2tf's dry run sees seeded images of the project's own instead of a download"]
        return Reply(meta, files={ARTEFACT: path})

    def run(self, call: RunCall) -> Reply:
        """Outputs out0, out1 ... of ``model.tflite``."""
        litert = importlib.import_module("ai_edge_litert.interpreter")
        call.stage("run")
        kinds, plain = litert.OpResolverType, call.backend == "builtin"
        interpreter = litert.Interpreter(
            model_path=call.files[ARTEFACT],
            num_threads=call.threads,
            experimental_op_resolver_type=kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES if plain else kinds.AUTO,
        )
        interpreter.allocate_tensors()
        runner = interpreter.get_signature_runner(SIGNATURE)
        given = call.inputs
        order = _in_order(sorted(runner.get_input_details()), list(given))

        shims: list[str] = []
        meta: dict[str, object] = {"placement": tflite_contents.placement(interpreter, plain), "shims": shims}

        def run(xs: Arrays) -> Arrays:
            ys = _answer(interpreter, runner, dict(zip(order, map(_given, xs))), shims)
            return [ys[key] for key in sorted(ys)]

        def bind(xs: Arrays) -> Any:
            return partial(runner, **dict(zip(order, xs))), lambda ys: [ys[key] for key in sorted(ys)]

        inputs = [given[name] for name in order.values()]
        return samples.answered(call, run, inputs, meta, bind)

    def rebuild(self, call: RebuildCall) -> Reply:
        """The layers of ``model.tflite``, and the same file with every tensor of them as an output.

        Of weights in float16 it is these weights alone: they are what the artefact has of its own.
        """
        call.stage("build")
        with open(call.files[ARTEFACT], "rb") as file:
            content = file.read()
        if call.precision == "w16":
            return tflite_layers.halves(content).reply()
        layers, exposed = tflite_layers.rebuilt(content, plain=call.backend == "builtin")
        path = call.path(ARTEFACT)
        with open(path, "wb") as file:
            file.write(exposed)
        return layers.reply({ARTEFACT: path})

    def _settle(self) -> None:
        """Exempt imported modules from garbage collection, which the converter runs for each model."""
        if not self._settled:
            gc.freeze()
            self._settled = True

    def _from_keras(self, tf: Any, call: CompileCall) -> Any:
        """The framework's own model with its weights."""
        if self._framework is None:
            self._framework = tensorflow.Adapter()
        net = self._framework.built(call.of_model)
        specs = [
            tf.TensorSpec(x.shape, x.dtype, name=_key("in", index, name))
            for index, (name, x) in enumerate(zip(call.inputs, call.example))
        ]
        # A SavedModel with Keras 3's model alone has variables that are never given their values, without a warning.
        kept = [weight.value for weight in net.variables]
        return kept, lambda xs: net(xs[0] if len(xs) == 1 else xs, training=False), specs, []


def _given(x: Any) -> Any:
    """An array [...] as the runtime takes it: integers of four bits as int8."""
    return x.astype("int8") if x.dtype.name == "int4" else x


def _answer(interpreter: Any, runner: Any, given: Mapping[str, Any], shims: list[str]) -> dict[str, Any]:
    """The outputs by key. LiteRT computes one without elements, but its binding does not hand it out: ``shims`` says so
    (docs/findings/litert_empty_output.py).
    """
    try:
        found: dict[str, Any] = runner(**given)
    except ValueError as error:
        if str(error) != WITHOUT_ELEMENTS:
            raise
        np = importlib.import_module("numpy")
        shims[:] = [EMPTY_SHIM]
        found = {
            key: np.empty(row["shape"], row["dtype"]) if 0 in row["shape"] else interpreter.get_tensor(row["index"])
            for key, row in runner.get_output_details().items()
        }
    return found


def _from_onnx(tf: Any, simplifier: onnx_simplifier.Simplifier, call: CompileCall) -> Any:
    """What onnx2tf makes of ``model.onnx``, with its outputs put back to the layout that the file declares."""
    folder = call.path("onnx2tf")
    os.mkdir(folder)
    path = os.path.join(folder, "model.onnx")  # onnx2tf writes node names into the file that it is given
    symbols = _frozen(call.files["model.onnx"], path, call.binding)
    remarks = onnx2tf_conversion.simplified(simplifier, path)
    model = _sized(path, symbols, call.binding)
    graph = model.graph
    first, as_is = onnx2tf_layouts.of_inputs(graph, {port.name: port.layout for port in call.input_ports})
    if any(len(onnx2tf_layouts.sizes_of(value)) == 4 for value in _inputs(graph)):
        # Those of 3 channels are fed images in its dry run, which it looks for in the working directory.
        onnx2tf_conversion.save_dry_run_images(folder)
    options = {"keep_ncw_or_nchw_or_ncdhw_input_names": first, "keep_shape_absolutely_input_names": as_is}
    net = onnx2tf_conversion.converted(path, {name: names for name, names in options.items() if names})
    inputs = _inputs(graph)
    if len(net.inputs) != len(inputs):
        raise RuntimeError(f"onnx2tf made a model of {len(net.inputs)} inputs from a file of {len(inputs)}")
    specs = [
        tf.TensorSpec(onnx2tf_layouts.sizes_of(value), _dtype(tf, value), name=_key("in", index, value.name))
        for index, value in enumerate(inputs)
    ]
    declared, doubts = onnx2tf_layouts.settled(model, net, onnx2tf_layouts.of_outputs(graph, net, moved=bool(first)))
    notes: list[str] = []

    def apply(xs: Sequence[Any]) -> list[Any]:
        notes[:] = [*remarks, *doubts]
        notes.extend(
            f"onnx2tf computes {x.dtype.name} as {y.dtype.name}" for x, y in zip(xs, net.inputs) if x.dtype != y.dtype
        )
        xs = [tf.cast(x, own.dtype) for x, own in zip(xs, net.inputs)]
        ys: list[Any] = tf.nest.flatten(net(xs[0] if len(xs) == 1 else list(xs), training=False))
        if len(ys) != len(declared):
            raise RuntimeError(f"onnx2tf made a model of {len(ys)} outputs from a file of {len(declared)}")
        for index, (y, output) in enumerate(zip(ys, declared)):
            if output.is_channels_last(y.shape.as_list() if y.shape.rank is not None else []):
                ys[index] = tf.transpose(y, [0, y.shape.rank - 1, *range(1, y.shape.rank - 1)])
                notes.append(f"output {index} is put back from channels last")
        return ys

    return net.variables, apply, specs, notes  # saved with its layers, MobileNetV2 would take a minute


def _frozen(source: str, path: str, binding: Mapping[str, int]) -> dict[str, list[str]]:
    """The symbols of each output of the file, which is saved as ``path`` with a size for every symbol of its inputs.

    Sizes of outputs are inferred where that is possible: exporters also give an output the symbol of another size.
    """
    onnx = importlib.import_module("onnx")
    model = onnx.load(source)
    for value in _inputs(model.graph):
        _bind(value, binding)
    symbols = {value.name: [dim.dim_param for dim in value.type.tensor_type.shape.dim] for value in model.graph.output}
    for value in model.graph.output:
        _bind(value, {})
    unknown = [value.name for value in _inputs(model.graph) if None in onnx2tf_layouts.sizes_of(value)]
    if unknown:
        raise RuntimeError(f"TFLite needs fixed shapes; nothing says the size of input {unknown[0]}")
    for node in model.graph.node:
        # onnx2tf names the variables of a grouped convolution so, and TensorFlow saves none with a slash in front.
        if node.op_type == "Conv" and any(one.name == "group" and one.i > 1 for one in node.attribute):
            node.name = node.name.lstrip("/")
    del model.graph.value_info[:]  # made of the symbols; inferred again
    model = onnx.shape_inference.infer_shapes(model, data_prop=True)
    onnx.save(model, path)
    return symbols


def _sized(path: str, symbols: Mapping[str, Sequence[str]], binding: Mapping[str, int]) -> Any:
    """A simplified file. A size of an output that neither inference nor onnxsim knows is that of the symbol which the
    file names.
    """
    onnx = importlib.import_module("onnx")
    model, changed = onnx.load(path), False
    for value in model.graph.output:
        for dim, symbol in zip(value.type.tensor_type.shape.dim, symbols.get(value.name, ())):
            if not dim.HasField("dim_value") and symbol in binding:
                dim.dim_value, changed = binding[symbol], True
    if changed:
        onnx.save(model, path)
    return model


def _bind(value: Any, binding: Mapping[str, int]) -> None:
    """Give the symbols of a declared tensor their sizes; those without one are unknown from now on."""
    for dim in value.type.tensor_type.shape.dim:
        if dim.dim_param and dim.dim_param in binding:
            dim.dim_value = binding[dim.dim_param]
        elif not dim.HasField("dim_value"):
            dim.Clear()


def _inputs(graph: Any) -> list[Any]:
    stored = {tensor.name for tensor in graph.initializer}
    return [value for value in graph.input if value.name not in stored]


def _dtype(tf: Any, value: Any) -> Any:
    """TensorFlow's type of an input. Raises Unsupported for a sequence or an optional value."""
    if not value.type.HasField("tensor_type"):
        raise Unsupported(f"the input {value.name} is no tensor, and a TFLite file has tensors alone")
    helper = importlib.import_module("onnx").helper
    return tf.as_dtype(helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type))


def _converted(
    tf: Any, kept: Any, apply: Callable[..., Any], specs: Sequence[Any], call: CompileCall
) -> tuple[bytes, dict[str, Any]]:
    """The flatbuffer with the call's quantisation, and the converter's options; ``kept`` are the variables."""
    precision = call.precision

    def outputs(*xs: Any) -> dict[str, Any]:
        ys = tf.nest.flatten(apply(list(xs)))
        return {_key("out", index): tf.identity(y) for index, y in enumerate(ys)}

    module = tf.Module()
    module.outputs = tf.function(outputs, input_signature=specs, autograph=False)
    concrete = module.outputs.get_concrete_function()
    # The model's own list lacks the variables of the layers that onnx2tf makes for grouped convolutions.
    module.kept = [*kept, *concrete.graph.variables]
    folder = call.path("saved_model")
    tf.saved_model.save(module, folder, signatures={SIGNATURE: concrete})
    converter = tf.lite.TFLiteConverter.from_saved_model(folder, signature_keys=[SIGNATURE])
    if precision != "fp32":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if precision == "w16":
        converter.target_spec.supported_types = [tf.float16]
    if precision == "w8a8":
        given = call.calibration
        order = _in_order([spec.name for spec in specs], list(given))
        columns = {key: given[name] for key, name in order.items()}
        converter.representative_dataset = lambda: samples.feeds(columns, call.batched)
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8, tf.lite.OpsSet.TFLITE_BUILTINS]
    accumulates = getattr(converter.target_spec, "_experimental_supported_accumulation_type", None)
    said = {"converter.accumulation_type": accumulates and str(accumulates)}
    return bytes(converter.convert()), said


def _key(kind: str, index: int, name: str = "") -> str:
    """A signature's key: ordered, and still telling the input's name."""
    return f"{kind}{index:03d}_" + re.sub(r"\W", "_", name, flags=re.ASCII)


def _in_order(keys: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Keys of a signature and the names of the inputs that they stand for: by name, where names are the same."""
    by_name = {_key("", 0, name): name for name in names}
    told = [by_name.get("000_" + key.partition("_")[2]) for key in keys]
    if None not in told and len(set(told)) == len(keys):
        return dict(zip(keys, (str(name) for name in told)))
    if len(keys) != len(names):
        raise RuntimeError(f"{len(names)} inputs are given ({', '.join(names)}), the artefact has {len(keys)}")
    return dict(zip(keys, names))
