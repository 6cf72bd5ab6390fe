"""emx-onnx-cgen: ONNX to one C file; on the host a shared library that is run through ctypes, else a program.

A program is the C agent with the model linked in (bench_plugin/agent/c), by zig's C compiler, for boards.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench_plugin.adapters.c_code import c_library, emx_values
from bench_plugin.agent.adapter import Reply, Unsupported
from bench_plugin.agent.c import building, glue, host, prototype
from bench_plugin.agent.contract import CompileCall, RunCall
from bench_plugin.agent.toolkit import contractions, samples, versions
from bench_plugin.agent.wire import Array

ADAPTER = {
    "name": "emx",
    "kind": "compiler",
    "toolchain": "emx",
    "title": "emx-onnx-cgen",
    "distribution": "emx-onnx-cgen",
    "operations": ["compile", "run"],
    "imports": ["numpy"],
    "operators": True,
    "takes": ["onnx"],
    "precisions": {"fp32": ["original"], "fp16": ["fp16"], "w8a8": ["qdq"]},
    "targets": ["local", "aarch64", "armhf", "riscv64", "cortex-m3", "cortex-m55"],
    "options": {"optimisation": ["O2", "O3", "Os", "O0"]},
    "needs": ["gcc"],
    "own_cross_compiler": True,
    # Its README: "full standard ONNX opset 26 support"; its importer reads the forms of older opsets too.
    "opsets": [1, 26],
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
        "str",
        "sequence",
        "optional",
    ],
    "uses": ["c_library", "emx_values"],
    "errors": [{"package": "emx_onnx_cgen"}, {"exception": "CompilerFailed"}],
    "unsupported": [
        # One type says what is not implemented, and that a shape of the file is wrong, which onnx has checked.
        {"operation": "compile", "exception": "UnsupportedOpError", "pattern": r"^(?!.* output shape must be \()"},
        # Shapes that depend on data have no place in its C.
        {"operation": "compile", "exception": "ShapeInferenceError", "pattern": "must be non-negative"},
    ],
}

ENTRY = "model"
# Weights beyond so many bytes go to a file that model_load reads: as C text a compiler takes a gigabyte over them.
INLINE = 1 << 20
# C types that are supported, and numpy's names for their bits: bfloat16 and the floats of 8 and 4 bits are codes.
CARRIERS = {
    "float": "float32", "double": "float64", "_Float16": "float16", "__bf16": "uint16", "bool": "bool", "_Bool": "bool",
    "int8_t": "int8", "int16_t": "int16", "int32_t": "int32", "int64_t": "int64",
    "uint8_t": "uint8", "uint16_t": "uint16", "uint32_t": "uint32", "uint64_t": "uint64",
    "_BitInt(4)": "uint8", "_BitInt(2)": "uint8", "unsigned _BitInt(4)": "uint8", "unsigned _BitInt(2)": "uint8",
    "emx_float8e4m3fn_t": "uint8", "emx_float8e5m2_t": "uint8", "emx_float8e4m3fnuz_t": "uint8",
    "emx_float8e5m2fnuz_t": "uint8", "emx_float8e8m0fnu_t": "uint8", "emx_float4e2m1_t": "uint8",
}  # fmt: skip
NAMED = {
    "__bf16": "bfloat16", "emx_float8e4m3fn_t": "float8_e4m3fn", "emx_float8e5m2_t": "float8_e5m2",
    "emx_float8e4m3fnuz_t": "float8_e4m3fnuz", "emx_float8e5m2fnuz_t": "float8_e5m2fnuz",
    "emx_float8e8m0fnu_t": "float8_e8m0fnu", "emx_float4e2m1_t": "float4_e2m1fn",
    "_BitInt(4)": "int4", "_BitInt(2)": "int2", "unsigned _BitInt(4)": "uint4", "unsigned _BitInt(2)": "uint2",
}  # fmt: skip
PLAIN = {name: kind for name, kind in CARRIERS.items() if name not in NAMED}
# Integers of 4 and 2 bits have a byte each. C leaves its upper bits open, in ml_dtypes they are 0: the bits that count.
BITS = {"_BitInt(4)": 15, "_BitInt(2)": 3, "unsigned _BitInt(4)": 15, "unsigned _BitInt(2)": 3}
# Those that the protocol has a name for.
SENT = {"__bf16": "bfloat16", "emx_float8e4m3fn_t": "float8e4m3fn", "emx_float8e5m2_t": "float8e5m2"}
# emx's options that numbers depend on, which are as it has them.
SWITCHES = ("fp32_accumulation_strategy", "fp16_accumulation_strategy", "replicate_ort_bugs", "truncate_weights_after")
INTEGERS = frozenset({"QLinearConv", "QLinearMatMul", "ConvInteger", "MatMulInteger"})
CONTRACTIONS = INTEGERS | {"Conv", "ConvTranspose", "DeformConv", "MatMul", "Gemm", "Einsum", "LSTM", "GRU", "RNN"}


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
        """``model.c``, ``model.json`` (its parameters), ``model.bin`` (large weights), and the library or program.

        Raises Unsupported for what emx or the C compiler does not know and for what does not fit the target,
        NotProvided without the C compiler, CompilerFailed where the C is refused.
        """
        onnx = importlib.import_module("onnx")
        compiler = importlib.import_module("emx_onnx_cgen.compiler")
        self._keep_templates()
        images = importlib.import_module("emx_onnx_cgen.codegen.image_decoder_libs")
        importlib.import_module("emx_onnx_cgen.lowering").load_lowering_registry()
        local = call.target.is_local
        gcc = host.c_compiler(call.target) if local else ""
        call.stage("compile")
        model = onnx.load(call.files["model.onnx"])
        _freeze(model, call.binding)
        decodes = local and images.model_uses_image_decoder(model)
        decoders = host.image_decoders(gcc, call.folder) if decodes else ("stb",)
        options = compiler.CompilerOptions(
            model_name=ENTRY, image_decoder_libs=decoders, large_weight_threshold=INLINE,
            **({} if local else {"large_temp_threshold_bytes": 0}),
        )  # fmt: skip
        source, weights = compiler.Compiler(options).compile_with_weight_data(model)
        if not local:
            source = prototype.with_static_arrays(source)
            source = prototype.with_linked_weights(source, ENTRY, "model.bin", len(weights)) if weights else source
        with contextlib.redirect_stdout(io.StringIO()):
            image_flags, image_libraries = images.prepare_image_decoder_build(model, decoders, Path(call.folder))
        parameters, uncallable, beyond = _parameters(source, model)
        if (uncallable or beyond) and not local:
            raise Unsupported(uncallable or beyond)
        digest = glue.digest_of(source.encode(), weights or b"")
        described = {"parameters": parameters, "digest": digest, "uncallable": uncallable, "beyond": beyond}
        files = _written(call, source, described, weights)
        # ISO C, as emx's own tests have it: nothing is contracted to a fused multiply-add.
        standard = "-std=c2x" if "_BitInt(" in source else "-std=c99"
        flags = ["-" + call.option("optimisation", "O2"), standard]
        if local:
            flags += [*image_flags, *(host.half_flags(call.target) if "_Float16" in source else [])]
            made = c_library.library(call.folder, "model.c", flags, [*image_libraries, "-lm"], gcc)
            switches: dict[str, object] = {"c_compiler": made.c_compiler, "flags": flags, "temporaries": "heap"}
            built = building.Built(made.path, {}, switches)
        else:
            in_c = building.Model(call.folder, "model.c", ENTRY, parameters, digest)
            built = building.program(in_c, call.target, flags)
        files[os.path.basename(built.file)] = built.file
        counts = contractions.counted(
            (node.op_type, node.op_type in INTEGERS) for node in model.graph.node if node.op_type in CONTRACTIONS
        )  # it writes a function for every node, and fuses none
        meta: dict[str, object] = {
            "effective": "fp16" if call.precision == "fp16" and "_Float16" in source else "",
            "integer": contractions.integer(counts) if call.precision.startswith("w8a8") else "",
            "switches": {
                **built.switches, "weights": "file" if weights else "inline", "image_decoders": list(decoders),
                **{name: getattr(options, name) for name in SWITCHES},
            },
            "placement": {
                "requested": 1.0, "nodes": len(model.graph.node), "fallback": [], **contractions.placed(counts),
                **built.said, "threads": 1,
            },
            "notes": ["one thread, whatever is asked for"],
        }  # fmt: skip
        return Reply(meta, files=files)

    def run(self, call: RunCall) -> Reply:
        """Outputs out0, out1 ... of ``model.so``.

        Raises Unsupported where it takes what cannot be handed over, ValueError where its outputs are not those of the
        model.
        """
        with open(call.files["model.json"], encoding="utf-8") as file:
            described = json.load(file)
        parameters = described["parameters"]
        if described["uncallable"]:
            raise Unsupported(described["uncallable"])
        library = self._opened(call)
        call.stage("run")
        given, declared = call.inputs, call.output_ports
        function, shapes = getattr(library, ENTRY), [port.shape for port in declared]
        if described["beyond"]:
            return samples.answered(call, lambda _: emx_values.called(function, parameters, given, shapes, PLAIN), [])
        takes = [row for row in parameters if row["kind"] == "input"]
        gives = [row for row in parameters if row["kind"] == "output"]
        if len(gives) != len(declared):
            raise ValueError("the C function has %d outputs, the model %d" % (len(gives), len(declared)))

        def run(xs: Sequence[Any]) -> list[Any]:
            by_name = {row["name"]: x for row, x in zip(takes, xs)}
            invoke, results, _ = _prepared(function, parameters, by_name, shapes)
            invoke()
            return read(results)

        def read(results: list[Any]) -> list[Any]:
            return [_typed(y, row["type"]) if call.once else y for y, row in zip(_outputs(results), gives)]

        def bind(xs: Sequence[Any]) -> Any:
            by_name = {row["name"]: x for row, x in zip(takes, xs)}
            invoke, results, held = _prepared(function, parameters, by_name, shapes)

            def outputs(_: Any, held: Any = held) -> list[Any]:  # the arrays that C reads live as long as this
                return [y.copy() for y in read(results)]

            return invoke, outputs

        reply = samples.answered(call, run, [given[row["name"]] for row in takes], None, bind)
        if call.once or not reply.arrays:  # a deployed model gives its outputs later, one sample at a time
            return reply
        for name, row in zip(samples.numbered(len(gives)), gives):
            array = reply.arrays[name]
            reply.arrays[name] = Array(SENT.get(row["type"], array.dtype), array.shape, array.data)
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


def _written(call: CompileCall, source: str, described: Mapping[str, Any], weights: bytes | None) -> dict[str, str]:
    """The code, its description, and the large weights, as files of the reply."""
    contents = {"model.c": source.encode(), "model.json": json.dumps(described).encode()}
    if weights is not None:
        contents["model.bin"] = weights
    for name, content in contents.items():
        with open(call.path(name), "wb") as file:
            file.write(content)
    return {name: call.path(name) for name in contents}


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


def _parameters(source: str, model: Any) -> tuple[list[dict[str, Any]], str, str]:
    """What the C function takes, or [] and why it cannot be called: its C compiles all the same.

    Last, why it takes more than tensors of numbers, which :mod:`emx_values` alone hands over, or "".
    """
    weights = {tensor.name for tensor in model.graph.initializer}
    weights |= {tensor.values.name for tensor in model.graph.sparse_initializer}
    inputs = [value.name for value in model.graph.input if value.name not in weights]
    outputs = [value.name for value in model.graph.output]
    try:
        return prototype.parameters(source, ENTRY, iter(inputs), iter(outputs), CARRIERS), "", ""
    except Unsupported as beyond:
        try:
            return emx_values.parameters(source, ENTRY, iter(inputs), iter(outputs), PLAIN), "", str(beyond)
        except Unsupported as refused:
            return [], str(refused), ""


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
        if row["kind"] == "input" and given[row["name"]] is None:  # an optional input that is absent
            fixed = [dim if isinstance(dim, int) else 1 for dim in row["shape"]]
            held[row["name"]] = np.zeros(fixed, CARRIERS[row["type"]])
        elif row["kind"] == "input":
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
            arguments.append(ctypes.c_bool(given[row["name"]] is not None))
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
            results.append((block, kind, shape, BITS.get(row["type"])))
            arguments.append(ctypes.c_void_p(block.ctypes.data))
    function.restype = None
    return functools.partial(function, *arguments), results, held


def _outputs(results: list[Any]) -> list[Any]:
    """The outputs after a call. The next call on the same inputs writes over them."""
    import numpy as np

    ys = []
    for block, kind, shape, bits in results:
        flat = block.astype(bool) if kind == np.dtype(bool) else block.view(kind)
        if bits is not None:
            flat &= bits
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
