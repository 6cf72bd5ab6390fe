"""MNN: its converter writes one file, which every build of its engine reads."""

from __future__ import annotations

import ctypes
import importlib
import os
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from bench_plugin.adapters.readback import mnn_weights
from bench_plugin.agent import packs
from bench_plugin.agent.adapter import InvalidModel, Reply, Unsupported
from bench_plugin.agent.contract import ORIGINAL, Call, CompileCall, CompilerCall, RebuildCall, RunCall
from bench_plugin.agent.toolkit import programs, samples, versions

ADAPTER = {
    "name": "mnn",
    "kind": "compiler",
    "toolchain": "mnn",
    "title": "MNN",
    "distribution": "mnn",
    "operations": ["compile", "run", "rebuild"],
    "imports": ["MNN.nn"],
    "uses": ["mnn_weights"],
    "operators": True,
    "takes": ["onnx"],
    "precisions": {"fp32": ["original"], "w16": ["w16", "original"], "w8": ["original"], "w4": ["original"]},
    "artefact": True,
    "targets": ["local", "aarch64", "armhf", "riscv64"],
    "portable": True,
    "rounds": "w16-cut",  # ONNX binds no storage option to a way of rounding
    # Winograd is what MNN does unasked. The exact GELU is not: unasked, one made of Erf becomes an approximate tanh.
    "options": {"winograd": ["on", "off"], "gelu": ["exact", "approximate"]},
    "loose": ["fp32", "w16", "w8", "w4"],
    "exact": {"winograd": "off"},
    "exact_for": ["Conv", "ConvTranspose"],
    # Its converters are registered by the names of operators, without versions: it states no range.
    "opsets": [1, 0],
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
        "sequence",
        "optional",
        "str",
    ],
    "errors": [{"package": "MNN"}, {"exception": "RuntimeError"}],
}

INTEGERS = frozenset({"--weightQuantBits"})  # the switch that stores weights in integers
STORAGE = {"fp32": [], "w16": ["--fp16"], "w8": ["--weightQuantBits", "8"], "w4": ["--weightQuantBits", "4"]}
# Types that its Python interface has no name for: they are given as float32 and int32, as float16 and bool are.
NARROW_FLOATS, NARROW_INTEGERS = re.compile(r"float16$|bfloat16$|float[48]_"), re.compile(r"u?int[24]$")
WINOGRAD_LEVEL = 3  # Interpreter::HintMode::WINOGRAD_MEMORY_LEVEL; at 0 no convolution is transformed

# Only the compiled module: importing MNN.tools runs "pip install" and sends reports of use.
CONVERTER = "import sys, _tools; _tools.mnnconvert(['mnnconvert', *sys.argv[1:]])"
# It copies memory that nobody wrote into the artefact, where a ConstantOfShape has no value. That is often 0, which
# would be right. So glibc fills memory with bytes of 0x7f, 3.4e38 as a float32, when it hands it out.
UNWRITTEN = "glibc.malloc.tcache_count=0:glibc.malloc.perturb=128"

# What it prints, to stdout, where others raise.
COMPLAINT = re.compile(r"Not Support|Don't support|Check failed|\[ERROR\]|[Ee]rror[: ]|[Cc]an.?t |Failed", re.ASCII)
REFUSED = "These Op Not Support"  # the converter's last words; what it printed before may say why
# And says it in these words; a result that "may has error" is a warning of what is converted all the same.
WHY = re.compile(r"(?i)^(?!.*may has error).*(not support|n.?t support|\bcan.?t )", re.ASCII)
NOT_SUPPORT = re.compile(r"code=2 in onForward")  # ErrorCode.NOT_SUPPORT: the engine has no kernel for this
STAMP = re.compile(r"^\[\d+:\d+:\d+\] \S*:\d+: |^\[ERROR\] ")
NOT_A_MODEL = re.compile(r"Invalid ONNX Model|read onnx model failed|is not onnx model")


