"""The constants of an ONNX file as a converter may write them, with what it multiplies in, adds and folds."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bench_plugin.adapters.onnx_tools.matching import onnx_chains
from bench_plugin.adapters.onnx_tools.matching.onnx_chains import CONTRACTIONS
from bench_plugin.adapters.onnx_tools.matching.onnx_norms import SCALE, SHIFT
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
    "uses": ["onnx_chains", "onnx_computed", "onnx_grouped", "onnx_norms"],
}

FLOAT = 1
FLOATS = (FLOAT, 10, 16)  # float16 and bfloat16, in files that compute in them
# What four roundings to these types (of two ends, a scale and a quotient) change, as a share of the largest value.
NARROW = {"float16": 2.0**-9, "bfloat16": 2.0**-6}
RESHAPES = ("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity")
PIECES = 64  # parts of the weights of a grouped convolution that are looked for


@dataclass(frozen=True)
class Candidate:
    """A constant of the file as a converter may write it.

    ``factor`` is what was multiplied into it, ``others`` the constants that were added to it, and ``terms`` the size of
    the largest number on the way to it, which says how far float32 may be off. ``moved`` names the constants of layers
    in front that it holds. It is ``inverse`` where it is one over the constant. ``piece``
    says of a part of the weights of grouped convolutions, [groups, ...], of which output and input of each group it is.
    ``taken`` is a contraction, the number of what is in front of it (:func:`onnx_chains.in_front`) and a factor
    [channels]: it holds the product of the three. ``attribute`` is the operator and the name of one that
    has the number. ``norm`` is the output of a BatchNormalization, and which of its two constants stands for what it
    multiplies by or adds.
    """

    name: str
    values: Any
    factor: Any = None
    others: Any = 0.0
    terms: float = 0.0
    moved: tuple[str, ...] = ()
    inverse: bool = False
    piece: tuple[int, int] | None = None
    taken: tuple[Any, int, Any] | None = None
    attribute: tuple[str, str] | None = None
    norm: tuple[str, int] | None = None


Found = tuple[Candidate, tuple[int, ...]]  # a constant of the file, and the order of its axes


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
                own = (node.op_type, one.name)
                yield Candidate(f"{one.name} of {node.op_type}", numpy.array(one.f, "float64"), attribute=own)
        if node.op_type == "LeakyRelu":  # where it leaves its slope out
            yield Candidate("alpha of LeakyRelu", numpy.array(0.01))
        if node.op_type == "Selu":
            alpha, gamma = onnx_chains.of_selu(node)
            yield Candidate("alpha of Selu", numpy.array(alpha))
            yield Candidate("gamma of Selu", numpy.array(gamma))
            yield Candidate("alpha of Selu", numpy.array(alpha * gamma), numpy.array(gamma))
        if node.op_type == "BatchNormalization" and node.input[1] in known:
            step = onnx_chains.per_channel(node, known, known[node.input[1]].size, 1)
            if step is not None:
                yield Candidate(node.input[1], step[1], norm=(node.output[0], SCALE))
                yield Candidate(step[0], step[2], terms=step[3], norm=(node.output[0], SHIFT))
        yield from _sums(graph, node, known)
        if node.op_type == "Div" and node.input[1] in known and known[node.input[1]].all():
            yield Candidate(node.input[1], 1 / known[node.input[1]], inverse=True)
        if node.op_type == "Sub" and node.input[1] in known:
            yield Candidate(node.input[1], -known[node.input[1]], numpy.array(-1.0))
        if node.op_type in CONTRACTIONS and node.input[1] in known:
            weights = known[node.input[1]]
            axis = onnx_chains.channel_axis(node) % weights.ndim
            for place, made in enumerate(onnx_chains.steps(graph, node, known)):
                plain = not made.name or (made.bias and (made.share == 1).all())
                if place == 0 and plain and (made.factor == 1).all():
                    continue  # as the file has them
                if made.factor.size == weights.shape[axis]:  # not so of a ConvTranspose of several groups
                    along = made.factor.reshape([-1 if place == axis else 1 for place in range(weights.ndim)])
                    yield Candidate(node.input[1], weights * along, along)
                    yield from _pieces(node, weights, along)
                if made.name:
                    yield _bias(made, known)
            yield from _pieces(node, weights, numpy.ones([len(weights)] + [1] * (weights.ndim - 1)))
            yield from _taken_in(graph, node, known)


def _bias(step: onnx_chains.Step, known: Mapping[str, Any]) -> Candidate:
    """What a contraction adds up to a step, as what has become of the one constant that can take its place."""
    if not step.bias:
        return Candidate(step.name, step.summand, step.factor, terms=step.terms)
    shape = known[step.bias].shape
    total, share = step.summand.reshape(shape), (0.0 * step.summand + step.share).reshape(shape)
    if (share == 1).all() and (total == known[step.bias]).all():
        return Candidate(step.bias, total, step.factor, terms=step.terms)
    return Candidate(step.bias, total, share, total - share * known[step.bias], step.terms)


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

    A convolution with padding takes in what scales alone: the zeros that it pads with are not shifted.
    """
    weights = known[node.input[1]]
    axis = onnx_chains.channel_axis(node) % weights.ndim
    taken = onnx_chains.taken_axis(node, weights)
    for number, (scale, shift, moved) in enumerate(onnx_chains.in_front(graph, node, known)):
        inner = scale.reshape([-1 if place == taken else 1 for place in range(weights.ndim)])
        summand = onnx_chains.through(node, weights, shift)
        terms = onnx_chains.largest(onnx_chains.through(node, abs(weights), abs(shift)))
        for made in onnx_chains.steps(graph, node, known):
            along = inner * made.factor.reshape([-1 if place == axis else 1 for place in range(weights.ndim)])
            if (scale != 1).any():
                yield Candidate(node.input[1], weights * along, along)
            most = max(made.terms, terms * onnx_chains.largest(made.factor))
            total = made.summand + summand * made.factor
            whole = made._replace(name=made.name or node.input[1], summand=total, terms=most)
            yield replace(_bias(whole, known), moved=moved, taken=(node, number, made.factor))


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
                terms = max(terms, onnx_chains.largest(others), onnx_chains.largest(known[name]))
                total = known[name] + others
            except ValueError:  # other sizes, or shapes that only the activations between them bring together
                return
            if numpy.ndim(total):
                yield Candidate(name, total, others=others, terms=terms)
        elif node.op_type == "Add":
            name = constants[0]
        node = makers.get(computed[0]) if node.op_type == "Add" else None


