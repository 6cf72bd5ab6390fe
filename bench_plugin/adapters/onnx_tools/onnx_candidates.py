"""The constants of an ONNX file as a converter may write them, with what it multiplies in, adds and folds."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bench_plugin.adapters.onnx_tools.rounding import onnx_computed
from bench_plugin.adapters.onnx_tools.shared import onnx_grouped
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_candidates",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Constants of a file as a converter writes them",
    "distribution": "onnx",
    "operations": [],
    "uses": ["onnx_computed", "onnx_grouped"],
}

FLOAT = 1
FLOATS = (FLOAT, 10, 16)  # float16 and bfloat16, in files that compute in them
# What four roundings to these types (of two ends, a scale and a quotient) change, as a share of the largest value.
NARROW = {"float16": 2.0**-9, "bfloat16": 2.0**-6}
NORMS = ("LayerNormalization", "RMSNormalization")
CONTRACTIONS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
RESHAPES = ("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity")
SELU = {"alpha": 1.6732631921768188, "gamma": 1.0507010221481323}  # of a Selu that does not say its own
PIECES = 64  # parts of the weights of a grouped convolution that are looked for


@dataclass(frozen=True)
class Candidate:
    """A constant of the file as a converter may write it.

    ``factor`` is what was multiplied into it, ``others`` the constants that were added to it, and ``terms`` the size of
    the largest number on the way to it, which says how far float32 may be off. ``moved`` names the constants of layers
    in front that it holds, and that nothing else reads. It is ``inverse`` where it is one over the constant. ``piece``
    says of a part of the weights of grouped convolutions, [groups, ...], of which output and input of each group it is.
    """

    name: str
    values: Any
    factor: Any = None
    others: Any = 0.0
    terms: float = 0.0
    moved: tuple[str, ...] = ()
    inverse: bool = False
    piece: tuple[int, int] | None = None


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def known_values(onnx: Any, model: Any) -> dict[str, Any]:
    """The constants of the file in floating point of at most 32 bits, by their names, as float64; what it computes from
    constants comes last.
    """
    return {name: values.astype("float64") for name, values in _stored_values(onnx, model).items()}


def inexact(onnx: Any, model: Any) -> dict[str, float]:
    """How far a tool may be off in constants that the file has in a narrow type, as a share of the largest value."""
    stored = _stored_values(onnx, model)
    return {name: NARROW[values.dtype.name] for name, values in stored.items() if values.dtype.name in NARROW}


def _stored_values(onnx: Any, model: Any) -> dict[str, Any]:
    """The constants of :func:`known_values` in their own types."""
    known = {}
    for tensor in model.graph.initializer:
        if tensor.data_type in FLOATS:
            known[tensor.name] = onnx.numpy_helper.to_array(tensor)
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute and node.attribute[0].t.data_type in FLOATS:
            known[node.output[0]] = onnx.numpy_helper.to_array(node.attribute[0].t)
    for name, values in onnx_computed.at_size(onnx, model, 1).items():
        if values.dtype.name == "float32" or values.dtype.name in NARROW:
            known.setdefault(name, values)
    return known


def candidates(graph: Any, known: Mapping[str, Any]) -> Iterator[Candidate]:
    """The constants of the file, what a BatchNormalization multiplies by and adds, what a quotient multiplies by and a
    difference adds, the numbers that attributes give, and the constants of contractions with a BatchNormalization
    multiplied in.
    """
    numpy = importlib.import_module("numpy")
    for name, values in known.items():
        yield Candidate(name, values)
    for node in graph.node:
        for one in node.attribute:
            if one.type == FLOAT:
                yield Candidate(f"{one.name} of {node.op_type}", numpy.array(one.f, "float64"))
        if node.op_type == "LeakyRelu":  # where it leaves its slope out
            yield Candidate("alpha of LeakyRelu", numpy.array(0.01))
        if node.op_type == "Selu":
            alpha, gamma = _of_selu(node)
            yield Candidate("alpha of Selu", numpy.array(alpha))
            yield Candidate("gamma of Selu", numpy.array(gamma))
            yield Candidate("alpha of Selu", numpy.array(alpha * gamma), numpy.array(gamma))
        if node.op_type == "BatchNormalization" and node.input[1] in known:
            step = _per_channel(node, known, known[node.input[1]].size, 1)
            if step is not None:
                yield Candidate(node.input[1], step[1])
                yield Candidate(step[0], step[2], terms=step[3])
        yield from _sums(graph, node, known)
        if node.op_type == "Div" and node.input[1] in known and known[node.input[1]].all():
            yield Candidate(node.input[1], 1 / known[node.input[1]], inverse=True)
        if node.op_type == "Sub" and node.input[1] in known:
            yield Candidate(node.input[1], -known[node.input[1]], numpy.array(-1.0))
        if node.op_type in CONTRACTIONS and node.input[1] in known:
            weights = known[node.input[1]]
            axis = channel_axis(node) % weights.ndim
            for place, (name, factor, bias, terms) in enumerate(_steps(graph, node, known)):
                if (
                    place == 0
                    and (factor == 1).all()
                    and (not name or numpy.array_equal(bias, known[name].reshape(-1)))
                ):
                    continue  # as the file has them
                if factor.size == weights.shape[axis]:  # not so of a ConvTranspose of several groups
                    along = factor.reshape([-1 if place == axis else 1 for place in range(weights.ndim)])
                    yield Candidate(node.input[1], weights * along, along)
                    yield from _pieces(node, weights, along)
                if name:
                    yield Candidate(name, bias, factor, terms=terms)
            yield from _pieces(node, weights, numpy.ones([len(weights)] + [1] * (weights.ndim - 1)))
            yield from _taken_in(graph, node, known)


def _pieces(node: Any, weights: Any, along: Any) -> Iterator[Candidate]:
    """The weights of a grouped convolution as depthwise ones: of each group one output and one input (MNN).

    ``along`` [outputs, 1, ...] is multiplied in. Of more than ``PIECES`` there are none: no tool was seen to make them.
    """
    groups = onnx_grouped.groups_of(node)
    if node.op_type != "Conv" or not 1 < groups < len(weights) * weights.shape[1]:
        return
    parts, factors = onnx_grouped.in_groups(weights * along, groups), onnx_grouped.in_groups(along, groups)
    outputs, inputs = parts.shape[1:3]
    if outputs * inputs > PIECES:
        return
    for output in range(outputs):
        for taken in range(inputs):
            yield Candidate(node.input[1], parts[:, output, taken], factors[:, output, 0], piece=(output, taken))


def first_rows(graph: Any, known: Mapping[str, Any], shape: tuple[int, ...]) -> Iterator[Candidate]:
    """The first rows of a table of which the file takes as many as its input has (learned positions).

    A tool that knows the size of the input has them alone, in this ``shape``, which may begin with ones.
    """
    while len(shape) > 1 and shape[0] == 1:
        shape = shape[1:]
    for node in graph.node:
        table = known.get(node.input[0]) if node.op_type == "Slice" else None
        if table is not None and shape and table.shape[1:] == shape[1:] and len(table) > shape[0]:
            yield Candidate(node.input[0], table[: shape[0]])


def _taken_in(graph: Any, node: Any, known: Mapping[str, Any]) -> Iterator[Candidate]:
    """The constants of a contraction that takes in what scales and shifts its input, and those behind it.

    Of a convolution without padding alone: it pads its input with zeros, which nothing has shifted.
    """
    weights = known[node.input[1]]
    axis = channel_axis(node) % weights.ndim
    for scale, shift, moved in _in_front(graph, node, known):
        inner = scale.reshape([-1 if place == _taken_axis(node, weights) else 1 for place in range(weights.ndim)])
        summand, terms = _through(node, weights, shift), _largest(_through(node, abs(weights), abs(shift)))
        for name, factor, bias, largest in _steps(graph, node, known):
            along = inner * factor.reshape([-1 if place == axis else 1 for place in range(weights.ndim)])
            if (scale != 1).any():
                yield Candidate(node.input[1], weights * along, along)
            most = max(largest, terms * _largest(factor))
            yield Candidate(name or node.input[1], bias + summand * factor, factor, terms=most, moved=moved)


def _taken_axis(node: Any, weights: Any) -> int:
    """The axis of a contraction's weights that counts the channels of its input."""
    return 1 if node.op_type == "Conv" else 1 - channel_axis(node) % weights.ndim


