"""Operators of onnx's evaluator with settings that its own lack or misread: old opsets, negative pads, modes."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_settings",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Settings of operators of the ONNX reference",
    "distribution": "onnx",
    "operations": [],
}

PER_AXIS = 13  # the opset from which Softmax, LogSoftmax and Hardmax are those of one axis
PADS_AS_INPUT = 11
SHIFTED = 16  # the opset from which RoiAlign shifts its coordinates by half a pixel, unless it says otherwise
FORMER_MODES = {"bilinear": "linear", "bicubic": "cubic"}  # GridSample's before opset 20


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def operators(base: Any) -> list[Any]:
    """Classes for the evaluator, for every opset."""
    import numpy as np

    slow_loop = importlib.import_module("onnx.reference.ops.op_loop").Loop
    roi_align = importlib.import_module("onnx.reference.ops.op_roi_align").RoiAlign
    grid_sample = importlib.import_module("onnx.reference.ops.op_grid_sample").GridSample

    class Softmax(base):  # type: ignore[misc]
        """The evaluator's own take one axis at every opset; before 13 all axes from this one on are one."""

        op_domain = ""

        def _run(self, x: Any, **_options: Any) -> tuple[Any]:
            def shares(rows: Any) -> Any:
                powers = np.exp(rows - rows.max(axis=1, keepdims=True))
                return powers / powers.sum(axis=1, keepdims=True)

            return (_by_rows(self, x, shares),)

    class LogSoftmax(base):  # type: ignore[misc]
        op_domain = ""

        def _run(self, x: Any, **_options: Any) -> tuple[Any]:
            def logarithms(rows: Any) -> Any:
                shifted = rows - rows.max(axis=1, keepdims=True)
                return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))

            return (_by_rows(self, x, logarithms),)

    class Hardmax(base):  # type: ignore[misc]
        op_domain = ""

        def _run(self, x: Any, **_options: Any) -> tuple[Any]:
            return (_by_rows(self, x, lambda rows: np.eye(rows.shape[1])[rows.argmax(axis=1)]),)

    class Pad(base):  # type: ignore[misc]
        """The evaluator's own fails on negative pads, which take elements away."""

        op_domain = ""

        def _run(self, x: Any, *given: Any, **options: Any) -> tuple[Any]:
            if _opset(self) < PADS_AS_INPUT:
                pads, value, axes = options.get("pads") or options["paddings"], options.get("value"), None
            else:
                pads, value, axes = (*given, None, None)[:3]
            axes = range(x.ndim) if axes is None else [int(axis) % x.ndim for axis in axes]
            widths = [(0, 0)] * x.ndim
            for place, axis in enumerate(axes):
                widths[axis] = (int(pads[place]), int(pads[place + len(axes)]))
            kept = x[tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(widths, x.shape))]
            wider = [(max(a, 0), max(b, 0)) for a, b in widths]
            mode: Any = options.get("mode") or "constant"
            more = {"constant_values": 0 if value is None else np.asarray(value).item()} if mode == "constant" else {}
            return (np.pad(kept, wider, mode=mode, **more).astype(x.dtype),)

    class GridSample(grid_sample):  # type: ignore[misc, valid-type]
        """The evaluator's own knows the modes by the names that opset 20 gave them."""

        op_domain = ""

        def _run(self, x: Any, grid: Any, mode: Any = None, padding_mode: Any = None, **options: Any) -> Any:
            mode = FORMER_MODES.get(mode, mode)
            if mode == "cubic" and padding_mode == "border" and np.any(np.abs(grid) > 1):
                # Tools replace each of the 16 elements that lies outside, the evaluator moves the point to the border.
                raise Unsupported("cubic GridSample beyond a border of its input, which ONNX's text leaves open")
            return super()._run(x, grid, mode=mode, padding_mode=padding_mode, **options)

    class RoiAlign(roi_align):  # type: ignore[misc, valid-type]
        """The evaluator's own shifts coordinates at every opset."""

        op_domain = ""

        def _run(self, *given: Any, coordinate_transformation_mode: Any = None, **options: Any) -> Any:
            mode = coordinate_transformation_mode if _opset(self) >= SHIFTED else "output_half_pixel"
            return super()._run(*given, coordinate_transformation_mode=mode, **options)

    class GlobalLpPool(base):  # type: ignore[misc]
        op_domain = ""

        def _run(self, x: Any, p: Any = None) -> tuple[Any]:
            order = 2 if p is None else p
            axes = tuple(range(2, x.ndim))
            return (((np.abs(x) ** order).sum(axis=axes, keepdims=True) ** (1.0 / order)).astype(x.dtype),)

    class MeanVarianceNormalization(base):  # type: ignore[misc]
        """The evaluator expands it, with constants that stay float32 in a file that is float64."""

        op_domain = ""

        def _run(self, x: Any, axes: Any = None) -> tuple[Any]:
            along = (0, 2, 3) if axes is None else tuple(axes)
            apart = x - x.mean(axis=along, keepdims=True)
            spread = np.sqrt((apart**2).mean(axis=along, keepdims=True))
            return ((apart / (spread + 1e-9)).astype(x.dtype),)

    class Loop(slow_loop):  # type: ignore[misc, valid-type]
        """The evaluator's own joins what the turns give along its first axis, where ONNX has a new one in front."""

        op_domain = ""

        def _run(
            self, most: Any = None, go: Any = None, *carried: Any, context: Any = None, **options: Any
        ) -> tuple[Any, ...]:
            options.pop("body", None)
            names, made = self.body.input_names, self.body.output_names
            values = {**dict.fromkeys(names), **(context or {}), **dict(zip(names[2:], carried))}
            turns: list[list[Any]] = []
            go = True if go is None else go
            while go and (most is None or len(turns) < most):
                values[names[0]] = np.array(len(turns), dtype=np.int64)
                values[names[1]] = np.asarray(go)
                found = self._run_body(values, **options)
                go = found[0]
                values.update(zip(names[2:], found[1 : 1 + self.N]))
                turns.append(found[1 + self.N :])
            joined = [np.stack(one) for one in zip(*turns)] if turns else [np.empty(0)] * (len(made) - 1 - self.N)
            results: tuple[Any, ...] = self._check_and_fix_outputs((*(values[name] for name in names[2:]), *joined))
            return results

    return [Softmax, LogSoftmax, Hardmax, Pad, GridSample, RoiAlign, GlobalLpPool, MeanVarianceNormalization, Loop]


def _opset(operator: Any) -> int:
    return int(operator.run_params["opsets"][operator.onnx_node.domain])


def _by_rows(operator: Any, x: Any, function: Callable[[Any], Any]) -> Any:
    """``function`` of x as rows [A, B]: along one axis, or before opset 13 over all axes from that one on."""
    import numpy as np

    said = next((one.i for one in operator.onnx_node.attribute if one.name == "axis"), None)
    if x.size == 0:
        return x
    if _opset(operator) >= PER_AXIS:
        axis = -1 if said is None else said
        last = np.moveaxis(x, axis, -1)
        found = function(last.reshape(-1, last.shape[-1])).reshape(last.shape)
        return np.moveaxis(found, -1, axis).astype(x.dtype)
    place = (1 if said is None else said) % max(x.ndim, 1)
    return function(x.reshape(int(np.prod(x.shape[:place], dtype=int)), -1)).reshape(x.shape).astype(x.dtype)
