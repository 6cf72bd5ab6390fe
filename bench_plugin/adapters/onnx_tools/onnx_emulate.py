"""The emulation of a precision: a file evaluated in float64, with every result rounded to that precision."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench_plugin.adapters.onnx_tools import onnx_choices, onnx_evaluator, onnx_float64, onnx_operators
from bench_plugin.adapters.onnx_tools.shared import onnx_memory, onnx_names, onnx_sums
from bench_plugin.adapters.onnx_tools.shared.onnx_formats import ROUNDINGS
from bench_plugin.agent.adapter import Reply, Unsupported
from bench_plugin.agent.contract import EmulateCall
from bench_plugin.agent.toolkit import samples, versions

ADAPTER = {
    "name": "onnx_emulate",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Emulated precisions",
    "distribution": "onnx",
    "operations": ["emulate"],
    "uses": [
        "onnx_choices",
        "onnx_evaluator",
        "onnx_float64",
        "onnx_formats",
        "onnx_memory",
        "onnx_names",
        "onnx_operators",
        "onnx_sums",
    ],
    "errors": [{"package": "onnx"}],
}

DOUBLE = 11
CONTRACTIONS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
# name -> (rounding of weights, rounding of inputs and of every result, rounding of a contraction's operands)
EMULATIONS = {
    "fp32": ("float32", "float32", ""),
    "tf32": ("float32", "float32", "tf32"),
    "w16": ("float16", "float32", ""),
    "fp16": ("float16", "float16", ""),
    "wbf16": ("bfloat16", "float32", ""),
    "bf16": ("bfloat16", "bfloat16", ""),
}
OWN = "own"  # of a file with narrow types: every result is rounded to the type that the file gives it
SUMS = "-sums"  # behind the name of an emulation whose terms are summed in its own type
# Of files that choose between nearly equal numbers (onnx_choices): how often such sums are drawn. One that the rounding
# of one draw leaves as it is may be another one in the next. In every other draw results are kept in float32, as tools
# keep them that compute products alone in a narrow type: rounded to it, nearly equal numbers are often the same.
DRAWS = 8
# Of files that round to integers as they run: the emulation of fp32 with every value that is divided by a scale moved
# up or down by what float32 may have lost before, so that each integer that it may round to either side is rounded to
# both.
NUDGES = {"fp32-up": 1.0, "fp32-down": -1.0}
ULPS = 2.0**-22  # a value moves by two ulps at least
LOSSES = 2.0  # and by so many times what float32 loses before it, of the element of its tensor that loses most
# Of files that are quantised, on request: the same with all that a QuantizeLinear rounds moved up or down by what
# a kernel in float32 may lose in it, a share of the largest value of the tensor.
STEPS = {"steps-up": 1.0, "steps-down": -1.0}
LOST = 2.0**-21
DYNAMIC, QUANTIZE = "DynamicQuantizeLinear", "QuantizeLinear"
# What an operator raises that is given infinities or NaN where it needs a number, such as an index.
NOT_COMPUTED = (ArithmeticError, ValueError, IndexError, Unsupported)


@dataclass
class _Ties:
    """What the evaluations of one file tell each other of its dynamic quantisations, call by call.

    made: of the emulation of fp32, what was rounded, [...] of float32, and what became of it.
    lost: how far what was rounded is from float64, where all integers before it are the same; the largest by tensor.
    """

    made: list[tuple[Any, tuple[Any, Any, Any]]] = field(default_factory=list)
    lost: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class _Sums:
    """The type in which terms are added, and the first of the seeds of what that loses, one for each node."""

    format: str
    seed: int


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""

    def emulate(self, call: EmulateCall) -> Reply:
        """Outputs ``<emulation>:out0`` ... of the first samples under each emulation, under OWN and under NUDGES.

        With ``only`` it is one of these, or one of STEPS.
        An emulation that cannot be computed, as where float16 overflows and an index is NaN, is ``missing`` with its
        reason; all the others are there. Raises what an operator raises in fp32, or in the only one that is asked for.
        """
        call.stage("reference")
        onnx = importlib.import_module("onnx")
        file = _File(onnx, call.files["model.onnx"])
        ties = _Ties() if any(node.op_type == DYNAMIC for node in file.nodes) else None
        if call.sums:
            return Reply({"samples": call.samples}, _summed(file, call))
        if call.only:
            return Reply({"samples": call.samples, "missing": {}}, _emulated(file, call, call.only, ties))
        arrays, missing = _emulated(file, call, "fp32", ties), {}
        if ties is not None:
            _evaluated(file, _with_ties(onnx, file.copy(), "replay"), call, ties)
        own = (OWN,) if file.narrow else ()
        for name in (*list(EMULATIONS)[1:], *own, *(NUDGES if ties is not None else ())):
            try:
                arrays.update(_emulated(file, call, name, ties))
            except NOT_COMPUTED as error:
                missing[name] = f"{type(error).__name__}: {error}"
        return Reply({"samples": call.samples, "missing": missing}, arrays)


class _File:
    """A file promoted to float64, whose large weights stay in float32 until they are rounded and evaluated.

    As float64 in the message, rounded there and copied by the evaluator, those of VGG16 took 8 GiB. ``narrow`` gives
    the formats of the results that the file has in float16 or bfloat16.
    """

    def __init__(self, onnx: Any, path: str) -> None:
        self.onnx = onnx
        model, self._weights = onnx_memory.without_weights(onnx, path)
        self.narrow = _narrow(onnx, model)
        self._model = onnx_float64.promoted(onnx, model, narrow=True)
        self.nodes = self._model.graph.node

    def copy(self) -> Any:
        """A model of its own, whose large weights are empty."""
        made = self.onnx.ModelProto()
        made.CopyFrom(self._model)
        return made

    def fill(self, evaluator: Any, weights: str) -> None:
        """Give an evaluator the large weights in float64, rounded to a format; as they are where that is empty."""
        for name, values in self._weights.items():
            evaluator.rt_inits_[name] = ROUNDINGS[weights](values) if weights else values.astype("float64")


def _summed(file: _File, call: EmulateCall) -> dict[str, Any]:
    """The arrays ``<precision>-sums:out0`` ... and, of a file that chooses, those of the other draws."""
    draws = DRAWS if onnx_choices.chooses(file.onnx, file.copy()) else 1
    arrays: dict[str, Any] = {}
    for draw in range(draws):
        weights, results, operands = _rounding(call.sums)
        narrow = results != "float32"
        rounding = (weights, "float32", results) if draw % 2 and narrow else (weights, results, operands)
        model, types = file.copy(), file.narrow if call.sums == OWN else {}
        _rounded(file.onnx, model.graph, rounding, types, _Sums(results, draw * len(file.nodes)))
        name = call.sums + SUMS + (f"-{draw}" if draw else "")
        arrays.update(samples.blobs(_evaluated(file, model, call, None, rounding), name + ":"))
    return arrays


def _emulated(file: _File, call: EmulateCall, name: str, ties: _Ties | None) -> dict[str, Any]:
    """The arrays of one emulation by name: one of EMULATIONS, OWN, or one of NUDGES."""
    model, rounding = file.copy(), _rounding(name)
    _rounded(file.onnx, model.graph, rounding, file.narrow if name == OWN else {})
    if name in STEPS:
        _move_steps(file.onnx, model, STEPS[name])
    if ties is not None and name in ("fp32", *NUDGES):
        _with_ties(file.onnx, model, "record" if name == "fp32" else "move", NUDGES.get(name, 0.0))
    return samples.blobs(_evaluated(file, model, call, ties, rounding), name + ":")


def _rounding(name: str) -> tuple[str, str, str]:
    """The formats of an emulation; what OWN and NUDGES do not say is that of float32."""
    return EMULATIONS[name if name in EMULATIONS else "fp32"]


def _narrow(onnx: Any, model: Any) -> dict[str, str]:
    """The formats of the results that a graph computes in float16 or bfloat16; none where its types are not known."""
    formats = {onnx.TensorProto.FLOAT16: "float16", onnx.TensorProto.BFLOAT16: "bfloat16"}
    return {name: formats[kind] for name, kind in onnx_names.types_of(onnx, model).items() if kind in formats}


def _evaluated(
    file: _File, model: Any, call: EmulateCall, ties: _Ties | None, rounding: tuple[str, str, str] = ("", "", "")
) -> dict[str, Any]:
    """The outputs of a model, whose large weights and whose inputs are rounded here; the inputs as results are."""
    weights, results, _ = rounding
    onnx = file.onnx
    operators = onnx_operators.fast_operators(onnx)
    plain = next(one for one in operators if one.__name__ == DYNAMIC)
    operators = [
        *operators,
        _round_operator(),
        _move_operator(),
        *onnx_sums.operators(),
        _observed_operator(plain, ties or _Ties()),
    ]
    model.opset_import.append(onnx.helper.make_opsetid(onnx_sums.DOMAIN, 1))
    evaluator = onnx_memory.frugal(onnx_evaluator.evaluator(model, operators))
    file.fill(evaluator, weights)
    given = {name: values[: call.samples] for name, values in call.inputs.items()}
    order = [name for name in evaluator.input_names if name in given]

    def run(xs: Sequence[Any]) -> list[Any]:
        return list(evaluator.run(None, dict(zip(order, xs))))

    doubled = [onnx_float64.doubled(given[name]) for name in order]
    rounded = [ROUNDINGS[results](x) if results and x.dtype == "float64" else x for x in doubled]
    found = samples.one_by_one(run, rounded, call.batched)
    return samples.joined(found, samples.numbered(len(found[0])), call.batched)


def _round_operator() -> Any:
    base = importlib.import_module("onnx.reference.op_run").OpRun

    class Round(base):  # type: ignore[misc, valid-type]
        op_domain = onnx_sums.DOMAIN

        def _run(self, x: Any, format: str = "") -> tuple[Any]:
            return (ROUNDINGS[format](x) if getattr(x, "dtype", None) == "float64" else x,)

    return Round


def _move_operator() -> Any:
    base = importlib.import_module("onnx.reference.op_run").OpRun

    class Move(base):  # type: ignore[misc, valid-type]
        op_domain = onnx_sums.DOMAIN

        def _run(self, x: Any, direction: float = 0.0) -> tuple[Any]:
            return (x + direction * LOST * _largest(x) if getattr(x, "dtype", None) == "float64" else x,)

    return Move


def _move_steps(onnx: Any, model: Any, direction: float) -> None:
    """Let every QuantizeLinear of what is computed round a value that is moved in this direction."""
    constant = {tensor.name for tensor in model.graph.initializer}
    nodes = []
    for index, node in enumerate(model.graph.node):
        if node.op_type == QUANTIZE and node.input[0] not in constant:
            moved = f"{node.input[0]}_moved{index}"
            nodes.append(
                onnx.helper.make_node("Move", [node.input[0]], [moved], domain=onnx_sums.DOMAIN, direction=direction)
            )
            node.input[0] = moved
        nodes.append(node)
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def _observed_operator(plain: Any, ties: _Ties) -> Any:
    """DynamicQuantizeLinear that records what it rounds, compares that with a record, or rounds it moved."""
    base = importlib.import_module("onnx.reference.op_run").OpRun
    calls = itertools.count()

    class DynamicQuantizeLinear(base):  # type: ignore[misc, valid-type]
        op_domain = onnx_sums.DOMAIN

        def _run(self, x: Any, does: str = "", direction: float = 0.0) -> tuple[Any, Any, Any]:
            if does == "record":
                ties.made.append((x.astype("float32"), plain._run(self, x)))
                return ties.made[-1][1]
            call = next(calls)
            if does == "replay":
                rounded, made = ties.made[call]
                ties.lost.append(_largest(x - rounded))
                return made
            return _rounded_moved(x, plain._run(self, x), direction, ties.lost[call])

    return DynamicQuantizeLinear


def _largest(values: Any) -> float:
    import numpy as np

    found = np.abs(values)
    return float(found[np.isfinite(found)].max(initial=0.0))


def _rounded_moved(x: Any, made: tuple[Any, Any, Any], direction: float, lost: float) -> tuple[Any, Any, Any]:
    """What DynamicQuantizeLinear made of x, with the same scale and integers of x moved by a loss or by two ulps."""
    import numpy as np

    steps, scale, zero = made
    moved = x + direction * np.maximum(np.abs(x) * ULPS, LOSSES * lost)
    with np.errstate(invalid="ignore"):
        return np.clip(np.rint(moved / scale) + float(zero), 0, 255).astype(steps.dtype), scale, zero


def _with_ties(onnx: Any, model: Any, does: str, direction: float = 0.0) -> Any:
    """The model, whose dynamic quantisations do one of the things that ``_observed_operator`` names."""
    for node in model.graph.node:
        if node.op_type == DYNAMIC:
            node.domain = onnx_sums.DOMAIN
            node.attribute.append(onnx.helper.make_attribute("does", does))
            node.attribute.append(onnx.helper.make_attribute("direction", direction))
    return model


def _rounded(
    onnx: Any, graph: Any, rounding: tuple[str, str, str], types: Mapping[str, str], sums: _Sums | None = None
) -> None:
    """Round weights in place, and put a rounding behind every result of the top-level graph, and ``sums`` of terms.

    A result that is in ``types`` has that format, and its terms, too.
    """
    weights, results, operands = rounding
    for tensor in graph.initializer:
        if tensor.data_type == DOUBLE:
            values = ROUNDINGS[weights](onnx.numpy_helper.to_array(tensor))
            tensor.CopyFrom(onnx.numpy_helper.from_array(values, tensor.name))
    nodes = []
    for index, node in enumerate(graph.node):
        if operands and node.op_type in CONTRACTIONS:
            for place, name in enumerate(node.input[:2]):
                node.input[place] = f"{name}_operand{index}_{place}"
                nodes.append(_round_node(onnx, name, node.input[place], operands))
        made = [node]
        if sums:
            made = onnx_sums.summed(onnx, sums.seed + index, node, types.get(node.output[0], sums.format))
        nodes += made
        if node.op_type in ("Shape", "Constant", "ConstantOfShape"):
            continue
        last = made[-1]
        for place, name in enumerate(last.output):
            if name:
                last.output[place] = f"{name}_exact"
                nodes.append(_round_node(onnx, last.output[place], name, types.get(name, results)))
    del graph.node[:]
    graph.node.extend(nodes)


def _round_node(onnx: Any, source: str, target: str, format: str) -> Any:
    return onnx.helper.make_node("Round", [source], [target], domain=onnx_sums.DOMAIN, format=format)
