"""PyTorch's operators (ATen) that compute, in ONNX's, as far as ExecuTorch's quantised programs are read back."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench_plugin.adapters.readback.executorch.executorch_moves import MOVES, argument, axis_of, same, shape_of
from bench_plugin.agent.toolkit import versions
from bench_plugin.agent.toolkit.rebuilding import Unread

ADAPTER = {
    "name": "executorch_operators",
    "kind": "tool",
    "toolchain": "executorch",
    "title": "ATen's operators",
    "distribution": "torch",
    "operations": [],
    "uses": ["executorch_moves"],
}

LONG = 7  # ONNX's number for int64


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("torch", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def _pair(value: Any, rank: int) -> list[int]:
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    return [int(one) for one in (values * rank if len(values) == 1 else values)]


def _convolution(reader: Any, node: Any) -> list[str]:
    x, w = node.args[:2]
    rank = len(shape_of(x)) - 2
    if isinstance(argument(node, 4, "padding", 0), str):
        raise Unread("padding that is named")
    pads = _pair(argument(node, 4, "padding", 0), rank)
    value = reader.layers.node(
        "Conv", [reader.real(x), reader.weight(w, "conv")], group=int(argument(node, 6, "groups", 1)),
        strides=_pair(argument(node, 3, "stride", 1), rank), dilations=_pair(argument(node, 5, "dilation", 1), rank),
        pads=[*pads, *pads],
    )  # fmt: skip
    bias = reader.bias(argument(node, 2, "bias", None), "conv", x, w)
    if not bias:
        return [value]
    shape = reader.layers.constant([1, -1, *[1] * rank], "int64")
    return [reader.layers.node("Add", [value, reader.layers.node("Reshape", [bias, shape])])]


def _linear(reader: Any, node: Any) -> list[str]:
    x, w = node.args[:2]
    turned = reader.layers.node("Transpose", [reader.weight(w, "linear")], perm=[1, 0])
    value = reader.layers.node("MatMul", [reader.real(x), turned])
    bias = reader.bias(argument(node, 2, "bias", None), "linear", x, w)
    return [reader.layers.node("Add", [value, bias]) if bias else value]


def _elementwise(operator: str) -> Callable[[Any, Any], list[str]]:
    return lambda reader, node: [reader.layers.node(operator, [reader.real(node.args[0])])]


def _of_two(operator: str) -> Callable[[Any, Any], list[str]]:
    def translate(reader: Any, node: Any) -> list[str]:
        if node.kwargs.get("rounding_mode"):
            raise Unread("a quotient that is rounded")
        first, second = (reader.operand(one, operator) for one in node.args[:2])
        factor = node.kwargs.get("alpha", 1)
        if factor != 1:
            second = reader.layers.node("Mul", [second, reader.layers.constant(float(factor))])
        return [reader.layers.node(operator, [first, second])]

    return translate


def _hardtanh(reader: Any, node: Any) -> list[str]:
    return [_clipped(reader, node, argument(node, 1, "min_val", -1.0), argument(node, 2, "max_val", 1.0))]


def _clamp(reader: Any, node: Any) -> list[str]:
    return [_clipped(reader, node, argument(node, 1, "min", None), argument(node, 2, "max", None))]


def _relu6(reader: Any, node: Any) -> list[str]:
    return [_clipped(reader, node, 0.0, 6.0)]


def _clipped(reader: Any, node: Any, low: float | None, high: float | None) -> str:
    """The first argument of a node between two limits, of which one may be left out."""
    limits = ["" if limit is None else reader.layers.constant(float(limit)) for limit in (low, high)]
    return str(reader.layers.node("Clip", [reader.real(node.args[0]), *limits]))


def _silu(reader: Any, node: Any) -> list[str]:
    value = reader.real(node.args[0])
    return [reader.layers.node("Mul", [value, reader.layers.node("Sigmoid", [value])])]


def _gelu(reader: Any, node: Any) -> list[str]:
    if node.kwargs.get("approximate", "none") != "none":
        raise Unread("an approximation of Gelu")
    return [reader.layers.gelu(reader.real(node.args[0]))]


def _hardsigmoid(reader: Any, node: Any) -> list[str]:
    return [reader.layers.node("HardSigmoid", [reader.real(node.args[0])], alpha=1 / 6, beta=0.5)]


def _leaky_relu(reader: Any, node: Any) -> list[str]:
    slope = float(argument(node, 1, "negative_slope", 0.01))
    return [reader.layers.node("LeakyRelu", [reader.real(node.args[0])], alpha=slope)]


def _elu(reader: Any, node: Any) -> list[str]:
    if argument(node, 2, "scale", 1) != 1 or argument(node, 3, "input_scale", 1) != 1:
        raise Unread("an Elu that is scaled")
    return [reader.layers.node("Elu", [reader.real(node.args[0])], alpha=float(argument(node, 1, "alpha", 1.0)))]


def _max_pool(reader: Any, node: Any) -> list[str]:
    rank = len(shape_of(node)) - 2
    window = _pair(node.args[1], rank)
    pads = _pair(argument(node, 3, "padding", 0), rank)
    return [
        reader.layers.node(
            "MaxPool", [reader.real(node.args[0])], kernel_shape=window, pads=[*pads, *pads],
            strides=_pair(argument(node, 2, "stride", window) or window, rank),
            dilations=_pair(argument(node, 4, "dilation", 1), rank),
            ceil_mode=int(bool(argument(node, 5, "ceil_mode", False))),
        )
    ]  # fmt: skip


def _average_pool(reader: Any, node: Any) -> list[str]:
    rank = len(shape_of(node)) - 2
    window = _pair(node.args[1], rank)
    pads = _pair(argument(node, 3, "padding", 0), rank)
    if argument(node, 6, "divisor_override", None):
        raise Unread("a divisor of its own")
    return [
        reader.layers.node(
            "AveragePool", [reader.real(node.args[0])], kernel_shape=window, pads=[*pads, *pads],
            strides=_pair(argument(node, 2, "stride", window) or window, rank),
            ceil_mode=int(bool(argument(node, 4, "ceil_mode", False))),
            count_include_pad=int(bool(argument(node, 5, "count_include_pad", True))),
        )
    ]  # fmt: skip


def _adaptive_pool(reader: Any, node: Any) -> list[str]:
    given, made = shape_of(node.args[0])[2:], shape_of(node)[2:]
    if any(size % one for size, one in zip(given, made)):
        raise Unread("windows of several sizes")
    window = [size // one for size, one in zip(given, made)]
    return [reader.layers.node("AveragePool", [reader.real(node.args[0])], kernel_shape=window, strides=window)]


def _mean(reader: Any, node: Any) -> list[str]:
    given = argument(node, 1, "dim", None) or range(len(shape_of(node.args[0])))
    axes = sorted(axis_of(node, axis, of=node.args[0]) for axis in given)
    keep = int(bool(argument(node, 2, "keepdim", False)))
    return [reader.layers.node("ReduceMean", [reader.real(node.args[0])], axes=axes, keepdims=keep)]


def _dropout(reader: Any, node: Any) -> list[str]:
    if node.args[2]:
        raise Unread("dropout in training")
    return [reader.real(node.args[0])]


def _softmax(reader: Any, node: Any) -> list[str]:
    return [reader.layers.node("Softmax", [reader.real(node.args[0])], axis=axis_of(node, node.args[1]))]


def _matrix_product(reader: Any, node: Any) -> list[str]:
    return [reader.layers.node("MatMul", [reader.operand(one, "matmul") for one in node.args[:2]])]


def _layer_norm(reader: Any, node: Any) -> list[str]:
    numpy, axes = importlib.import_module("numpy"), list(node.args[1])
    weight, bias = argument(node, 2, "weight", None), argument(node, 3, "bias", None)
    scale = reader.floating(weight, "layer_norm") if weight is not None else reader.layers.constant(numpy.ones(axes))
    values = [reader.real(node.args[0]), scale, *([reader.floating(bias, "layer_norm")] if bias is not None else [])]
    epsilon = float(argument(node, 4, "eps", 1e-5))
    return [reader.layers.node("LayerNormalization", values, axis=-len(axes), epsilon=epsilon)]


def _batch_norm(reader: Any, node: Any) -> list[str]:
    if any(one is None for one in node.args[1:5]) or node.args[5]:
        raise Unread("a normalisation by the batch")
    known = [reader.floating(one, "batch_norm") for one in node.args[1:5]]
    values = [reader.real(node.args[0]), *known]
    return [reader.layers.node("BatchNormalization", values, epsilon=float(node.args[7]))]


def _attention(reader: Any, node: Any) -> list[str]:
    """Scaled dot product attention: softmax(q k^T scale) v, where the scale is one over the root of the head's size."""
    if argument(node, 3, "attn_mask", None) is not None or argument(node, 5, "is_causal", False):
        raise Unread("a mask")
    if node.kwargs.get("enable_gqa"):
        raise Unread("heads that share their keys")
    layers, sizes = reader.layers, shape_of(node.args[0])
    q, k, v = (reader.real(one) for one in node.args[:3])
    rank = len(sizes)
    scale = node.kwargs.get("scale")
    factor = layers.constant(float(scale) if scale is not None else 1 / math.sqrt(sizes[-1]))
    turned = layers.node("Transpose", [k], perm=[*range(rank - 2), rank - 1, rank - 2])
    scores = layers.node("Mul", [layers.node("MatMul", [q, turned]), factor])
    return [layers.node("MatMul", [layers.node("Softmax", [scores], axis=-1), v])]