class Adapter:
    """Keeps the module that was loaded last."""

    def __init__(self) -> None:
        self._key: Any = None
        self._module: Any = None
        self._inputs: list[str] = []

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("mnn", "numpy")

    def reset(self) -> None:
        """Forget the module."""
        self._key = self._module = None

    def compile(self, call: CompileCall) -> Reply:
        """``model.mnn``, once the engine could load it.

        Raises Unsupported for operators that the converter does not know, and where integers were asked for and no
        weights are stored so; InvalidModel for a file that it cannot read.
        """
        options, path = _options(call), call.path("model.mnn")
        # Weights that come rounded already are not rounded, which MNN would do in its own way, a second time.
        storage = STORAGE[call.precision] if call.graph == ORIGINAL else []
        switches = [
            *storage,
            "--alignDenormalizedValue",
            "0",
            "--useGeluApproximation",
            "0" if options["gelu"] == "exact" else "1",
        ]
        files = ["--modelFile", call.files["model.onnx"], "--MNNModel", path]
        call.stage("compile")
        status, said = _converted(call, [*files, "--bizCode", "bench", *switches])
        if status < 0:  # a crash of the converter is one of this adapter, as if it had run in this process
            signal.raise_signal(-status)
        if status or not os.path.exists(path):  # most of its refusals end with status 0, and without the file
            raise _refusal(said)
        if INTEGERS.intersection(storage):
            with open(path, "rb") as file:
                quantised = mnn_weights.any_quantised(file.read())
            if not quantised:
                raise Unsupported(f"asked {call.precision}, ran fp32: no weights of the artefact are quantised")
        self._opened(call, path)
        placement: dict[str, object] = {"backend": "cpu"}
        if call.precision == "w4":
            placement["emulated"] = "yes"  # memory "normal" restores weights to float32 at loading
        wide = sorted({port.dtype for port in call.input_ports if NARROW_FLOATS.match(port.dtype)})
        notes = [f"MNN computes {name} in float32" for name in wide]
        meta: dict[str, object] = {
            "effective": "", "integer": "", "portable": True, "dynamic": "preserved", "notes": notes,
            "placement": placement,
            "switches": {**options, "converter": switches, "precision": "high", "memory": "normal"},
        }  # fmt: skip
        return Reply(meta, files={"model.mnn": path})

    def run(self, call: RunCall) -> Reply:
        """Outputs out0, out1 ... of ``model.mnn``."""
        module = self._opened(call, call.files["model.mnn"])
        expressions = importlib.import_module("MNN.expr")
        call.stage("run")
        given, wanted = call.inputs, len(call.output_ports)
        for port in call.output_ports:
            _refuse_sequences(port.name, port.dtype != "")
        for name, x in given.items():
            _refuse_sequences(name, hasattr(x, "dtype"))

        def run(xs: Sequence[Any]) -> list[Any]:
            found = module.forward([_variable(expressions, x) for x in xs])
            found = list(found) if isinstance(found, (list, tuple)) else [found]
            return [_values(expressions, y) for y in found[:wanted]]

        with _heard(call) as said:
            results = samples.results(call, run, [given[name] for name in self._inputs])
        fewest = min(len(ys) for ys in results)
        if fewest < wanted:  # an operator that fails ends the inference without an exception
            text = f"{fewest} of {wanted} outputs came: {_complaint(said)}"
            raise Unsupported(text) if NOT_SUPPORT.search("\n".join(said)) else RuntimeError(text)
        return samples.reply(call, results, {"placement": {"backend": "cpu"}})

    def rebuild(self, call: RebuildCall) -> Reply:
        """The weights of ``model.mnn`` in integers or in float16; everything else in it is float32."""
        call.stage("build")
        with open(call.files["model.mnn"], "rb") as file:
            return mnn_weights.rebuilt(file.read()).reply()

    def _opened(self, call: CompilerCall, path: str) -> Any:
        options = _options(call)
        key = (path, os.stat(path).st_mtime_ns, call.threads, options)
        if key != self._key:
            self.reset()
            nn = importlib.import_module("MNN.nn")
            # Precision "high" forbids half precision; memory "normal" restores quantised weights to float32 at loading
            # ("low" lets it round activations too, where it has kernels for that).
            setting = {"backend": "CPU", "precision": "high", "memory": "normal", "numThread": call.threads}
            manager = nn.create_runtime_manager((setting,))
            if options["winograd"] == "off":
                manager.set_hint(WINOGRAD_LEVEL, 0)
            inputs, outputs = ([port.name for port in ports] for ports in (call.input_ports, call.output_ports))
            with _heard(call) as said:
                try:
                    module = nn.load_module_from_file(path, inputs, outputs, runtime_manager=manager, rearrange=False)
                except SystemError:  # its binding says that it failed, never why
                    module = None
            if module is None:
                raise RuntimeError(f"MNN cannot load the model: {_complaint(said)}")
            self._inputs, self._module, self._key = inputs, module, key
        return self._module