def _through(node: Any, weights: Any, shift: Any) -> Any:
    """What a contraction makes of the same [channels] at every place of its input: [channels of its result]."""
    taken, axis = _taken_axis(node, weights), channel_axis(node) % weights.ndim
    spread = shift.reshape([-1 if place == taken else 1 for place in range(weights.ndim)])
    return (weights * spread).sum(axis=tuple(place for place in range(weights.ndim) if place != axis))


def _takes_in(node: Any, weights: Any) -> bool:
    """Whether a contraction may take in what shifts its input: a matrix, or a convolution that pads nothing."""
    if node.op_type != "Conv":
        return node.op_type in ("Gemm", "MatMul") and weights.ndim == 2
    said = {one.name: one for one in node.attribute}
    padded = any(said["pads"].ints) if "pads" in said else False
    automatic = said["auto_pad"].s.decode() if "auto_pad" in said else "NOTSET"
    return not padded and automatic in ("NOTSET", "VALID") and ("group" not in said or said["group"].i == 1)


def _in_front(graph: Any, node: Any, known: Mapping[str, Any]) -> Iterator[tuple[Any, Any, tuple[str, ...]]]:
    """What is done to each channel of the input of a contraction: (factor, summand, names of what is ``moved``).

    Factor and summand are [channels]. The first is that of the node right in front of it, and each of the others has
    one node more. What a contraction in front adds, or the gamma that a Selu multiplies by, is the last one.
    """
    numpy = importlib.import_module("numpy")
    weights = known[node.input[1]]
    if not _takes_in(node, weights):
        return
    channels, axis = weights.shape[_taken_axis(node, weights)], weights.ndim - 1
    makers = {name: one for one in graph.node for name in one.output}
    scale, shift = numpy.ones(channels), numpy.zeros(channels)
    moved: tuple[str, ...] = ()
    alone, maker = True, makers.get(node.input[0])
    while maker is not None:
        alone = alone and sum(maker.output[0] in one.input for one in graph.node) == 1
        if maker.op_type in CONTRACTIONS and maker.input[1] in known:
            for added, names in _added(graph, maker, known, channels):
                yield scale, shift + scale * added, (*moved, *names) if alone else moved
            return
        if maker.op_type == "Selu":  # what is in front of it does not go through
            yield scale * _of_selu(maker)[1], shift, moved
            return
        step = _of_norm(maker, known, channels) or _per_channel(maker, known, channels, axis)
        if step is None:
            return
        shift = shift + scale * step[2]
        scale = scale * step[1]
        moved = (*moved, step[0]) if alone else moved
        yield scale, shift, moved
        computed = [name for name in maker.input if name not in known]
        maker = makers.get(computed[0]) if computed and maker.op_type not in NORMS else None


