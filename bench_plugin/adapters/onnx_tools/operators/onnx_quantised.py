"""Quantisation in onnx's reference evaluator: in float64, or in float32 where ONNX defines it so, for every opset."""

from __future__ import annotations

import importlib
from typing import Any

from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_quantised",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Quantisation in the ONNX reference",
    "distribution": "onnx",
    "operations": [],
}


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def operators(base: Any) -> list[Any]:
    """Quantisation in float64, or in float32 where that is defined, for every opset.

    Scales and zero points are per tensor, along ``axis``, or per block along it.
    """
    import numpy as np

    def along(values: Any, x: Any, axis: int | None, block: int = 0) -> Any:
        parameters = np.asarray(values)
        if parameters.ndim == 0 or parameters.size == 1:
            return parameters.reshape(())
        if block:  # the last one may be shorter
            place = (1 if axis is None else axis) % x.ndim
            return np.take(np.repeat(parameters, block, place), np.arange(x.shape[place]), place)
        return parameters.reshape([-1 if place == (1 if axis is None else axis) % x.ndim else 1
                                   for place in range(x.ndim)])  # fmt: skip

    class QuantizeLinear(base):  # type: ignore[misc]
        op_domain = ""

        def _run(self, x: Any, scale: Any, zero: Any = None, axis: Any = None, **options: Any) -> tuple[Any]:
            block = int(options.get("block_size") or 0)
            zero = np.zeros((), np.uint8) if zero is None else zero
            limits = importlib.import_module("ml_dtypes").iinfo(zero.dtype)  # numpy's knows no int4
            steps = np.rint(x / along(scale, x, axis, block)) + along(zero.astype(np.int64), x, axis, block)
            whole = np.clip(steps, limits.min, limits.max)
            return (whole.astype(np.int64).astype(zero.dtype),)

    class DequantizeLinear(base):  # type: ignore[misc]
        op_domain = ""

        def _run(self, x: Any, scale: Any, zero: Any = None, axis: Any = None, **options: Any) -> tuple[Any]:
            block = int(options.get("block_size") or 0)
            offset = 0.0 if zero is None else along(zero.astype(np.float64), x, axis, block)  # float8 has fractions
            return ((x.astype(np.float64) - offset) * along(np.asarray(scale, dtype=np.float64), x, axis, block),)

    class DynamicQuantizeLinear(base):  # type: ignore[misc]
        """In float32, as ONNX defines it for float32 alone: in float64 it would choose other steps where values lie
        in the middle between two, and a step is large. What it makes of its scale is exact in float64.

        Of zeros alone the scale is 1. NaN has no part in the range and becomes 0, and so does what an infinite scale
        leaves undefined, as in onnxruntime; ONNX says nothing of these.
        """

        op_domain = ""

        def _run(self, x: Any) -> tuple[Any, Any, Any]:
            narrow = np.asarray(x, dtype=np.float32)
            low, high = np.fmin(np.float32(0), np.fmin.reduce(narrow, None)), np.fmax(0, np.fmax.reduce(narrow, None))
            with np.errstate(invalid="ignore", over="ignore"):
                scale = np.float32(high - low) / np.float32(255)
                scale = scale if scale else np.float32(1)
                zero = np.uint8(np.clip(np.nan_to_num(np.rint(-low / scale)), 0, 255))
                whole = np.rint(narrow / scale) + np.float32(zero)
            steps = np.where(np.isnan(whole), 0, np.clip(whole, 0, 255)).astype(np.uint8)
            return steps, np.float64(scale), np.asarray(zero)

    class MatMulInteger(base):  # type: ignore[misc]
        """In float64, which holds every sum of products of bytes exactly: numpy multiplies integers slowly.

        The evaluator's own takes zero points of the rows of A for those of its columns.
        """

        op_domain = ""

        def _run(self, a: Any, b: Any, a_zero: Any = None, b_zero: Any = None) -> tuple[Any]:
            left = a.astype(np.float64) - _of_rows(a_zero)
            right = b.astype(np.float64) - (0.0 if b_zero is None else np.asarray(b_zero, np.float64))
            return (np.matmul(left, right).astype(np.int64).astype(np.int32),)  # a sum beyond int32 wraps

    return [QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, MatMulInteger]


def _of_rows(zero: Any) -> Any:
    """Zero points of the rows of a matrix: one for all [], one for each [M], or [..., M, 1] for each of a stack."""
    import numpy as np

    values = np.asarray(0 if zero is None else zero, dtype=np.float64)
    return values[:, np.newaxis] if values.ndim == 1 and values.size > 1 else values
