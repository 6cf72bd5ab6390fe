"""emx-onnx-cgen: ONNX to one C file, then any C compiler; run on the host as a shared library through ctypes."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import io
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench_plugin.agent.adapter import NotProvided, Reply, Unsupported
from bench_plugin.agent.contract import CompileCall, RunCall, Target
from bench_plugin.agent.toolkit import contractions, programs, samples, versions
from bench_plugin.agent.wire import Array

ADAPTER = {
    "name": "emx",
    "kind": "compiler",
    "toolchain": "emx",
    "title": "emx-onnx-cgen",
    "distribution": "emx-onnx-cgen",
    "operations": ["compile", "run"],
    "operators": True,
    "takes": ["onnx"],
    "precisions": {"fp32": ["original"], "fp16": ["fp16"], "w8a8": ["qdq"]},
    "targets": ["local", "aarch64", "armhf", "riscv64", "cortex-m3", "cortex-m55"],
    "options": {"optimisation": ["O2", "O3", "Os", "O0"]},
    "needs": ["gcc"],
    # Its README: "full standard ONNX opset 26 support"; its importer reads the forms of older opsets too.
    "opsets": [1, 26],
    "values": ["bfloat16", "float8_e4m3fn", "float8_e5m2"],
    "errors": [{"package": "emx_onnx_cgen"}, {"exception": "CompilerFailed"}],
    "unsupported": [
        {"operation": "compile", "exception": "UnsupportedOpError", "pattern": ""},
        # Shapes that depend on data have no place in its C.
        {"operation": "compile", "exception": "ShapeInferenceError", "pattern": "must be non-negative"},
    ],
}

ENTRY = "model"
# Weights beyond so many bytes go to a file that model_load reads: as C text a compiler takes a gigabyte over them.
INLINE = 1 << 20
# C types that are supported, and numpy's names for their bits (bfloat16 and float8 are sent as codes).
CARRIERS = {
    "float": "float32", "double": "float64", "_Float16": "float16", "__bf16": "uint16", "bool": "bool", "_Bool": "bool",
    "int8_t": "int8", "int16_t": "int16", "int32_t": "int32", "int64_t": "int64",
    "uint8_t": "uint8", "uint16_t": "uint16", "uint32_t": "uint32", "uint64_t": "uint64",
    "emx_float8e4m3fn_t": "uint8", "emx_float8e5m2_t": "uint8",
}  # fmt: skip
NAMED = {"__bf16": "bfloat16", "emx_float8e4m3fn_t": "float8_e4m3fn", "emx_float8e5m2_t": "float8_e5m2"}
# Types of C23 and later that older compilers lack.
LATE_TYPE = re.compile(r"error: .*(_BitInt|__bf16|_Float16)")
TENSOR = re.compile(r"(const )?(.+?) (\w+)\[restrict ([^\]]+)\]((?:\[[^\]]+\])*)")
SIZE = re.compile(r"int (\w+)")
PRESENT = re.compile(r"_Bool (\w+)_present")  # behind an optional input's tensor: whether it is there


# Libraries that decode images exactly as the reference, by emx's names, with their headers.
EXACT_DECODERS = {
    "libjpeg-turbo": ("jpeglib.h", "-ljpeg"),
    "libwebp": ("webp/decode.h", "-lwebp"),
    "libtiff": ("tiffio.h", "-ltiff"),
}
# emx's options that numbers depend on, which are as it has them.
SWITCHES = ("fp32_accumulation_strategy", "fp16_accumulation_strategy", "replicate_ort_bugs", "truncate_weights_after")
INTEGERS = frozenset({"QLinearConv", "QLinearMatMul", "ConvInteger", "MatMulInteger"})
CONTRACTIONS = INTEGERS | {"Conv", "ConvTranspose", "DeformConv", "MatMul", "Gemm", "Einsum", "LSTM", "GRU", "RNN"}


class CompilerFailed(Exception):
    """The C compiler refused the generated code."""


class Adapter:
    """Keeps the library that was opened last, and emx's templates as Python code."""

    def __init__(self) -> None:
        self._key: Any = None
        self._library: Any = None
        self._templates: Any = None

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("emx-onnx-cgen", "onnx", "numpy")

    def reset(self) -> None:
        """Close the library: one of the same path would otherwise be taken for it."""
        if self._library is not None:
            ctypes.CDLL(None).dlclose(ctypes.c_void_p(self._library._handle))
        self._key = self._library = None

    def compile(self, call: CompileCall) -> Reply:
        """``model.c``, ``model.json`` (its parameters), ``model.bin`` (large weights), and the library or object.

        Raises Unsupported for what emx or the C compiler does not know, NotProvided where a target's compiler is too
        old for it, CompilerFailed where the C is refused.
        """
        target, (gcc, flags) = call.target, _c_compiler(call)
        onnx = importlib.import_module("onnx")
        compiler = importlib.import_module("emx_onnx_cgen.compiler")
        self._keep_templates()
        images = importlib.import_module("emx_onnx_cgen.codegen.image_decoder_libs")
        importlib.import_module("emx_onnx_cgen.lowering").load_lowering_registry()
        call.stage("compile")
        model = onnx.load(call.files["model.onnx"])
        _freeze(model, call.binding)
        local, bare = target.is_local, target.bare_metal  # bare: without files and without a heap
        decodes = local and images.model_uses_image_decoder(model)
        decoders = _image_decoders(gcc, call.folder) if decodes else ("stb",)
        options = compiler.CompilerOptions(
            model_name=ENTRY, image_decoder_libs=decoders, large_weight_threshold=0 if bare else INLINE,
            **({"large_temp_threshold_bytes": 0} if bare else {}),
        )  # fmt: skip
        source, weights = compiler.Compiler(options).compile_with_weight_data(model)
        with contextlib.redirect_stdout(io.StringIO()):
            image_flags, image_libraries = images.prepare_image_decoder_build(model, decoders, Path(call.folder))
        flags += image_flags
        parameters = _parameters(source, model)
        texts = {"model.c": source, "model.json": json.dumps({"parameters": parameters})}
        files = {name: call.path(name) for name in texts}
        for name, text in texts.items():
            with open(files[name], "w", encoding="utf-8") as file:
                file.write(text)
        if weights is not None:
            files["model.bin"] = call.path("model.bin")
            with open(files["model.bin"], "wb") as file:
                file.write(weights)
        if "_Float16" in source:
            flags += _half_flags(target)
        # ISO C, as emx's own tests have it: nothing is contracted to a fused multiply-add.
        flags.append("-std=c2x" if "_BitInt(" in source else "-std=c99")
        kind = ["-fPIC", "-shared"] if local else ["-c"]
        binary = "model.so" if local else "model.o"
        files[binary] = call.path(binary)
        said = programs.run(
            [gcc, *flags, "-w", *kind, "model.c", "-o", binary, *([*image_libraries, "-lm"] if local else [])],
            call.folder,
        )
        if said.status:
            late = LATE_TYPE.search(said.text)
            message = next((line for line in said.text.splitlines() if "error:" in line), said.text.strip()[-500:])
            if late and not local:  # another cross compiler is a package away: the cell is not provided, not refused
                newer = "%s does not take %s; a newer %s may" % (_version(gcc), late[1], target.package or "gcc")
                raise NotProvided(newer)
            if late:
                raise Unsupported("%s does not take %s: %s" % (_version(gcc), late[1], message))
            raise CompilerFailed("%s ended with status %d: %s" % (os.path.basename(gcc), said.status, message))
        counts = contractions.counted(
            (node.op_type, node.op_type in INTEGERS) for node in model.graph.node if node.op_type in CONTRACTIONS
        )  # it writes a function for every node, and fuses none
        meta: dict[str, object] = {
            "effective": "fp16" if call.precision == "fp16" and "_Float16" in source else "",
            "integer": contractions.integer(counts) if call.precision.startswith("w8a8") else "",
            "switches": {
                "c_compiler": _version(gcc), "flags": [*flags, *kind], "weights": "file" if weights else "inline",
                "temporaries": "stack" if bare else "heap", "image_decoders": list(decoders),
                **{name: getattr(options, name) for name in SWITCHES},
            },
            "placement": {
                "requested": 1.0, "nodes": len(model.graph.node), "fallback": [], **contractions.placed(counts),
            },
            "notes": ["one thread, whatever is asked for"],
        }  # fmt: skip
        return Reply(meta, files=files)

    def run(self, call: RunCall) -> Reply:
        """Outputs out0, out1 ... of ``model.so``. Raises ValueError where its outputs are not those of the model."""
        with open(call.files["model.json"], encoding="utf-8") as file:
            parameters = json.load(file)["parameters"]
        library = self._opened(call)
        call.stage("run")
        given, declared = call.inputs, call.output_ports
        takes = [row for row in parameters if row["kind"] == "input"]
        gives = [row for row in parameters if row["kind"] == "output"]
        if len(gives) != len(declared):
            raise ValueError("the C function has %d outputs, the model %d" % (len(gives), len(declared)))

        def run(xs: Sequence[Any]) -> list[Any]:
            by_name = {row["name"]: x for row, x in zip(takes, xs)}
            invoke, results, _ = _prepared(function, parameters, by_name, shapes)
            invoke()
            return read(results)

        function, shapes = getattr(library, ENTRY), [port.shape for port in declared]

        def read(results: list[Any]) -> list[Any]:
            return [_typed(y, row["type"]) if call.once else y for y, row in zip(_outputs(results), gives)]

        def bind(xs: Sequence[Any]) -> Any:
            by_name = {row["name"]: x for row, x in zip(takes, xs)}
            invoke, results, held = _prepared(function, parameters, by_name, shapes)

            def outputs(_: Any, held: Any = held) -> list[Any]:  # the arrays that C reads live as long as this
                return [y.copy() for y in read(results)]

            return invoke, outputs

        reply = samples.answered(call, run, [given[row["name"]] for row in takes], None, bind)
        if call.once:
            return reply
        for name, row in zip(samples.numbered(len(gives)), gives):
            array = reply.arrays[name]
            named = NAMED.get(row["type"], array.dtype).replace("8_e", "8e")  # as the protocol writes it
            reply.arrays[name] = Array(named, array.shape, array.data)
        return reply

    def _keep_templates(self) -> None:
        """Let Jinja compile each of emx's templates only once, because that takes two seconds for every model."""
        if self._templates is None:
            jinja2 = importlib.import_module("jinja2")
            self._templates = _kept_templates(jinja2)
            emitter: Any = importlib.import_module("emx_onnx_cgen.codegen.c_emitter")
            emitter.Environment = functools.partial(jinja2.Environment, bytecode_cache=self._templates)

    def _opened(self, call: RunCall) -> Any:
        path = call.files["model.so"]
        key = (path, os.stat(path).st_mtime_ns)
        if key != self._key:
            self.reset()
            self._library = ctypes.CDLL(path)
            self._key = key
            weights = call.files.get("model.bin")
            if weights is not None:
                load = getattr(self._library, ENTRY + "_load")
                load.restype = ctypes.c_bool
                if not load(os.fsencode(weights)):
                    self.reset()
                    raise RuntimeError("%s_load does not take the weights' file" % ENTRY)
        return self._library


