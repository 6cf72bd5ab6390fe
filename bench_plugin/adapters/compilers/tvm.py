"""Apache TVM: ONNX through the relax frontend, LLVM code linked into a shared library for its virtual machine."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
import shutil
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from bench_plugin.agent.adapter import InvalidModel, NotProvided, Reply, Unsupported, converting
from bench_plugin.agent.contract import ORIGINAL, QDQ, CompileCall, RunCall, Target, processors
from bench_plugin.agent.toolkit import contractions, programs, samples, versions

ADAPTER = {
    "name": "tvm",
    "kind": "compiler",
    "toolchain": "tvm",
    "title": "Apache TVM",
    "distribution": "apache-tvm",
    "operations": ["compile", "run"],
    "imports": ["tvm", "tvm.relax"],
    "operators": True,
    "takes": ["onnx"],
    "precisions": {"fp32": ["original"], "fp16": ["fp16"], "w8a8": ["qdq"]},
    "artefact": True,
    "targets": ["local", "aarch64", "armhf", "riscv64"],
    "boards": ["aarch64"],
    "portable": False,
    "options": {"pipeline": ["default", "zero"], "shapes": ["kept", "frozen"]},
    "needs": ["gcc"],
    "values": [
        "bfloat16",
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
        "float8_e8m0fnu",
        "int4",
        "uint4",
        "int2",
        "uint2",
        "sequence",
        "optional",
    ],
    # Counted in its frontend's table (_impl_v…): Sub, Mul, Div and Pow begin at 7, and no entry is newer than 23.
    "opsets": [7, 23],
    "errors": [{"package": "tvm"}, {"package": "tvm_ffi"}],
    "unsupported": [
        {"operation": "compile", "exception": "OpNotImplemented", "pattern": ""},
        {
            "operation": "compile", "exception": "ValueError",
            "pattern": "cannot handle ShapeExpr inputs|no value in Constant|must be a constant|^Only .* supported",
        },
        {
            "operation": "compile", "exception": "AssertionError",
            "pattern": "^(Only|Currently only) .* supported|not currently supported|^Missing outputs during conversion",
        },
    ],
}  # fmt: skip

# Operators of relax that multiply and add; the type of their first argument is what they compute in.
CONTRACTIONS = ("relax.nn.conv", "relax.matmul", "relax.linear", "relax.einsum")
# LLVM's fast arithmetic, which is off unless a target asks for it.
EXACT = dict.fromkeys(
    ["fast-math", *(f"fast-math-{name}" for name in ("nnan", "ninf", "nsz", "arcp", "contract", "reassoc"))], False
)
PRECISIONS = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float64": "fp64"}
FLOATS = {1: "fp32", 10: "fp16", 11: "fp64", 16: "bf16"}  # by the number of ONNX's element type
BYTES = {"int4": "int8", "uint4": "uint8", "int2": "int8", "uint2": "uint8"}  # what holds a number of fewer bits
FAILED = re.compile(r"^Error converting operator (\w+),", re.MULTILINE)  # printed in front of the exception
NODE = re.compile(r"Node (\S+) cannot handle")
START = "crti.o"  # what a C library begins every shared library with


class Adapter:
    """Keeps the virtual machine that was made last."""

    def __init__(self) -> None:
        self._key: Any = None
        self._machine: Any = None

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("apache-tvm", "apache-tvm-ffi", "onnx", "numpy")

    def reset(self) -> None:
        """Forget the virtual machine."""
        self._key = self._machine = None

    def compile(self, call: CompileCall) -> Reply:
        """``model.so``, linked by gcc, or by the target's own.

        Options: ``pipeline`` (``zero`` fuses operators first), and ``shapes``: symbolic dimensions are kept, or frozen
        by the binding. Raises InvalidModel for a file that is no ONNX, NotProvided where the target's compiler is not
        there, Unsupported where nothing is computed in the precision that was asked for.
        """
        target, pipeline = call.target, call.option("pipeline", "default")
        linker = _linker(target)
        onnx = importlib.import_module("onnx")
        tvm = _tvm()
        frontend = importlib.import_module("tvm.relax.frontend.onnx")
        support = importlib.import_module("tvm.support.cc")
        model = _loaded(onnx, call.files["model.onnx"])
        symbolic = any(isinstance(size, str) for port in call.input_ports for size in port.shape)
        frozen = symbolic and call.option("shapes", "kept") == "frozen"
        shapes = {port.name: list(port.bound(call.binding)) for port in call.input_ports} if frozen else None
        call.stage("compile")
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            module = _imported(frontend, model, shapes)
        types, sums = _types(tvm, module)
        placement = contractions.placed(_counts(types))
        effective = _effective(call.precision, types, _floats(model.graph) if call.graph == ORIGINAL else set())
        integer = contractions.integer(_counts(types)) if call.graph == QDQ else ""
        chosen = tvm.target.Target({**_target(tvm, target), **EXACT})
        if pipeline == "zero":
            with chosen:
                module = tvm.relax.get_pipeline("zero")(module)
        executable = tvm.relax.build(module, chosen)
        path, objects = call.path("model.so"), call.path("objects")
        os.mkdir(objects)
        link = support.cross_compiler(linker, options=list(target.flags))
        executable.export_library(path, fcompile=link, workspace_dir=objects)
        meta: dict[str, object] = {
            "effective": effective, "integer": integer, "placement": placement,
            "switches": {
                "target": str(chosen), "pipeline": pipeline, "tuned": False,
                "accumulate": sums,
            },
            "dynamic": ("frozen" if frozen else "preserved") if symbolic else "",
            "architecture_file": "model.so", "notes": sorted({str(one.message).splitlines()[0] for one in said}),
            "shims": [],
        }  # fmt: skip
        return Reply(meta, files={"model.so": path})

    def run(self, call: RunCall) -> Reply:
        """Outputs out0, out1 ... of ``model.so``."""
        tvm = _tvm()
        machine = self._opened(tvm, call)
        tvm.get_global_func("runtime.config_threadpool")(1, call.threads)  # 1: of the fast cores
        call.stage("run")

        # It gives a sequence as it gives several outputs. The type of an output that is no tensor is empty.
        sequence = [port.dtype for port in call.output_ports] == [""]

        def run(xs: Sequence[Any]) -> list[Any]:
            return read(machine["main"](*[_given(tvm, x) for x in xs]))

        def read(ys: Any) -> list[Any]:
            alone = sequence or hasattr(ys, "numpy") or isinstance(ys, tvm.runtime.ShapeTuple)
            return [_array(tvm, y) for y in ([ys] if alone else ys)]

        def bind(xs: Sequence[Any]) -> Any:
            return partial(machine["main"], *[_given(tvm, x) for x in xs]), read

        inputs = list(call.named([port.name for port in call.input_ports]).values())
        meta: dict[str, object] = {"placement": {"threads": tvm.get_global_func("runtime.NumThreads")()}}
        return samples.answered(call, run, inputs, meta, bind)

    def _opened(self, tvm: Any, call: RunCall) -> Any:
        path = call.files["model.so"]
        key = (path, os.stat(path).st_mtime_ns)
        if key != self._key:
            self.reset()
            self._machine = tvm.relax.VirtualMachine(tvm.runtime.load_module(_named(call, path)), tvm.cpu())
            self._key = key
        return self._machine


def _named(call: RunCall, path: str) -> str:
    """The library under its name: TVM chooses the loader by it, and on a board files are named by their content."""
    if path.endswith(".so"):
        return path
    named = call.path("model.so")
    shutil.copyfile(path, named)  # TVM follows links
    return named


def _linker(target: Target) -> str:
    """The compiler of the target, which links libraries. Raises NotProvided where it or its C library is missing."""
    package = target.package or "gcc"
    linker = programs.executable(target.gcc or "gcc", package)
    if programs.run([linker, f"-print-file-name={START}"]).text.strip() == START:  # as it is, where it is not found
        raise NotProvided(f"{linker} links nothing: the C library of the target has no {START} here; install {package}")
    return linker


def _tvm() -> Any:
    # The pool of threads is as large as this when it is first needed, and can only be narrowed afterwards; without it
    # TVM takes half of the cores. Its threads are not tied to cores: other agents work beside.
    os.environ["TVM_NUM_THREADS"] = str(processors())
    os.environ["TVM_BIND_THREADS"] = "0"
    tvm = importlib.import_module("tvm")
    importlib.import_module("tvm.relax")
    return tvm


def _given(tvm: Any, value: Any) -> Any:
    """A tensor of an array [...]; a list of those of a sequence; None for an optional input that is absent.

    Its kernels read integers of four and two bits from a byte each, while its interface for numpy would pack them.
    """
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return [_given(tvm, one) for one in value]
    narrow = str(value.dtype)
    if narrow not in BYTES:
        return tvm.runtime.tensor(value)
    return tvm.runtime.tensor(value.astype(BYTES[narrow]))._create_view(value.shape, narrow)


def _array(tvm: Any, value: Any) -> Any:
    """A result as an array, of a sequence as a list of them.

    The virtual machine gives ONNX's Shape, a tensor of int64, as a tuple of its own.
    """
    if isinstance(value, tvm.runtime.ShapeTuple):
        return importlib.import_module("numpy").array(list(value), dtype="int64")
    return value.numpy() if hasattr(value, "numpy") else [_array(tvm, one) for one in value]


def _loaded(onnx: Any, path: str) -> Any:
    error = importlib.import_module("google.protobuf.message").DecodeError
    try:
        return onnx.load(path)
    except error as cause:
        raise InvalidModel(str(cause)) from cause


def _imported(frontend: Any, model: Any, shapes: Mapping[str, Sequence[int | str]] | None) -> Any:
    """The module that the frontend makes of a model; its errors get the operator, which it prints."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            return frontend.from_onnx(model, shape_dict=shapes)
    except Exception as error:
        operators = FAILED.findall(said.getvalue())
        named = NODE.match(str(error))
        if named:
            operators += [node.op_type for node in model.graph.node if node.name == named[1]]
        if operators:
            converting(error, operators[-1])
        raise
    finally:
        print(said.getvalue(), end="")


