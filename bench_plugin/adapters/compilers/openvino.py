"""OpenVINO: its IR is the artefact; NNCF quantises where no pre-quantised model is given."""

from __future__ import annotations

import importlib
import math
import os
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from bench_plugin.adapters.readback import openvino_executed, openvino_layers
from bench_plugin.adapters.readback.openvino_executed import HEAVY, INTEGERS
from bench_plugin.agent.adapter import InvalidModel, Reply, Unsupported
from bench_plugin.agent.contract import ORIGINAL, QDQ, CompileCall, CompilerCall, RebuildCall, RunCall, TimeCall
from bench_plugin.agent.toolkit import contractions, samples, versions

ADAPTER = {
    "name": "openvino",
    "kind": "compiler",
    "toolchain": "openvino",
    "title": "OpenVINO",
    "distribution": "openvino",
    "distributions": ["nncf"],
    "operations": ["compile", "run", "rebuild"],
    "imports": ["openvino"],
    "uses": ["openvino_executed", "openvino_layers"],
    "operators": True,
    "takes": ["onnx"],
    # It has no type of two bits, and says so.
    "precisions": {
        "fp32": ["original"],
        "bf16": ["original"],
        "w8a8": ["qdq", "original"],
        "w8": ["weights"],
        "w4": ["weights", "original"],
        "w4a8": ["qdq"],
        "int4": ["weights", "qdq"],
        "uint4": ["weights", "qdq"],
        "int2": ["weights", "qdq"],
        "uint2": ["weights", "qdq"],
    },
    "artefact": True,
    "targets": ["local"],
    "concurrent": True,
    "portable": False,
    "values": ["bfloat16", "float4_e2m1fn", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "int4", "uint4"],
    # The table of its ONNX frontend begins with 1 for almost every operator, and has no end: OPSET_SINCE(1).
    "opsets": [1, 0],
    "errors": [
        {"package": "openvino"}, {"package": "nncf"},
        {"exception": "RuntimeError"}, {"exception": "ShapeInferenceError"},
    ],
    "unsupported": [{"operation": "compile", "exception": "RuntimeError", "pattern": "^Unknown activation function"}],
}  # fmt: skip

# Asked for in words, since without a hint it takes bf16 wherever the processor has it; int8 needs no hint of its own.
FEW_BITS = {
    "w8": "i8",
    "w4": "i4",
    "w4a8": "i4",
    "int4": "i4",
    "uint4": "u4",
    "int2": "i2",
    "uint2": "u2",
}  # its names of the weights
HINTS = {"fp32": "f32", "bf16": "bf16", **dict.fromkeys(("w8a8", *FEW_BITS), "f32")}
PRECISIONS = {"f32": "fp32", "bf16": "bf16", "f16": "fp16"}
ASKED = {
    "fp32": frozenset({"f32"}), "bf16": frozenset({"bf16"}), "w8a8": INTEGERS,
    **dict.fromkeys(FEW_BITS, INTEGERS | {"f32"}),
}  # fmt: skip

# What it trades for speed unasked: accuracy itself, activations of layers with compressed weights in int8, and the
# cache of attention in 8 bits.
EXACT = {
    "EXECUTION_MODE_HINT": "ACCURACY",
    "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0,
    "KEY_CACHE_PRECISION": "f32",
    "VALUE_CACHE_PRECISION": "f32",
}

# What types that numpy lacks are called here; two elements of a type of 4 bits share a byte, the first one low.
TYPES = {
    "bfloat16": "bf16", "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2", "float8_e8m0fnu": "f8e8m0",
    "float4_e2m1fn": "f4e2m1", "int4": "i4", "uint4": "u4",
}  # fmt: skip
NAMES = {ours: name for name, ours in TYPES.items()}
BYTE = 8

# Layers that compute nothing: constants, borders, conversions between formats.
PASSIVE = frozenset({"Input", "Output", "Const", "Reorder", "Reshape", "Convert", "FakeQuantize"})