def _resize(reader: Any, node: Any) -> list[str]:
    """Bilinear: the positions are those of half pixels unless the corners are aligned.

    Raises Unread for a scale that is not that of the sizes.
    """
    _check_scales(node, node.args[3:])
    sizes = reader.layers.constant(shape_of(node), "int64")
    mode = "align_corners" if node.args[2] else "pytorch_half_pixel"
    value = reader.real(node.args[0])
    return [reader.layers.node("Resize", [value, "", "", sizes], mode="linear", coordinate_transformation_mode=mode)]


def _check_scales(node: Any, given: Sequence[Any]) -> None:
    """Raises Unread for a scale that is not that of the sizes: positions are computed with it, not with these."""
    scales = [one for one in given if one is not None]
    flat = list(scales[0]) if scales and isinstance(scales[0], (list, tuple)) else scales
    sizes = zip(shape_of(node.args[0])[2:], flat, shape_of(node)[2:])
    if any(size * scale != other for size, scale, other in sizes):
        raise Unread("a scale that is not that of the sizes")


def _nearest(reader: Any, node: Any) -> list[str]:
    """Nearest neighbours: element i of the result is that of floor(i / scale), for a whole scale."""
    _check_scales(node, node.args[2:])
    given, made = shape_of(node.args[0])[2:], shape_of(node)[2:]
    if any(other % size for size, other in zip(given, made)):
        raise Unread("a scale that is not whole")
    sizes = reader.layers.constant(shape_of(node), "int64")
    said = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return [reader.layers.node("Resize", [reader.real(node.args[0]), "", "", sizes], **said)]


