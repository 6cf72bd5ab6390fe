"""Products of matrices."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bench_plugin.generation.catalogue import Operator
from bench_plugin.generation.families.broadcasting import broadcastable
from bench_plugin.generation.sketch import SIZES, Family, Sketch


def _matmul(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row, (1, 4))
    inner, columns = x.shape[-1], sketch.among((*SIZES, 0))
    batch = broadcastable(sketch, x.shape[:-2])
    # Not an empty vector: ONNX Runtime then returns uninitialised memory (docs/findings.md), which differs from run to
    # run, so that no row of expectations could describe it.
    shape = (inner,) if inner and sketch.flag() else (*batch, inner, columns)
    other = sketch.source(row, x.dtype, shape)
    found = np.matmul(np.empty(x.shape), np.empty(shape)).shape
    sketch.node(row, [x, other], (x.dtype, tuple(found)))


def _gemm(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row, (2, 2))
    left, right = (1 if sketch.flag() else None for _ in range(2))
    count, inner = x.shape[::-1] if left else x.shape
    columns = sketch.among((*SIZES, 0))
    inputs = [x, sketch.source(row, x.dtype, (columns, inner) if right else (inner, columns))]
    if sketch.flag():
        inputs.append(sketch.source(row, x.dtype, broadcastable(sketch, (count, columns))))
    alpha, beta = (sketch.among((0.5, 2.0, 0.0)) if sketch.flag() else None for _ in range(2))
    sketch.node(row, inputs, (x.dtype, (count, columns)), transA=left, transB=right, alpha=alpha, beta=beta)


def _matmul_integer(sketch: Sketch, row: Operator) -> None:
    dtype = sketch.among(row.types)
    count, inner, columns = (sketch.among(SIZES) for _ in range(3))
    x = sketch.source(row, dtype, (count, inner), constant=False)
    other = sketch.source(row, sketch.among(row.types), (inner, columns))
    inputs = [x, other]
    if sketch.flag():
        inputs.append(sketch.literal(sketch.number(0, 3), dtype))
    sketch.node(row, inputs, ("int32", (count, columns)))


FAMILIES: Mapping[str, Family] = {"matmul": _matmul, "gemm": _gemm, "matmul_integer": _matmul_integer}
