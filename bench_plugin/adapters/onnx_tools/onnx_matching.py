"""What a converter wrote against what the file says: constants that were read back, found among those of the file."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
CONTRACTIONS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
ALIKE = 0.9  # cosine from which on two constants are the same one, right or wrong
SPREAD = 0.25  # relative difference of norms up to which constants are compared at all
EQUAL = 1e-12  # difference of two such cosines that only the order of summation makes
SINGLE = 1e-6  # what float32 arithmetic may change, as a share of the largest value


@dataclass(frozen=True)
class Candidate:
    """A constant of the file as a converter may write it.

    ``factor`` is what was multiplied into it, ``others`` the constants that were added to it.
    """

    name: str
    values: Any
    factor: Any = None
    others: Any = 0.0


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
        known = _known(onnx, model.graph)
        candidates = list(_candidates(model.graph, known))
        rows: list[dict[str, object]] = []
        replaced: dict[str, Any] = {}
        tensors: dict[str, Candidate] = {}
        arrays: dict[str, Array] = {}
        outputs = _outputs(model.graph)
        belonging = _belonging(call)
        later: dict[str, Found] = {}
        for name in call.names:
            values, step = call.fixed[f"const:{name}"], call.fixed[f"step:{name}"]
            biases = belonging.get(call.weights.get(name, ""), [])
            weight = tensors.get(call.weights.get(name, ""))
            shifts = list(_shifts(model.graph, known, weight)) if weight and name in biases[:1] else []
            if name in biases[:1] and not values.any():  # dropped, or added later, or it was never there
                added = [(one, call.fixed[f"const:{one}"], call.fixed[f"step:{one}"]) for one in biases[1:2]]
                found = _of_zeros(shifts, added, later)
                if found is None and weight:
                    rows.append({"name": name, "tensor": "no bias", "found": False, "folded": False, "steps": 0.0})
                    continue
            else:
                found = later.get(name) or _nearest(values, step, candidates, outputs) or _own(values, step, shifts)
            if found is None:
                rows.append({"name": name, "tensor": "", "found": False, "folded": False, "steps": 0.0})
                continue
            candidate, order = found
            written = _placed(candidate.values, order, values.shape)
            slack = SINGLE * float(abs(written).max(initial=0.0))
            off = (abs(values - written) - slack) / step
            steps = max(0.0, float(off.max(initial=0.0)))
            folded = candidate.factor is not None
            tensors[name] = candidate
            rows.append({"name": name, "tensor": candidate.name, "found": True, "folded": folded, "steps": steps})
            arrays[f"file:{name}"] = from_numpy(written)
            replaced[candidate.name] = _back(values, candidate, order)
        _replace(onnx, model.graph, replaced)
        path = call.path("rebuilt.onnx")
        onnx.save(model, path)
        return Reply({"matches": rows}, arrays, files={"rebuilt.onnx": path})


def _known(onnx: Any, graph: Any) -> dict[str, Any]:
    """The constants of the file in float32, by their names, as float64."""
    known = {}
    for tensor in graph.initializer:
        if tensor.data_type == FLOAT:
            known[tensor.name] = onnx.numpy_helper.to_array(tensor).astype("float64")
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute and node.attribute[0].t.data_type == FLOAT:
            known[node.output[0]] = onnx.numpy_helper.to_array(node.attribute[0].t).astype("float64")
    return known


def _belonging(call: MatchCall) -> dict[str, list[str]]:
    """The biases of each weight: what its layer adds, and what is added later."""
    found: dict[str, list[str]] = {}
    for name in call.names:
        if name in call.weights:
            found.setdefault(call.weights[name], []).append(name)
    return found


def _candidates(graph: Any, known: Mapping[str, Any]) -> Iterator[Candidate]:
    """The constants of the file, what a BatchNormalization multiplies by and adds, what a quotient multiplies by, and
    those of contractions with a BatchNormalization multiplied in.
    """
    for name, values in known.items():
        yield Candidate(name, values)
    for node in graph.node:
        if node.op_type == "BatchNormalization" and node.input[1] in known:
            step = _per_channel(node, known, known[node.input[1]].size, 1)
            if step is not None:
                yield Candidate(node.input[1], step[1])
                yield Candidate(step[0], step[2])
        yield from _sums(graph, node, known)
        if node.op_type == "Div" and node.input[1] in known and known[node.input[1]].all():
            yield Candidate(node.input[1], 1 / known[node.input[1]])
        if node.op_type in CONTRACTIONS and node.input[1] in known:
            weights = known[node.input[1]]
            axis = _channel_axis(node) % weights.ndim
            for name, factor, bias in itertools.islice(_steps(graph, node, known), 1, None):
                if factor.size == weights.shape[axis]:  # not so of a ConvTranspose of several groups
                    along = factor.reshape([-1 if place == axis else 1 for place in range(weights.ndim)])
                    yield Candidate(node.input[1], weights * along, along)
                yield Candidate(name, bias, factor)
            yield from _taken_in(graph, node, known)


def _taken_in(graph: Any, node: Any, known: Mapping[str, Any]) -> Iterator[Candidate]:
    """The constants of a product with a matrix that takes in the BatchNormalization in front of it, and those behind.

    Of matrices alone: a convolution pads its input with zeros, which the BatchNormalization did not shift.
    """
    weights = known[node.input[1]]
    maker = next((one for one in graph.node if node.input[0] in one.output), None)
    if maker is None or maker.op_type != "BatchNormalization" or weights.ndim != 2:
        return
    axis = _channel_axis(node) % weights.ndim
    step = _per_channel(maker, known, weights.shape[1 - axis], 1)
    if step is None:
        return
    scale, shift = (values.reshape([-1 if place != axis else 1 for place in range(2)]) for values in step[1:])
    moved = (weights * shift).sum(axis=1 - axis)
    for name, factor, bias in _steps(graph, node, known):
        along = scale * factor.reshape([-1 if place == axis else 1 for place in range(2)])
        yield Candidate(node.input[1], weights * along, along)
        yield Candidate(name or node.input[1], bias + moved * factor, factor)


def _channel_axis(node: Any) -> int:
    """The axis of a contraction's weights that counts the channels of its outputs; -1 is the last one."""
    if any(one.name == "transB" and one.i for one in node.attribute):
        return 0
    return {"Conv": 0, "ConvTranspose": 1}.get(node.op_type, -1)


