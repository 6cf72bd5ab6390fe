"""Operators for onnx's reference evaluator, in float64 and fast enough for real networks, written in numpy."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from bench_plugin.adapters.onnx_tools.operators import (
    onnx_blockwise,
    onnx_quantised,
    onnx_scans,
    onnx_settings,
    onnx_widened,
    onnx_windows,
)
from bench_plugin.adapters.onnx_tools.operators.onnx_recurrent import recurrent_operators
from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_operators",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Operators of the ONNX reference in float64",
    "distribution": "onnx",
    "operations": [],
    "uses": [
        "onnx_blockwise",
        "onnx_quantised",
        "onnx_recurrent",
        "onnx_scans",
        "onnx_settings",
        "onnx_widened",
        "onnx_windows",
    ],
}

NEAR_TIE = 1e-4  # how far float32 may move a zero point of up to 255
MODES_NAMED = 11  # the opset from which Resize names its transformation of coordinates


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def fast_operators(onnx: Any) -> list[Any]:
    """Classes that stand in for the evaluator's own, for every opset."""
    base = importlib.import_module("onnx.reference.op_run").OpRun
    slow_resize = importlib.import_module("onnx.reference.ops.op_resize").Resize

    class Resize(slow_resize):  # type: ignore[misc, valid-type]
        op_domain = ""

        def _run(self, x: Any, *given: Any, **options: Any) -> Any:
            if self.run_params["opsets"][self.onnx_node.domain] < MODES_NAMED:
                return (_upsampled(x, given[0], options),)
            _, scales, sizes = (*given, None, None, None)[:3]
            plan = _resize_plan(x.shape, scales, sizes, options)
            if plan is None:
                return super()._run(x, *given, **options)
            for axis, matrix in plan:
                x = _along(x, matrix, axis)
            return (x,)

    class Upsample(base):  # type: ignore[misc, valid-type]
        """The evaluator's own knows the nearest element of whole scales alone, given as an input."""

        op_domain = ""

        def _run(self, x: Any, scales: Any = None, **options: Any) -> tuple[Any]:
            return (_upsampled(x, options["scales"] if scales is None else scales, options),)

    class BatchNormalization(base):  # type: ignore[misc, valid-type]
        """The evaluator takes a momentum, which opset 9 to 13 write into inference graphs too, for training."""

        op_domain = ""

        def _run(self, x: Any, scale: Any, shift: Any, mean: Any, variance: Any, **options: Any) -> tuple[Any]:
            if options.get("training_mode") or len(self.onnx_node.output) > 1:
                raise Unsupported("BatchNormalization in training mode has no float64 reference here")
            epsilon = options.get("epsilon")  # None where it is left out; zero is a value like any other
            slope = scale / (variance + (1e-5 if epsilon is None else float(epsilon))) ** 0.5
            along = (-1, *[1] * (x.ndim - 2))
            return (x * slope.reshape(along) + (shift - mean * slope).reshape(along),)

    own = [BatchNormalization, Resize, Upsample]
    widened = onnx_widened.operators(base)
    return [
        *own,
        *onnx_windows.operators(base),
        *onnx_quantised.operators(base),
        *_corrected(base),
        *widened,
        *onnx_blockwise.operators(base),
        *onnx_scans.operators(),
    ]


def perturbed_operators(onnx: Any, perturbation: Callable[[Any], Any]) -> list[Any]:
    """:func:`fast_operators` for a graph that is perturbed as rounding to float32 may change it.

    The zero point of a DynamicQuantizeLinear whose range is symmetric lies between two integers, as behind a Tanh with
    -1 and 1. Nothing in front moves it to either side there, but a rounding of float32 does: so both ends of the range
    are moved by one, to the same side.
    """
    import numpy as np

    fast = {kind.__name__: kind for kind in fast_operators(onnx)}
    exact = fast["DynamicQuantizeLinear"]

    class DynamicQuantizeLinear(exact):  # type: ignore[misc, valid-type]
        op_domain = ""

        def _run(self, x: Any) -> Any:
            low, high = np.fmin(0.0, np.fmin.reduce(x, None)), np.fmax(0.0, np.fmax.reduce(x, None))
            zero = -255.0 * low / (high - low) if high > low else 0.0
            if abs(zero % 1.0 - 0.5) >= NEAR_TIE:
                return super()._run(x)
            off = perturbation(np.ones(1, dtype=np.float32)) - 1.0
            return super()._run(np.asarray(x, dtype=np.float32) + off * np.float32(max(high, -low)))

    return list((fast | {"DynamicQuantizeLinear": DynamicQuantizeLinear}).values())


