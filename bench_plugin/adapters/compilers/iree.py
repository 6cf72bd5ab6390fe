"""IREE: ONNX through torch-mlir's importer into its compiler, both in this process; a .vmfb for its virtual machine."""

from __future__ import annotations

import importlib
import io
import os
import re
import stat
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from bench_plugin.agent.adapter import InvalidModel, Reply, Unsupported
from bench_plugin.agent.contract import ORIGINAL, QDQ, CompileCall, Port, RunCall, Target
from bench_plugin.agent.toolkit import contractions, samples, versions

ADAPTER = {
    "name": "iree",
    "kind": "compiler",
    "toolchain": "iree",
    "title": "IREE",
    "distribution": "iree-base-compiler",
    "distributions": ["iree-base-runtime"],
    "operations": ["compile", "run"],
    "imports": ["iree.runtime"],
    "operators": True,
    "takes": ["onnx"],
    "precisions": {"fp32": ["original"], "fp16": ["fp16"], "w8a8": ["qdq"]},
    "artefact": True,
    "targets": ["local", "aarch64", "armhf", "riscv64"],
    "boards": ["aarch64"],
    "portable": False,
    "options": {"optimisation": ["O0", "O1", "O2", "O3"], "shapes": ["kept", "frozen"]},
    # Its runtime has no arrays of types of fewer than eight bits.
    "values": [
        "bfloat16",
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
        "float8_e8m0fnu",
    ],
    # Counted in torch-mlir's table of conversions (onOp): Add, Mul and Div begin at 7, and no entry is newer than 22.
    "opsets": [7, 22],
    "errors": [{"package": "iree"}, {"exception": "CompilationFailed"}],
    "unsupported": [
        {
            "operation": "compile",
            "exception": "CompilationFailed",
            "pattern": r"failed to legalize operation 'torch\.|^unimplemented: |^unhandled torch type: "
            # said of a file with operators of other domains alone; of those it has none
            r"|^function is missing onnx opset version attribute",
        },
        {"operation": "compile", "exception": "OnnxImportError", "pattern": "[Uu]nsupport|Unhandled|Unknown ONNX"},
        {"operation": "run", "exception": "RuntimeError", "pattern": r"FAILED_PRECONDITION; unimplemented: "},
    ],
}

# IREE names a dispatch after its heaviest operation and the types of that: ..._dispatch_4_matmul_1x10x512_i8xi8xi32.
DISPATCH = re.compile(rb"_dispatch_(\d+)_(\w+)")
CONTRACTION = re.compile(r"^(?:\w*_)?(?:conv|matmul|matvec|vecmat|matmul_like|batch_matmul|mmt4d|dot|contract)(?:_|$)")
NAMES = {"f32": "fp32", "f16": "fp16", "bf16": "bf16", "f64": "fp64", "i8": "w8a8"}
FLOATS = {1: "f32", 10: "f16", 11: "f64", 16: "bf16"}  # by the number of ONNX's element type
TYPES = re.compile(r"_((?:[a-z]+\d+x)*[a-z]+\d+)$")
LOOPS = re.compile(r"_((?:D|\d+)(?:x(?:D|\d+))*)_[a-z]")  # the sizes of the loops of a dispatch, in its name
POOLS = ("MaxPool", "AveragePool")  # what the importer has no rule for has no dispatch
Sizes = tuple[int, ...]
# What a number can depend on, read back. A level above O0 may set more, which the compiler does not tell.
SWITCHES = (
    "iree-opt-level", "iree-input-demote-f64-to-f32", "iree-input-demote-f32-to-f16",
    "iree-input-demote-i64-to-i32", "iree-llvmcpu-skip-intermediate-roundings",
    "iree-llvmcpu-reassociate-fp-reductions", "iree-llvmcpu-use-fast-min-max-ops",
    "iree-opt-numeric-precision-reduction",
)  # fmt: skip
# What trades accuracy, as it must be for exact numbers; the first one is not so by default.
EXACT = (
    "--iree-llvmcpu-skip-intermediate-roundings=false",
    "--iree-llvmcpu-reassociate-fp-reductions=false",
    "--iree-llvmcpu-use-fast-min-max-ops=false",
    "--iree-opt-numeric-precision-reduction=false",
)


class CompilationFailed(Exception):
    """The compiler's first error."""