def shifts(graph: Any, known: Mapping[str, Any], weight: Candidate) -> Iterator[Candidate]:
    """What the file adds to each channel that it computes with a weight, from the step on that is multiplied into it.

    Steps after which nothing is added are left out.
    """
    numpy = importlib.import_module("numpy")
    for node in graph.node:
        if node.op_type not in CONTRACTIONS or weight.name != node.input[1] or weight.name not in known:
            continue
        reached = weight.factor is None
        for made in onnx_chains.steps(graph, node, known):
            reached = reached or numpy.array_equal(made.factor, weight.factor.reshape(-1))
            if reached and made.summand.any():
                yield Candidate(made.name, made.summand, made.factor, terms=made.terms)


def added_with(graph: Any, known: Mapping[str, Any], weight: Candidate) -> list[Candidate] | None:
    """What the file adds right behind a contraction, multiplied by what ``weight`` was multiplied by.

    Several where it adds one after the other, or where several contractions read the weight; none where nothing is
    added. What is no number for each channel counts where nothing was added before it. None where no step of the file
    multiplies by the same factors.
    """
    numpy = importlib.import_module("numpy")
    found: list[Candidate] = []
    reached = False
    for node in graph.node:
        if node.op_type not in CONTRACTIONS or weight.name != node.input[1] or weight.name not in known:
            continue
        chain = list(onnx_chains.steps(graph, node, known))
        for made in chain:
            factor = numpy.ones_like(made.factor) if weight.factor is None else weight.factor.reshape(-1)
            if numpy.array_equal(made.factor, factor):
                reached = True
                found += [Candidate(made.name, made.summand, made.factor, terms=made.terms)] * bool(made.summand.any())
        other = onnx_chains.added_behind(graph, node, known, len(chain) - 1)
        if other and numpy.array_equal(chain[-1].factor, factor) and not chain[-1].summand.any():
            found.append(Candidate(other, known[other]))
    return found if reached else None