def _sums(graph: Any, node: Any, known: Mapping[str, Any]) -> Iterator[Candidate]:
    """The constant that a sum adds, with those that the sums right before it and the bias of a layer have added.

    A constant that is repeated along axes of size 1 is added like the constant itself.
    """
    numpy = importlib.import_module("numpy")
    repeated = {one.output[0]: one.input[0] for one in graph.node if one.op_type == "Expand" and one.input[0] in known}
    makers = {name: one for one in graph.node for name in one.output}
    name, others = "", 0.0
    while node is not None and node.op_type in ("Add", "Gemm"):
        read = [repeated.get(one, one) for one in node.input]
        constants = [one for one in (read if node.op_type == "Add" else read[2:]) if one in known]
        computed = [one for one in read if one not in known]
        if len(constants) != 1 or (node.op_type == "Add" and len(computed) != 1):
            return
        if name:
            beta = next((one.f for one in node.attribute if one.name == "beta"), 1.0)
            try:
                others = others + beta * known[constants[0]]
                total = known[name] + others
            except ValueError:  # shapes that only the activations between them bring together
                return
            if numpy.ndim(total):
                yield Candidate(name, total, others=others)
        elif node.op_type == "Add":
            name = constants[0]
        node = makers.get(computed[0]) if node.op_type == "Add" else None


