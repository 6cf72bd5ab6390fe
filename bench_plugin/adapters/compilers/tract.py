"""tract: an engine in Rust that reads the ONNX file, infers its shapes and optimises it whenever a model is opened."""

from __future__ import annotations

import importlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from bench_plugin.agent import external
from bench_plugin.agent.adapter import InvalidModel, Reply, Unsupported
from bench_plugin.agent.contract import QDQ, CompileCall, CompilerCall, RunCall
from bench_plugin.agent.toolkit import contractions, samples, versions

ADAPTER = {
    "name": "tract",
    "kind": "compiler",
    "toolchain": "tract",
    "title": "tract",
    "distribution": "tract",
    "operations": ["compile", "run", "profile"],
    "imports": ["tract"],
    "operators": True,
    "takes": ["onnx"],
    "precisions": {"fp32": ["original"], "fp16": ["fp16"], "w16": ["w16"], "w8a8": ["qdq"], "w8a8-dyn": ["dynamic"]},
    "targets": ["local"],
    "portable": True,
    "artefact_is_model": True,
    # It can keep symbolic dimensions; its own documentation fixes them, so that more can be optimised.
    "options": {"shapes": ["frozen", "kept"]},
    "values": ["sequence", "optional", "str", "bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
               "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn", "int4", "uint4", "int2", "uint2"],
    # Its source, onnx/src/model.rs: "tract is only tested against operator set 9 to 18 (included)". It tries others.
    "opsets": [9, 18],
    "errors": [{"package": "tract"}],
    "unsupported": [
        # An operator without a builder, a type of element and a type of value that its parser does not know.
        {"operation": "compile", "exception": "TractError", "pattern": "Operator can not be made a TypedOp"},
        {"operation": "compile", "exception": "TractError", "pattern": "[Uu]nknown (DatumType|ONNX TensorProto)"},
        {"operation": "compile", "exception": "TractError", "pattern": "Can not parse tensor type|has no type value"},
        # What has to be known before anything runs: axes, sizes, pads and the like that are inputs of the model.
        {
            "operation": "compile", "exception": "TractError",
            "pattern": r"(?i)\b(as|to be|be|is|are not|expects?) (a )?const(ant)?s?\b|shape input is variable",
        },
    ],
}  # fmt: skip

# Its own words for types of elements.
TYPES = {
    "bool": "bool", "float16": "f16", "float32": "f32", "float64": "f64",
    **{f"{sign}int{bits}": f"{letter}{bits}" for sign, letter in (("", "i"), ("u", "u")) for bits in (8, 16, 32, 64)},
}  # fmt: skip
FLOATS = ("F16", "F32", "F64")
RECURRENT = re.compile(r"(Lstm|Gru|Rnn)Seq")  # a layer of its own, in float32, whose costs tract does not count
CONTRACTIONS = re.compile(r"MatMul|EinSum|Conv|DepthWise|Lstm|Gru|Rnn|Scan", re.IGNORECASE)
DUMP = "ModelPatch {"  # of a patch of its graph, weights included, below the error that it is about
MULTIPLY_ADDS = re.compile(r"FMA\((\w+)\)$")
CONTEXT = re.compile(r"^\s*\d+: ")  # of the lines under "Caused by:"
NODE = re.compile(r'Building node .*\((\w+)\)$|(?:node|Evaluating) #\d+ "[^"]*" (\S+)')
NOT_A_MODEL = re.compile(r"failed to decode Protobuf|does not contain a graph|invalid wire type")


@dataclass(frozen=True)
class ProfileCall(RunCall):
    """Count the multiply-adds of every node of ``model.onnx`` at the sizes of the call, as tract optimises it.

    With inputs the nodes are timed too. An operation of this adapter's own, for ``bench needs`` and ``bench predict``,
    whose counts it checks: the numbers of tract are exact also in recurrent layers.
    """

    operation = "profile"


CALLS = {"profile": ProfileCall}


