"""Conversion between numpy arrays and blobs. numpy is imported on use, because a board may lack it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench_plugin.agent.wire import Array

if TYPE_CHECKING:
    import numpy as np


def to_numpy(array: Array) -> np.ndarray[Any, Any]:
    """A view of the blob as a numpy array of its shape [...].

    Types that numpy lacks are unsigned integers of the same width; int4 is uint8 [bytes], two values in each.
    """
    import numpy as np

    plain = {"bfloat16": "uint16", "int4": "uint8", "uint4": "uint8", "float8e4m3fn": "uint8", "float8e5m2": "uint8"}
    dtype = plain.get(array.dtype, "uint8" if array.dtype == "bytes" else array.dtype)
    flat = np.frombuffer(array.data, dtype=np.dtype(dtype).newbyteorder("<"))
    return flat if array.dtype in ("int4", "uint4") else flat.reshape(array.shape)


def from_numpy(values: np.ndarray[Any, Any]) -> Array:
    """A blob of a numpy array of any shape [...], without a copy if it is contiguous and little-endian."""
    import numpy as np

    values = np.asarray(values)
    shape = values.shape
    data = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    name = data.dtype.name
    return Array(name, tuple(shape), data.reshape(-1).view(np.uint8).data if data.size else b"")
