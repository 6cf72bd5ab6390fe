"""hls4ml: from an ONNX or QONNX file to a design in C++ for FPGAs, and that design compiled and run on this machine.

No FPGA is involved. The C++ with its fixed-point types is what a tool for high-level synthesis would make hardware of,
and it computes bit for bit what that hardware would; its seconds on this machine say nothing of an FPGA's.
Files with QuantizeLinear and DequantizeLinear become QONNX files before (``quant_nodes``), so that every type of the
design follows from the file; sums get as many bits as they can need.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import math
import os
import sys
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench_plugin.adapters.compilers.emulation import quant_nodes
from bench_plugin.agent.adapter import Reply, Unsupported
from bench_plugin.agent.c import host
from bench_plugin.agent.c.zig import CompilerFailed
from bench_plugin.agent.contract import ORIGINAL, CompileCall, Port, RunCall
from bench_plugin.agent.toolkit import contractions, programs, samples, versions

ADAPTER = {
    "name": "hls4ml",
    "kind": "compiler",
    "toolchain": "hls4ml",
    "title": "hls4ml (emulated)",
    "distribution": "hls4ml",
    "distributions": ["qonnx"],
    "operations": ["compile", "run"],
    "takes": ["onnx"],
    "precisions": {
        "fp32": ["original"], "w8a8": ["fixed-qdq"], "w4a8": ["fixed-qdq"], "int4": ["fixed-qdq"],
        "int2": ["fixed-qdq"],
    },
    "targets": ["sim-fpga"],
    "needs": ["g++"],
    "options": {"strategy": ["Latency", "Resource"]},
    "one_sample": "a design for an FPGA takes one input at a time",
    "on_request": True,
    "uses": ["quant_nodes"],
    "errors": [{"package": "hls4ml"}, {"package": "qonnx"}, {"exception": "CompilerFailed"}],
    "unsupported": [
        {"operation": "compile", "exception": "Exception", "pattern": "Unsupported operation type"},
        # It warns of scales that it cannot move behind a product, and fails later without saying so.
        {"operation": "compile", "exception": "UserWarning", "pattern": "Failed to propagate quantization scales"},
    ],
}  # fmt: skip

PROJECT = "myproject"  # the name that hls4ml gives to its function
LIBRARY, DESIGN, PORTS = "model.so", "design.zip", "model.json"
WEIGHTS = "HLS4ML_WEIGHTS"  # the environment variable with the folder that the library reads its weights from
BACKEND = "Vitis"
# What is not rounded by the file: inputs in front of the first rounding, weights and sums of models in float32.
BITS, WHOLE = 64, 24
ATTEMPTS = 3  # to find a default type that holds all others
FLAGS = (
    "-O1",
    "-std=c++11",
    "-fPIC",
    "-w",
    "-shared",
    "-include",
    "cstdlib",
    f'-DWEIGHTS_DIR=std::getenv("{WEIGHTS}")',
)
LAYERS = ("Dense", "Conv1D", "Conv2D", "DepthwiseConv1D", "DepthwiseConv2D", "PointwiseConv1D", "PointwiseConv2D")
HEADERS = "ap_types"  # of the types in fixed point; they come with the tools for synthesis too


class Adapter:
    """Keeps the library that was opened last."""

    def __init__(self) -> None:
        self._key: Any = None
        self._library: Any = None

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("hls4ml", "qonnx", "onnx", "numpy")

    def reset(self) -> None:
        """Close the library: one of the same path would otherwise be taken for it."""
        if self._library is not None:
            ctypes.CDLL(None).dlclose(ctypes.c_void_p(self._library._handle))
        self._key = self._library = None

    def compile(self, call: CompileCall) -> Reply:
        """``model.so`` (the design, compiled for this machine), ``design.zip`` (its C++), ``model.json`` (its ports).

        Raises Unsupported for what hls4ml or QONNX's Quant cannot express, NotProvided without g++, CompilerFailed.
        """
        compiler = programs.executable("g++")
        call.stage("compile")
        with contextlib.redirect_stdout(sys.stderr), warnings.catch_warnings():
            warnings.filterwarnings("error", "Failed to propagate quantization scales")
            model, widths = _qonnx(call)
            design = _design(call, model)
            design.write()
        folder = Path(call.path("design"))
        _compiled(compiler, folder, call.path(LIBRARY))
        ports = {
            "inputs": [_size(one) for one in design.get_input_variables()],
            "outputs": [_size(one) for one in design.get_output_variables()],
        }
        if len(ports["outputs"]) > 1:  # it lists them in the order of its layers, which the file need not have
            raise Unsupported("designs with several outputs are not emulated: their order is not that of the file")
        Path(call.path(PORTS)).write_text(json.dumps(ports), encoding="utf-8")
        _packed(folder, call.path(DESIGN))
        types = {one.name: {name: str(of.precision) for name, of in one.types.items()} for one in design.get_layers()}
        layers = [one.class_name for one in design.get_layers() if one.class_name in LAYERS]
        counts = contractions.counted((name, True) for name in layers)
        meta: dict[str, object] = {
            "effective": "" if call.graph == ORIGINAL else call.precision,
            "integer": "" if call.graph == ORIGINAL else contractions.integer(counts),
            "switches": {
                "backend": BACKEND, "io_type": "io_parallel", "strategy": call.option("strategy", "Latency"),
                "c_compiler": host.version(compiler), "flags": list(FLAGS),
            },
            "placement": {
                "requested": 1.0, "nodes": len(types), "fallback": [], "types": types, "quant_nodes": widths,
                "emulated": "yes",
            },
            "notes": ["the design in C++ ran on this machine, bit for bit as the hardware would; no FPGA ran it"],
        }  # fmt: skip
        return Reply(meta, files={name: call.path(name) for name in (LIBRARY, DESIGN, PORTS)})

    def run(self, call: RunCall) -> Reply:
        """Outputs out0, out1 ... of ``model.so``."""
        import numpy as np

        ports = json.loads(Path(call.files[PORTS]).read_text(encoding="utf-8"))
        function = getattr(self._opened(call), f"{PROJECT}_double")
        call.stage("run")

        def run(xs: Sequence[Any]) -> list[Any]:
            given = [np.ascontiguousarray(x, dtype=np.float64) for x in xs]
            if [x.size for x in given] != ports["inputs"]:
                raise ValueError(f"inputs of {[x.size for x in given]} numbers; the design takes {ports['inputs']}")
            made = [np.full(size, np.nan) for size in ports["outputs"]]
            function(*(ctypes.c_void_p(x.ctypes.data) for x in (*given, *made)))
            return [y.astype(port.dtype).reshape(_shape(call, port)) for y, port in zip(made, call.output_ports)]

        return samples.answered(call, run, list(call.inputs.values()))

    def _opened(self, call: RunCall) -> Any:
        path, design = call.files[LIBRARY], call.path("design")
        key = (path, os.stat(path).st_mtime_ns)
        if not os.path.isdir(design):  # every call has a folder of its own
            with zipfile.ZipFile(call.files[DESIGN]) as archive:
                archive.extractall(design)
        os.environ[WEIGHTS] = os.path.join(design, "firmware", "weights")  # read by the library's first inference
        if key != self._key:
            self.reset()
            self._library, self._key = ctypes.CDLL(path), key
        return self._library


def _shape(call: RunCall, port: Port) -> list[int]:
    return [call.binding.get(size, 1) if isinstance(size, str) else size for size in port.shape]


def _qonnx(call: CompileCall) -> tuple[Any, dict[str, int]]:
    """The model as hls4ml's frontend wants it, and its nodes Quant by their widths.

    Its shapes are numbers, its bias lies in an Add behind MatMul, and convolutions have their channels last.
    """
    onnx = importlib.import_module("onnx")
    model = onnx.load(call.files["model.onnx"])
    for value in (*model.graph.input, *model.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_value = call.binding.get(dim.dim_param, 1)
    del model.graph.value_info[:]
    stored = {tensor.name for tensor in model.graph.initializer}
    for value in model.graph.input:
        sizes = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        if value.name not in stored and sizes[:1] != [1]:
            raise Unsupported("hls4ml takes the first dimension for the batch; input %s is %s" % (value.name, sizes))
    widths = quant_nodes.rewritten(onnx, model)
    transformation = "qonnx.transformation"
    wrapper = importlib.import_module("qonnx.core.modelwrapper").ModelWrapper(model)
    cleaned = importlib.import_module("qonnx.util.cleanup").cleanup_model
    to_matmul = importlib.import_module(f"{transformation}.gemm_to_matmul").GemmToMatMul()
    last = importlib.import_module(f"{transformation}.channels_last").ConvertToChannelsLastAndClean
    wrapper = cleaned(cleaned(wrapper).transform(to_matmul))
    return cleaned(wrapper.transform(last(make_input_channels_last=False))), widths


def _design(call: CompileCall, model: Any) -> Any:
    """hls4ml's graph with the types of all tensors.

    Of a file with integers the types follow from these, and sums are as wide as they can get. Tensors that hls4ml does
    not work the type of out for get the default one, which is made wide enough to hold all others.
    """
    whole, bits = WHOLE, BITS
    for _ in range(ATTEMPTS):
        design = _converted(call, model, whole, bits)
        if call.graph == ORIGINAL:
            return design
        found = [of.precision for layer in design.get_layers() for of in layer.types.values()]
        fixed = [one for one in found if hasattr(one, "integer") and hasattr(one, "fractional")]
        wanted = max([whole, *(one.integer for one in fixed)])
        behind = max([bits - whole, *(one.fractional for one in fixed)])
        if (wanted, wanted + behind) == (whole, bits):
            return design
        whole, bits = wanted, wanted + behind
    raise Unsupported(
        "the types of the sums grow with the default type: tensors that the file does not round are multiplied"
    )


def _converted(call: CompileCall, model: Any, whole: int, bits: int) -> Any:
    hls4ml = importlib.import_module("hls4ml")
    # A bias that is not there would make a sum as wide as the default type.
    optimizer = importlib.import_module("hls4ml.model.optimizer").get_optimizer("infer_precision_types")
    optimizer.configure(infer_no_bias=True)
    default = f"ap_fixed<{bits},{whole}>"
    config = hls4ml.utils.config_from_onnx_model(
        model, granularity="name", backend=BACKEND, default_precision=default,
        max_precision=default if call.graph == ORIGINAL else None,
    )  # fmt: skip
    config["Model"]["Strategy"] = call.option("strategy", "Latency")
    return hls4ml.converters.convert_from_onnx_model(
        model, output_dir=call.path("design"), project_name=PROJECT, backend=BACKEND, io_type="io_parallel",
        hls_config=config,
    )  # fmt: skip


def _compiled(compiler: str, folder: Path, made: str) -> None:
    argv = [compiler, *FLAGS, f"-Ifirmware/{HEADERS}", f"firmware/{PROJECT}.cpp", f"{PROJECT}_bridge.cpp", "-o", made]
    said = programs.run(argv, str(folder))
    if said.status:
        message = next((line for line in said.text.splitlines() if "error" in line), said.text.strip()[-500:])
        raise CompilerFailed("g++ ended with status %d: %s" % (said.status, message))


def _packed(folder: Path, made: str) -> None:
    """The design as an archive, without the headers that come with every tool for synthesis."""
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and HEADERS not in path.parts:
                entry = zipfile.ZipInfo(path.relative_to(folder).as_posix())  # without a time, so that it repeats
                archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)


def _size(variable: Any) -> int:
    """How many numbers a port of the design has."""
    return math.prod(int(one) for one in variable.shape)