class Adapter:
    """Keeps the model that was opened last."""

    def __init__(self) -> None:
        self._key: Any = None
        self._opened_last: tuple[Any, list[str]] = (None, [])
        self._notes: list[str] = []  # how it was opened

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("tract", "numpy")

    def reset(self) -> None:
        """Forget the model."""
        self._key, self._opened_last, self._notes = None, (None, []), []

    def compile(self, call: CompileCall) -> Reply:
        """``model.onnx`` as it is, with the weights that lie beside it, once tract could optimise it.

        Raises Unsupported for inputs of types that its Python interface lacks, InvalidModel for what is no ONNX file.
        """
        call.stage("compile")
        lacks = sorted({port.dtype or "no tensor" for port in call.input_ports if port.dtype not in TYPES})
        runnable, _ = self._opened(call)
        if lacks:
            raise Unsupported(f"tract's Python interface takes no input of type {', '.join(lacks)}")
        files = external.artefact(call.files["model.onnx"], call.folder)
        meta: dict[str, object] = {
            "effective": call.precision, "integer": "", "portable": True,
            "dynamic": "preserved" if call.option("shapes", "frozen") == "kept" else "frozen",
            # Its Python interface has no way to set another executor.
            "switches": {"shapes": call.option("shapes", "frozen"), "executor": "single thread"},
            "notes": ["one thread, whatever is asked for", *self._notes],
        }  # fmt: skip
        placement, computed = _computed(call, runnable)
        return Reply({**meta, **computed, "placement": {**placement, "threads": 1}}, files=files)

    def run(self, call: RunCall) -> Reply:
        """Outputs out0, out1 ... of ``model.onnx``."""
        runnable, names = self._opened(call)
        call.stage("run")
        given = call.named(names)

        def run(xs: Sequence[Any]) -> list[Any]:
            return _evaluated(runnable, [_tensor(x) for x in xs])

        def bind(xs: Sequence[Any]) -> Any:
            return partial(runnable.run, [_tensor(x) for x in xs]), _arrays

        return samples.answered(call, run, list(given.values()), bind=bind)

    def profile(self, call: ProfileCall) -> Reply:
        """``nodes`` with name, operator, multiply_adds by type, and seconds where the call has inputs.

        ``unknown`` are nodes whose cost is no number, because it depends on a symbol without a size.
        """
        runnable, names = self._opened(call)
        call.stage("run")
        first = [x[:1] if call.batched else x[0] for x in call.named(names).values()]
        nodes = _nodes(runnable, [_tensor(x) for x in first] or None)
        unknown = [node["name"] for node in nodes if None in node["multiply_adds"].values()]
        return Reply({"nodes": nodes, "unknown": unknown})

    def _opened(self, call: CompilerCall) -> tuple[Any, list[str]]:
        """The optimised model, and the names of its inputs in their order. Raises InvalidModel or TractError."""
        path = call.files["model.onnx"]
        kept = call.option("shapes", "frozen") == "kept"
        symbols = {size for port in call.input_ports for size in port.shape if isinstance(size, str)}
        sizes = {} if kept else {name: size for name, size in call.binding.items() if name in symbols}
        key = (path, os.stat(path).st_mtime_ns, sorted(sizes.items()))
        if key != self._key:
            self.reset()
            tract = importlib.import_module("tract")
            file = external.placed(call.files, call.folder)
            self._opened_last = self._opened_in_a_way(tract, file, call, sizes)
            self._key = key
        return self._opened_last

    def _opened_in_a_way(
        self, tract: Any, file: str, call: CompilerCall, sizes: Mapping[str, int]
    ) -> tuple[Any, list[str]]:
        """The model with sizes of its inputs, and where it is refused so, with sizes of its symbols.

        Symbols come second: of a recurrent layer with a symbol in its shape, tract ends the process.
        """
        if sizes:
            try:
                return _with_facts(tract, file, call, sizes)
            except tract.TractError:
                self._notes = ["symbols got their sizes once the model was typed: it is refused otherwise"]
        try:
            return _with_symbols(tract, file, sizes)
        except tract.TractError as error:
            raise _readable(error) from None


def _with_symbols(tract: Any, file: str, sizes: Mapping[str, int]) -> tuple[Any, list[str]]:
    """The optimised model whose symbols got their sizes once it was typed, and the names of its inputs."""
    model = tract.onnx().load(file)
    names = [model.input_name(index) for index in range(model.input_count())]
    typed = model.into_model()
    if sizes:
        typed.transform(tract.SetSymbols(sizes))
    return typed.into_runnable(), names


