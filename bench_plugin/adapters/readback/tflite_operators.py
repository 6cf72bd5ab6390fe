"""TFLite's operators in ONNX's, in the tool's own layout (channels last), on real values."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench_plugin.adapters.readback.tflite_moves import MOVES, constant, inputs_of, reduced_axes, shaped
from bench_plugin.agent.toolkit import versions
from bench_plugin.agent.toolkit.rebuilding import Unread

ADAPTER = {
    "name": "tflite_operators",
    "kind": "tool",
    "toolchain": "tensorflow",
    "title": "TFLite's operators in ONNX's",
    "distribution": "ai-edge-litert",
    "operations": [],
    "uses": ["tflite_moves"],
}

TO_FIRST, TO_LAST = [0, 3, 1, 2], [0, 2, 3, 1]
SAME = 0  # Padding.SAME; VALID is 1
SHARES = {3: "x", 1: "x"}
BYTE = (-128, 127)
COMPARED = ("Add", "Sub", "Mul", "PRelu")


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("ai-edge-litert", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def activated(reader: Any, value: str, node: Any) -> str:
    """The fused activation behind a node's result. Raises Unread for one that is not known."""
    kind = int(getattr(node.builtinOptions, "fusedActivationFunction", 0) or 0)
    layers = reader.layers
    if kind == 0:
        return value
    if kind == 1:
        return str(layers.node("Relu", [value]))
    if kind in (2, 3):
        limits = (-1.0, 1.0) if kind == 2 else (0.0, 6.0)
        return str(layers.node("Clip", [value, *(layers.constant(limit) for limit in limits)]))
    if kind == 4:
        return str(layers.node("Tanh", [value]))
    raise Unread(f"fused activation {kind}")