def _target(tvm: Any, target: Target) -> dict[str, Any]:
    if target.is_local:
        return {"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu()}
    chosen = {"kind": "llvm", "mtriple": target.triple, "mcpu": target.cpu, "mattr": list(target.features)}
    if target.abi:  # for 32-bit Arm that of floating point, else the machine's
        chosen["mfloat-abi" if target.abi in ("hard", "soft") else "mabi"] = target.abi
    return chosen


def _types(tvm: Any, module: Any) -> tuple[dict[str, int], list[str]]:
    """What the imported module computes in: types of its contractions by how many, and types that they sum in."""
    found: dict[str, int] = {}
    sums: set[str] = set()

    def seen(expression: Any) -> None:
        first = _contracted(tvm, expression)
        if first is not None:
            dtype = str(first.ty.dtype)
            found[dtype] = found.get(dtype, 0) + 1
            sums.add(str(expression.ty.dtype))  # TVM's kernels sum in the type of their result

    for function in module.functions.values():
        if isinstance(function, tvm.relax.Function):
            tvm.relax.analysis.post_order_visit(function, seen)
    return found, sorted(sums)


def _contracted(tvm: Any, expression: Any) -> Any:
    """The first argument of a contraction, None of any other expression.

    An Einsum of ONNX is no operator of relax: the frontend writes a function of loops of that name, which is called.
    """
    if not isinstance(expression, tvm.relax.Call) or not isinstance(expression.op, tvm.ir.Op):
        return None
    name, arguments = str(expression.op.name), expression.args
    if name == "relax.call_tir":
        name, arguments = "relax." + str(arguments[0].name_hint), arguments[1].fields
    if not name.startswith(CONTRACTIONS):
        return None
    return arguments[0].fields[0] if isinstance(arguments[0], tvm.relax.Tuple) else arguments[0]


def _floats(graph: Any) -> set[str]:
    """The precisions of a file's own floating point numbers: of its inputs, outputs and weights."""
    numbers = [value.type.tensor_type.elem_type for value in [*graph.input, *graph.output]]
    return {FLOATS[number] for number in [*numbers, *(one.data_type for one in graph.initializer)] if number in FLOATS}


def _effective(precision: str, types: dict[str, int], own: set[str]) -> str:
    """What the contractions are computed in, "" without any.

    Raises Unsupported where that is throughout another float type than the one asked for and the file's ``own``.
    """
    names = sorted({PRECISIONS.get(dtype, dtype) for dtype in types})
    floats = [name for name in names if name in PRECISIONS.values()]  # integers are what the graph itself requires
    if precision in PRECISIONS.values() and floats and precision not in floats and not own.issuperset(floats):
        raise Unsupported("asked %s, ran %s" % (precision, ", ".join(floats)))
    return precision if precision in names and not (own and len(floats) > 1) else ", ".join(names)


def _counts(types: dict[str, int]) -> dict[str, dict[str, int]]:
    """The contractions of integers and those of floating point numbers, by their types."""
    return contractions.counted((dtype, "int" in dtype) for dtype, count in types.items() for _ in range(count))
