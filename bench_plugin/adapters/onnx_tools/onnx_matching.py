"""What a converter wrote against what the file says: constants that were read back, found among those of the file."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.arrays import from_numpy
from bench_plugin.agent.contract import MatchCall
from bench_plugin.agent.toolkit import versions
from bench_plugin.agent.wire import Array

ADAPTER = {
    "name": "onnx_matching",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Constants read back, matched with the file",
    "distribution": "onnx",
    "operations": ["match"],
    "errors": [{"package": "onnx"}],
}

FLOAT, DOUBLE = 1, 11
ALIKE = 0.9  # cosine from which on two constants are the same one, right or wrong
SPREAD = 0.25  # relative difference of norms up to which constants are compared at all
SINGLE = 1e-6  # what float32 arithmetic may change, as a share of the largest value


@dataclass(frozen=True)
class Candidate:
    """A constant of the file as a converter may write it: ``factor`` is what was multiplied into it."""

    name: str
    values: Any
    factor: Any = None


Found = tuple[Candidate, tuple[int, ...]]  # a constant of the file, and the order of its axes


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""

    def match(self, call: MatchCall) -> Reply:
        """The nearest constant of ``model.onnx`` for each, and the file with the real values of what is alike."""
        call.stage("build")
        onnx = importlib.import_module("onnx")
        model = onnx.load(call.files["model.onnx"])
        candidates = list(_candidates(onnx, model.graph))
        rows: list[dict[str, object]] = []
        replaced: dict[str, Any] = {}
        tensors: dict[str, str] = {}
        arrays: dict[str, Array] = {}
        for name in call.names:
            values, step = call.fixed[f"const:{name}"], call.fixed[f"step:{name}"]
            if name in call.weights and not values.any():  # dropped, or it was never there
                said = _biases(model.graph, tensors.get(call.weights[name], ""))
                found: Found | None = next(
                    ((one, (0,)) for one in candidates if one.name in said and one.values.any()), None
                )
                if found is None and tensors.get(call.weights[name]):
                    rows.append({"name": name, "tensor": "no bias", "found": False, "folded": False, "steps": 0.0})
                    continue
            else:
                found = _nearest(values, candidates)
            if found is None:
                rows.append({"name": name, "tensor": "", "found": False, "folded": False, "steps": 0.0})
                continue
            candidate, order = found
            written = _placed(candidate.values, order, values.shape)
            slack = SINGLE * float(abs(written).max(initial=0.0))
            off = (abs(values - written) - slack) / step
            steps = max(0.0, float(off.max(initial=0.0)))
            folded = candidate.factor is not None
            tensors[name] = candidate.name
            rows.append({"name": name, "tensor": candidate.name, "found": True, "folded": folded, "steps": steps})
            arrays[f"file:{name}"] = from_numpy(written)
            replaced[candidate.name] = _back(values, candidate, order)
        _replace(onnx, model.graph, replaced)
        path = call.path("rebuilt.onnx")
        onnx.save(model, path)
        return Reply({"matches": rows}, arrays, files={"rebuilt.onnx": path})


def _candidates(onnx: Any, graph: Any) -> Iterator[Candidate]:
    """The constants of the file, and those of convolutions with a BatchNormalization multiplied in."""
    known = {}
    for tensor in graph.initializer:
        if tensor.data_type == FLOAT:
            known[tensor.name] = onnx.numpy_helper.to_array(tensor).astype("float64")
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute and node.attribute[0].t.data_type == FLOAT:
            known[node.output[0]] = onnx.numpy_helper.to_array(node.attribute[0].t).astype("float64")
    for name, values in known.items():
        yield Candidate(name, values)
    for node in graph.node:
        if node.op_type == "Conv" and node.input[1] in known:
            yield from _scaled(graph, node, known)


def _scaled(graph: Any, convolution: Any, known: Mapping[str, Any]) -> Iterator[Candidate]:
    """Weights and bias of a convolution with what is done to each channel behind it multiplied in, step by step.

    That is BatchNormalization, or the products and sums with constants that exporters write in its place.
    """
    numpy = importlib.import_module("numpy")
    weights = known[convolution.input[1]]
    ones, zeros = numpy.ones(len(weights)), numpy.zeros(len(weights))
    factor, bias = ones, known.get("".join(convolution.input[2:3]), zeros)
    for node in _behind(graph, convolution.output[0]):
        step = _per_channel(node, known, weights)
        if step is None:
            return
        name, scale, shift = step
        factor, bias = factor * (ones * scale), bias * scale + (zeros + shift)
        along = factor.reshape([-1] + [1] * (weights.ndim - 1))
        yield Candidate(convolution.input[1], weights * along, along)
        yield Candidate(name, bias, factor)


def _behind(graph: Any, name: str) -> Iterator[Any]:
    """The chain of nodes behind a value, in which each value is read by the next one alone."""
    while len(users := [node for node in graph.node if name in node.input]) == 1:
        yield users[0]
        name = users[0].output[0]


def _per_channel(node: Any, known: Mapping[str, Any], weights: Any) -> tuple[str, Any, Any] | None:
    """(name of a constant, factor, summand) of a node that scales or shifts channels; None of others.

    ``weights`` [channels, ...] are those of the convolution. Factor and summand are [channels], or one for all.
    """
    if node.op_type == "BatchNormalization" and all(name in known for name in node.input[1:]):
        epsilon = next((one.f for one in node.attribute if one.name == "epsilon"), 1e-5)
        scale, shift, mean, variance = (known[name] for name in node.input[1:5])
        factor = scale / (variance + epsilon) ** 0.5
        return node.input[2], factor, shift - mean * factor
    constants = [name for name in node.input if name in known]
    if node.op_type not in ("Mul", "Add") or len(constants) != 1:
        return None
    values = known[constants[0]]
    axis = weights.ndim - 1  # of the channels, counted from the last dimension
    if values.size != 1 and not (values.size == len(weights) == values.shape[-axis:][0] and values.ndim >= axis):
        return None
    vector = values.reshape(-1)
    return (constants[0], vector, 0.0) if node.op_type == "Mul" else (constants[0], 1.0, vector)


def _biases(graph: Any, weight: str) -> set[str]:
    """The constants that the file adds to what it computes with a weight."""
    found: set[str] = set()
    for node in graph.node:
        if not weight or weight not in node.input:
            continue
        found.update(node.input[2:3])
        for user in graph.node:
            if user.op_type in ("Add", "BatchNormalization") and node.output[0] in user.input:
                found.update(user.input)
        for user in _behind(graph, node.output[0]):
            if user.op_type not in ("Mul", "Add", "BatchNormalization"):
                break
            found.update(user.input)
    return found


def _nearest(values: Any, candidates: list[Candidate]) -> Found | None:
    """The constant of the file that is most like these values, and the order of its axes; None where none is alike."""
    numpy = importlib.import_module("numpy")
    norm = float(numpy.linalg.norm(values))
    best, most = None, ALIKE
    for candidate in candidates:
        own = float(numpy.linalg.norm(candidate.values))
        if candidate.values.size != values.size or abs(own - norm) > SPREAD * max(own, norm):
            continue
        for order in _orders(candidate.values.shape):
            if norm == own == 0:
                return candidate, order
            placed = _placed(candidate.values, order, values.shape)
            alike = float((placed * values).sum()) / (norm * own)
            if alike > most:
                best, most = (candidate, order), alike
    return best


def _orders(shape: Sequence[int]) -> Iterable[tuple[int, ...]]:
    """The orders of the axes of an array that lay it out differently: an axis of one element may stand anywhere."""
    orders = itertools.permutations(range(len(shape)))
    return {tuple(axis for axis in order if shape[axis] > 1): order for order in orders}.values()


def _placed(values: Any, order: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    return values.transpose(order).reshape(shape)


def _back(values: Any, candidate: Candidate, order: tuple[int, ...]) -> Any:
    """The values that were read back, laid out as the file has them."""
    numpy = importlib.import_module("numpy")
    shape = [candidate.values.shape[axis] for axis in order]
    laid = values.reshape(shape).transpose(numpy.argsort(order))
    return laid if candidate.factor is None else laid / numpy.where(candidate.factor == 0, 1.0, candidate.factor)


def _replace(onnx: Any, graph: Any, values: Mapping[str, Any]) -> None:
    """Write values as float32 into the constants of the file that have these names, unless they are of one dimension.

    Vectors are biases, which are compared but not replaced: they may be sums of several of the file's.
    """
    for tensor in graph.initializer:
        if tensor.name in values and len(tensor.dims) > 1:
            tensor.CopyFrom(onnx.numpy_helper.from_array(values[tensor.name].astype("float32"), tensor.name))
    for node in graph.node:
        if node.op_type == "Constant" and node.output[0] in values and values[node.output[0]].ndim > 1:
            made = onnx.numpy_helper.from_array(values[node.output[0]].astype("float32"))
            node.attribute[0].t.CopyFrom(made)