def _with_facts(tract: Any, file: str, call: CompilerCall, sizes: Mapping[str, int]) -> tuple[Any, list[str]]:
    """The same with sizes of the inputs that were set before it was typed, without which it takes no computed shape.

    A file that declares the symbols elsewhere, too, is refused so: they are no numbers there.
    """
    model = tract.onnx().load(file)
    names = [model.input_name(index) for index in range(model.input_count())]
    for index, fact in _facts(call, names, sizes):
        model.set_input_fact(index, fact)
    return model.into_model().into_runnable(), names


def _facts(call: CompilerCall, names: Sequence[str], sizes: Mapping[str, int]) -> Iterator[tuple[int, str]]:
    """Number, and sizes and type as tract writes them, of the inputs that have symbols with these sizes."""
    for port in call.input_ports:
        if port.name in names and port.dtype in TYPES and any(size in sizes for size in port.shape):
            bound = [str(sizes.get(str(size), size)) for size in port.shape]
            yield names.index(port.name), ",".join([*bound, TYPES[port.dtype]])


def _tensor(x: Any) -> Any:
    """An array [...] as a tensor of tract's. Raises Unsupported for what its Python interface has no type for."""
    import numpy as np

    if getattr(getattr(x, "dtype", None), "name", "") not in TYPES:
        raise Unsupported("tract's Python interface takes no input of type %s" % getattr(x, "dtype", type(x).__name__))
    return importlib.import_module("tract").Tensor.from_numpy(np.asarray(x))


def _evaluated(runnable: Any, tensors: Sequence[Any]) -> list[Any]:
    """The outputs of a model as arrays. Raises TractError with its root cause first."""
    tract = importlib.import_module("tract")
    try:
        return _arrays(runnable.run(tensors))
    except tract.TractError as error:
        raise _readable(error) from None


def _arrays(tensors: Sequence[Any]) -> list[Any]:
    return [tensor.to_numpy() for tensor in tensors]


def _nodes(runnable: Any, inputs: Sequence[Any] | None = None) -> list[dict[str, Any]]:
    """The nodes of the optimised model with their costs; a multiply-add that depends on a symbol is None."""
    found = []
    for node in json.loads(runnable.profile_json(inputs))["nodes"]:
        costs = {match[1]: text for name, text in node.get("cost", {}).items() if (match := MULTIPLY_ADDS.match(name))}
        row = {
            "name": node["node_name"], "operator": node["op_name"],
            "multiply_adds": {kind: int(text) if text.isdigit() else None for kind, text in costs.items()},
        }  # fmt: skip
        found.append({**row, "seconds": node["secs_per_iter"]} if "secs_per_iter" in node else row)
    return found


def _computed(call: CompileCall, runnable: Any) -> tuple[Mapping[str, object], Mapping[str, object]]:
    """What is known of the precision, placement and the rest: of a quantised model, the contractions in integers.

    Products of float16 are counted as float32, in which its kernels compute them: nothing tells these from others.
    """
    if call.precision == "fp16":
        return {}, {"effective": ""}
    if call.graph not in (QDQ, "dynamic"):
        return {}, {}
    nodes = _nodes(runnable)
    rows = [(node["operator"], kind) for node in nodes for kind in node["multiply_adds"]]
    rows += [
        (node["operator"], "F32") for node in nodes if not node["multiply_adds"] and RECURRENT.search(node["operator"])
    ]
    counts = contractions.counted((name, kind not in FLOATS) for name, kind in rows if CONTRACTIONS.search(name))
    return contractions.placed(counts), {"integer": contractions.integer(counts)}


def _readable(error: Exception) -> Exception:
    """The same error with its root cause first, behind the operator that it is about."""
    text = str(error).partition("\nStack backtrace")[0].strip()
    lines = [CONTEXT.sub("", line).strip() for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(DUMP)] or lines
    root = lines[-1] if lines else "tract gave no reason"
    nodes = [match[1] or match[2] for line in lines if (match := NODE.search(line))]
    kind = InvalidModel if NOT_A_MODEL.search(text) else type(error)
    return kind(f"{nodes[-1]}: {root}\n{text}" if nodes else f"{root}\n{text}")
