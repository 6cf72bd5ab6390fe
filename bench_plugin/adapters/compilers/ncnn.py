"""ncnn: pnnx turns the ONNX file into a graph and its weights, which every build of ncnn reads."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import signal
from collections.abc import Sequence
from typing import Any

from bench_plugin.adapters.readback import ncnn_weights
from bench_plugin.agent import external
from bench_plugin.agent.adapter import NotProvided, Reply, Unsupported, VersionSkew
from bench_plugin.agent.contract import CompileCall, CompilerCall, Port, RebuildCall, RunCall
from bench_plugin.agent.toolkit import programs, samples, versions

ADAPTER = {
    "name": "ncnn",
    "kind": "compiler",
    "toolchain": "ncnn",
    "title": "ncnn",
    "distribution": "ncnn",
    "distributions": ["pnnx"],
    "operations": ["compile", "run", "rebuild"],
    "imports": ["ncnn"],
    "uses": ["ncnn_weights"],
    "operators": True,
    "takes": ["onnx"],
    "precisions": {
        "fp32": ["original"],
        "w16": ["original"],
        "bf16": ["original"],
        "w4": ["weights"],
        "int4": ["weights"],
        "uint4": ["weights"],
        "int2": ["weights"],
        "uint2": ["weights"],
    },
    "rounds": "w16-flush",  # pnnx does not say how it rounds, and no rule binds a storage option
    "artefact": True,
    "targets": ["local", "aarch64", "armhf", "riscv64"],
    "boards": ["aarch64"],
    "portable": True,
    "options": {"winograd": ["on", "off"]},
    "loose": ["fp32", "w16", "w4", "int4", "uint4", "int2", "uint2"],
    "exact": {"winograd": "off"},
    "exact_for": ["Conv", "ConvTranspose"],
    "values": [
        "bfloat16",
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
        "float8_e8m0fnu",
        "float4_e2m1fn",
        "int4",
        "uint4",
        "int2",
        "uint2",
    ],
    # What the onnxruntime takes that pnnx carries within itself (1.30.0) and runs every file with.
    "opsets": [7, 26],
    "ir": [3, 13],
    "errors": [{"exception": "PnnxFailed"}, {"exception": "RuntimeError", "pattern": "^ncnn"}],
    "unsupported": [{"operation": "run", "exception": "RuntimeError", "pattern": "ndarray to ncnn.Mat only dims"}],
}

WEIGHTS = "weights"  # the graph with weights of few bits

# pnnx's letters for the types of inputs; it has none for bool.
TYPES = {
    "float32": "f32", "float16": "f16", "bfloat16": "bf16", "float64": "f64", "int64": "i64", "int32": "i32",
    "int16": "i16", "int8": "i8", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
}  # fmt: skip
# What pnnx prints of a file that is newer than its onnxruntime, and of what that does not implement.
SKEW = re.compile(r"[Uu]nsupported model IR version|max supported IR version|ValidateOpsetForDomain")
LACKS = re.compile(
    r"Could not find an implementation for|is not a registered function/op|No Op registered for"
    r"|unsupported tensor elem data type|\(layout == 1\) are not supported"
)
# pnnx runs the file on memory that nobody wrote, which once was the size of a Range of 8 GiB. So glibc writes zeros.
ZEROS = "glibc.malloc.tcache_count=0:glibc.malloc.perturb=255"
CAUSES = (re.compile(r"ort \w+ failed"), re.compile(r"error|fail|not supported|unsupported|what\(\)", re.IGNORECASE))
# The lines of the script that pnnx writes which say along which axis ncnn holds the batch, if it does.
FEEDS = re.compile(r"""ex\.input\("in\d+", ncnn\.Mat\(\w+\.numpy\(\)(?:, batch_index=(\d+))?\)""")
FETCHES = re.compile(r"torch\.from_numpy\(out\d+\.numpy\((?:batch_index=(\d+))?\)\)")
LEFT = re.compile(r"^todo (\w+)$", re.MULTILINE)  # what pnnx prints of operators that it converts to none of ncnn's
DATA = ".data"  # behind a file's name: that of its external weights
WRITTEN = ("ncnnparam=model.ncnn.param", "ncnnbin=model.ncnn.bin", "ncnnpy=model_ncnn.py")
WHOLE = frozenset({*(name for name in TYPES if "int" in name), "bool"})
# Layers that read the bits of 32-bit integers; all others take every number for a float32. Between the two are layers
# that only move elements.
READS_INTEGERS = frozenset({"Embed"})
MOVES = frozenset(
    {"Crop", "Dropout", "ExpandDims", "Flatten", "Noop", "Permute", "Reshape", "Slice", "Split", "Squeeze", "Tile"}
)
AS_FLOATS = "the integers of %s are handed over as float32, where pnnx's own script hands over int32"
HALF_TAG = 0x01306B47  # before every weight that a .bin holds in float16


class PnnxFailed(RuntimeError):
    """pnnx ended with another status than 0, or made nothing of use."""


class PnnxKilled(PnnxFailed):
    """A signal ended pnnx, which follows a null pointer after an error of its onnxruntime."""

    symptom = "crash"


class Adapter:
    """Keeps the network that was opened last."""

    def __init__(self) -> None:
        self._key: Any = None
        self._net: Any = None

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("ncnn", "pnnx", "numpy")

    def reset(self) -> None:
        """Forget the network."""
        self._key = self._net = None

    def compile(self, call: CompileCall) -> Reply:
        """``model.param`` and ``model.bin`` by pnnx, once ncnn could open them.

        Raises Unsupported where pnnx left operators that ncnn has no layer for, VersionSkew for a file that is newer
        than pnnx's onnxruntime, PnnxKilled or PnnxFailed where pnnx died or gave up.
        """
        ncnn = importlib.import_module("ncnn")
        name, notes = _copied(call)
        precision = call.precision
        call.stage("compile")
        said = _pnnx(call, [name, _inputs(call), f"fp16={int(precision == 'w16')}", *WRITTEN])
        graph, weights = call.path("model.ncnn.param"), call.path("model.ncnn.bin")
        if not os.path.exists(graph):
            raise PnnxFailed(f"pnnx wrote no graph for ncnn: {_complaint(said)}")
        types = _layer_types(graph)
        unknown = sorted({kind for kind in types if ncnn.layer_to_index(kind) < 0})
        if unknown:
            half = " of float16" if any(port.dtype == "float16" for port in call.input_ports) else ""
            absent = "no layer of that name" if len(unknown) == 1 else "no layers of these names"
            raise Unsupported(f"pnnx left {', '.join(unknown)}{half} in the graph, and ncnn has {absent}")
        axes = call.path("axes.json")
        with open(axes, "w", encoding="utf-8") as file:
            integers = _integer_inputs(graph, len(call.input_ports))
            json.dump({**_batch_axes(call.path("model_ncnn.py"), call), "integers": integers}, file)
        floats = [port.name for at, port in enumerate(call.input_ports) if port.dtype in WHOLE and at not in integers]
        net = self._opened_as_made(call, graph, weights, said)
        layers = list(net.layers())
        halves = _half_weights(weights)
        if (precision == "w16") != bool(halves):
            raise Unsupported(f"asked {precision}, {halves} weights are stored in float16")
        narrow = [layer.type for layer in layers if not layer.support_bf16_storage] if precision == "bf16" else []
        notes += [f"{halves} weights in float16, subnormal ones as zero"] if halves else []
        if any(port.dtype in WHOLE for port in (*call.input_ports, *call.output_ports)):
            notes.append("ncnn's tensors have no types: integers are float32 but where a layer reads them as int32")
        meta: dict[str, object] = {
            "effective": precision if precision == "w16" else "", "integer": "", "portable": True,
            "switches": {**_read_back(net), "pnnx.fp16": precision == "w16"},
            "placement": {
                "requested": 1 - len(narrow) / len(layers), "nodes": len(layers), "fallback": sorted(set(narrow)),
                "counted_by": "type",
                **({"emulated": "yes"} if call.graph == WEIGHTS else {}),  # pnnx computes what the integers stand for
            },
            "notes": notes, "shims": [AS_FLOATS % ", ".join(floats)] if floats else [],
        }  # fmt: skip
        return Reply(meta, files={"model.param": graph, "model.bin": weights, "axes.json": axes})

    def run(self, call: RunCall) -> Reply:
        """Outputs out0, out1 ... of ``model.param`` and ``model.bin``."""
        import numpy as np

        ncnn = importlib.import_module("ncnn")
        net = self._opened(call, call.files["model.param"], call.files["model.bin"])
        call.stage("run")
        inputs = list(call.named([port.name for port in call.input_ports]).values())
        with open(call.files["axes.json"], encoding="utf-8") as file:
            axes = json.load(file)

        def run(xs: Sequence[Any]) -> list[Any]:
            extractor = net.create_extractor()
            for index, (x, axis) in enumerate(zip(xs, axes["inputs"])):
                narrow = _carried(x, "int32" if index in axes["integers"] else "float32")
                mat = ncnn.Mat(narrow) if axis is None else ncnn.Mat(narrow, batch_index=axis)
                # A Mat of an array only refers to it; of one without elements ncnn's clone is no Mat at all.
                extractor.input(f"in{index}", mat.clone() if narrow.size else mat)
            ys = []
            for index, axis in enumerate(axes["outputs"]):
                status, y = extractor.extract(f"out{index}")
                if status != 0:
                    raise RuntimeError(f"ncnn: extracting out{index} returned {status}")
                found = np.array(y) if axis is None else y.numpy(batch_index=axis).copy()
                scalar = not call.output_ports[index].shape and found.shape == (1,)  # ncnn has no rank 0
                ys.append(_declared(found.reshape(()) if scalar else found, call.output_ports[index].dtype))
            return ys

        return samples.answered(call, run, inputs, {"switches": _read_back(net)})

    def rebuild(self, call: RebuildCall) -> Reply:
        """The weights of ``model.bin`` in float16; everything else in it is float32."""
        call.stage("build")
        with open(call.files["model.param"], encoding="utf-8") as graph, open(call.files["model.bin"], "rb") as weights:
            return ncnn_weights.rebuilt(graph.read(), weights.read()).reply()

    def _opened(self, call: CompilerCall, graph: str, weights: str) -> Any:
        switches = self._switches(call)
        key = (graph, os.stat(graph).st_mtime_ns, weights, sorted(switches.items()), call.threads)
        if key != self._key:
            self.reset()
            net = importlib.import_module("ncnn").Net()
            net.opt.num_threads = call.threads
            for name, value in switches.items():
                setattr(net.opt, name, value)
            for what, status in (("graph", net.load_param(graph)), ("weights", net.load_model(weights))):
                if status != 0:
                    raise RuntimeError(f"ncnn cannot load the {what}: status {status}")
            self._net, self._key = net, key
        return self._net

    def _opened_as_made(self, call: CompileCall, graph: str, weights: str, said: str) -> Any:
        """The network. Raises Unsupported where ncnn cannot open it and pnnx, which ``said`` so, left operators in it
        as ONNX has them: some have the names of layers of ncnn, with other parameters.
        """
        try:
            return self._opened(call, graph, weights)
        except RuntimeError as error:
            left = sorted(set(LEFT.findall(said)))
            if not left:
                raise
            raise Unsupported(f"ncnn has no layer for ONNX's {', '.join(left)}, which pnnx leaves as it is") from error

    def _switches(self, call: CompilerCall) -> dict[str, bool]:
        """Options of a network. Half precision is ncnn's own default wherever the processor has it."""
        narrow = ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_packed")
        switches = dict.fromkeys(narrow, False)
        switches["use_bf16_storage"] = call.precision == "bf16"
        switches["use_vulkan_compute"] = False
        switches["use_winograd_convolution"] = call.option("winograd", "on") == "on"
        return switches


def _read_back(net: Any) -> dict[str, bool]:
    """All of a network's options that say what is used, such as packing, products of matrices and types."""
    return {name: bool(getattr(net.opt, name)) for name in dir(net.opt) if name.startswith("use_")}


def _copied(call: CompileCall) -> tuple[str, list[str]]:
    """Copy the file and its external weights to the call's folder, where pnnx writes too: its name, and remarks.

    pnnx looks for external weights in ``NAME.data`` beside a file NAME alone.
    """
    given = call.files["model.onnx"]
    locations = external.locations(given)
    copy = external.copied(given, call.folder)
    if not locations:
        return external.MODEL, []
    if len(locations) > 1 or not locations[0].endswith(DATA):
        return external.MODEL, [f"pnnx reads no external weights from {', '.join(locations)}, and does not say so"]
    name = locations[0][: -len(DATA)]
    os.replace(copy, call.path(name))
    return name, []


def _pnnx(call: CompileCall, arguments: list[str]) -> str:
    """Run pnnx in the call's folder; returns its output. Raises NotProvided where it is not installed."""
    spec = importlib.util.find_spec("pnnx")  # located, not imported: the wrapper imports torch
    if spec is None or spec.origin is None:
        raise NotProvided("pnnx is not installed")
    executable = os.path.join(os.path.dirname(spec.origin), "pnnx")
    variables = {"OMP_NUM_THREADS": str(call.threads), "HOME": call.folder, "GLIBC_TUNABLES": ZEROS}
    status, text = programs.run([executable, *arguments], call.folder, variables)
    print(text)
    if status != 0:
        cause = _complaint(text)
        if SKEW.search(text):
            raise VersionSkew(f"pnnx: {cause}")
        if LACKS.search(text):
            raise Unsupported(f"pnnx: {cause}")
        if status < 0:
            raise PnnxKilled(f"pnnx was killed by {signal.Signals(-status).name}: {cause}")
        raise PnnxFailed(f"pnnx ended with status {status}: {cause}")
    return text


def _complaint(said: str) -> str:
    """What its onnxruntime said, else the first line that looks like a cause, else the last one."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    for pattern in CAUSES:
        found = next((line for line in lines if pattern.search(line)), "")
        if found:
            # Where in onnxruntime it was said, with the whole signature, leaves no room for what was said.
            return re.sub(r"/\S+:\d+ [^(]*\([^()]*(?:\([^()]*\)[^()]*)*\)(?: const)? ", "", found)
    return lines[-1] if lines else "it said nothing"


def _inputs(call: CompileCall) -> str:
    """The argument that says what the inputs are.

    pnnx's notation of shapes knows no rank 0. Arrays in files do; nothing but their types and shapes is used.
    """
    ports = call.input_ports
    if all(port.shape for port in ports):
        return f"inputshape={_shapes(call)}"
    if any(port.dtype == "bfloat16" for port in ports):
        raise Unsupported("pnnx reads inputs without dimensions from .npy files, which have no bfloat16")
    import numpy as np

    names = [f"in{index}.npy" for index in range(len(ports))]
    for name, port in zip(names, ports):
        np.save(call.path(name), np.zeros(_fixed(port, call)[0], dtype=port.dtype))
    return f"input={','.join(names)}"


def _shapes(call: CompileCall) -> str:
    """``[1,3,224,224]f32,...``: every dimension fixed."""
    fixed = [_fixed(port, call) for port in call.input_ports]
    return ",".join(f"[{','.join(map(str, dims))}]{letters}" for dims, letters in fixed)


def _fixed(port: Port, call: CompileCall) -> tuple[list[int], str]:
    """An input's shape and pnnx's letters for its type."""
    if port.dtype not in TYPES:
        raise Unsupported(f"pnnx takes no input of type {port.dtype or 'sequence or optional'}")
    shape = port.bound(call.binding)
    unknown = [size for size in shape if isinstance(size, str)]
    if unknown:
        raise Unsupported(f"pnnx wants the size of every dimension, nothing says what {unknown[0]} is")
    return [size for size in shape if isinstance(size, int)], TYPES[port.dtype]


def _layer_types(graph: str) -> list[str]:
    """The types of a .param's layers: a magic number, the counts, then a line per layer."""
    with open(graph, encoding="utf-8") as file:
        return [line.split()[0] for line in file.read().splitlines()[2:] if line.strip()]


def _integer_inputs(graph: str, count: int) -> list[int]:
    """The places of those of ``count`` inputs whose elements a layer of a .param reads as 32-bit integers."""
    with open(graph, encoding="utf-8") as file:
        lines = [line.split() for line in file.read().splitlines()[2:] if line.strip()]
    wanted: set[str] = set()
    for kind, _, given, made, *names in reversed(lines):
        reads, writes = names[: int(given)], names[int(given) : int(given) + int(made)]
        if kind in READS_INTEGERS or (kind in MOVES and wanted.intersection(writes)):
            wanted.update(reads)
    return [index for index in range(count) if f"in{index}" in wanted]


def _carried(x: Any, dtype: str) -> Any:
    """An input as ncnn's tensors hold it, which have no types. Raises Unsupported for integers that do not fit."""
    import numpy as np

    carried = np.ascontiguousarray(x, dtype=dtype)
    if x.dtype.kind in "iu" and not np.array_equal(carried.astype(np.float64), x.astype(np.float64)):
        raise Unsupported(f"ncnn holds integers as {dtype}, which has not all of the input's values")
    return carried


def _declared(y: Any, dtype: str) -> Any:
    """An output of ncnn, whose numbers have no types, as the integers that the file declares, if it holds such."""
    import numpy as np

    if dtype not in WHOLE or y.dtype.kind != "f":
        return y
    low, high = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    fits = np.isfinite(y) & (y == np.rint(y)) & (y >= low) & (y.astype(np.float64) < float(high) + 1)
    return y.astype(dtype) if fits.all() else y


def _half_weights(path: str) -> int:
    import numpy as np

    with open(path, "rb") as file:
        data = file.read()
    return int((np.frombuffer(data, "<u4", len(data) // 4) == HALF_TAG).sum())  # as a float32 it would be 3e-38


def _batch_axes(path: str, call: CompileCall) -> dict[str, list[int | None]]:
    """For every input and output the axis that ncnn holds apart as the batch: what pnnx says of its own graph."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    axes = {name: [int(axis) if axis else None for axis in pattern.findall(text)]
            for name, pattern in (("inputs", FEEDS), ("outputs", FETCHES))}  # fmt: skip
    for name, ports in (("inputs", call.input_ports), ("outputs", call.output_ports)):
        if len(axes[name]) != len(ports):
            raise PnnxFailed(f"pnnx's graph has {len(axes[name])} {name}, the file {len(ports)}")
    return axes
