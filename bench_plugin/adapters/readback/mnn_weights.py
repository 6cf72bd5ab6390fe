"""The weights of a .mnn file, read back without MNN: a flatbuffer with weights in integers or in float16."""

from __future__ import annotations

import importlib
import struct
from collections.abc import Iterator
from typing import Any

from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.toolkit import versions
from bench_plugin.agent.toolkit.rebuilding import Layers

ADAPTER = {
    "name": "mnn_weights",
    "kind": "tool",
    "toolchain": "mnn",
    "title": "Weights of MNN's files read back",
    "distribution": "mnn",
    "operations": [],
}

# Numbers of fields, in the order of MNN's schema/default/*.fbs.
OPLISTS, MAIN_TYPE, MAIN, NAME = 3, 1, 2, 3
SUBGRAPHS, NODES = 10, 4  # bodies of loops
CONVOLUTION = 9  # the main table of this type is a Convolution2D, also that of a matrix product with weights
BIAS, QUANTISED = 2, 3  # of Convolution2D
BUFFER, ALPHA, TYPE, LEAST, ASYMMETRIC = 0, 1, 2, 8, 9  # of IDSTQuan
CODEBOOK, HALVES = 1, 3  # IDSTQuan.type
BLOB = 7  # the main table of this type is a Blob, that of a constant
DIMENSIONS, DTYPE, BYTES = 0, 2, 3  # of Blob
FLOAT16 = 19  # Blob.dataType


class Adapter:
    """Remembers nothing; the adapter of the compiler takes the functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("numpy")

    def reset(self) -> None:
        """Nothing to forget."""


class Table:
    """A table of a flatbuffer, read without its schema."""

    def __init__(self, content: bytes, at: int) -> None:
        self._content, self._at = content, at
        self._fields = at - struct.unpack_from("<i", content, at)[0]
        self._size = struct.unpack_from("<H", content, self._fields)[0]

    def _offset(self, field: int) -> int:
        place = 4 + 2 * field
        return int(struct.unpack_from("<H", self._content, self._fields + place)[0]) if place < self._size else 0

    def _reference(self, field: int) -> int | None:
        offset = self._offset(field)
        if not offset:
            return None
        return int(self._at + offset + struct.unpack_from("<I", self._content, self._at + offset)[0])

    def number(self, field: int, format: str) -> int:
        """A number; 0 where the field is not there."""
        offset = self._offset(field)
        return int(struct.unpack_from("<" + format, self._content, self._at + offset)[0]) if offset else 0

    def table(self, field: int) -> Table | None:
        """A table within."""
        found = self._reference(field)
        return None if found is None else Table(self._content, found)

    def vector(self, field: int, dtype: str) -> Any:
        """Numbers as an array [n]."""
        numpy, found = importlib.import_module("numpy"), self._reference(field)
        if found is None:
            return numpy.zeros(0, dtype)
        return numpy.frombuffer(self._content, dtype, struct.unpack_from("<I", self._content, found)[0], found + 4)

    def tables(self, field: int) -> list[Table]:
        """Tables within."""
        found = self._reference(field)
        if found is None:
            return []
        places = [found + 4 + 4 * index for index in range(struct.unpack_from("<I", self._content, found)[0])]
        return [Table(self._content, place + struct.unpack_from("<I", self._content, place)[0]) for place in places]

    def text(self, field: int) -> str:
        """A text; empty where the field is not there."""
        found = self._reference(field)
        if found is None:
            return ""
        size = struct.unpack_from("<I", self._content, found)[0]
        return self._content[found + 4 : found + 4 + size].decode("utf-8", "replace")


def any_quantised(content: bytes) -> bool:
    """Whether a file has weights that are quantised, of whatever kind."""
    return next(_stored(content), None) is not None


def _nodes(content: bytes) -> list[Table]:
    net = Table(content, struct.unpack_from("<I", content)[0])
    inner = [node for graph in net.tables(SUBGRAPHS) for node in graph.tables(NODES)]
    return [*net.tables(OPLISTS), *inner]


def _stored(content: bytes) -> Iterator[tuple[str, Table, Table]]:
    """The quantised weights of a file: the name of the node, its Convolution2D, and its IDSTQuan."""
    for node in _nodes(content):
        main = node.table(MAIN) if node.number(MAIN_TYPE, "B") == CONVOLUTION else None
        quantised = main.table(QUANTISED) if main is not None else None
        if main is not None and quantised is not None and len(quantised.vector(BUFFER, "i1")):
            yield node.text(NAME), main, quantised


def rebuilt(content: bytes) -> Layers:
    """The weights of a file that are stored in integers or in float16.

    Raises Unsupported where there are none, or of a kind that is not known.
    """
    layers = Layers()
    for name, main, quantised in _stored(content):
        kind, channels = quantised.number(TYPE, "i"), len(main.vector(BIAS, "<f4"))
        if kind not in (CODEBOOK, HALVES):
            raise Unsupported(f"the weights of {name} are stored as kind {kind}")
        if kind == HALVES:
            layers.quantised("weight", name, *_halves(quantised.vector(BUFFER, "u1"), (channels, -1)))
        else:
            layers.quantised("weight", name, *_weights(quantised, channels))
    for node in _nodes(content):
        blob = node.table(MAIN) if node.number(MAIN_TYPE, "B") == BLOB else None
        if blob is None or blob.number(DTYPE, "i") != FLOAT16:
            continue
        shape = tuple(int(size) for size in blob.vector(DIMENSIONS, "<i4"))
        layers.quantised("weight", node.text(NAME), *_halves(blob.vector(BYTES, "u1"), shape))
    if not layers.constants:
        raise Unsupported("no weights in integers or in float16 in the artefact")
    return layers


def _halves(raw: Any, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Real values in this shape, and steps of which MNN is at most half a one off.

    MNN cuts the digits off, so that it is up to one number of float16 off. ONNX binds no way of rounding.
    """
    numpy = importlib.import_module("numpy")
    values = raw.copy().view("<f2").reshape(shape)
    return values.astype("float64"), 2 * numpy.spacing(numpy.abs(values)).astype("float64")


def _weights(quantised: Table, channels: int) -> tuple[Any, Any]:
    """Real values [channels, n] and steps [channels, 1]."""
    codes = _codes(quantised.vector(BUFFER, "u1")).reshape(channels, -1)
    alpha = quantised.vector(ALPHA, "<f4").astype("float64")
    if not quantised.number(ASYMMETRIC, "i"):
        step = alpha.reshape(channels, -1)
        return codes * step, step
    least, step = alpha[::2].reshape(channels, -1), alpha[1::2].reshape(channels, -1)
    return (codes - quantised.number(LEAST, "i")) * step + least, step


def _codes(raw: Any) -> Any:
    """The integers of a buffer: rank, dimensions, a codebook, and indices into it, high bits first."""
    numpy = importlib.import_module("numpy")
    rank = int(raw[0])
    count = int(raw[1 : 1 + 2 * rank].copy().view("<u2").astype("int64").prod())
    at = 1 + 2 * rank
    size = int(raw[at]) or 256
    book = raw[at + 1 : at + 1 + size].view("i1")
    bits = max(1, (size - 1).bit_length())
    stream = numpy.unpackbits(raw[at + 1 + size :])[: count * bits].reshape(count, bits)
    return book[stream @ (1 << numpy.arange(bits)[::-1])].astype("float64")
