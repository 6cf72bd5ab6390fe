"""Values of ONNX Runtime in types that numpy lacks: typed OrtValues made of arrays, and arrays made of them."""

from __future__ import annotations

import ctypes
import importlib
import math
from collections.abc import Iterable
from typing import Any

from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnxruntime_values",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Typed values of ONNX Runtime",
    "distribution": "onnxruntime",
    "operations": [],
}

# ONNX's numbers of the types that numpy lacks, which are handed over as typed OrtValues, and their bits.
TYPED = {
    "bfloat16": (16, 16), "float8_e4m3fn": (17, 8), "float8_e4m3fnuz": (18, 8), "float8_e5m2": (19, 8),
    "float8_e5m2fnuz": (20, 8), "uint4": (21, 4), "int4": (22, 4), "float4_e2m1fn": (23, 4), "float8_e8m0fnu": (24, 8),
    "uint2": (25, 2), "int2": (26, 2),
}  # fmt: skip
NAMES = {number: name for name, (number, _) in TYPED.items()}
BYTE = 8

# Types as a session names them.
SAID = (
    "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float8e8m0", "float4e2m1", "int4",
    "uint4", "int2", "uint2",
)  # fmt: skip


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.found("onnxruntime", "onnxruntime-gpu", "onnxruntime-openvino", "onnxruntime-qnn", "ml-dtypes")

    def reset(self) -> None:
        """Nothing to forget."""


def are_typed(rows: Iterable[Any]) -> bool:
    """Whether one of a session's inputs or outputs is of such a type, so that all are given as OrtValues."""
    return any(row.type in {f"tensor({said})" for said in SAID} for row in rows)


def ortvalue_of(x: Any) -> Any:
    """An array [...] as an OrtValue of its type. Elements of 4 or 2 bits share a byte, the first one low."""
    value_of = importlib.import_module("onnxruntime").OrtValue
    if x.dtype.name not in TYPED:
        return value_of.ortvalue_from_numpy(x)
    number, bits = TYPED[x.dtype.name]
    value = value_of.ortvalue_from_shape_and_type(list(x.shape), number)
    raw = _packed(x.reshape(-1), bits)
    if raw.size:
        ctypes.memmove(value.data_ptr(), raw.ctypes.data, raw.nbytes)
    return value


def array_of(value: Any) -> Any:
    """An OrtValue as an array [...], which is a copy."""
    import numpy as np

    name = NAMES.get(value.element_type()) if value.is_tensor() else None
    if name is None:
        return value.numpy()
    shape, bits = tuple(value.shape()), TYPED[name][1]
    count = math.prod(shape)
    raw = ctypes.string_at(value.data_ptr(), -(-count * bits // BYTE)) if count else b""
    dtype = getattr(importlib.import_module("ml_dtypes"), name)
    if bits >= BYTE:
        return np.frombuffer(raw, dtype=dtype).reshape(shape)
    each = np.frombuffer(raw, dtype=np.uint8)
    parts = np.stack([each >> place & (1 << bits) - 1 for place in range(0, BYTE, bits)], 1).reshape(-1)[:count]
    if name.startswith("int"):  # as ml_dtypes has them, with the sign in all bits of the byte
        return ((parts.astype(np.int8) ^ 1 << bits - 1) - (1 << bits - 1)).astype(dtype).reshape(shape)
    return parts.astype(np.uint8).view(dtype).reshape(shape)


def _packed(flat: Any, bits: int) -> Any:
    """The bytes of a flat array of a type of so many bits."""
    import numpy as np

    raw = flat.view(np.uint8)
    if bits >= BYTE:
        return raw
    each = BYTE // bits
    padded = np.zeros(-(-raw.size // each) * each, dtype=np.uint8)
    padded[: raw.size] = raw & (1 << bits) - 1
    columns = padded.reshape(-1, each) << np.arange(0, BYTE, bits, dtype=np.uint8)
    return np.bitwise_or.reduce(columns, axis=1)
