"""What is done to each channel of a contraction: behind it, step by step, and in front of it."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bench_plugin.adapters.onnx_tools.shared import onnx_grouped
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_chains",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "What is done to the channels of contractions",
    "distribution": "onnx",
    "operations": [],
    "uses": ["onnx_grouped"],
}

NORMS = ("LayerNormalization", "RMSNormalization")
CONTRACTIONS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
# What leaves the order of elements as it is: behind a product of matrices each element is a channel.
SHAPED = ("Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze")
SELU = {"alpha": 1.6732631921768188, "gamma": 1.0507010221481323}  # of a Selu that does not say its own


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def channel_axis(node: Any) -> int:
    """The axis of a contraction's weights that counts the channels of its outputs; -1 is the last one."""
    if any(one.name == "transB" and one.i for one in node.attribute):
        return 0
    return {"Conv": 0, "ConvTranspose": 1}.get(node.op_type, -1)


def taken_axis(node: Any, weights: Any) -> int:
    """The axis of a contraction's weights that counts the channels of its input."""
    return 1 if node.op_type == "Conv" else 1 - channel_axis(node) % weights.ndim


class Step(NamedTuple):
    """What has been done to each channel of a contraction up to a step of the chain behind it.

    ``factor``, ``summand`` and ``share`` are [channels], ``terms`` is the largest number on the way to the summand,
    ``name`` the constant that the last step adds or multiplies by. The summand holds ``share`` times the constant
    ``bias``, which is the contraction's own bias, or else the first constant that is added to each channel; it is empty
    before that.
    """

    name: str
    factor: Any
    summand: Any
    terms: float
    bias: str = ""
    share: Any = None


def steps(graph: Any, node: Any, known: Mapping[str, Any]) -> Iterator[Step]:
    """What is done to each channel of a contraction, step by step.

    First come its own bias and the alpha and beta of a Gemm, then what is behind it: BatchNormalization, or products,
    quotients, sums and differences with constants, and last a HardSigmoid, which scales and shifts before it clips, or
    what a Celu divides.
    """
    weights = known[node.input[1]]
    said = {one.name: one for one in node.attribute}
    channels, axis = len(weights), weights.ndim - 1
    if node.op_type == "ConvTranspose":
        channels = weights.shape[1] * onnx_grouped.groups_of(node)
    elif node.op_type != "Conv":
        channels, axis = weights.shape[0 if "transB" in said and said["transB"].i else -1], 1
    step = _own(node, known, channels)
    yield step
    for user, shaped in _behind(graph, node):
        given = {one.name: one.f for one in user.attribute}
        if user.op_type == "HardSigmoid":  # its clipping is the end of the chain
            scale, shift = given.get("alpha", 0.2), given.get("beta", 0.5)
            yield _scaled(step, step.name or "beta of HardSigmoid", scale, shift, abs(shift))
            return
        if user.op_type == "Celu":  # it divides by its alpha what it raises e to
            yield _scaled(step, step.name, 1 / given.get("alpha", 1.0), 0.0, 0.0)
            return
        found = per_channel(user, known, channels, 0 if shaped else axis)
        if found is None:
            return
        name, scale, shift, most = found
        step = _scaled(step, name, scale, shift, most)
        if not step.bias and known[name].size == channels and largest(shift):
            sign = -1.0 if user.op_type == "Sub" else 1.0
            step = step._replace(bias=name, share=0.0 * step.factor + sign)
        yield step


def added_behind(graph: Any, node: Any, known: Mapping[str, Any], count: int) -> str:
    """The constant that the node behind ``count`` others of a chain adds; empty where it does something else."""
    user, _ = next(itertools.islice(_behind(graph, node), count, None), (None, False))
    constants = [name for name in user.input if name in known] if user is not None and user.op_type == "Add" else []
    return constants[0] if len(constants) == 1 else ""


