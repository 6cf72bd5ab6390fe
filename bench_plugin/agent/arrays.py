"""Conversion between numpy arrays and blobs. numpy is imported on use, because a board may lack it."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any, FrozenSet, Tuple

from bench_plugin.agent.wire import DTYPES, Array

if TYPE_CHECKING:
    import numpy as np


# Types that numpy lacks are given as unsigned integers of the same width.
PLAIN = {
    "bfloat16": "uint16", "int4": "uint8", "uint4": "uint8", "float8e4m3fn": "uint8", "float8e5m2": "uint8",
    "bytes": "uint8",
}  # fmt: skip


def to_numpy(array: Array) -> np.ndarray[Any, Any]:
    """A view of the blob as a numpy array of its shape [...].

    Types that numpy lacks are unsigned integers of the same width; int4 is uint8 [bytes], two values in each.
    """
    make, dtype, packed = _maker(array.dtype)
    made: np.ndarray[Any, Any] = make((len(array.data),) if packed else array.shape, dtype, array.data)
    return made


def from_numpy(values: np.ndarray[Any, Any]) -> Array:
    """A blob of a numpy array of any shape [...], without a copy if it is contiguous and little-endian."""
    import numpy as np

    values = np.asarray(values)
    shape = values.shape
    data = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    name = data.dtype.name
    return Array(name, tuple(shape), data.reshape(-1).view(np.uint8).data if data.size else b"")


def is_sent_as_it_is(values: np.ndarray[Any, Any]) -> bool:
    """Whether the bytes of elements [...] of this type are those of the wire."""
    return values.dtype in _sent_as_they_are()


@lru_cache(maxsize=None)
def _maker(name: str) -> Tuple[Any, Any, bool]:
    """numpy's class of arrays, its little-endian type for a type of the wire, and whether two share a byte."""
    import numpy as np

    return np.ndarray, np.dtype(PLAIN.get(name, name)).newbyteorder("<"), name in ("int4", "uint4")


@lru_cache(maxsize=None)
def _sent_as_they_are() -> FrozenSet[Any]:
    """numpy's types whose bytes are those of the wire."""
    import numpy as np

    return (
        frozenset(np.dtype(name) for name in DTYPES if name not in PLAIN) if sys.byteorder == "little" else frozenset()
    )