class Adapter:
    """Keeps the module that was loaded last."""

    def __init__(self) -> None:
        self._key: Any = None
        self._function: Any = None

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("iree-base-compiler", "iree-base-runtime", "onnx", "numpy")

    def reset(self) -> None:
        """Forget the module, and with it its worker threads."""
        self._key = self._function = None

    def compile(self, call: CompileCall) -> Reply:
        """``model.vmfb``, and ``kernels.so``: the same machine code as the ELF file that is embedded in it.

        Options: ``optimisation``, and ``shapes``: symbolic dimensions are kept, or frozen by the binding. Raises
        InvalidModel for a file that onnx's checker refuses, as IREE's own importer does, and Unsupported where no
        contraction is computed in the precision that was asked for.
        """
        onnx = importlib.import_module("onnx")
        tool = importlib.import_module("iree.compiler.api")
        importlib.import_module("iree.compiler.extras.onnx_importer")
        model = _loaded(onnx, call.files["model.onnx"])
        symbols = _symbols(model)
        frozen = call.option("shapes", "kept") == "frozen" and bool(symbols)
        if frozen:
            _freeze(model, call.binding)
        call.stage("compile")
        inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
        dumped = call.path("kernels")
        flags = [
            "--iree-hal-target-backends=llvm-cpu",
            "--iree-input-type=onnx",
            "--iree-opt-level=" + call.option("optimisation", "O0"),
            "--iree-hal-dump-executable-binaries-to=" + dumped,
            *EXACT,
            *_target_flags(call.target),
        ]
        floats = _floats(inferred.graph)
        if "f64" in floats:  # else the default, without which a padded MaxPool of float32 does not compile
            flags.append("--iree-input-demote-f64-to-f32=false")  # it would change the type of inputs and outputs too
        path = call.path("model.vmfb")
        switches = _compiled(tool, _imported(inferred), flags, path)
        placement = _placement(path, _pools(inferred.graph))
        counts = _counts(placement["contractions"])
        meta: dict[str, object] = {
            "effective": _effective(call.precision, placement, floats if call.graph == ORIGINAL else None),
            "integer": contractions.integer(counts) if call.graph == QDQ else "",
            "switches": switches, "placement": {**placement, **contractions.placed(counts)},
            "dynamic": ("frozen" if frozen else "preserved") if symbols else "",
            "notes": [], "shims": [],
        }  # fmt: skip
        files = {"model.vmfb": path}
        kernels = sorted(os.listdir(dumped)) if os.path.isdir(dumped) else []
        if kernels:  # a model without arithmetic has none
            files["kernels.so"] = os.path.join(dumped, kernels[0])
            meta["architecture_file"] = "kernels.so"
        return Reply(meta, files=files)

    def run(self, call: RunCall) -> Reply:
        """Outputs out0, out1 ... of ``model.vmfb``.

        One thread runs on the calling thread (local-sync), more are the workers of a task topology (local-task).
        """
        runtime = importlib.import_module("iree.runtime")
        function, device = self._opened(runtime, call)
        call.stage("run")

        def run(xs: Sequence[Any]) -> list[Any]:
            return read(function(*[runtime.asdevicearray(device, _signless(x)) for x in xs]))

        def read(ys: Any) -> list[Any]:
            results = list(ys) if isinstance(ys, (tuple, list)) else [ys]
            # Copied at once: a view of what to_host() maps does not keep the memory, which the next call writes to.
            return [_as_declared(y.to_host().copy(), port) for y, port in zip(results, call.output_ports)]

        def bind(xs: Sequence[Any]) -> Any:
            return partial(function, *[runtime.asdevicearray(device, _signless(x)) for x in xs]), read

        inputs = list(call.named([port.name for port in call.input_ports]).values())
        meta: dict[str, object] = {"placement": {"driver": self._key[-1]}}
        return samples.answered(call, run, inputs, meta, bind)

    def _opened(self, runtime: Any, call: RunCall) -> tuple[Any, Any]:
        path = call.files["model.vmfb"]
        driver = "local-sync" if call.threads == 1 else "local-task"
        key = (path, os.stat(path).st_mtime_ns, call.threads, driver)
        if key != self._key:
            self.reset()
            # The topology's size is a flag of the process, read when a driver is made: so never the cached driver.
            runtime.flags.parse_flags("--task_topology_group_count=%d" % call.threads)
            binding = importlib.import_module("iree.runtime._binding")
            device = binding.create_hal_driver(driver).create_default_device()
            config = runtime.Config(device=device)
            module = runtime.load_vm_module(runtime.VmModule.mmap(config.vm_instance, path), config)
            names = [name for name in module.vm_module.function_names if not re.search(r"^__|\$async$", name)]
            self._function = (module[names[0]], device)
            self._key = key
        function, device = self._function
        return function, device


