"""TFLite's transposed convolution in ONNX's: its weights and bias are compared with the file."""

from __future__ import annotations

import importlib
from typing import Any

from bench_plugin.adapters.readback.tflite_moves import inputs_of
from bench_plugin.adapters.readback.tflite_operators import SAME, TO_FIRST, TO_LAST, activated, bias_of, weights_of
from bench_plugin.agent.toolkit import versions
from bench_plugin.agent.toolkit.rebuilding import Unread

ADAPTER = {
    "name": "tflite_transposed",
    "kind": "tool",
    "toolchain": "tensorflow",
    "title": "TFLite's transposed convolution",
    "distribution": "ai-edge-litert",
    "operations": [],
    "uses": ["tflite_moves", "tflite_operators"],
}

OPERATOR = "TRANSPOSE_CONV"
WEIGHTS, DATA, BIAS = 1, 2, 3  # places of its inputs; the first one is the shape of what it makes


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("ai-edge-litert", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def transpose_conv(reader: Any, node: Any) -> list[str]:
    """Every element adds the kernel, times itself, to the result; what lies outside the shape of this is cut off.

    Raises Unread where the kernel rounds its inputs as it runs.
    """
    numpy = importlib.import_module("numpy")
    layers, file, options, inputs = reader.layers, reader.file, node.builtinOptions, inputs_of(node)
    if file.type(inputs[DATA]) == "FLOAT32" and file.type(inputs[WEIGHTS]) == "INT8":
        raise Unread("its rounding of inputs is not known")
    sizes, kernel = file.shape(inputs[DATA])[1:3], file.shape(inputs[WEIGHTS])[1:3]
    made, strides = file.shape(int(node.outputs[0]))[1:3], [options.strideH, options.strideW]
    beyond = [(size - 1) * stride + window - out for size, stride, window, out in zip(sizes, strides, kernel, made)]
    before = [max(0, one) // 2 if options.padding == SAME else 0 for one in beyond]
    after = [max(0, one) - first for one, first in zip(beyond, before)]
    x = layers.node("Transpose", [reader.real(inputs[DATA])], perm=TO_FIRST)
    w = weights_of(reader, inputs[WEIGHTS], lambda values: numpy.transpose(values, (3, 0, 1, 2)), OPERATOR)
    b = bias_of(reader, node, BIAS, OPERATOR, (DATA, WEIGHTS))
    y = layers.node(
        "ConvTranspose", [x, w, b] if b else [x, w], kernel_shape=kernel, strides=strides, pads=[*before, *after],
        output_padding=[max(0, -one) for one in beyond],
    )  # fmt: skip
    return [activated(reader, layers.node("Transpose", [y], perm=TO_LAST), node)]
