"""The float64 references of ONNX's backend tests: values, magnitudes of sums, and what rounded inputs change."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from bench_plugin.adapters.onnx_tools import onnx_evaluator, onnx_float64, onnx_operators, onnx_terms
from bench_plugin.agent import packs
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.contract import EvaluateCasesCall
from bench_plugin.agent.toolkit import versions
from bench_plugin.agent.toolkit.conditioning import Perturbation

ADAPTER = {
    "name": "onnx_truths",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "ONNX backend tests in float64",
    "distribution": "onnx",
    "operations": ["evaluate"],
    "uses": ["onnx_evaluator", "onnx_float64", "onnx_operators", "onnx_terms"],
}

CALLS = {"evaluate": EvaluateCasesCall}  # of cases, where onnx_float64 evaluates a file

FLOAT, HALF, DOUBLE, BRAIN = 1, 10, 11, 16
# Operators that make floats of nothing: float32, unless this attribute says otherwise.
DEFAULT_TYPES = dict.fromkeys(("BlackmanWindow", "HammingWindow", "HannWindow", "MelWeightMatrix"), "output_datatype")
DRAWS = 8
DRAWS_OF_NETWORKS = 1  # of a hundred layers: each of them is a whole evaluation in numpy, half a minute for some
AGREEMENT, AGREEMENT_OF_NARROW = 1e-3, 3e-2
NARROW = ("float16", "bfloat16")
TYPE_ATTRIBUTES = ("to", "dtype", "output_dtype")


class Adapter:
    """Remembers nothing between calls."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx")

    def reset(self) -> None:
        """Nothing is kept."""

    def evaluate(self, call: EvaluateCasesCall) -> Reply:
        """``truths.json`` and ``truths.bin`` of the cases, each with ``value``, ``sum`` or ``spread``.

        ``sum`` adds the same operator on absolute values and the number of ``terms`` of its sums; ``spread`` adds the
        largest absolute change of each output over eight random perturbations of inputs and weights by a rounding, and
        of sums of many terms by theirs (one perturbation for whole networks, without that of sums). A case without a
        float64 result has an ``error``.
        """
        call.stage("reference")
        with open(call.files["cases.json"], encoding="utf-8") as file:
            cases = json.load(file)
        with open(call.files["cases.bin"], "rb") as file:
            reader = packs.Reader(file.read())
        index, data = call.path("truths.json"), call.path("truths.bin")
        found: dict[str, Any] = {}
        with open(data, "wb") as file:
            writer = packs.Writer(file)
            for name, need in call.needs.items():
                try:
                    found[name] = _evaluated(writer, reader, cases[name], need)
                except (AttributeError, NameError):
                    raise  # ours, never an operator's
                except Exception as error:  # an operator that the evaluator lacks is judged by the test's own outputs
                    text = str(error).strip() or type(error).__name__
                    found[name] = {"error": "%s: %s" % (type(error).__name__, text.splitlines()[0][:200])}
        with open(index, "w", encoding="utf-8") as file:
            json.dump(found, file, separators=(",", ":"))
        missing = sum("error" in row for row in found.values())
        return Reply({"cases": len(found), "missing": missing}, files={"truths.json": index, "truths.bin": data})


class _Function:
    """A case's model in float64, with its inputs."""

    def __init__(self, content: bytes, inputs: Sequence[Any]) -> None:
        self._onnx = importlib.import_module("onnx")
        self._fast = onnx_operators.fast_operators(self._onnx)
        self.model = self._onnx.ModelProto.FromString(content)
        if self.model.functions:
            self.model = importlib.import_module("onnx.inliner").inline_local_functions(self.model)
        _widen_graph(self._onnx, self.model.graph)
        self.model = onnx_float64.promoted(self._onnx, self.model)
        initialized = {tensor.name for tensor in self.model.graph.initializer}
        names = [value.name for value in self.model.graph.input if value.name not in initialized]
        self.inputs = dict(zip(names, map(_double, inputs)))
        steered = (node for node in self.model.graph.node if node.op_type in onnx_float64.STEERING)
        self.steering = {name for node in steered for name in node.input[1:]}
        self.terms = 1  # of the longest sum that was evaluated so far

    def __call__(self, inputs: Mapping[str, Any], change: Any = None, generator: Any = None) -> list[Any]:
        """The outputs; ``change`` is applied to the weights, and with a numpy ``generator`` long sums are rounded."""
        model = self.model
        if change is not None:
            model = self._onnx.ModelProto.FromString(model.SerializeToString())
            self._change(model.graph, change)
        names = [value.name for value in model.graph.output]
        found = self._evaluated(model, fast=True, inputs=inputs, generator=generator)
        left = sorted(name for name, value in found.items() if getattr(value, "dtype", None) == "float32")
        if left:
            raise RuntimeError("%d results are still float32 after promotion, the first is %r" % (len(left), left[0]))
        return [found[name] for name in names]

    def _evaluated(self, model: Any, *, fast: bool, inputs: Mapping[str, Any], generator: Any) -> Any:
        operators = self._fast if fast else []
        try:
            evaluator = onnx_evaluator.evaluator(model, operators)
            onnx_terms.watched(evaluator, self._seen, generator)
            return evaluator.run(None, dict(inputs), intermediate=True)
        except Exception:
            if not fast:
                raise
            # What the fast ones lack, onnx's own may have.
            return self._evaluated(model, fast=False, inputs=inputs, generator=generator)

    def _seen(self, terms: int) -> None:
        self.terms = max(self.terms, terms)

    def _change(self, graph: Any, change: Any) -> None:
        steering = {name for node in graph.node if node.op_type in onnx_float64.STEERING for name in node.input[1:]}
        for tensor in graph.initializer:
            if tensor.data_type == onnx_float64.DOUBLE and tensor.name not in steering:
                values = change(self._onnx.numpy_helper.to_array(tensor))
                tensor.CopyFrom(self._onnx.numpy_helper.from_array(values, tensor.name))