# Lines before the one that says what is wrong, and the one of them that says of which operator.
PREAMBLE = re.compile(
    r"Exception from |Check '.*' failed at |FrontEnd API failed|Model wasn't fully converted|Summary:"
    r"|Loading input model|While validating (ONNX )?node|Shape inference input shapes|\S+ with a message:$"
)
OPERATOR = re.compile(r"^-- (\S+) with a message:$", re.MULTILINE)
BLOCK = re.compile(r"^(?=-- \S+ with a message:$)", re.MULTILINE)  # one for each node that failed
# What a node is said to get from one that could not be converted, or that has no rule, which the summary tells.
CONSEQUENCE = re.compile(r"input type dynamic|input data tensor's rank has to be known")
NO_RULE = re.compile(r"^-- (No conversion rule found for operations: .+)$", re.MULTILINE)
# A pass names its node with all of its inputs in front of what is wrong.
THROWN = re.compile(r"^\[(\w+)\] END: node: .*? CALLBACK HAS THROWN: (?=Unknown )(.+)$")
INTERNAL = "src/core/shape_inference/"  # a node that the frontend made, and that OpenVINO's own core rejects
NOT_A_MODEL = re.compile(r"Unable to read the model|Input tensor isn't found for node")


class Adapter:
    """Keeps the model that was opened last."""

    def __init__(self) -> None:
        self._key: Any = None
        self._model: Any = None
        self._compiled: Any = None

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("openvino", "nncf", "numpy")

    def reset(self) -> None:
        """Forget the model."""
        self._key = self._model = self._compiled = None

    def compile(self, call: CompileCall) -> Reply:
        """``model.xml`` and ``model.bin``, once the processor's plugin could compile them.

        Raises Unsupported when the tool chose another precision than the call's, InvalidModel for a
        file that no frontend can read.
        """
        openvino = importlib.import_module("openvino")
        nncf = importlib.import_module("nncf") if _quantises(call) else None
        core = openvino.Core()
        capabilities = [str(name) for name in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")]
        call.stage("compile")
        switches: dict[str, object] = {}
        try:
            model = core.read_model(call.files["model.onnx"])
            if nncf is not None:
                model, switches = _quantised(nncf, model, call)
            compiled = core.compile_model(model, "CPU", _settings(call))
        except RuntimeError as error:
            raise _readable(error) from None
        xml = call.path("model.xml")
        # By default the weights of the file would be rounded to float16.
        openvino.save_model(model, xml, compress_to_fp16=False)
        meta = _findings(compiled, call.precision, model, capabilities)
        if call.precision in FEW_BITS:
            meta["placement"].update(_carriers(compiled, call))
        meta["switches"] = {**_read_back(compiled), **switches, "capabilities": capabilities}
        meta["dynamic"] = "preserved" if any(port.get_partial_shape().is_dynamic for port in compiled.inputs) else ""
        return Reply(meta, files={"model.xml": xml, "model.bin": call.path("model.bin")})

    def run(self, call: RunCall) -> Reply:
        """Outputs out0, out1 ... of ``model.xml``."""
        compiled = self._opened(call)
        call.stage("run")
        given = call.inputs
        request = compiled.create_infer_request()
        taken, shims = _taken(call, compiled, given)

        def run(xs: Sequence[Any]) -> list[Any]:
            request.infer({index: _tensor(x) for index, x in enumerate(xs)})
            return [_array(request.get_output_tensor(index)) for index in range(len(compiled.outputs))]

        def bind(xs: Sequence[Any]) -> Any:
            tensors = {index: _tensor(x) for index, x in enumerate(xs)}
            count = range(len(compiled.outputs))
            own = compiled.create_infer_request() if _streams(call) > 1 else request  # it answers one call at a time
            return partial(own.infer, tensors), lambda _: [_array(own.get_output_tensor(index)) for index in count]

        meta = {**_findings(compiled, call.precision, self._model), "shims": shims}
        return samples.answered(call, run, [given[name] for name in taken], meta, bind)

    def rebuild(self, call: RebuildCall) -> Reply:
        """The layers of ``model.xml`` between its FakeQuantize nodes, and the same model with those as outputs."""
        openvino = importlib.import_module("openvino")
        call.stage("build")
        model = openvino.Core().read_model(call.files["model.xml"], call.files["model.bin"])
        _bind(model, call)
        layers = openvino_layers.rebuilt(model, call.fused_sums)
        path = call.path("model.xml")
        openvino.save_model(model, path, compress_to_fp16=False)
        return layers.reply({"model.xml": path, "model.bin": call.path("model.bin")})

    def _opened(self, call: RunCall) -> Any:
        xml, weights = call.files["model.xml"], call.files["model.bin"]
        key = (xml, os.stat(xml).st_mtime_ns, weights, sorted(_settings(call).items()))
        if key != self._key:
            self.reset()
            core = importlib.import_module("openvino").Core()
            try:
                model = core.read_model(xml, weights)
                self._compiled = core.compile_model(model, "CPU", _settings(call))
            except RuntimeError as error:
                raise _readable(error) from None
            self._model, self._key = model, key
        return self._compiled


def _bind(model: Any, call: RebuildCall) -> None:
    """Give every dimension of the inputs its size: those of one sample."""
    sizes = {port.name: port.shape for port in call.input_ports}
    bound = {}
    for port in model.inputs:
        if port.get_partial_shape().is_static:
            continue
        name = next((name for name in port.get_names() if name in sizes), "")
        dims = [dim.get_length() if dim.is_static else None for dim in port.get_partial_shape()]
        declared = list(sizes.get(name) or [1] * len(dims))
        if call.batched:
            declared[0] = 1
        named = [call.binding.get(size, 1) if isinstance(size, str) else size for size in declared]
        bound[port] = [size if have is None else have for have, size in zip(dims, named)]
    if bound:
        model.reshape(bound)


def _quantises(call: CompileCall) -> bool:
    """Whether the tool has to quantise by itself: it was given the model as exported."""
    return call.precision in ("w8a8", "w4") and call.graph == ORIGINAL


def _settings(call: CompilerCall) -> dict[str, object]:
    return {
        "INFERENCE_PRECISION_HINT": HINTS[call.precision],
        "INFERENCE_NUM_THREADS": call.threads,
        "NUM_STREAMS": _streams(call),
        "PERFORMANCE_HINT": "LATENCY",
        "ENABLE_CPU_PINNING": call.alone,  # else other agents work beside
        "CPU_DENORMALS_OPTIMIZATION": False,
        **EXACT,
    }


def _streams(call: CompilerCall) -> int:
    """How many calls are under way at the same time."""
    return call.streams if isinstance(call, TimeCall) else 1


def _read_back(compiled: Any) -> dict[str, object]:
    """What the compiled model says of its own settings."""
    hint = compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name()
    names = ("INFERENCE_NUM_THREADS", "CPU_DENORMALS_OPTIMIZATION", "CPU_SPARSE_WEIGHTS_DECOMPRESSION_RATE", *EXACT)
    values = {name: compiled.get_property(name) for name in names}
    told = {name: value.get_type_name() if hasattr(value, "get_type_name") else value for name, value in values.items()}
    told = {name: getattr(value, "name", value) for name, value in told.items()}
    return {"INFERENCE_PRECISION_HINT": hint, **told}


def _quantised(nncf: Any, model: Any, call: CompileCall) -> tuple[Any, dict[str, object]]:
    """The model after NNCF's post-training quantisation with the calibration arrays, and its switches.

    Raises Unsupported for a calibration method that NNCF does not have, and where it finds nothing to quantise.
    """
    if call.precision == "w4":
        mode = nncf.CompressWeightsMode.INT4_SYM
        weights = nncf.compress_weights(model, mode=mode, ratio=1.0, group_size=-1, all_layers=True)
        return weights, {"quantiser": "nncf", "mode": mode.value, "group_size": "channel"}
    method, ranges = call.calibration_method, nncf.quantization.range_estimator
    known = {
        "minmax": ranges.RangeEstimatorParametersSet.MINMAX,
        "percentile": ranges.RangeEstimatorParametersSet.MEAN_QUANTILE,
    }
    if method not in known:
        raise Unsupported(f"NNCF does not calibrate by {method}, only by {' and '.join(known)}")
    items = list(samples.feeds(call.calibration, call.batched))
    if not items:
        raise Unsupported("NNCF needs calibration data to quantise with, and none was given")
    preset = nncf.QuantizationPreset.MIXED  # activations may be asymmetric, as in the QDQ graph
    quantised = nncf.quantize(
        model,
        nncf.Dataset(items),
        preset=preset,
        target_device=nncf.TargetDevice.CPU,
        subset_size=len(items),
        advanced_parameters=nncf.AdvancedQuantizationParameters(activations_range_estimator_params=known[method]),
    )
    if _roundings(quantised) == _roundings(model):
        raise Unsupported("NNCF finds nothing in this model that it quantises")
    switches = {
        "quantiser": "nncf",
        "preset": preset.value,
        "calibration_samples": len(items),
        "fast_bias_correction": True,
    }
    return quantised, switches


def _roundings(model: Any) -> int:
    return sum(op.get_type_name() == "FakeQuantize" for op in model.get_ops())


def _taken(call: RunCall, compiled: Any, given: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The name in the file of each input of the compiled model, and a remark on each that has lost its name.

    An input that is directly an output keeps only the output's name, so it is identified by its place. Raises
    RuntimeError where that is not possible: an input without a value would be uninitialised memory.
    """
    ports = call.input_ports
    taken, shims = [], []
    for index, port in enumerate(compiled.inputs):
        names = sorted(port.get_names() & given.keys())
        if not names:
            names = [ports[index].name] if len(ports) == len(compiled.inputs) else []
            if not names or names[0] not in given:
                raise RuntimeError(f"no value for input {index}, {', '.join(sorted(port.get_names()))}")
            shims.append(f"input {names[0]} by its place: the tool calls it {', '.join(sorted(port.get_names()))}")
        taken.append(names[0])
    return taken, shims


def _tensor(x: Any) -> Any:
    """An input as the request takes it: arrays of types that numpy lacks by their bits."""
    if x.dtype.name not in TYPES:
        return x
    openvino = importlib.import_module("openvino")
    tensor = openvino.Tensor(getattr(openvino.Type, TYPES[x.dtype.name]), list(x.shape))
    bits = x.reshape(-1).view(f"uint{BYTE * x.dtype.itemsize}")
    if tensor.element_type.bitwidth < BYTE:
        bits, high = bits[::2] & 15, bits[1::2] & 15
        bits[: high.size] |= high << 4
    tensor.data.reshape(-1).view(bits.dtype)[:] = bits
    return tensor


def _array(tensor: Any) -> Any:
    """A copy of an output: tensors belong to the request and are written again by the next sample."""
    name = NAMES.get(tensor.element_type.get_type_name())
    if name is None:
        return tensor.data.copy()
    numpy, dtype = importlib.import_module("numpy"), getattr(importlib.import_module("ml_dtypes"), name)
    if tensor.element_type.bitwidth >= BYTE:
        return tensor.data.copy().view(dtype)
    pairs = tensor.data.reshape(-1).view("uint8")
    bits = numpy.stack([pairs & 15, pairs >> 4], 1).reshape(-1)[: math.prod(tensor.shape)].reshape(tuple(tensor.shape))
    return bits.view(dtype)


def _types(model: Any) -> frozenset[str]:
    """Element types of the model as it was read, before the plugin chose any."""
    return frozenset(port.get_element_type().get_type_name() for node in model.get_ops() for port in node.outputs())


def _carriers(compiled: Any, call: CompileCall) -> dict[str, object]:
    """In which types the weights of few bits are held: that of a layer, as it is executed, is that of its weights."""
    found = Counter(layer.precision for layer in openvino_executed.layers(compiled) if layer.kind in HEAVY)
    return contractions.carried(found, FEW_BITS[call.precision], in_float=call.graph == QDQ)


def _findings(compiled: Any, precision: str, model: Any, capabilities: Sequence[str] = ()) -> dict[str, Any]:
    """Effective precision, integer or simulated, and placement, all read from the compiled model.

    Raises Unsupported when floating-point layers run in another precision than the call's; those of the model itself
    are none, since a layer that reads the file's float16 says float16 whatever it computes in.
    """
    asked = ASKED[precision]
    known = PRECISIONS.keys() | INTEGERS
    executed = list(openvino_executed.layers(compiled))
    computing = [one for one in executed if one.kind not in PASSIVE and one.precision in known]
    wanted = [one for one in computing if one.precision in asked]
    heavy = [one for one in computing if one.kind in HEAVY]
    heavy_wanted = [one for one in heavy if one.precision in asked]
    ran = compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name()
    foreign = {one.precision for one in computing} - {HINTS[precision], "f32"} - INTEGERS - _types(model)
    if ran != HINTS[precision] or foreign or (precision == "bf16" and computing and not wanted):
        actual = PRECISIONS.get(ran, ran) if ran != HINTS[precision] else ", ".join(sorted(foreign)) or "fp32"
        can = f" (the processor has {', '.join(capabilities)})" if capabilities else ""
        raise Unsupported(f"asked {precision}, ran {actual}{can}")
    fallback = Counter(f"{one.kind} in {one.precision}" for one in computing if one.precision not in asked)
    placement: dict[str, object] = {
        "requested": len(wanted) / len(computing) if computing else 1.0, "nodes": len(computing), "counted_by": "type",
        "requested_heavy": len(heavy_wanted) / len(heavy) if heavy else 1.0, "heavy": len(heavy),
        "fallback": [f"{count} x {what}" for what, count in sorted(fallback.items())],
    }  # fmt: skip
    counts = contractions.counted(openvino_executed.contractions(model, executed))
    placement.update(contractions.placed(counts))
    placement["effective_layers"] = dict(sorted(Counter(one.precision for one in computing).items()))
    simulated = "integer" if wanted else "simulated"  # of a model without contractions
    integer = "" if precision not in ("w8a8", "w4a8") else contractions.integer(counts) or simulated
    winograd = sum("wino" in one.primitive for one in computing)
    return {
        "effective": "fp32" if integer == "simulated" else precision, "integer": integer, "placement": placement,
        "notes": [f"{winograd} convolutions by Winograd"] if winograd else [],
    }  # fmt: skip


class ShapeInferenceError(AssertionError):
    """OpenVINO's frontend made a node of sizes that its core rejects: no refusal, whatever the words are."""


def _readable(error: RuntimeError) -> Exception:
    """The same error with the line that says what is wrong before the places in its source.

    Of several nodes the first that fails by itself counts, and what the others say does not: the whole is printed. An
    operator without a rule counts before all of them.
    """
    whole = str(error)
    print(whole, file=sys.stderr)
    missing = NO_RULE.search(whole)
    if missing:
        return RuntimeError(f"{missing[1]}\n{whole}")
    blocks = [block.partition("\nSummary:")[0] for block in BLOCK.split(whole)[1:]]
    text = next((block for block in blocks if not CONSEQUENCE.search(block)), whole)
    kind: type[Exception] = InvalidModel if NOT_A_MODEL.search(whole) else RuntimeError
    if INTERNAL in text:
        kind = ShapeInferenceError
    lines = [line.strip().removeprefix("-- ") for line in text.splitlines()]
    said = [line for line in lines if line]
    # Where no line is in words, the last one is the condition that failed.
    useful = next((line for line in said if not PREAMBLE.match(line)), said[-1] if said else "")
    operator = OPERATOR.search(text)
    thrown = THROWN.match(useful)
    if thrown:
        useful = f"{thrown[2]} ({thrown[1]})"
    return kind(f"{operator[1]}: {useful}\n{text}" if operator else f"{useful}\n{text}")