def exact_operators(onnx: Any) -> list[Any]:
    """Those that stand in for the evaluator's own in float32 too: it lacks them, or does not do what ONNX says."""
    names = ("MaxPool", "QuantizeLinear", "DequantizeLinear")
    base = importlib.import_module("onnx.reference.op_run").OpRun
    fast = [kind for kind in fast_operators(onnx) if kind.__name__ in names]
    return [*fast, *_corrected(base), *onnx_scans.operators()]


def _corrected(base: Any) -> list[Any]:
    """Operators that onnx 1.23's evaluator computes otherwise than the specification has it (docs/findings.md)."""
    import numpy as np

    class LRN(base):  # type: ignore[misc]
        """The evaluator's own uses the number of images in place of that of channels."""

        op_domain = ""

        def _run(self, x: Any, alpha: Any = None, beta: Any = None, bias: Any = None, size: int = 1) -> tuple[Any]:
            before, after = (size - 1) // 2, size // 2
            squares = np.zeros_like(x)
            for place in range(x.shape[1]):
                squares[:, place] = (x[:, max(0, place - before) : place + after + 1] ** 2).sum(axis=1)
            alpha, beta, bias = (d if v is None else v for v, d in ((alpha, 1e-4), (beta, 0.75), (bias, 1.0)))
            return ((x / (bias + alpha / size * squares) ** beta).astype(x.dtype),)

    class GlobalMaxPool(base):  # type: ignore[misc]
        """The evaluator's own takes the two axes of images, whatever the rank."""

        op_domain = ""

        def _run(self, x: Any) -> tuple[Any]:
            return (x.max(axis=tuple(range(2, x.ndim)), keepdims=True),)

    class LpNormalization(base):  # type: ignore[misc]
        """The evaluator's own leaves out the absolute values of p = 1."""

        op_domain = ""

        def _run(self, x: Any, axis: Any = None, p: Any = None) -> tuple[Any]:
            order, along = 2 if p is None else p, -1 if axis is None else axis
            norm = (np.abs(x) ** order).sum(axis=along, keepdims=True) ** (1.0 / order)
            return (np.where(norm == 0, 0, x / np.where(norm == 0, 1, norm)).astype(x.dtype),)

    class Mean(base):  # type: ignore[misc]
        """The evaluator's own broadcasts to the first operand only."""

        op_domain = ""

        def _run(self, *given: Any) -> tuple[Any]:
            total = given[0]
            for value in given[1:]:
                total = total + value
            return (np.asarray(total / len(given)).astype(given[0].dtype),)

    class Softsign(base):  # type: ignore[misc]
        """The evaluator's own fails on scalars, as do the next three, Flatten on no elements too."""

        op_domain = ""

        def _run(self, x: Any) -> tuple[Any]:
            return (np.asarray(x / (1 + np.abs(x))).astype(x.dtype),)

    class ReduceLogSumExp(base):  # type: ignore[misc]
        op_domain = ""

        def _run(self, x: Any, axes: Any = None, keepdims: Any = None, noop_with_empty_axes: Any = 0) -> tuple[Any]:
            along = None if axes is None or not len(axes) else tuple(map(int, axes))
            if along is None and noop_with_empty_axes:
                return (x,)
            largest = np.max(x, axis=along, keepdims=True, initial=-np.inf)
            shift = np.where(np.isfinite(largest), largest, 0)
            found = np.log(np.exp(x - shift).sum(axis=along, keepdims=True)) + shift
            kept = found if keepdims is None or keepdims else np.squeeze(found, axis=along)
            return (np.asarray(kept).astype(x.dtype),)

    class Flatten(base):  # type: ignore[misc]
        op_domain = ""

        def _run(self, x: Any, axis: Any = None) -> tuple[Any]:
            place = 1 if axis is None else axis
            left, right = x.shape[:place], x.shape[place:]
            return (x.reshape(int(np.prod(left, dtype=int)), int(np.prod(right, dtype=int))),)

    class GatherElements(base):  # type: ignore[misc]
        """The evaluator's own wants equal sizes apart from the axis, where smaller ones are allowed."""

        op_domain = ""

        def _run(self, data: Any, indices: Any, axis: Any = None) -> tuple[Any]:
            along = 0 if axis is None else axis
            places = list(np.indices(indices.shape, sparse=True))
            places[along] = np.where(indices < 0, indices + data.shape[along], indices)
            return (data[tuple(places)],)

    class ConvTranspose(base):  # type: ignore[misc]
        """The evaluator's own is right for one group alone: of more it takes the biases of the first, and fails
        where they have several channels each. It leaves out the padding that output_shape stands for.
        """

        op_domain = ""

        def _run(self, x: Any, w: Any, b: Any = None, **options: Any) -> tuple[Any]:
            y = _transposed(x, w, options)
            y = y if b is None else y + b.reshape(-1, *[1] * (x.ndim - 2))
            return (y.astype(x.dtype),)

    own = [LRN, GlobalMaxPool, LpNormalization, Mean, Softsign, ReduceLogSumExp, Flatten, GatherElements, ConvTranspose]
    return [*own, *onnx_settings.operators(base), *recurrent_operators(base)]


