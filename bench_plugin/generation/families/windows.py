"""Operators on images [N, C, ...]: convolution, pooling and resizing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench_plugin.generation.catalogue import Operator
from bench_plugin.generation.graphs import Port
from bench_plugin.generation.sketch import Family, Shape, Sketch


def _window(sketch: Sketch, size: Sequence[int], *, plain: bool = False) -> tuple[dict[str, Any], Shape]:
    """kernel_shape, strides, pads and dilations that fit spatial ``size``, and the spatial shape of the result."""
    kernel = [sketch.number(min(2, extent) if sketch.only else 1, min(3, extent)) for extent in size]
    strides = [sketch.among((1, 2)) for _ in size]
    dilations = [1 if plain or 2 * (k - 1) + 1 > extent else sketch.among((1, 2))
                 for k, extent in zip(kernel, size, strict=True)]  # fmt: skip
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    before, after = ([sketch.number(0, k - 1) for k in kernel] for _ in range(2))
    out = [(n + a + b - r) // s + 1 for n, a, b, r, s in zip(size, before, after, reach, strides, strict=True)]
    found: dict[str, Any] = {"kernel_shape": kernel}
    if any(stride != 1 for stride in strides):
        found["strides"] = strides
    if any(dilation != 1 for dilation in dilations):
        found["dilations"] = dilations
    if any((*before, *after)):
        found["pads"] = [*before, *after]
    return found, tuple(out)


def _image(sketch: Sketch, row: Operator, depth: int, spatial: Shape) -> Port:
    """An operand [N, C, ...]: an earlier result with any C, else a new input with C = ``depth``."""
    there = sketch.earlier(row, (3, 4))
    if there is not None:
        return there
    return sketch.source(row, sketch.dtype(row), (sketch.among((1, 2)), depth, *spatial), constant=False)


def _conv(sketch: Sketch, row: Operator) -> None:
    group = sketch.among((1, 2))
    spatial = sketch.shape((1, 2), least=1)
    depth, filters = (group * sketch.among((1, 2)) for _ in range(2))
    x = _image(sketch, row, depth, spatial)
    depth, spatial = x.shape[1], x.shape[2:]
    group = group if depth % group == 0 and filters % group == 0 else 1
    found, out = _window(sketch, spatial)
    kernel = found.pop("kernel_shape") if sketch.flag() else found["kernel_shape"]
    inputs = [x, sketch.source(row, x.dtype, (filters, depth // group, *kernel))]
    if sketch.flag():
        inputs.append(sketch.source(row, x.dtype, (filters,)))
    sketch.node(row, inputs, (x.dtype, (x.shape[0], filters, *out)), group=group if group > 1 else None, **found)


def _conv_transpose(sketch: Sketch, row: Operator) -> None:
    spatial = sketch.shape((1, 2), least=1)
    depth, filters = (sketch.among((1, 2)) for _ in range(2))
    x = _image(sketch, row, depth, spatial)
    depth, spatial = x.shape[1], x.shape[2:]
    kernel = [sketch.among((1, 2, 3)) for _ in spatial]
    strides = [sketch.among((1, 2)) for _ in spatial]
    more = [sketch.number(0, stride - 1) for stride in strides]
    before, after = ([sketch.number(0, (k - 1) // 2) for k in kernel] for _ in range(2))
    out = tuple(
        (n - 1) * s + k + o - a - b
        for n, s, k, o, a, b in zip(spatial, strides, kernel, more, before, after, strict=True)
    )
    inputs = [x, sketch.source(row, x.dtype, (depth, filters, *kernel))]
    if sketch.flag():
        inputs.append(sketch.source(row, x.dtype, (filters,)))
    found: dict[str, Any] = {"kernel_shape": kernel, "strides": strides}
    found["output_padding"] = more if any(more) else None
    found["pads"] = [*before, *after] if any((*before, *after)) else None
    sketch.node(row, inputs, (x.dtype, (x.shape[0], filters, *out)), **found)


def _pool(sketch: Sketch, row: Operator) -> None:
    x = _image(sketch, row, sketch.among((1, 2)), sketch.shape((1, 2), least=1))
    found, out = _window(sketch, x.shape[2:], plain=row.name != "MaxPool")
    sketch.node(row, [x], (x.dtype, (*x.shape[:2], *out)), **found)


def _global_pool(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    sketch.node(row, [x], (x.dtype, (*x.shape[:2], *(1 for _ in x.shape[2:]))))


def _resize(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    mode = sketch.among((None, "nearest", "linear"))
    way = sketch.among((None, "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"))
    rounding = sketch.among((None, "floor", "ceil", "round_prefer_ceil")) if mode != "linear" else None
    if sketch.flag():
        sizes = [*x.shape[:2], *(sketch.among((size, size * 2, max(1, size - 1))) for size in x.shape[2:])]
        inputs = [x, None, None, sketch.literal(sizes)]
        shape = tuple(sizes)
    else:
        scales = [1.0, 1.0, *(sketch.among((2.0, 1.0, 3.0)) for _ in range(2))]
        inputs = [x, None, sketch.literal(scales, "float32")]
        shape = tuple(int(size * scale) for size, scale in zip(x.shape, scales, strict=True))
    sketch.node(row, inputs, (x.dtype, shape), mode=mode, coordinate_transformation_mode=way, nearest_mode=rounding)


FAMILIES: Mapping[str, Family] = {
    "conv": _conv,
    "conv_transpose": _conv_transpose,
    "pool": _pool,
    "global_pool": _global_pool,
    "resize": _resize,
}