def _kept_templates(jinja2: Any) -> Any:
    """A bytecode cache of Jinja in memory; a template whose text changed is compiled again."""

    class Kept(jinja2.BytecodeCache):  # type: ignore[misc]
        def __init__(self) -> None:
            self.codes: dict[tuple[str, str], Any] = {}

        def load_bytecode(self, bucket: Any) -> None:
            bucket.code = self.codes.get((bucket.key, bucket.checksum))

        def dump_bytecode(self, bucket: Any) -> None:
            self.codes[bucket.key, bucket.checksum] = bucket.code

    return Kept()


def _c_compiler(call: CompileCall) -> tuple[str, list[str]]:
    """The path of the target's compiler, and its flags. Raises NotProvided where it is not installed."""
    name = call.target.gcc or "gcc"
    others = ["cc"] if name == "gcc" else []
    found = programs.executable(name, call.target.package or "gcc", *others)
    return found, ["-" + call.option("optimisation", "O2"), *call.target.flags]


def _image_decoders(gcc: str, folder: str) -> tuple[str, ...]:
    """emx's own decoder, behind those that it recommends for exact pixels where their libraries are installed."""
    found = []
    for name, (header, library) in EXACT_DECODERS.items():
        source, made = os.path.join(folder, "decoder.c"), os.path.join(folder, "decoder.so")
        with open(source, "w", encoding="utf-8") as file:
            file.write("#include <stdio.h>\n#include <%s>\n" % header)
        if not programs.run([gcc, "-shared", "-fPIC", source, "-o", made, library], folder).status:
            found.append(name)
    return (*found, "stb")