def _added(graph: Any, node: Any, known: Mapping[str, Any], channels: int) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """What a contraction adds to each channel of its result, also with what it takes in itself, and the names of it."""
    name, factor, own, _ = next(_steps(graph, node, known))
    if own.size != channels:
        return
    yield own, (name,) if name else ()
    for _, shift, moved in _in_front(graph, node, known):
        yield own + factor * _through(node, known[node.input[1]], shift), (*moved, name) if name else moved


def _of_norm(node: Any, known: Mapping[str, Any], channels: int) -> tuple[str, Any, Any, float] | None:
    """The same as of :func:`_per_channel` of the scale and the bias of a norm over the channels; None of others."""
    if node.op_type not in NORMS or any(name not in known or known[name].size != channels for name in node.input[1:3]):
        return None
    shift = known[node.input[2]].reshape(-1) if len(node.input) > 2 else 0.0
    return node.input[1], known[node.input[1]].reshape(-1), shift, _largest(shift)


def _of_selu(node: Any) -> tuple[float, float]:
    """Alpha and gamma of a Selu."""
    given = SELU | {one.name: one.f for one in node.attribute}
    return given["alpha"], given["gamma"]


def channel_axis(node: Any) -> int:
    """The axis of a contraction's weights that counts the channels of its outputs; -1 is the last one."""
    if any(one.name == "transB" and one.i for one in node.attribute):
        return 0
    return {"Conv": 0, "ConvTranspose": 1}.get(node.op_type, -1)


