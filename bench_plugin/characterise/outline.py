"""An ONNX file without its weights: what its graph is made of, in a few hundred kilobytes, read in milliseconds.

Weights are skipped and not read: a file of half a gigabyte has an outline of the size of its graph. Small tensors stay,
because shapes follow from them. The numbers of fields are those of ``onnx.proto``.
"""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Iterator
from pathlib import Path

from bench_plugin.agent.external import LEADS
from bench_plugin.reach.processes.given_files import GivenFile

# The fields of a tensor that hold its elements, and the one that says their type.
ELEMENTS = frozenset({4, 5, 6, 7, 9, 10, 11})
DATA_TYPE = 2
INTEGERS = frozenset({2, 3, 4, 5, 6, 7, 9, 12, 13})  # codes of types that hold axes, shapes and indices
SMALL = 1 << 10  # bytes of elements that stay
SMALL_INTEGERS = 1 << 16  # of whole numbers, which shapes may follow from
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
Data = mmap.mmap | bytes


def outline_of(path: Path) -> GivenFile:
    """The outline of a file as a file for a call. Raises OSError for a file that cannot be read."""
    with path.open("rb") as file:
        if not path.stat().st_size:
            data = b""
        else:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
                data = outlined(mapped)
    return GivenFile(path, hashlib.sha256(data).hexdigest(), data=data)


def outlined(data: Data) -> bytes:
    """The message ``ModelProto`` without large tensors' elements. What is no such message is given as it is."""
    return b"".join(_message(data, 0, len(data), "model"))


def _message(data: Data, start: int, end: int, kind: str) -> Iterator[bytes]:
    """The parts of a message: as they are, but for the elements of large tensors and for what contains such."""
    leads = LEADS.get(kind, {})
    most = _most(data, start, end) if kind == "tensor" else 0
    kept = start  # from here on nothing has been given yet
    for number, begin, inside, stop in _fields(data, start, end):
        size = stop - inside
        if kind == "tensor" and number in ELEMENTS and size > most:
            yield data[kept:begin]
            kept = stop
        elif number in leads and size > SMALL:
            inner = b"".join(_message(data, inside, stop, leads[number]))
            if len(inner) != size:
                yield data[kept:begin]
                yield _varint(number << 3 | BYTES) + _varint(len(inner))
                yield inner
                kept = stop
    yield data[kept:end]


def _most(data: Data, start: int, end: int) -> int:
    """The most bytes of elements that a tensor keeps, by its type."""
    at = start
    while at < end:
        tag, at = _read(data, at, end)
        if tag & 7 == VARINT:
            value, at = _read(data, at, end)
            if tag >> 3 == DATA_TYPE:
                return SMALL_INTEGERS if value in INTEGERS else SMALL
        elif tag & 7 == BYTES:
            size, at = _read(data, at, end)
            at += size
        elif tag & 7 in (FIXED32, FIXED64):
            at += 4 if tag & 7 == FIXED32 else 8
        else:
            break
    return SMALL


def _fields(data: Data, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """The length-delimited fields of a message: number, and where the field, its content and what follows begin.

    It ends at bytes that are not a field.
    """
    at = start
    while at < end:
        begin = at
        tag, at = _read(data, at, end)
        if tag & 7 == BYTES:
            size, at = _read(data, at, end)
            if at + size > end:
                return
            yield tag >> 3, begin, at, at + size
            at += size
        elif tag & 7 == VARINT:
            _, at = _read(data, at, end)
        elif tag & 7 in (FIXED32, FIXED64):
            at += 4 if tag & 7 == FIXED32 else 8
        else:
            return


def _read(data: Data, at: int, end: int) -> tuple[int, int]:
    """A variable-length number and where it ends; one that does not end leads behind ``end``."""
    value = shift = 0
    while at < end and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    return 0, end + 1


def _varint(value: int) -> bytes:
    """A number as protobuf writes it.

    >>> _varint(1), _varint(300)
    (b'\\x01', b'\\xac\\x02')
    """
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    made.append(value)
    return bytes(made)