def _converted(call: CompileCall, arguments: Sequence[str]) -> tuple[int, list[str]]:
    """Run the converter in a process of its own; returns its status (negative: a signal) and the lines it printed."""
    argv = [sys.executable, "-I", "-c", CONVERTER, "-f", "ONNX", *arguments]
    done = programs.run(argv, call.folder, {"GLIBC_TUNABLES": UNWRITTEN})
    sys.stderr.write(done.text)
    return done.status, [line.strip() for line in done.text.splitlines()]


def _options(call: CompilerCall) -> dict[str, str]:
    return {"winograd": call.option("winograd", "on"), "gelu": call.option("gelu", "exact")}


def _refuse_sequences(name: str, tensor: bool) -> None:
    """Raises Unsupported where a value is no tensor: for a sequence its engine has operators, its interface nothing."""
    if not tensor:
        raise Unsupported(f"{name} is no tensor, and MNN's interface has variables of tensors alone")


def _variable(expressions: Any, x: Any) -> Any:
    """An input as its converter declares it: int8, uint8, other integers and truth values in 32 bits, else float32.

    Its converter reads float16 as float32, in which it computes such a file throughout; so do files of narrower types.

    An input of float64 without elements, as the second one of a CastLike, has no values that would be cut short.

    Raises Unsupported for a type that would be cut short, and for integers that do not fit.
    """
    import numpy as np

    if x.dtype == np.uint8:
        kind, narrow = expressions.uint8, np.ascontiguousarray(x)
    elif x.dtype.kind in "iub" or NARROW_INTEGERS.match(x.dtype.name):
        limits = np.iinfo(np.int32)
        if x.size and (int(x.min()) < limits.min or int(x.max()) > limits.max):
            raise Unsupported(f"an input of {x.dtype} has values beyond the 32 bits that MNN keeps")
        kind, narrow = expressions.int, np.ascontiguousarray(x, dtype=np.int32)
    elif x.dtype == np.float32 or NARROW_FLOATS.match(x.dtype.name) or (x.dtype == np.float64 and not x.size):
        kind, narrow = expressions.float, np.ascontiguousarray(x, dtype=np.float32)
    else:
        raise Unsupported(f"MNN takes no input of type {packs.dtype_of(x)}")
    variable = expressions.placeholder(list(x.shape), expressions.NCHW, kind)
    variable.write(narrow)
    # Its binding writes no int8, but the engine casts to it. Not left at 32 bits: some kernels go by the type that the
    # file declares and would read the bytes of wider integers.
    return expressions.cast(variable, expressions.int8) if x.dtype == np.int8 else variable


def _values(expressions: Any, variable: Any) -> Any:
    """An output in the layout of ONNX: feature maps are held in blocks of channels."""
    import numpy as np

    held = expressions.convert(variable, expressions.NCHW)
    if 0 in held.shape:  # its binding fails to read what has no elements, of which there is but shape and type
        kinds = {"float": "float32", "int": "int32"}
        name = str(held.dtype).rpartition(".")[2]
        return np.empty(held.shape, dtype=kinds.get(name, name))
    return held.read().copy()  # the engine writes to the same place for the next sample


@contextmanager
def _heard(call: Call) -> Iterator[list[str]]:
    """What is printed to stdout from C++ within the block, as lines once it is over; it goes on to the log."""
    flush = ctypes.CDLL(None).fflush
    lines: list[str] = []
    sys.stdout.flush()
    flush(None)
    kept = os.dup(1)
    with open(call.path("said.txt"), "w+b") as file:
        os.dup2(file.fileno(), 1)
        try:
            yield lines
        finally:
            flush(None)
            os.dup2(kept, 1)
            os.close(kept)
            file.seek(0)
            text = file.read().decode("utf-8", "replace")
            lines.extend(line.strip() for line in text.splitlines())
            sys.stderr.write(text)


def _complaint(said: Sequence[str]) -> str:
    """The first line that says what is wrong, without its time and place; of a refusal, what is refused."""
    telling = WHY if any(REFUSED in line for line in said) else COMPLAINT
    found = next((line for line in said if telling.search(line)), said[-1] if said else "it printed nothing")
    return STAMP.sub("", found)


def _refusal(said: Sequence[str]) -> Exception:
    """What the converter's words stand for."""
    text, whole = _complaint(said), "\n".join(said)
    if NOT_A_MODEL.search(whole):
        return InvalidModel(text)
    if REFUSED in whole:
        return Unsupported(text)
    return RuntimeError(text)
