"""Operators of onnx's evaluator that move a window over their input: Conv, ConvInteger, MaxPool and AveragePool."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_windows",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Convolution and pooling of the ONNX reference",
    "distribution": "onnx",
    "operations": [],
}

BLOCK = 2**21  # elements of the columns of one product: 16 MiB, which is far less than a layer of a large model needs


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def operators(base: Any) -> list[Any]:
    """Classes for the evaluator, for every opset; its own are too slow for real networks."""
    import numpy as np

    class Conv(base):  # type: ignore[misc]
        op_domain = ""

        def _run(self, x: Any, w: Any, b: Any = None, **options: Any) -> tuple[Any]:
            window = _Window(x.shape[2:], w.shape[2:], options)
            y = _convolved(window.padded(x, 0.0), w, window, int(options.get("group") or 1))
            return (y if b is None else y + b.reshape(-1, *[1] * (x.ndim - 2)),)

    class ConvInteger(base):  # type: ignore[misc]
        """In float64, which holds every sum of products of bytes exactly: numpy multiplies integers slowly."""

        op_domain = ""

        def _run(self, x: Any, w: Any, x_zero: Any = None, w_zero: Any = None, **options: Any) -> tuple[Any]:
            window = _Window(x.shape[2:], w.shape[2:], options)
            shifted = x.astype(np.float64) - (0 if x_zero is None else np.asarray(x_zero, np.float64).reshape(()))
            weights = w.astype(np.float64)
            if w_zero is not None:  # one for the tensor, or one for each output channel
                weights -= np.asarray(w_zero, np.float64).reshape(-1, *[1] * (w.ndim - 1))
            sums = _convolved(window.padded(shifted, 0.0), weights, window, int(options.get("group") or 1))
            return (sums.astype(np.int64).astype(np.int32),)  # a sum beyond int32 wraps, as the operator has it

    class MaxPool(base):  # type: ignore[misc]
        op_domain = ""

        def _run(self, x: Any, **options: Any) -> tuple[Any, ...]:
            window = _Window(x.shape[2:], options["kernel_shape"], options)
            lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
            parts = window.slices(window.padded(x, lowest))
            largest = next(parts).copy()
            if len(self.onnx_node.output) == 1:
                for part in parts:
                    np.maximum(largest, part, out=largest)
                return (largest,)
            places = np.arange(int(np.prod(x.shape[2:]))).reshape(1, 1, *x.shape[2:])
            if options.get("storage_order"):  # the first of the spatial axes is the one that changes fastest
                places = (
                    np.arange(places.size).reshape(1, 1, *x.shape[:1:-1]).transpose(0, 1, *range(x.ndim - 1, 1, -1))
                )
            offered = window.slices(window.padded(places, -1))
            found = np.broadcast_to(next(offered), largest.shape).copy()
            for part, place in zip(parts, offered):
                # The first of equal elements counts, but never the padding, which may be as large.
                better = (part > largest) | ((found < 0) & (place >= 0))
                largest, found = np.where(better, part, largest), np.where(better, place, found)
            images = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], *[1] * (x.ndim - 2))
            return largest, (found + images * places.size).astype(np.int64)

    class AveragePool(base):  # type: ignore[misc]
        op_domain = ""

        def _run(self, x: Any, **options: Any) -> tuple[Any]:
            window = _Window(x.shape[2:], options["kernel_shape"], options)
            total = sum(window.slices(window.padded(x, 0.0)))
            # What lies beyond the declared padding (ceil_mode) never counts.
            ones = np.ones((1, 1, *x.shape[2:]))
            if options.get("count_include_pad"):
                ones = np.pad(ones, [(0, 0), (0, 0), *window.pads], constant_values=1.0)
                counted = sum(window.slices(window.extended(ones, 0.0)))
            else:
                counted = sum(window.slices(window.padded(ones, 0.0)))
            return (total / counted,)

    return [Conv, ConvInteger, MaxPool, AveragePool]


class _Window:
    """Geometry of a convolution or pooling over ``size``: strides, dilations and padding as the operator defines
    them.
    """

    def __init__(self, size: Sequence[int], kernel: Sequence[int], options: dict[str, Any]) -> None:
        rank = len(size)
        self.kernel = [int(k) for k in kernel]
        self.strides = [int(s) for s in options.get("strides") or [1] * rank]
        self.dilations = [int(d) for d in options.get("dilations") or [1] * rank]
        reach = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations)]
        auto = options.get("auto_pad") or "NOTSET"
        auto = auto.decode() if isinstance(auto, bytes) else auto
        if auto in ("SAME_UPPER", "SAME_LOWER"):
            self.out = [-(-n // s) for n, s in zip(size, self.strides)]
            need = [max((o - 1) * s + r - n, 0) for o, s, r, n in zip(self.out, self.strides, reach, size)]
            halves = [(n // 2, n - n // 2) for n in need]
            self.pads = halves if auto == "SAME_UPPER" else [(b, a) for a, b in halves]
        else:
            flat = [int(p) for p in options.get("pads") or [0] * (2 * rank)] if auto == "NOTSET" else [0] * (2 * rank)
            self.pads = list(zip(flat[:rank], flat[rank:]))
            free = [n + a + b - r for n, (a, b), r in zip(size, self.pads, reach)]
            self.out = [f // s + 1 for f, s in zip(free, self.strides)]
            if options.get("ceil_mode"):
                self.out = [-(-f // s) + 1 for f, s in zip(free, self.strides)]
                # A window that would start in the padding behind the input is left out.
                self.out = [
                    o - 1 if (o - 1) * s >= n + a else o
                    for o, s, n, (a, _) in zip(self.out, self.strides, size, self.pads)
                ]
        spans = [(o - 1) * s + r for o, s, r in zip(self.out, self.strides, reach)]
        self.beyond = [max(span - n - a - b, 0) for span, n, (a, b) in zip(spans, size, self.pads)]

    def padded(self, x: Any, value: float) -> Any:
        """x [N, C, ...] with its padding, and with what ceil_mode reaches beyond it."""
        import numpy as np

        pads = [(a, b + more) for (a, b), more in zip(self.pads, self.beyond)]
        return np.pad(x, [(0, 0), (0, 0), *pads], constant_values=value) if any(map(sum, pads)) else x

    def extended(self, x: Any, value: float) -> Any:
        """x, padded already, with what ceil_mode reaches beyond it."""
        import numpy as np

        return np.pad(x, [(0, 0), (0, 0), *((0, more) for more in self.beyond)], constant_values=value)

    def slices(self, padded: Any) -> Iterator[Any]:
        """For each position in the kernel, the elements [N, C, *out] that it meets, in row-major order."""
        for position in itertools.product(*(range(k) for k in self.kernel)):
            yield padded[(slice(None), slice(None), *self._spans(position))]

    def _spans(self, position: Sequence[int]) -> list[slice]:
        starts = [p * d for p, d in zip(position, self.dilations)]
        return [slice(a, a + (o - 1) * s + 1, s) for a, o, s in zip(starts, self.out, self.strides)]


def _convolved(padded: Any, w: Any, window: _Window, group: int) -> Any:
    """padded [N, C, ...], w [M, C / group, ...] to [N, M, *out] in float64."""
    import numpy as np

    count, outputs, per_group = padded.shape[0], w.shape[0], w.shape[1]
    if per_group == 1 and outputs == group:
        total = np.zeros((count, outputs, *window.out))
        for index, part in enumerate(window.slices(padded)):
            total += part * w.reshape(outputs, -1)[:, index].reshape(1, -1, *[1] * len(window.out))
        return total
    # Columns are ordered by the position in the kernel, then by the channel.
    grouped = w.reshape(group, outputs // group, per_group, -1).swapaxes(2, 3).reshape(group, outputs // group, -1)
    first, rest = window.out[0], int(np.prod(window.out[1:]))
    positions, depth = int(np.prod(window.kernel)), grouped.shape[2]
    result = np.empty((count, group, outputs // group, first, rest))
    for images, rows in _blocks(count, first, group * depth * rest):
        shape = (images.stop - images.start, group, per_group, rows.stop - rows.start, rest)
        columns = np.empty((*shape[:2], positions, *shape[2:]))
        for index, part in enumerate(window.slices(padded)):
            columns[:, :, index] = part[images, :, rows].reshape(shape)
        found = np.matmul(grouped, columns.reshape(*shape[:2], depth, -1))
        result[images, :, :, rows] = found.reshape(*found.shape[:3], *shape[3:])
    return result.reshape(count, outputs, *window.out)


def _blocks(count: int, rows: int, row: int) -> Iterator[tuple[slice, slice]]:
    """Images and rows of the output whose columns, of ``row`` elements for each row of an image, fill ``BLOCK``."""
    high = max(1, min(rows, BLOCK // max(row, 1)))
    many = max(1, min(count, BLOCK // max(row * high, 1)))
    for image, start in itertools.product(range(0, count, many), range(0, rows, high)):
        yield slice(image, min(image + many, count)), slice(start, min(start + high, rows))