def _steps(graph: Any, node: Any, known: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """What is done to each channel of a contraction, step by step: (name of a constant, factor, summand), [channels].

    First comes its own bias, then what is behind it: BatchNormalization, or the products and sums with constants that
    exporters write in its place.
    """
    numpy = importlib.import_module("numpy")
    weights = known[node.input[1]]
    said = {one.name: one for one in node.attribute}
    channels, axis = len(weights), weights.ndim - 1
    if node.op_type == "ConvTranspose":
        channels = weights.shape[1] * (said["group"].i if "group" in said else 1)
    elif node.op_type != "Conv":
        channels, axis = weights.shape[0 if "transB" in said and said["transB"].i else -1], 1
    ones, zeros = numpy.ones(channels), numpy.zeros(channels)
    own = "".join(node.input[2:3])
    added = known.get(own, zeros).reshape(-1) * (said["beta"].f if "beta" in said else 1.0)
    factor, bias = ones, zeros + (added if added.size in (1, channels) else 0.0)
    yield own, factor, bias
    for user in _behind(graph, node.output[0]):
        step = _per_channel(user, known, channels, axis)
        if step is None:
            return
        name, scale, shift = step
        factor, bias = factor * (ones * scale), bias * scale + (zeros + shift)
        yield name, factor, bias


def _shifts(graph: Any, known: Mapping[str, Any], weight: Candidate) -> Iterator[Candidate]:
    """What the file adds to each channel that it computes with a weight, from the step on that is multiplied into it.

    Steps after which nothing is added are left out.
    """
    numpy = importlib.import_module("numpy")
    for node in graph.node:
        if node.op_type not in CONTRACTIONS or weight.name != node.input[1] or weight.name not in known:
            continue
        reached = weight.factor is None
        for name, factor, bias in _steps(graph, node, known):
            reached = reached or numpy.array_equal(factor, weight.factor.reshape(-1))
            if reached and bias.any():
                yield Candidate(name, bias, factor)


def _own(values: Any, step: Any, shifts: Sequence[Candidate]) -> Found | None:
    """What the file adds in the layer of a bias, which is like no constant of the file; the nearest of several."""
    fitting = [one for one in shifts if one.values.size == values.size]
    if not fitting:
        return None
    off = [float((abs(values.reshape(-1) - one.values.reshape(-1)) / step.reshape(-1)).max()) for one in fitting]
    return fitting[off.index(min(off))], (0,)


def _of_zeros(
    shifts: Sequence[Candidate], added: Sequence[tuple[str, Any, Any]], later: dict[str, Found]
) -> Found | None:
    """What stands in the file where an artefact has zeros for a bias: None where nothing does, or it is added later.

    ``added`` is (name, values, step) of the constant that the artefact adds later; it goes to ``later`` with the one
    of the ``shifts`` that it is nearest to.
    """
    if not shifts:
        return None
    fitting = [one for one in shifts if added and added[0][1].size == one.values.size]
    if not fitting:
        return shifts[0], (0,)
    [(name, values, step)] = added
    nearest = min(fitting, key=lambda one: float((abs(values.reshape(-1) - one.values) / step.reshape(-1)).max()))
    later[name] = nearest, (0,)
    return None


def _behind(graph: Any, name: str) -> Iterator[Any]:
    """The chain of nodes behind a value, in which each value is read by the next one alone."""
    while len(users := [node for node in graph.node if name in node.input]) == 1:
        yield users[0]
        name = users[0].output[0]


def _per_channel(node: Any, known: Mapping[str, Any], channels: int, axis: int) -> tuple[str, Any, Any] | None:
    """(name of a constant, factor, summand) of a node that scales or shifts channels; None of others.

    ``axis`` is that of the channels, counted from the last dimension. Factor and summand are [channels], or one for
    all.
    """
    if node.op_type == "BatchNormalization" and all(
        name in known and known[name].size == channels for name in node.input[1:]
    ):
        epsilon = next((one.f for one in node.attribute if one.name == "epsilon"), 1e-5)
        scale, shift, mean, variance = (known[name] for name in node.input[1:5])
        factor = scale / (variance + epsilon) ** 0.5
        return node.input[2], factor, shift - mean * factor
    constants = [name for name in node.input if name in known]
    if node.op_type not in ("Mul", "Add") or len(constants) != 1:
        return None
    values = known[constants[0]]
    if values.size != 1 and not (values.size == channels == values.shape[-axis:][0] and values.ndim >= axis):
        return None
    vector = values.reshape(-1)
    return (constants[0], vector, 0.0) if node.op_type == "Mul" else (constants[0], 1.0, vector)


def _outputs(graph: Any) -> dict[str, set[int]]:
    """The axes of constants that count the outputs of the contractions which read them; some from the last one."""
    found: dict[str, set[int]] = {}
    for node in graph.node:
        if node.op_type not in CONTRACTIONS:
            continue
        first = -2
        if node.op_type == "Gemm":
            first = int(any(one.name == "transA" and one.i for one in node.attribute))
        for name, axis in zip(node.input[:2], (first, _channel_axis(node))):
            found.setdefault(name, set()).add(axis)
    return found


def _nearest(
    values: Any, step: Any, candidates: list[Candidate], outputs: Mapping[str, Collection[int]]
) -> Found | None:
    """The constant of the file that is most like these values, and the order of its axes; None where none is alike.

    A symmetric matrix is alike in both orders. Its steps, where they are one per channel, go along its outputs.
    """
    numpy = importlib.import_module("numpy")
    norm = float(numpy.linalg.norm(values))
    found: list[tuple[float, Found]] = []
    for candidate in candidates:
        own = float(numpy.linalg.norm(candidate.values))
        if candidate.values.size != values.size or abs(own - norm) > SPREAD * max(own, norm):
            continue
        for order in _orders(candidate.values.shape):
            if norm == own == 0:
                return candidate, order
            placed = _placed(candidate.values, order, values.shape)
            alike = float((placed * values).sum()) / (norm * own)
            if alike > ALIKE:
                found.append((alike, (candidate, order)))
    most = max((alike for alike, _ in found), default=0.0)
    near = [one for alike, one in found if alike > most - EQUAL]
    if len(near) > 1:
        near = [one for one in near if _along_outputs(one, values.shape, step, outputs)] or near
    return near[0] if near else None


def _along_outputs(found: Found, shape: tuple[int, ...], step: Any, outputs: Mapping[str, Collection[int]]) -> bool:
    """Whether the steps of values of this shape change along an axis of the constant that counts outputs."""
    numpy = importlib.import_module("numpy")
    candidate, order = found
    steps = _back(numpy.broadcast_to(step, shape), Candidate("", candidate.values), order)
    for axis in outputs.get(candidate.name, ()):
        channels = numpy.moveaxis(steps, axis, 0)
        if (channels == channels[(slice(None), *[slice(0, 1)] * (channels.ndim - 1))]).all():
            return True
    return False


def _orders(shape: Sequence[int]) -> Iterable[tuple[int, ...]]:
    """The orders of the axes of an array that lay it out differently: an axis of one element may stand anywhere."""
    orders = itertools.permutations(range(len(shape)))
    return {tuple(axis for axis in order if shape[axis] > 1): order for order in orders}.values()


def _placed(values: Any, order: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    return values.transpose(order).reshape(shape)


def _back(values: Any, candidate: Candidate, order: tuple[int, ...]) -> Any:
    """The values that were read back, laid out as the file has them, without what was done to them."""
    numpy = importlib.import_module("numpy")
    shape = [candidate.values.shape[axis] for axis in order]
    laid = values.reshape(shape).transpose(numpy.argsort(order)) - candidate.others
    return laid if candidate.factor is None else laid / numpy.where(candidate.factor == 0, 1.0, candidate.factor)


def _replace(onnx: Any, graph: Any, values: Mapping[str, Any]) -> None:
    """Write values as float32 into the constants of the file that have these names, unless they are of one dimension.

    Vectors are biases, which are compared but not replaced: they may be sums of several of the file's.
    """
    for tensor in graph.initializer:
        if tensor.name in values and list(tensor.dims) == list(values[tensor.name].shape) and len(tensor.dims) > 1:
            tensor.CopyFrom(onnx.numpy_helper.from_array(values[tensor.name].astype("float32"), tensor.name))
    for node in graph.node:
        if node.op_type == "Constant" and node.output[0] in values and values[node.output[0]].ndim > 1:
            made = onnx.numpy_helper.from_array(values[node.output[0]].astype("float32"))
            node.attribute[0].t.CopyFrom(made)