def _zeros(reader: Any, node: Any) -> list[str]:
    numpy = importlib.import_module("numpy")
    return [reader.layers.constant(numpy.zeros(shape_of(node)))]


def _embedding(reader: Any, node: Any) -> list[str]:
    table, numbers = node.args[:2]
    places = reader.layers.node("Cast", [reader.real(numbers)], to=LONG)
    return [reader.layers.node("Gather", [reader.floating(table, "embedding"), places], axis=0)]


def _gates(values: Any, numpy: Any) -> Any:
    """PyTorch's order of an LSTM's gates (input, forget, cell, output) in ONNX's (input, output, forget, cell)."""
    i, f, c, o = numpy.split(values, 4)
    return numpy.concatenate([i, o, f, c])[None]


def _lstm(reader: Any, node: Any) -> list[str]:
    """Layers in one direction; the results are the outputs, the last hidden states and the last cell states."""
    layers = reader.layers
    x, states, weights, biases, count, _, training, both, first = node.args[:9]
    if both or training:
        raise Unread("several directions, or training")
    value = layers.node("Transpose", [reader.real(x)], perm=[1, 0, 2]) if first else reader.real(x)
    begun, ended = [reader.real(one) for one in states], []
    for place in range(count):
        ends = [layers.constant([one], "int64") for one in (place, place + 1, 0)]
        given = [layers.node("Slice", [state, *ends]) for state in begun]
        own = weights[place * len(weights) // count : (place + 1) * len(weights) // count]
        value, *last = _lstm_layer(reader, value, given, own, biases)
        ended.append(last)
    last = [layers.node("Concat", list(parts), axis=0) for parts in zip(*ended)]
    return [layers.node("Transpose", [value], perm=[1, 0, 2]) if first else value, *last]


def _lstm_layer(reader: Any, value: str, states: list[str], weights: Sequence[Any], biases: bool) -> list[str]:
    """One layer of values [steps, samples, features]: its outputs, and its states at the end."""
    numpy, layers = importlib.import_module("numpy"), reader.layers
    w, r, *added = (_gates(reader.constant(one), numpy) for one in weights)
    b = numpy.concatenate(added, axis=1) if biases else numpy.zeros((1, 2 * w.shape[1]))
    fixed = [layers.floating("weight", "lstm", one) for one in (w, r, b)]
    y, *last = layers.split("LSTM", [value, *fixed, "", *states], 3, hidden_size=r.shape[2])
    return [layers.node("Squeeze", [y, layers.constant([1], "int64")]), *last]


TRANSLATIONS: Mapping[str, Callable[[Any, Any], Sequence[str]]] = {
    **MOVES,
    **same(_convolution, "conv1d", "conv2d"), "linear": _linear, **same(_matrix_product, "matmul", "bmm", "mm"),
    **same(_elementwise("Relu"), "relu", "relu_"), **same(_hardtanh, "hardtanh", "hardtanh_"),
    "clamp": _clamp, "relu6": _relu6,
    **same(_hardsigmoid, "hardsigmoid", "hardsigmoid_"), **same(_leaky_relu, "leaky_relu", "leaky_relu_"),
    **same(_elu, "elu", "elu_"), "upsample_nearest2d": _nearest,
    "sigmoid": _elementwise("Sigmoid"), "tanh": _elementwise("Tanh"), "exp": _elementwise("Exp"),
    "sqrt": _elementwise("Sqrt"), "neg": _elementwise("Neg"), "abs": _elementwise("Abs"), "gelu": _gelu,
    **same(_silu, "silu", "silu_"), **same(_elementwise("HardSwish"), "hardswish", "hardswish_"),
    **same(_of_two("Add"), "add", "add_"), **same(_of_two("Sub"), "sub"), **same(_of_two("Mul"), "mul", "mul_"),
    **same(_of_two("Div"), "div"), "pow": _of_two("Pow"), "log": _elementwise("Log"),
    "max_pool2d": _max_pool, "avg_pool2d": _average_pool, "adaptive_avg_pool2d": _adaptive_pool, "mean": _mean,
    **same(_dropout, "dropout", "dropout_"), **same(_softmax, "softmax", "_softmax"),
    "layer_norm": _layer_norm, "batch_norm": _batch_norm,
    "scaled_dot_product_attention": _attention, "upsample_bilinear2d": _resize, "zeros": _zeros,
    "embedding": _embedding, "lstm": _lstm,
}  # fmt: skip