def _evaluated(writer: Any, reader: Any, case: Mapping[str, Any], need: str) -> dict[str, Any]:
    import numpy as np

    inputs, expected = ([reader.value(value) for value in part] for part in case["sets"][0])
    function = _Function(bytes(reader.bytes(case["model"])), inputs)
    with np.errstate(all="ignore"):
        truth = function(function.inputs)
        for value, other in zip(truth, expected):
            _check(value, other)
        row: dict[str, Any] = {"outputs": [_written(writer, t, e) for t, e in zip(truth, expected)]}
        if need == "sum":
            sums = function({name: _absolute(value) for name, value in function.inputs.items()}, np.abs)
            row["sums"] = [_written(writer, t, e) for t, e in zip(sums, expected)]
            row["terms"] = function.terms
        elif need == "spread":
            row["spread"] = _spread(function, truth, network=case["category"] == "light")
    return row


def _spread(function: _Function, truth: Sequence[Any], *, network: bool) -> list[float | None]:
    """The worst finite change of each output; None for an output that is no tensor of floats."""
    import numpy as np

    worst = [0.0 if _is_float(value) else None for value in truth]
    for seed in range(DRAWS_OF_NETWORKS if network else DRAWS):
        perturbation = Perturbation(seed)
        inputs = {
            name: perturbation(value) if _is_float(value) and name not in function.steering else value
            for name, value in function.inputs.items()
        }
        generator = None if network else np.random.default_rng(seed)
        for number, value in enumerate(function(inputs, perturbation, generator)):
            before = worst[number]
            if before is not None and value.shape == truth[number].shape:
                change = abs(value - truth[number])
                worst[number] = max(before, float(change[change < math.inf].max(initial=0.0)))
    return worst


def _written(writer: Any, truth: Any, expected: Any) -> Any:
    """The reference of an output of floats. Other types are exact, so the test's own output is enough."""
    return writer.add(truth) if _comparable(truth, expected) else None


def _comparable(truth: Any, expected: Any) -> bool:
    floats = getattr(expected, "dtype", None) is not None and expected.dtype.name in (*NARROW, "float32", "float64")
    return floats and _is_float(truth)


def _check(truth: Any, expected: Any) -> None:
    """Raises ValueError where the promoted model is not the tested one, as when the test is about a Cast."""
    import numpy as np

    if not _comparable(truth, expected):
        return
    if truth.shape != expected.shape:
        raise ValueError("the evaluator gives shape %s, the test %s" % (list(truth.shape), list(expected.shape)))
    known = expected.astype("float64")
    finite = np.isfinite(truth) & np.isfinite(known)
    near = AGREEMENT_OF_NARROW if expected.dtype.name in NARROW else AGREEMENT
    reach = near * (abs(known[finite]) + 0.1 * float(abs(known[finite]).max(initial=0.0)))
    if (abs(truth - known)[finite] > reach).any() or (np.isnan(truth) != np.isnan(known)).any():
        raise ValueError("the float64 result is not what the test expects")


def _is_float(value: Any) -> bool:
    return getattr(value, "dtype", None) is not None and value.dtype.name == "float64"


def _absolute(value: Any) -> Any:
    return abs(value) if _is_float(value) else value


def _double(value: Any) -> Any:
    if isinstance(value, list):
        return [_double(item) for item in value]
    if getattr(value, "dtype", None) is not None and value.dtype.name in (*NARROW, "float32"):
        return value.astype("float64")
    return value


def _widen_graph(onnx: Any, graph: Any) -> None:
    """float16 and bfloat16 as float32, in place: the promotion to float64 takes it from there."""
    for tensor in graph.initializer:
        _widen_tensor(onnx, tensor)
    for value in [*graph.input, *graph.output, *graph.value_info]:
        _widen_type(value.type)
    for node in graph.node:
        given = {attribute.name for attribute in node.attribute}
        if node.op_type == "ConstantOfShape" and "value" not in given:
            zero = onnx.helper.make_tensor("value", FLOAT, [1], [0.0])
            node.attribute.append(onnx.helper.make_attribute("value", zero))
        elif node.op_type in DEFAULT_TYPES and DEFAULT_TYPES[node.op_type] not in given:
            node.attribute.append(onnx.helper.make_attribute(DEFAULT_TYPES[node.op_type], DOUBLE))
        for attribute in node.attribute:
            if attribute.name == DEFAULT_TYPES.get(node.op_type) and attribute.i in (FLOAT, HALF, BRAIN):
                attribute.i = DOUBLE
            if attribute.name in TYPE_ATTRIBUTES and attribute.i in (HALF, BRAIN):
                attribute.i = FLOAT
            if attribute.HasField("t"):
                _widen_tensor(onnx, attribute.t)
            for inner in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
                _widen_graph(onnx, inner)


def _widen_type(declared: Any) -> None:
    which = declared.WhichOneof("value")
    if which == "tensor_type" and declared.tensor_type.elem_type in (HALF, BRAIN):
        declared.tensor_type.elem_type = FLOAT
    elif which in ("sequence_type", "optional_type"):
        _widen_type(getattr(declared, which).elem_type)


def _widen_tensor(onnx: Any, tensor: Any) -> None:
    if tensor.data_type in (HALF, BRAIN):
        values = onnx.numpy_helper.to_array(tensor).astype("float32")
        tensor.CopyFrom(onnx.numpy_helper.from_array(values, tensor.name))
