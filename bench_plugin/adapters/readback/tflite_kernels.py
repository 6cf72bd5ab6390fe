"""What kernels of TFLite and XNNPACK that round more than once round in place of the exact values."""

from __future__ import annotations

import importlib
import math
from typing import Any

from bench_plugin.adapters.readback import tflite_resizing
from bench_plugin.adapters.readback.tflite_moves import inputs_of, reduced_axes
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "tflite_kernels",
    "kind": "tool",
    "toolchain": "tensorflow",
    "title": "Kernels of TFLite and XNNPACK that round more than once",
    "distribution": "ai-edge-litert",
    "operations": [],
    "uses": ["tflite_moves", "tflite_resizing"],
}

# XNNPACK's factor is a whole number of 1/256, as docs/findings/xnnpack_quantize_factor.py shows. A node with a factor
# outside these limits is left to TFLite's own kernel.
PARTS = 256
SMALLEST, LARGEST = 2.0**-8, 2.0**7
COARSE, TWICE, MIXED = "factor of 8 bits", "double rounding", "coarse interpolation"  # the names of the exceptions
TYPES = ("INT8", "UINT8")
# What a rectifier that is a node of its own cuts its result to; XNNPACK takes those alone that change no scale.
RECTIFIERS = {"RELU": (0.0, math.inf), "RELU6": (0.0, 6.0), "RELU_N1_TO_1": (-1.0, 1.0), "RELU_0_TO_1": (0.0, 1.0)}
OPERATORS = ("QUANTIZE", "LEAKY_RELU", *RECTIFIERS)
UP = 0.5 + 1e-9  # what is added before a product is rounded down: a tie goes up, also where float64 is just below it
IMAGE = (4, [1, 2])  # rank and axes of a mean that has a kernel of its own, where it keeps the dimensions


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("ai-edge-litert", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def as_computed(reader: Any, node: Any) -> tuple[str, str] | None:
    """The real value that the kernel rounds to integers, and the name of its exception; None for every other node.

    The factor of the kernel is the quotient of the scales of what the node takes and of what it makes; below zero that
    of a LEAKY_RELU is alpha times as large.
    """
    file, operator, taken, made = reader.file, reader.file.operator(node), inputs_of(node)[0], int(node.outputs[0])
    scales = [file.quantisation(index) for index in (taken, made)]
    if operator == "MEAN" and file.plain and None not in scales and file.type(made) in TYPES:
        return _mean(reader, node, scales), TWICE
    if operator == "MUL" and file.plain and file.type(made) in TYPES:
        return _product(reader, node)
    if operator == "RESIZE_BILINEAR" and file.type(made) in TYPES:
        mixed = tflite_resizing.mixed_coarsely(reader, node)
        return (mixed, MIXED) if mixed else None
    if operator not in OPERATORS or file.type(taken) != file.type(made) or file.type(made) not in TYPES:
        return None
    if None in scales:
        return None
    single = importlib.import_module("numpy").float32
    before, after = (single(scale[0][0]) for scale in scales)
    factors = [before / after]
    if operator == "LEAKY_RELU":
        factors.append(single(node.builtinOptions.alpha) * factors[0])
    value = reader.real(taken)
    if operator in RECTIFIERS:
        scaled = _rounded_twice(reader.layers, value, [float(factors[0])], float(before))
        ends = [reader.layers.constant(end) for end in RECTIFIERS[operator]]
        return reader.layers.node("Clip", [scaled, *ends]), TWICE
    if file.plain or not all(SMALLEST <= abs(factor) <= LARGEST for factor in factors):
        return _rounded_twice(reader.layers, value, [float(one) for one in factors], float(before)), TWICE
    return _with_coarse_factor(reader.layers, value, [float(one) for one in factors]), COARSE


def _with_coarse_factor(layers: Any, value: str, factors: list[float]) -> str:
    """XNNPACK: the factor has 8 bits behind the point."""
    coarse = [round(factor * PARTS) / PARTS for factor in factors]
    scaled = layers.node("Mul", [value, layers.constant(coarse[0] / factors[0])])
    return str(layers.node("LeakyRelu", [scaled], alpha=coarse[1] / coarse[0]) if len(coarse) > 1 else scaled)


def _rounded_twice(layers: Any, value: str, factors: list[float], scale: float) -> str:
    """TFLite: a factor is m 2^e with m from 1/2 to 1; the product with m is rounded before its shift by -e."""
    if len(factors) == 1:
        return _product_rounded(layers, value, factors[0], factors[0], scale)
    zero = layers.constant(0.0)
    above = _product_rounded(layers, layers.node("Max", [value, zero]), factors[0], factors[0], scale)
    below = _product_rounded(layers, layers.node("Min", [value, zero]), factors[1], factors[0], scale)
    return str(layers.node("Add", [above, below]))


def _product(reader: Any, node: Any) -> tuple[str, str] | None:
    """TFLite's own product of two tensors: the factor is the quotient of the product of their scales and its own.

    None where an activation follows within the kernel, or where one of the three has no single scale.
    """
    file, (first, second) = reader.file, inputs_of(node)[:2]
    scales = [file.quantisation(index) for index in (first, second, int(node.outputs[0]))]
    if int(node.builtinOptions.fusedActivationFunction or 0) or any(one is None or len(one[0]) > 1 for one in scales):
        return None
    before, after = float(scales[0][0][0]) * float(scales[1][0][0]), float(scales[2][0][0])
    value = reader.layers.node("Mul", [reader.operand("MUL", index) for index in (first, second)])
    return _product_rounded(reader.layers, value, before / after, before / after, before), TWICE


def _product_rounded(layers: Any, value: str, factor: float, unit: float, scale: float) -> str:
    """A real value of integers times ``factor``, in whole parts of a step; ``unit`` has the factor of the scales."""
    parts = 2.0 ** max(0, -math.frexp(factor)[1])
    whole = _rounded_up(layers, layers.node("Mul", [value, layers.constant(factor * parts / scale)]))
    return str(layers.node("Mul", [whole, layers.constant(scale / unit / parts)]))


def _rounded_up(layers: Any, value: str) -> str:
    """The nearest whole numbers, of two the larger one."""
    return str(layers.node("Floor", [layers.node("Add", [value, layers.constant(UP)])]))


def _mean(reader: Any, node: Any, scales: Any) -> str:
    """TFLite's own mean: the sum of n integers times a factor is rounded before its shift, as in a product.

    The factor is the quotient of the scales r = m 2^e, whose m is divided by the part of n behind its power of two.
    Where the mean is over the image of [N, H, W, C] and keeps the dimensions, it is r / n, the sum is that of the
    integers with their zero point, and what the zero point has added is taken away after it was rounded by itself.
    """
    layers, file, numpy = reader.layers, reader.file, importlib.import_module("numpy")
    taken, (before, after) = inputs_of(node)[0], (scale[0][0] for scale in scales)
    shape, axes = file.shape(taken), reduced_axes(reader, node)
    keep, count = bool(node.builtinOptions.keepDims), math.prod(shape[axis] for axis in axes)
    ratio = float(before) / float(after)
    apart = 0.0
    if keep and (len(shape), axes) == IMAGE:
        shift = -math.frexp(ratio / count)[1]
        zero = int(scales[0][1][0])
        apart = float(numpy.float32(zero) * numpy.float32(before) / numpy.float32(after))
        added, apart = zero * ratio, math.copysign(math.floor(abs(apart) + 0.5), apart)
    else:
        shift, added = count.bit_length() - 1 - math.frexp(ratio)[1], 0.0
    parts = 2.0 ** max(0, shift)
    exact = layers.node("ReduceMean", [reader.real(taken)], axes=axes, keepdims=int(keep))
    factor, summand = layers.constant(parts / float(after)), layers.constant(parts * added)
    whole = _rounded_up(layers, layers.node("Add", [layers.node("Mul", [exact, factor]), summand]))
    steps = layers.node("Sub", [layers.node("Mul", [whole, layers.constant(1 / parts)]), layers.constant(apart)])
    return str(layers.node("Mul", [steps, layers.constant(float(after))]))