def _transposed(x: Any, w: Any, options: dict[str, Any]) -> Any:
    """ConvTranspose without its bias: x [N, C, ...], w [C, M / group, ...] to [N, M, ...], one product per kernel
    position.
    """
    import numpy as np

    size, kernel, rank = x.shape[2:], w.shape[2:], x.ndim - 2
    strides = [int(s) for s in options.get("strides") or [1] * rank]
    dilations = [int(d) for d in options.get("dilations") or [1] * rank]
    further = [int(o) for o in options.get("output_padding") or [0] * rank]
    spans = [(n - 1) * s + 1 for n, s in zip(size, strides)]
    whole = [span + (k - 1) * d + o for span, k, d, o in zip(spans, kernel, dilations, further)]
    group, count = int(options.get("group") or 1), x.shape[0]
    outputs, area = w.shape[1], int(np.prod(size))
    columns = x.reshape(count, group, -1, area)
    weights = w.reshape(group, -1, outputs, int(np.prod(kernel)))
    result = np.zeros((count, group * outputs, *whole), dtype=x.dtype)
    for index, position in enumerate(itertools.product(*(range(k) for k in kernel))):
        part = np.matmul(np.swapaxes(weights[..., index], 1, 2), columns).reshape(count, group * outputs, *size)
        starts = [p * d for p, d in zip(position, dilations)]
        places = [slice(a, a + span, s) for a, span, s in zip(starts, spans, strides)]
        result[(slice(None), slice(None), *places)] += part
    crops = _cropped(size, whole, strides, options)
    beyond = [(max(-a, 0), max(-b, 0)) for a, b in crops]  # what no position of the kernel reaches
    result = np.pad(result, [(0, 0), (0, 0), *beyond])
    kept = [slice(max(a, 0), n - max(b, 0)) for (a, b), n in zip(crops, result.shape[2:])]
    return result[(slice(None), slice(None), *kept)]


def _cropped(
    size: Sequence[int], whole: Sequence[int], strides: Sequence[int], options: dict[str, Any]
) -> list[tuple[int, int]]:
    """What ConvTranspose leaves out of ``whole`` at both ends of each axis: its pads, or what its output_shape or
    auto_pad makes of them.
    """
    auto = options.get("auto_pad") or "NOTSET"
    auto = auto.decode() if isinstance(auto, bytes) else auto
    wanted = options.get("output_shape")
    if wanted is None and auto in ("SAME_UPPER", "SAME_LOWER"):
        wanted = [n * s for n, s in zip(size, strides)]
    if wanted is None:
        pads = [int(p) for p in options.get("pads") or []] if auto == "NOTSET" else []
        pads = pads or [0] * (2 * len(size))
        return list(zip(pads[: len(size)], pads[len(size) :]))
    crops = []
    for full, out in zip(whole, list(wanted)[-len(size) :]):  # old files name batch and channels too
        total = full - int(out)
        less, more = total // 2, total - total // 2
        crops.append((0, total) if total < 0 else (less, more) if auto == "SAME_UPPER" else (more, less))
    return crops