def _half_flags(target: Target) -> list[str]:
    """32-bit Arm has two formats of half precision; without F16C x86 takes a call to convert each number."""
    if target.architecture == "arm":
        return ["-mfp16-format=ieee"]
    if target.is_local and os.uname().machine == "x86_64":
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return ["-mf16c"] if re.search(r"^flags\s*:.*\bf16c\b", file.read(), re.MULTILINE) else []
    return []


def _version(gcc: str) -> str:
    return programs.run([gcc, "--version"]).text.partition("\n")[0]


def _freeze(model: Any, binding: Mapping[str, int]) -> None:
    """Give symbolic dimensions their sizes. The shapes in the file of intermediate tensors are removed as outdated."""
    bound = False
    for value in [*model.graph.input, *model.graph.output]:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param and dim.dim_param in binding:
                dim.dim_value = binding[dim.dim_param]  # takes the place of dim_param
                bound = True
    if bound:
        del model.graph.value_info[:]


def _parameters(source: str, model: Any) -> list[dict[str, Any]]:
    """What the C function takes, in its order: sizes, inputs and outputs with their C types and dimensions.

    The file's inputs and outputs come in the file's order under C names of their own. Raises Unsupported for strings,
    sequences, optional and packed types, which C or the agents' protocol do not express.
    """
    prototype = re.search(r"^void %s\((.*)\) \{$" % ENTRY, source, re.MULTILINE)
    if prototype is None:
        raise ValueError("the generated C has no function %s" % ENTRY)
    weights = {tensor.name for tensor in model.graph.initializer}
    weights |= {tensor.values.name for tensor in model.graph.sparse_initializer}
    names = {
        "input": iter([value.name for value in model.graph.input if value.name not in weights]),
        "output": iter([value.name for value in model.graph.output]),
    }
    found: list[dict[str, Any]] = []
    last = ""
    for text in prototype[1].split(", "):
        size, tensor, present = SIZE.fullmatch(text), TENSOR.fullmatch(text), PRESENT.fullmatch(text)
        if present and present[1] == last:
            found.append({"kind": "present", "name": found[-1]["name"]})
        elif size:
            found.append({"kind": "size", "name": size[1]})
        elif tensor and tensor[2] in CARRIERS:
            kind = "input" if tensor[1] else "output"
            dims = [tensor[4], *re.findall(r"\[([^\]]+)\]", tensor[5])]
            shape = [int(dim) if dim.isdecimal() else dim for dim in dims]
            found.append({"kind": kind, "name": next(names[kind]), "type": tensor[2], "shape": shape})
            last = tensor[3] if tensor[1] else ""
        elif text != "void":
            raise Unsupported("the C parameter %r cannot be handed over" % text)
    left = [name for rest in names.values() for name in rest]
    if left:
        raise ValueError("the C function has no parameter for %s" % ", ".join(left))
    return found