def _pads(
    sizes: Sequence[int], made: Sequence[int], windows: Sequence[int], strides: Sequence[int], padding: int
) -> list[int]:
    """ONNX's ``pads`` over height and width; ``windows`` are dilated."""
    if padding != SAME:
        return [0, 0, 0, 0]
    total = [
        max((out - 1) * stride + window - size, 0) for size, out, window, stride in zip(sizes, made, windows, strides)
    ]
    before = [one // 2 for one in total]
    return [*before, *(one - first for one, first in zip(total, before))]


def weights_of(reader: Any, index: int, change: Callable[[Any], Any], operator: str) -> str:
    """The real values of the weights as ONNX wants them, which ``change`` makes of an array of the file's shape.

    Raises Unread for weights that are computed.
    """
    numpy = importlib.import_module("numpy")
    file = reader.file
    values = file.values(index)
    if values is None:
        raise Unread("weights that are computed")
    if file.type(index) == "FLOAT32":
        return str(reader.layers.floating("weight", operator, change(values)))
    scales, zeros = reader.along(index)
    wide = numpy.broadcast_to(scales, values.shape)
    real = (values.astype("float64") - zeros) * scales
    return str(reader.layers.quantised("weight", operator, change(real), change(wide)))


def bias_of(reader: Any, node: Any, place: int, operator: str, takes: tuple[int, int] = (0, 1)) -> str:
    """The real values of the bias at an input; empty where there is none.

    ``takes`` are the places of what the layer multiplies, and of its weights.
    """
    inputs = inputs_of(node)
    if len(inputs) <= place or inputs[place] < 0:
        _declare_none(reader, node, operator, takes)
        return ""
    index = inputs[place]
    values = constant(reader, index)
    if reader.file.type(index) == "FLOAT32":
        name = reader.layers.floating("bias", operator, values)
    else:
        scales, zeros = reader.along(index)
        name = reader.layers.quantised("bias", operator, (values.astype("float64") - zeros) * scales, scales)
    if not values.any():
        reader.declare_later(node)
    return str(name)


def _declare_none(reader: Any, node: Any, operator: str, takes: tuple[int, int]) -> None:
    """Declare zeros for the bias that a layer with stored weights does not have, as the file may have one."""
    numpy = importlib.import_module("numpy")
    file = reader.file
    taken, weights = (inputs_of(node)[place] for place in takes)
    if file.values(weights) is None:
        return
    channels = file.shape(int(node.outputs[0]))[-1]
    later = reader.added_behind(node)
    if later is not None and file.values(later).size != channels:
        return
    if file.type(taken) == "FLOAT32":
        reader.layers.floating("bias", operator, numpy.zeros(channels))
        reader.declare_later(node)
        return
    if any(file.quantisation(index) is None for index in (taken, weights)):
        return
    steps = reader.along(weights)[0].reshape(-1) * reader.along(taken)[0].reshape(-1)
    if steps.size in (1, channels):
        reader.layers.quantised("bias", operator, numpy.zeros(channels), steps)
        reader.declare_later(node)  # of another constant the bias may be a part, with which it is compared then


def _taken(reader: Any, node: Any, operator: str, axes: Sequence[int]) -> str:
    """The first input, after the rounding of a kernel that multiplies in integers; its scale is that over ``axes``."""
    value = reader.real(inputs_of(node)[0])
    if not reader.rounds_inputs(operator, node):
        return str(value)
    return _in_integers(reader, node, operator, value, axes)


def _in_integers(reader: Any, node: Any, operator: str, value: str, axes: Sequence[int]) -> str:
    """A value as a kernel rounds it that multiplies in integers, XNNPACK's or TFLite's own."""
    if not reader.file.plain:
        return str(reader.layers.rounded_in_float32(value, axes))
    symmetric = operator == "FULLY_CONNECTED" and not node.builtinOptions.asymmetricQuantizeInputs
    return str(reader.layers.rounded(value, axes, BYTE, symmetric))


def _conv(reader: Any, node: Any, depthwise: bool) -> list[str]:
    numpy = importlib.import_module("numpy")
    layers, options, inputs = reader.layers, node.builtinOptions, inputs_of(node)
    operator = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
    sizes, kernel = reader.file.shape(inputs[0]), reader.file.shape(inputs[1])
    made = reader.file.shape(int(node.outputs[0]))
    # XNNPACK multiplies the pixels of a pointwise convolution as rows of a matrix, each with a scale of its own.
    pointwise = not depthwise and kernel[1:3] == [1, 1] and options.strideH == options.strideW == 1
    axes = [3] if pointwise and not reader.file.plain else [1, 2, 3]
    x = layers.node("Transpose", [_taken(reader, node, operator, axes)], perm=TO_FIRST)
    if depthwise:
        group, change = sizes[3], lambda w: numpy.transpose(w, (3, 0, 1, 2))
    else:
        group, change = sizes[3] // kernel[3], lambda w: numpy.transpose(w, (0, 3, 1, 2))
    w, b = weights_of(reader, inputs[1], change, operator), bias_of(reader, node, 2, operator)
    strides = [options.strideH, options.strideW]
    dilations = [max(1, options.dilationHFactor), max(1, options.dilationWFactor)]
    windows = [(size - 1) * factor + 1 for size, factor in zip(kernel[1:3], dilations)]
    y = layers.node(
        "Conv", [x, w, b] if b else [x, w], group=group, strides=strides, dilations=dilations,
        pads=_pads(sizes[1:3], made[1:3], windows, strides, options.padding), kernel_shape=kernel[1:3],
    )  # fmt: skip
    return [activated(reader, layers.node("Transpose", [y], perm=TO_LAST), node)]


def _fully_connected(reader: Any, node: Any) -> list[str]:
    layers, inputs = reader.layers, inputs_of(node)
    shape = reader.file.shape(inputs[1])
    depth = shape[1]
    rows = layers.node("Reshape", [reader.real(inputs[0]), layers.constant([-1, depth], "int64")])
    if reader.rounds_inputs("FULLY_CONNECTED", node):
        rows = _in_integers(reader, node, "FULLY_CONNECTED", rows, [1])
    if reader.file.values(inputs[1]) is None:
        w = layers.node("Transpose", [reader.real(inputs[1])], perm=[1, 0])
    else:
        w = weights_of(reader, inputs[1], lambda values: values.T, "FULLY_CONNECTED")
    y = layers.node("MatMul", [rows, w])
    bias = bias_of(reader, node, 2, "FULLY_CONNECTED")
    if bias:
        y = layers.node("Add", [y, bias])
    return [activated(reader, shaped(reader, y, int(node.outputs[0])), node)]


def _batch_matmul(reader: Any, node: Any) -> list[str]:
    layers, inputs, options = reader.layers, inputs_of(node), node.builtinOptions
    if reader.rounds_inputs("BATCH_MATMUL", node):
        raise Unread("its rounding of inputs is not known")
    sides = []
    for index, flipped in ((inputs[0], options.adjX), (inputs[1], options.adjY)):
        value = reader.operand("BATCH_MATMUL", index)
        rank = len(reader.file.shape(index))
        order = [*range(rank - 2), rank - 1, rank - 2]
        sides.append(layers.node("Transpose", [value], perm=order) if flipped else value)
    return [layers.node("MatMul", sides)]


def _pool(reader: Any, node: Any, operator: str) -> list[str]:
    layers, options, index = reader.layers, node.builtinOptions, inputs_of(node)[0]
    sizes, made = reader.file.shape(index), reader.file.shape(int(node.outputs[0]))
    window, strides = [options.filterHeight, options.filterWidth], [options.strideH, options.strideW]
    x = layers.node("Transpose", [reader.real(index)], perm=TO_FIRST)
    pads = _pads(sizes[1:3], made[1:3], window, strides, options.padding)
    y = layers.node(operator, [x], kernel_shape=window, strides=strides, pads=pads)
    return [activated(reader, layers.node("Transpose", [y], perm=TO_LAST), node)]


def _elementwise(operator: str) -> Callable[[Any, Any], list[str]]:
    def translate(reader: Any, node: Any) -> list[str]:
        taken = [
            reader.operand(operator.upper(), index) if operator in COMPARED else reader.real(index)
            for index in inputs_of(node)
        ]
        return [activated(reader, reader.layers.node(operator, taken), node)]

    return translate


def _squared_difference(reader: Any, node: Any) -> list[str]:
    off = reader.layers.node("Sub", [reader.real(index) for index in inputs_of(node)])
    return [reader.layers.node("Mul", [off, off])]


def _identity(reader: Any, node: Any) -> list[str]:
    return [reader.operand(reader.file.operator(node), inputs_of(node)[0])]


def _concatenation(reader: Any, node: Any) -> list[str]:
    values = [reader.real(index) for index in inputs_of(node)]
    return [activated(reader, reader.layers.node("Concat", values, axis=node.builtinOptions.axis), node)]


def _softmax(reader: Any, node: Any) -> list[str]:
    layers, value = reader.layers, reader.real(inputs_of(node)[0])
    beta = node.builtinOptions.beta
    scaled = value if beta == 1 else layers.node("Mul", [value, layers.constant(beta)])
    return [layers.node("Softmax", [scaled], axis=-1)]


def _log_softmax(reader: Any, node: Any) -> list[str]:
    return [reader.layers.node("LogSoftmax", [reader.real(inputs_of(node)[0])], axis=-1)]


def _leaky_relu(reader: Any, node: Any) -> list[str]:
    value, alpha = reader.real(inputs_of(node)[0]), float(node.builtinOptions.alpha)
    reader.layers.floating("slope", "LEAKY_RELU", alpha)
    return [reader.layers.node("LeakyRelu", [value], alpha=alpha)]


def _clipped(low: float, high: float) -> Callable[[Any, Any], list[str]]:
    def translate(reader: Any, node: Any) -> list[str]:
        limits = [reader.layers.constant(low), reader.layers.constant(high)]
        return [reader.layers.node("Clip", [reader.real(inputs_of(node)[0]), *limits])]

    return translate


def _hard_swish(reader: Any, node: Any) -> list[str]:
    layers, value = reader.layers, reader.real(inputs_of(node)[0])
    moved = layers.node("Add", [value, layers.constant(3.0)])
    gate = layers.node("Clip", [moved, layers.constant(0.0), layers.constant(6.0)])
    return [layers.node("Div", [layers.node("Mul", [value, gate]), layers.constant(6.0)])]


def _gelu(reader: Any, node: Any) -> list[str]:
    layers, value = reader.layers, reader.real(inputs_of(node)[0])
    return [layers.gelu_by_tanh(value) if node.builtinOptions.approximate else layers.gelu(value)]


def _rsqrt(reader: Any, node: Any) -> list[str]:
    return [reader.layers.node("Reciprocal", [reader.layers.node("Sqrt", [reader.real(inputs_of(node)[0])])])]


def _square(reader: Any, node: Any) -> list[str]:
    value = reader.real(inputs_of(node)[0])
    return [reader.layers.node("Mul", [value, value])]


def _reduced(operator: str) -> Callable[[Any, Any], list[str]]:
    def translate(reader: Any, node: Any) -> list[str]:
        layers, axes = reader.layers, reduced_axes(reader, node)
        keep, value = int(bool(node.builtinOptions.keepDims)), reader.real(inputs_of(node)[0])
        if operator == "ReduceSum":
            return [layers.node(operator, [value, layers.constant(axes, "int64")], keepdims=keep)]
        return [layers.node(operator, [value], axes=axes, keepdims=keep)]

    return translate


TRANSLATIONS: Mapping[str, Callable[[Any, Any], list[str]]] = {
    "CONV_2D": lambda reader, node: _conv(reader, node, False),
    "DEPTHWISE_CONV_2D": lambda reader, node: _conv(reader, node, True),
    "FULLY_CONNECTED": _fully_connected, "BATCH_MATMUL": _batch_matmul,
    "AVERAGE_POOL_2D": lambda reader, node: _pool(reader, node, "AveragePool"),
    "MAX_POOL_2D": lambda reader, node: _pool(reader, node, "MaxPool"),
    "ADD": _elementwise("Add"), "SUB": _elementwise("Sub"), "MUL": _elementwise("Mul"), "DIV": _elementwise("Div"),
    "MAXIMUM": _elementwise("Max"), "MINIMUM": _elementwise("Min"), "POW": _elementwise("Pow"),
    "LOGISTIC": _elementwise("Sigmoid"), "TANH": _elementwise("Tanh"), "RELU": _elementwise("Relu"),
    "PRELU": _elementwise("PRelu"), "ELU": _elementwise("Elu"), "EXP": _elementwise("Exp"),
    "SQRT": _elementwise("Sqrt"), "NEG": _elementwise("Neg"), "ABS": _elementwise("Abs"), "LOG": _elementwise("Log"),
    "ADD_N": _elementwise("Sum"), "SIN": _elementwise("Sin"), "COS": _elementwise("Cos"), "SIGN": _elementwise("Sign"),
    "FLOOR": _elementwise("Floor"), "CEIL": _elementwise("Ceil"), "ROUND": _elementwise("Round"),
    "RELU6": _clipped(0.0, 6.0), "RELU_N1_TO_1": _clipped(-1.0, 1.0), "RELU_0_TO_1": _clipped(0.0, 1.0),
    "LEAKY_RELU": _leaky_relu,
    "HARD_SWISH": _hard_swish, "GELU": _gelu, "RSQRT": _rsqrt, "SQUARE": _square,
    "SQUARED_DIFFERENCE": _squared_difference, "SOFTMAX": _softmax, "LOG_SOFTMAX": _log_softmax,
    "CONCATENATION": _concatenation,
    "MEAN": _reduced("ReduceMean"), "SUM": _reduced("ReduceSum"), "REDUCE_MAX": _reduced("ReduceMax"),
    "REDUCE_MIN": _reduced("ReduceMin"), "REDUCE_PROD": _reduced("ReduceProd"),
    "QUANTIZE": _identity, "DEQUANTIZE": _identity, "CAST": _identity,
    **MOVES,
}  # fmt: skip