def _upsampled(x: Any, scales: Any, options: dict[str, Any]) -> Any:
    """Upsample of x, and Resize of opset 10, which takes factors below 1, too."""
    mode = "nearest" if (options.get("mode") or "nearest") == "nearest" else "linear"
    if mode == "nearest" and any(float(scale) < 1 for scale in scales):
        raise Unsupported("Resize 10 to fewer elements: ONNX does not say which one is nearest before opset 11")
    named = {"mode": mode, "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    for axis, matrix in _resize_plan(x.shape, scales, None, named) or []:
        x = _along(x, matrix, axis)
    return x


def _resize_plan(
    shape: Sequence[int], scales: Any, sizes: Any, options: dict[str, Any]
) -> list[tuple[int, Any]] | None:
    """One interpolation matrix per axis that changes; None for what only the evaluator's own implementation knows."""
    import numpy as np

    mode = options.get("mode") or "nearest"
    transformation = options.get("coordinate_transformation_mode") or "half_pixel"
    known = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
    plain = (
        not options.get("antialias")
        and not options.get("axes")
        and options.get("keep_aspect_ratio_policy") in (None, "stretch")
    )
    if mode not in ("linear", "nearest") or transformation not in known or not plain:
        return None
    plan = []
    for axis, size in enumerate(shape):
        if sizes is not None and len(sizes):
            out = int(sizes[axis])
            scale = out / size
        else:
            scale = float(scales[axis])
            out = int(scale * size)
            # Most tools multiply in float32, onnx's shape inference does not.
            if out != int(np.float32(scale) * np.float32(size)):
                raise Unsupported(
                    f"Resize of {size} by {scale:.9g} ends at a whole number by the rounding of float32 alone"
                )
        if out != size or scale != 1.0:
            # Which element is nearest is decided in float32, whose scales are: 6 / 0.6 is 10, and not just below.
            exact = np.float64 if mode == "linear" else np.float32
            positions = _positions(size, out, exact(scale), transformation, exact)
            rounding = str(options.get("nearest_mode") or "round_prefer_floor")
            plan.append((axis, _matrix(positions, size, None if mode == "linear" else rounding)))
    return plan


def _positions(size: int, out: int, scale: Any, transformation: str, exact: Any) -> Any:
    """Where each output element lies in the input, by the formulas of ONNX Resize in numbers of the type ``exact``."""
    import numpy as np

    index, half = np.arange(out, dtype=exact), exact(0.5)
    if transformation == "align_corners":
        return index * (size - 1) / (out - 1) if out > 1 else index * 0
    if transformation == "asymmetric":
        return index / scale
    if transformation == "pytorch_half_pixel" and out == 1:
        return index * 0
    return (index + half) / scale - half


def _matrix(positions: Any, size: int, rounding: str | None) -> Any:
    """[out, size]: linear interpolation, or the nearest element by ``rounding``."""
    import numpy as np

    matrix = np.zeros((len(positions), size))
    rows = np.arange(len(positions))
    if rounding is not None:
        positions = positions.astype(np.float64)
        half = {"round_prefer_floor": np.ceil(positions - 0.5), "round_prefer_ceil": np.floor(positions + 0.5)}
        chosen = {**half, "floor": np.floor(positions), "ceil": np.ceil(positions)}[rounding]
        matrix[rows, np.clip(chosen, 0, size - 1).astype(int)] = 1
        return matrix
    clipped = np.clip(positions, 0, size - 1)
    low = np.floor(clipped).astype(int)
    high = np.minimum(low + 1, size - 1)
    part = clipped - low
    np.add.at(matrix, (rows, low), 1 - part)
    np.add.at(matrix, (rows, high), part)
    return matrix


def _along(x: Any, matrix: Any, axis: int) -> Any:
    import numpy as np

    return np.moveaxis(np.tensordot(x, matrix, axes=([axis], [1])), -1, axis)