def _prepared(
    function: Any, parameters: list[dict[str, Any]], given: dict[str, Any], declared: list[Any]
) -> tuple[Callable[[], Any], list[Any], Any]:
    """The call on these inputs, what :func:`_outputs` reads after it, and the arrays that must live as long as it.

    Outputs have the declared shape where that is known, else the C function's.
    """
    import numpy as np

    sizes: dict[str, int] = {}
    held: dict[str, Any] = {}
    results: list[Any] = []
    for row in parameters:
        if row["kind"] == "input":
            numbers, x = CARRIERS[row["type"]], np.ascontiguousarray(given[row["name"]])
            x = x.view(numbers) if row["type"] in NAMED else np.ascontiguousarray(x, dtype=numbers)
            held[row["name"]] = x.reshape(np.shape(given[row["name"]]))  # ascontiguousarray makes scalars [1]
            _check(row, x.shape, sizes)
    arguments: list[Any] = []
    for row in parameters:
        if row["kind"] == "size":
            if row["name"] not in sizes:
                raise Unsupported("the size %s does not follow from the inputs" % row["name"])
            arguments.append(ctypes.c_int(sizes[row["name"]]))
        elif row["kind"] == "present":
            arguments.append(ctypes.c_bool(row["name"] in given))
        elif row["kind"] == "input":
            arguments.append(ctypes.c_void_p(held[row["name"]].ctypes.data))
        else:
            inner = [dim if isinstance(dim, int) else sizes.get(dim, dim) for dim in row["shape"]]
            if not all(isinstance(dim, int) for dim in inner):
                raise Unsupported("the output %s has the shape %s" % (row["name"], row["shape"]))
            outer = declared[len(results)]
            known = all(isinstance(dim, int) for dim in outer)
            shape = outer if known and (int(np.prod(outer)) == int(np.prod(inner)) or 0 in outer) else inner
            kind = np.dtype(CARRIERS[row["type"]])
            # Elements that it does not write read as NaN or -1, not as a zero that may happen to be right.
            block = np.full(max(1, int(np.prod(inner))) * kind.itemsize, 255, dtype=np.uint8)
            results.append((block, kind, shape))
            arguments.append(ctypes.c_void_p(block.ctypes.data))
    function.restype = None
    return functools.partial(function, *arguments), results, held


def _outputs(results: list[Any]) -> list[Any]:
    """The outputs after a call. The next call on the same inputs writes over them."""
    import numpy as np

    ys = []
    for block, kind, shape in results:
        flat = block.astype(bool) if kind == np.dtype(bool) else block.view(kind)
        ys.append(flat[: int(np.prod(shape))].reshape(shape))
    return ys


def _typed(y: Any, c_type: str) -> Any:
    """Codes [...] of a type that numpy lacks as an array of that type."""
    name = NAMED.get(c_type)
    return y if name is None else y.view(getattr(importlib.import_module("ml_dtypes"), name))


def _check(row: dict[str, Any], shape: tuple[int, ...], sizes: dict[str, int]) -> None:
    """Raises ValueError for another shape than the C function declares, because C would read beyond the array.

    Scalars and empty tensors have a dimension of 1 in C.
    """
    wanted = row["shape"]
    padded = shape or (1,)
    right = len(padded) == len(wanted)
    for got, dim in zip(padded, wanted):
        bound = sizes.setdefault(dim, got) if isinstance(dim, str) else dim
        right = right and got == (bound if got else got)
    if not right:
        raise ValueError("input %s has the shape %s, it was compiled for %s" % (row["name"], list(shape), wanted))