def _loaded(onnx: Any, path: str) -> Any:
    errors = (importlib.import_module("google.protobuf.message").DecodeError, onnx.checker.ValidationError)
    try:
        model = onnx.load(path)
        onnx.checker.check_model(model)
    except errors as error:
        raise InvalidModel(str(error)) from error
    return model


def _values(model: Any) -> list[Any]:
    return [value for value in [*model.graph.input, *model.graph.output] if value.type.HasField("tensor_type")]


def _symbols(model: Any) -> list[str]:
    dims = (dim for value in _values(model) for dim in value.type.tensor_type.shape.dim)
    return sorted({dim.dim_param for dim in dims if dim.dim_param})


def _freeze(model: Any, binding: Mapping[str, int]) -> None:
    """Replace symbols by the sizes of the binding; intermediate shapes are inferred again."""
    for value in _values(model):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param in binding:
                dim.dim_value = binding[dim.dim_param]
    del model.graph.value_info[:]


def _imported(model: Any) -> bytes:
    """The ONNX model as torch-mlir's dialect, in MLIR's bytecode.

    It is made in a context of its own and handed over as bytes: what the importer makes in the session's context and
    the compiler borrows (``Invocation.import_module``) crashes it (3.13.0).
    """
    ir = importlib.import_module("iree.compiler.ir")
    importer = importlib.import_module("iree.compiler.extras.onnx_importer")
    with ir.Context() as context:
        info = importer.ModelInfo(model)
        module = info.create_module(context=context).operation
        importer.NodeImporter.define_function(info.main_graph, module).import_all()
        module.verify()
        written = io.BytesIO()
        module.write_bytecode(written)
    return written.getvalue()


def _compiled(tool: Any, source: bytes, flags: Sequence[str], path: str) -> dict[str, str]:
    """Write ``path``; the flags that numbers depend on, read back. Raises CompilationFailed with the first error."""
    said: list[str] = []
    printed = _Printed()

    def heard(diagnostic: Any) -> bool:
        if str(diagnostic.severity).endswith("ERROR"):
            said.append(str(diagnostic.message))
        return True

    with tool.Session() as session:
        session.set_flags(*flags)
        handler = session.context.attach_diagnostic_handler(heard)
        try:
            with session.invocation() as invocation:
                parsed = invocation.parse_source(tool.Source.wrap_buffer(session, source))
                if not parsed or not invocation.execute():
                    raise CompilationFailed(printed.error() or (said or ["the compiler gave up without a message"])[0])
                output = tool.Output.open_file(path)
                invocation.output_vm_bytecode(output)
                output.keep()
                output.close()
        finally:
            handler.detach()
        values = dict(flag.lstrip("-").split("=", 1) for flag in session.get_flags() if "=" in flag)
    return {name: values[name] for name in SWITCHES}


class _Printed:
    """The output from now on, if the log is a file: only there does the linker report what is missing."""

    def __init__(self) -> None:
        self._log = os.fstat(2)

    def error(self) -> str:
        """The first line that names an error of a tool that the compiler calls, "" when there is none."""
        if not stat.S_ISREG(self._log.st_mode):
            return ""
        with open("/proc/self/fd/2", "rb") as file:
            file.seek(self._log.st_size)
            lines = file.read().decode("utf-8", "replace").splitlines()
        return next((line for line in lines if re.match(r"[\w.-]+: error: ", line)), "")


def _target_flags(target: Target) -> list[str]:
    if target.is_local:
        return ["--iree-llvmcpu-target-cpu=host"]
    prefix = "--iree-llvmcpu-target-"
    flags = [prefix + "triple=" + target.triple, prefix + "cpu=" + target.cpu]
    if target.features:
        flags.append(prefix + "cpu-features=" + ",".join(target.features))
    if target.abi:  # for 32-bit Arm that of floating point, else the machine's
        flags.append(prefix + ("float-abi=" if target.abi in ("hard", "soft") else "abi=") + target.abi)
    return flags


