"""Packs: many values in one file without pickle, as raw bytes in sequence, and JSON with their places.

A value is a tensor (a numpy array [...]), a list of values (a sequence), or None (an empty optional). A description is
plain data: ``{"d": dtype, "s": shape, "o": offset, "n": bytes}`` for a tensor, a list of descriptions, or None. Strings
are stored as JSON in UTF-8. The same descriptions are used on the wire, where ``o`` is the number of a blob.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Sequence, Tuple

from bench_plugin.agent.arrays import from_numpy, to_numpy
from bench_plugin.agent.wire import Array

if TYPE_CHECKING:
    import numpy as np

    Raw = np.ndarray[Any, Any]

STRING = "str"
VALUE = "value:"  # the prefix of blobs of described values in a call
# What numpy itself can hold, and every adapter takes as it is; all else is declared by an adapter that takes it.
PLAIN = frozenset(
    ["bool", "float16", "float32", "float64", "complex64", "complex128"]
    + ["%sint%d" % (sign, bits) for sign in ("", "u") for bits in (8, 16, 32, 64)]
)
ALIGNMENT = 64


def dtype_of(values: Any) -> str:
    """The name of the element type of an array [...]; ``str`` for strings."""
    return STRING if values.dtype.kind in "OUS" else str(values.dtype.name)


def raw_of(values: Any) -> Raw:
    """The bytes of an array [...] in C order, little-endian; strings as JSON."""
    import numpy as np

    if dtype_of(values) == STRING:
        texts = [one.decode("utf-8") if isinstance(one, bytes) else str(one) for one in values.reshape(-1).tolist()]
        return np.frombuffer(json.dumps(texts).encode("utf-8"), dtype=np.uint8)
    flat = np.ascontiguousarray(values).reshape(-1)
    return flat.view(np.uint8) if flat.size else np.empty(0, dtype=np.uint8)


def tensor_of(dtype: str, shape: Sequence[int], raw: Any, codes: bool = False) -> Any:
    """The array of ``shape`` with these bytes, the inverse of :func:`raw_of`.

    Types that numpy lacks come as their integer codes if ``codes``; otherwise they need ml_dtypes.
    """
    import numpy as np

    if dtype == STRING:
        texts = np.empty(len(items := json.loads(bytes(raw).decode("utf-8"))), dtype=object)
        texts[:] = items
        return texts.reshape(shape)
    if dtype not in PLAIN:
        if codes:
            return np.frombuffer(raw, dtype=np.uint16 if dtype == "bfloat16" else np.uint8).reshape(shape)
        import importlib

        return np.frombuffer(raw, dtype=getattr(importlib.import_module("ml_dtypes"), dtype)).reshape(shape)
    return np.frombuffer(raw, dtype=dtype).reshape(shape)


def kinds(description: Any) -> Tuple[str, ...]:
    """What an adapter must support for this value beside plain tensors: ``sequence``, ``optional``, dtypes."""
    if description is None:
        return ("optional",)
    if isinstance(description, list):
        return tuple(sorted({"sequence", *(kind for item in description for kind in kinds(item))}))
    return () if description["d"] in PLAIN else (description["d"],)


class Writer:
    """Appends values to an open binary file."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def add(self, value: Any) -> Any:
        """Write a value; returns its description."""
        if value is None:
            return None
        if isinstance(value, (list, tuple)):
            return [self.add(item) for item in value]
        raw = raw_of(value)
        return {"d": dtype_of(value), "s": list(value.shape), **self.add_bytes(raw.data)}

    def add_bytes(self, data: Any) -> Dict[str, int]:
        """Write bytes unchanged; returns their place."""
        self._file.write(b"\0" * (-self._file.tell() % ALIGNMENT))
        place = {"o": self._file.tell(), "n": len(data)}
        self._file.write(data)
        return place


class Reader:
    """Reads values from the content of a file by their descriptions; ``codes`` as in :func:`tensor_of`."""

    def __init__(self, content: Any, codes: bool = False) -> None:
        self._content = memoryview(content)
        self._codes = codes

    def bytes(self, place: Mapping[str, Any]) -> Any:
        """The bytes at a place that ``add_bytes`` returned."""
        return self._content[place["o"] : place["o"] + place["n"]]

    def value(self, description: Any) -> Any:
        """The value with this description: an array [...], a list, or None."""
        if description is None:
            return None
        if isinstance(description, list):
            return [self.value(item) for item in description]
        return tensor_of(description["d"], description["s"], self.bytes(description), self._codes)


def blobs_of(values: Sequence[Any], prefix: str = VALUE) -> Tuple[List[Any], Dict[str, Array]]:
    """Descriptions of ``values`` (arrays [...], lists, None), and their blobs, named from ``prefix``, for the wire."""
    blobs: Dict[str, Array] = {}

    def add(value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, (list, tuple)):
            return [add(item) for item in value]
        number = len(blobs)
        blobs[prefix + str(number)] = from_numpy(raw_of(value))
        return {"d": dtype_of(value), "s": list(value.shape), "o": number}

    return [add(value) for value in values], blobs


def read(described: Mapping[str, Any], arrays: Mapping[str, Array]) -> Dict[str, Any]:
    """Values by name, arrays [...], lists or None, from descriptions and the blobs of a call: see :func:`blobs_of`."""

    def value_of(description: Any) -> Any:
        if description is None:
            return None
        if isinstance(description, list):
            return [value_of(item) for item in description]
        raw = to_numpy(arrays[VALUE + str(description["o"])])
        return tensor_of(description["d"], description["s"], raw)

    return {name: value_of(description) for name, description in described.items()}


def reply(values: Sequence[Any]) -> Tuple[Dict[str, Any], Dict[str, Array]]:
    """Metadata and blobs of one run's outputs: ``out0`` ... [...] if all are arrays, else with descriptions."""
    import numpy as np

    arrays = [np.asarray(value) if isinstance(value, np.generic) else value for value in values]
    if all(isinstance(value, np.ndarray) and dtype_of(value) in PLAIN for value in arrays):
        return {}, {"out%d" % index: from_numpy(value) for index, value in enumerate(arrays)}
    descriptions, blobs = blobs_of(arrays)
    return {"values": descriptions}, blobs
