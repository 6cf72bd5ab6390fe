"""Many values in one file, without pickle: raw bytes one after the other, and JSON that says what lies where.

A value is a tensor (numpy), a list of values (a sequence), or None (an empty optional). A description is plain data:
``{"d": dtype, "s": shape, "o": offset, "n": bytes}`` for a tensor, a list of descriptions, or None. Strings are stored
as JSON in UTF-8. The same descriptions carry values over the wire, where ``o`` is the number of a blob.
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
VALUE = "value:"  # what blobs of a structured value are called in a call
# What numpy itself can hold, and every adapter takes as it is; all else is declared by an adapter that takes it.
PLAIN = frozenset(
    ["bool", "float16", "float32", "float64", "complex64", "complex128"]
    + ["%sint%d" % (sign, bits) for sign in ("", "u") for bits in (8, 16, 32, 64)]
)
ALIGNMENT = 64


def dtype_of(values: Any) -> str:
    """The name of an array's element type; ``str`` for strings."""
    return STRING if values.dtype.kind in "OUS" else str(values.dtype.name)


def raw_of(values: Any) -> Raw:
    """The bytes of an array; strings as JSON."""
    import numpy as np

    if dtype_of(values) == STRING:
        texts = [one.decode("utf-8") if isinstance(one, bytes) else str(one) for one in values.reshape(-1).tolist()]
        return np.frombuffer(json.dumps(texts).encode("utf-8"), dtype=np.uint8)
    flat = np.ascontiguousarray(values).reshape(-1)
    return flat.view(np.uint8) if flat.size else np.empty(0, dtype=np.uint8)


def tensor_of(dtype: str, shape: Sequence[int], raw: Any, codes: bool = False) -> Any:
    """The inverse of :func:`raw_of`; types that numpy lacks need ml_dtypes, unless their ``codes`` are enough."""
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
    """What an adapter must take to be handed this value, beyond plain tensors: ``sequence``, ``optional``, dtypes."""
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
        """Write bytes as they are; returns where they lie."""
        self._file.write(b"\0" * (-self._file.tell() % ALIGNMENT))
        place = {"o": self._file.tell(), "n": len(data)}
        self._file.write(data)
        return place


class Reader:
    """Values of a file's content, by their descriptions."""

    def __init__(self, content: Any, codes: bool = False) -> None:
        self._content = memoryview(content)
        self._codes = codes

    def bytes(self, place: Mapping[str, Any]) -> Any:
        """What was written by ``add_bytes``."""
        return self._content[place["o"] : place["o"] + place["n"]]

    def value(self, description: Any) -> Any:
        """The value of a description."""
        if description is None:
            return None
        if isinstance(description, list):
            return [self.value(item) for item in description]
        return tensor_of(description["d"], description["s"], self.bytes(description), self._codes)


def blobs_of(values: Sequence[Any], prefix: str = VALUE) -> Tuple[List[Any], Dict[str, Array]]:
    """Descriptions and blobs of values for a call or a reply."""
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
    """The inverse of :func:`blobs_of`: values by name, from their descriptions and the blobs of a call."""

    def value_of(description: Any) -> Any:
        if description is None:
            return None
        if isinstance(description, list):
            return [value_of(item) for item in description]
        raw = to_numpy(arrays[VALUE + str(description["o"])])
        return tensor_of(description["d"], description["s"], raw)

    return {name: value_of(description) for name, description in described.items()}


def reply(values: Sequence[Any]) -> Tuple[Dict[str, Any], Dict[str, Array]]:
    """Metadata and blobs of outputs: ``out0`` ... where all are plain arrays, else described in ``values``."""
    import numpy as np

    arrays = [np.asarray(value) if isinstance(value, np.generic) else value for value in values]
    if all(isinstance(value, np.ndarray) and dtype_of(value) in PLAIN for value in arrays):
        return {}, {"out%d" % index: from_numpy(value) for index, value in enumerate(arrays)}
    descriptions, blobs = blobs_of(arrays)
    return {"values": descriptions}, blobs
