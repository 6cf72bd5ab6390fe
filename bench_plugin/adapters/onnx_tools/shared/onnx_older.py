"""Operators that an opset redefined, for onnx's reference evaluator, which knows the newest definition of them only."""

from __future__ import annotations

import importlib
from typing import Any

from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_older",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Older operators of the ONNX reference",
    "distribution": "onnx",
    "operations": [],
}

ONE_AXIS = 13  # the opset since which Softmax, LogSoftmax and Hardmax take one axis, by default the last one
SHIFTED = 16  # the opset since which RoiAlign shifts its coordinates by half a pixel, unless it says otherwise


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def older_operators(base: Any) -> list[Any]:
    """Classes for the evaluator, each for every opset."""
    import numpy as np

    class Softmax(base):  # type: ignore[misc]
        op_domain = ""

        def _run(self, x: Any, axis: Any = None) -> tuple[Any]:
            axes = _axes(self, x, axis)
            powers = np.exp(x - x.max(axis=axes, keepdims=True, initial=-np.inf))
            return ((powers / powers.sum(axis=axes, keepdims=True)).astype(x.dtype),)

    class LogSoftmax(base):  # type: ignore[misc]
        op_domain = ""

        def _run(self, x: Any, axis: Any = None) -> tuple[Any]:
            axes = _axes(self, x, axis)
            shifted = x - x.max(axis=axes, keepdims=True, initial=-np.inf)
            return ((shifted - np.log(np.exp(shifted).sum(axis=axes, keepdims=True))).astype(x.dtype),)

    class Hardmax(base):  # type: ignore[misc]
        op_domain = ""

        def _run(self, x: Any, axis: Any = None) -> tuple[Any]:
            axes = _axes(self, x, axis)
            if not x.size:
                return (x,)
            last = tuple(range(x.ndim - len(axes), x.ndim))
            moved = np.moveaxis(x, axes, last)
            rows = moved.reshape(*moved.shape[: x.ndim - len(axes)], -1)
            first = np.arange(rows.shape[-1]) == rows.argmax(axis=-1)[..., None]
            return (np.moveaxis(first.astype(x.dtype).reshape(moved.shape), last, axes),)

    class RoiAlign(importlib.import_module("onnx.reference.ops.op_roi_align").RoiAlign):  # type: ignore[misc]
        op_domain = ""

        def _run(self, *given: Any, coordinate_transformation_mode: Any = None, **options: Any) -> Any:
            mode = coordinate_transformation_mode if _opset(self) >= SHIFTED else "output_half_pixel"
            return super()._run(*given, coordinate_transformation_mode=mode, **options)

    return [Softmax, LogSoftmax, Hardmax, RoiAlign]


def _opset(operator: Any) -> int:
    return int(operator.run_params["opsets"][""])


def _axes(operator: Any, x: Any, axis: Any) -> tuple[int, ...]:
    """The axis of a node or, as older opsets have it, all axes from that one on (1, where the node names none).

    The evaluator hands the newest default on where a node names no axis, so the node itself is asked.
    """
    named = any(attribute.name == "axis" for attribute in operator.onnx_node.attribute)
    if _opset(operator) >= ONE_AXIS:
        return ((axis if named else -1) % max(x.ndim, 1),)
    first = axis if named else 1
    return tuple(range(first + x.ndim if first < 0 else first, x.ndim))