def _sums(graph: Any, node: Any, known: Mapping[str, Any]) -> Iterator[Candidate]:
    """The constant that a sum adds, with those that the sums right before it and the bias of a layer have added.

    A constant that is repeated along axes of size 1 is added like the constant itself. Behind a Reshape those of as
    many elements are added.
    """
    numpy = importlib.import_module("numpy")
    repeated = {one.output[0]: one.input[0] for one in graph.node if one.op_type == "Expand" and one.input[0] in known}
    makers = {name: one for one in graph.node for name in one.output}
    name, others, terms, reshaped = "", 0.0, 0.0, False
    while node is not None and node.op_type in ("Add", "Gemm", *RESHAPES):
        if node.op_type in RESHAPES:
            reshaped, node = True, makers.get(node.input[0]) if name else None
            continue
        read = [repeated.get(one, one) for one in node.input]
        constants = [one for one in (read if node.op_type == "Add" else read[2:]) if one in known]
        computed = [one for one in read if one not in known]
        if len(constants) != 1 or (node.op_type == "Add" and len(computed) != 1):
            return
        if name:
            beta = next((one.f for one in node.attribute if one.name == "beta"), 1.0)
            added = known[constants[0]]
            try:
                if reshaped:
                    added = added.reshape(known[name].shape)
                others = others + beta * added
                terms = max(terms, _largest(others), _largest(known[name]))
                total = known[name] + others
            except ValueError:  # other sizes, or shapes that only the activations between them bring together
                return
            if numpy.ndim(total):
                yield Candidate(name, total, others=others, terms=terms)
        elif node.op_type == "Add":
            name = constants[0]
        node = makers.get(computed[0]) if node.op_type == "Add" else None