def _own(node: Any, known: Mapping[str, Any], channels: int) -> Step:
    """The contraction itself: its bias, and the alpha and beta of a Gemm."""
    numpy = importlib.import_module("numpy")
    ones, zeros = numpy.ones(channels), numpy.zeros(channels)
    given = {one.name: one.f for one in node.attribute}
    own, beta = "".join(node.input[2:3]), given.get("beta", 1.0)
    added = known.get(own, zeros).reshape(-1) * beta
    bias = zeros + (added if added.size in (1, channels) else 0.0)
    factor = ones * (given.get("alpha", 1.0) if node.op_type == "Gemm" else 1.0)
    put = own if own in known and added.size == channels else ""
    return Step(own, factor, bias, largest(bias), put, ones * beta)


def _scaled(step: Step, name: str, scale: Any, shift: Any, most: float) -> Step:
    """A step and then another one, which multiplies by ``scale`` and adds ``shift`` with numbers up to ``most``."""
    factor = step.factor * scale
    summand = step.summand * scale + (0.0 * step.summand + shift)
    terms = max(step.terms * largest(scale), most, largest(summand))
    return Step(name, factor, summand, terms, step.bias, step.share * scale)


def _behind(graph: Any, node: Any) -> Iterator[tuple[Any, bool]]:
    """The chain of nodes behind one, in which each value is read by the next one alone.

    Behind a product of matrices those of ``SHAPED`` are left out; true stands beside a node that has one in front.
    """
    name, shaped = node.output[0], False
    while len(users := [one for one in graph.node if name in one.input]) == 1:
        name = users[0].output[0]
        if node.op_type in ("Gemm", "MatMul") and users[0].op_type in SHAPED:
            shaped = True
        else:
            yield users[0], shaped


def branches(graph: Any, name: str) -> int:
    """How many nodes read what a constant is added to, where that is first read by more than one; else one."""
    node = next((one for one in graph.node if name in one.input), None)
    while node is not None and len(users := [one for one in graph.node if node.output[0] in one.input]) == 1:
        node = users[0]
    return 1 if node is None else max(1, len(users))


def in_front(graph: Any, node: Any, known: Mapping[str, Any]) -> Iterator[tuple[Any, Any, tuple[str, ...]]]:
    """What is done to each channel of the input of a contraction: (factor, summand, names of what is ``moved``).

    Factor and summand are [channels]. The first is that of the node right in front of it, and each of the others has
    one node more. What a contraction in front adds, or the gamma that a Selu multiplies by, is the last one. In front
    of a convolution with padding are factors alone: zeros times them are zeros.
    """
    numpy = importlib.import_module("numpy")
    weights = known[node.input[1]]
    shifted = _takes_in(node, weights)
    if not shifted and node.op_type != "Conv":
        return
    channels, axis = weights.shape[taken_axis(node, weights)], weights.ndim - 1
    makers = {name: one for one in graph.node for name in one.output}
    scale, shift = numpy.ones(channels), numpy.zeros(channels)
    moved: tuple[str, ...] = ()
    maker = makers.get(node.input[0])
    while maker is not None:
        if maker.op_type in CONTRACTIONS and maker.input[1] in known:
            if not shifted:
                return
            for added, names in _added(graph, maker, known, channels):
                yield scale, shift + scale * added, (*moved, *names)
            return
        if maker.op_type == "Selu":  # what is in front of it does not go through
            yield scale * of_selu(maker)[1], shift, moved
            return
        step = _of_norm(maker, known, channels) or per_channel(maker, known, channels, axis)
        if step is None:
            return
        if not shifted and largest(step[2]):
            return
        shift = shift + scale * step[2]
        scale = scale * step[1]
        moved = (*moved, step[0])
        yield scale, shift, moved
        computed = [name for name in maker.input if name not in known]
        maker = makers.get(computed[0]) if computed and maker.op_type not in NORMS else None