def _placement(path: str, pools: Mapping[Sizes, int]) -> dict[str, Any]:
    """What the artefact computes in: types of its contractions (convolutions, products of matrices) by how many.

    IREE names a pooling after its window, as a convolution: those of ``pools`` are left out.
    """
    with open(path, "rb") as file:
        found = {int(number): name.decode() for number, name in DISPATCH.findall(file.read())}
    types: dict[str, int] = {}
    left = dict(pools)
    for name in found.values():
        kind = TYPES.search(name)
        if not kind or not CONTRACTION.match(name):
            continue
        sizes = LOOPS.search(name)
        window = _sizes(sizes.group(1).split("x")) if sizes else ()
        if left.get(window) and "x" not in kind.group(1):  # one type alone: nothing is multiplied into another one
            left[window] -= 1
            continue
        types[kind.group(1)] = types.get(kind.group(1), 0) + 1
    return {"dispatches": len(found), "contractions": types}


def _pools(graph: Any) -> dict[Sizes, int]:
    """How many poolings of a graph have loops of these sizes: an element of the output and one of the window."""
    shapes = {value.name: value.type.tensor_type.shape.dim for value in [*graph.value_info, *graph.output]}
    found: dict[Sizes, int] = {}
    for node in (node for node in graph.node if node.op_type in POOLS):
        kernel = next((one.ints for one in node.attribute if one.name == "kernel_shape"), ())
        sizes = _sizes([str(dim.dim_value or "D") for dim in shapes.get(node.output[0], ())] + [*map(str, kernel)])
        found[sizes] = found.get(sizes, 0) + 1
    return found


def _sizes(loops: Sequence[str]) -> Sizes:
    """The sizes of loops in any order; those of one turn are not in a dispatch's name, and symbols are D there."""
    return tuple(sorted(int(size) for size in loops if size.isdigit() and size != "1"))


def _floats(graph: Any) -> set[str]:
    """The types of floating point numbers that a graph's values have, in its subgraphs too."""
    attributes = [attribute for node in graph.node for attribute in node.attribute]
    numbers = [value.type.tensor_type.elem_type for value in [*graph.input, *graph.output, *graph.value_info]]
    numbers += [tensor.data_type for tensor in [*graph.initializer, *(attribute.t for attribute in attributes)]]
    inner = [attribute.g for attribute in attributes if attribute.HasField("g")]
    return {FLOATS[number] for number in numbers if number in FLOATS}.union(*map(_floats, inner))


def _effective(precision: str, placement: dict[str, Any], own: set[str] | None) -> str:
    """The precision that the contractions' types show, "" when there is none. Raises Unsupported for another one.

    ``own`` are the types of a file that is compiled as it is: a float16 operator is asked to be one, and integers are
    exact in any precision.
    """
    kinds = {kind: NAMES.get(kind.split("x")[0], kind) for kind in placement["contractions"]}
    if not kinds:
        return ""
    counts = placement["contractions"]
    # In a file that is compiled as it is, a contraction in one of the file's own types is as requested.
    wanted = [kind for kind, name in kinds.items() if name == precision or kind.split("x")[0] in (own or ())]
    share = sum(counts[kind] for kind in wanted) / sum(counts.values())
    placement.update(requested=share, counted_by="type")
    others = ", ".join(sorted(set(kinds.values())))
    asked = [kind for kind in kinds if own is not None and (kind.split("x")[0] in own or kind.startswith("i"))]
    computed = precision in kinds.values()
    if not computed and precision != "w8a8" and len(asked) < len(kinds):  # simulated integers are said, not refused
        raise Unsupported("asked %s, ran %s" % (precision, others))
    floats = sorted({name for kind, name in kinds.items() if not kind.startswith("i")})
    if own is not None and len(floats) > 1:
        return ", ".join(floats)
    return precision if computed else others


def _counts(types: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """The contractions of integers (``i8xi8xi32``) and those of floating point numbers, by their types."""
    return contractions.counted((kind, kind.startswith("i")) for kind, count in types.items() for _ in range(count))


def _signless(array: Any) -> Any:
    """An array for IREE, whose tensors have no sign: an unsigned type becomes the signed one of the same width."""
    return array.view("i%d" % array.dtype.itemsize) if array.dtype.kind == "u" else array


def _as_declared(array: Any, port: Port) -> Any:
    """An array from IREE as the type that the file declares; only the sign of an integer type changes."""
    return array.view(port.dtype) if port.dtype.startswith("uint") and array.dtype.kind == "i" else array