def _steps(graph: Any, node: Any, known: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any, float]]:
    """What is done to each channel of a contraction, step by step: (name of a constant, factor, summand, terms).

    Factor and summand are [channels], terms is the largest number on the way to the summand. First come its own bias
    and the alpha and beta of a Gemm, then what is behind it: BatchNormalization, or products, quotients, sums and
    differences with constants, and last a HardSigmoid, which scales and shifts before it clips, or what a Celu divides.
    """
    numpy = importlib.import_module("numpy")
    weights = known[node.input[1]]
    said = {one.name: one for one in node.attribute}
    channels, axis = len(weights), weights.ndim - 1
    if node.op_type == "ConvTranspose":
        channels = weights.shape[1] * onnx_grouped.groups_of(node)
    elif node.op_type != "Conv":
        channels, axis = weights.shape[0 if "transB" in said and said["transB"].i else -1], 1
    ones, zeros = numpy.ones(channels), numpy.zeros(channels)
    own = "".join(node.input[2:3])
    added = known.get(own, zeros).reshape(-1) * (said["beta"].f if "beta" in said else 1.0)
    bias = zeros + (added if added.size in (1, channels) else 0.0)
    factor = ones * (said["alpha"].f if "alpha" in said and node.op_type == "Gemm" else 1.0)
    terms = _largest(bias)
    yield own, factor, bias, terms
    for user in _behind(graph, node.output[0]):
        if user.op_type == "HardSigmoid":  # its clipping is the end of the chain
            given = {one.name: one.f for one in user.attribute}
            scale, shift = given.get("alpha", 0.2), given.get("beta", 0.5)
            yield (
                own or "beta of HardSigmoid",
                factor * scale,
                bias * scale + shift,
                max(terms * abs(scale), abs(shift)),
            )
            return
        if user.op_type == "Celu":  # it divides by its alpha what it raises e to
            alpha = next((one.f for one in user.attribute if one.name == "alpha"), 1.0)
            yield own, factor / alpha, bias / alpha, terms / alpha
            return
        step = _per_channel(user, known, channels, axis)
        if step is None:
            return
        name, scale, shift, largest = step
        factor, bias = factor * (ones * scale), bias * scale + (zeros + shift)
        terms = max(terms * _largest(scale), largest, _largest(bias))
        yield name, factor, bias, terms


def shifts(graph: Any, known: Mapping[str, Any], weight: Candidate) -> Iterator[Candidate]:
    """What the file adds to each channel that it computes with a weight, from the step on that is multiplied into it.

    Steps after which nothing is added are left out.
    """
    numpy = importlib.import_module("numpy")
    for node in graph.node:
        if node.op_type not in CONTRACTIONS or weight.name != node.input[1] or weight.name not in known:
            continue
        reached = weight.factor is None
        for name, factor, bias, terms in _steps(graph, node, known):
            reached = reached or numpy.array_equal(factor, weight.factor.reshape(-1))
            if reached and bias.any():
                yield Candidate(name, bias, factor, terms=terms)


def _behind(graph: Any, name: str) -> Iterator[Any]:
    """The chain of nodes behind a value, in which each value is read by the next one alone."""
    while len(users := [node for node in graph.node if name in node.input]) == 1:
        yield users[0]
        name = users[0].output[0]


def _per_channel(node: Any, known: Mapping[str, Any], channels: int, axis: int) -> tuple[str, Any, Any, float] | None:
    """(name of a constant, factor, summand, terms) of a node that scales or shifts channels; None of others.

    ``axis`` is that of the channels, counted from the last dimension. Factor and summand are [channels], or one for
    all; terms is the largest number on the way to the summand.
    """
    if node.op_type == "BatchNormalization" and all(
        name in known and known[name].size == channels for name in node.input[1:]
    ):
        epsilon = next((one.f for one in node.attribute if one.name == "epsilon"), 1e-5)
        scale, shift, mean, variance = (known[name] for name in node.input[1:5])
        factor = scale / (variance + epsilon) ** 0.5
        return node.input[2], factor, shift - mean * factor, max(_largest(shift), _largest(mean * factor))
    constants = [name for name in node.input if name in known]
    if node.op_type not in ("Mul", "Add", "Div", "Sub") or len(constants) != 1:
        return None
    if node.op_type in ("Div", "Sub") and constants[0] != node.input[1]:
        return None
    values = known[constants[0]]
    if values.size != 1 and not (values.size == channels == values.shape[-axis:][0] and values.ndim >= axis):
        return None
    vector = values.reshape(-1)
    if node.op_type == "Mul" or (node.op_type == "Div" and vector.all()):
        return constants[0], vector if node.op_type == "Mul" else 1 / vector, 0.0, 0.0
    if node.op_type == "Div":
        return None
    return constants[0], 1.0, vector if node.op_type == "Add" else -vector, _largest(vector)


def _largest(values: Any) -> float:
    """The size of the largest one of some numbers."""
    numpy = importlib.import_module("numpy")
    return float(numpy.abs(values).max(initial=0.0))