def _takes_in(node: Any, weights: Any) -> bool:
    """Whether a contraction may take in what shifts its input: a matrix, or a convolution that pads nothing."""
    if node.op_type != "Conv":
        return node.op_type in ("Gemm", "MatMul") and weights.ndim == 2
    said = {one.name: one for one in node.attribute}
    padded = any(said["pads"].ints) if "pads" in said else False
    automatic = said["auto_pad"].s.decode() if "auto_pad" in said else "NOTSET"
    return not padded and automatic in ("NOTSET", "VALID") and ("group" not in said or said["group"].i == 1)


def _added(graph: Any, node: Any, known: Mapping[str, Any], channels: int) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """What a contraction adds to each channel of its result, also with what it takes in itself, and the names of it."""
    name, factor, own, *_ = next(steps(graph, node, known))
    if own.size != channels:
        return
    yield own, (name,) if name else ()
    for _, shift, moved in in_front(graph, node, known):
        yield own + factor * through(node, known[node.input[1]], shift), (*moved, name) if name else moved


def through(node: Any, weights: Any, shift: Any) -> Any:
    """What a contraction makes of the same [channels] at every place of its input: [channels of its result]."""
    taken, axis = taken_axis(node, weights), channel_axis(node) % weights.ndim
    spread = shift.reshape([-1 if place == taken else 1 for place in range(weights.ndim)])
    return (weights * spread).sum(axis=tuple(place for place in range(weights.ndim) if place != axis))


def _of_norm(node: Any, known: Mapping[str, Any], channels: int) -> tuple[str, Any, Any, float] | None:
    """The same as of :func:`_per_channel` of the scale and the bias of a norm over the channels; None of others."""
    if node.op_type not in NORMS or any(name not in known or known[name].size != channels for name in node.input[1:3]):
        return None
    shift = known[node.input[2]].reshape(-1) if len(node.input) > 2 else 0.0
    return node.input[1], known[node.input[1]].reshape(-1), shift, largest(shift)


def per_channel(node: Any, known: Mapping[str, Any], channels: int, axis: int) -> tuple[str, Any, Any, float] | None:
    """(name of a constant, factor, summand, terms) of a node that scales or shifts channels; None of others.

    ``axis`` is that of the channels, counted from the last dimension, or 0 where each element is one. Factor and
    summand are [channels], or one for all; terms is the largest number on the way to the summand.
    """
    if node.op_type == "BatchNormalization" and all(
        name in known and known[name].size == channels for name in node.input[1:]
    ):
        epsilon = next((one.f for one in node.attribute if one.name == "epsilon"), 1e-5)
        scale, shift, mean, variance = (known[name] for name in node.input[1:5])
        factor = scale / (variance + epsilon) ** 0.5
        return node.input[2], factor, shift - mean * factor, max(largest(shift), largest(mean * factor))
    constants = [name for name in node.input if name in known]
    if node.op_type not in ("Mul", "Add", "Div", "Sub") or len(constants) != 1:
        return None
    if node.op_type in ("Div", "Sub") and constants[0] != node.input[1]:
        return None
    values = known[constants[0]]
    along = values.size == channels and (not axis or (values.ndim >= axis and values.shape[-axis] == channels))
    if values.size != 1 and not along:
        return None
    vector = values.reshape(-1)
    if node.op_type == "Mul" or (node.op_type == "Div" and vector.all()):
        return constants[0], vector if node.op_type == "Mul" else 1 / vector, 0.0, 0.0
    if node.op_type == "Div":
        return None
    return constants[0], 1.0, vector if node.op_type == "Add" else -vector, largest(vector)


def of_selu(node: Any) -> tuple[float, float]:
    """Alpha and gamma of a Selu."""
    given = SELU | {one.name: one.f for one in node.attribute}
    return given["alpha"], given["gamma"]


def largest(values: Any) -> float:
    """The size of the largest one of some numbers."""
    numpy = importlib.import_module("numpy")
    return float(numpy.abs(values).max(initial=0.0))
