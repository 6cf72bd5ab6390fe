"""The wire: frames between host and agent, byte by byte (docs/protocol.md).

A frame is, little-endian: a fixed header of 32 bytes, one descriptor of 48 bytes per blob, the metadata as UTF-8 JSON
(may be empty), the raw blobs. Nothing is executed or unpickled; every size is bounded before memory is taken.
"""

from __future__ import annotations

import json
import struct
from functools import lru_cache
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

MAGIC = b"BNCH"
VERSION = 1
# magic, version, kind, flags, call id, meta length, blob count, (reserved), (reserved), bytes after the header
HEADER = struct.Struct("<4sBBHIIHHIQ")
# dtype code, rank, (reserved), (reserved), dims, bytes
DESCRIPTOR = struct.Struct("<BBHI8IQ")

MAX_META = 1 << 22
MAX_BLOBS = 4096
MAX_RANK = 8
MAX_BYTES = 1 << 35
REMEMBERED_BYTES = 16 * 48  # descriptors of so many blobs are remembered once they were parsed

HELLO, LOAD, RUN, RESULT, ERROR, CALL, STAGE, PUT, GET, CANCEL = range(1, 11)
RESET, VERSIONS, BYE, CHALLENGE, AUTHENTICATE = range(11, 16)
MODEL, DATA, PROCESS, OUTPUT, STATS, OK, BUSY = range(16, 23)
KINDS = {
    HELLO: "hello", LOAD: "load", RUN: "run", RESULT: "result", ERROR: "error", CALL: "call", STAGE: "stage",
    PUT: "put", GET: "get", CANCEL: "cancel", RESET: "reset", VERSIONS: "versions", BYE: "bye", CHALLENGE: "challenge",
    AUTHENTICATE: "authenticate", MODEL: "model", DATA: "data", PROCESS: "process", OUTPUT: "output", STATS: "stats",
    OK: "ok", BUSY: "busy",
}  # fmt: skip

# name -> (code, bits per element); bf16 and int4 travel as codes and bytes, two int4 in a byte, low nibble first.
DTYPES = {
    "uint8": (1, 8), "int8": (2, 8), "uint16": (3, 16), "int16": (4, 16), "uint32": (5, 32), "int32": (6, 32),
    "uint64": (7, 64), "int64": (8, 64), "float16": (9, 16), "float32": (10, 32), "float64": (11, 64), "bool": (12, 8),
    "bfloat16": (13, 16), "int4": (14, 4), "uint4": (15, 4), "complex64": (16, 64), "complex128": (17, 128),
    "float8e4m3fn": (18, 8), "float8e5m2": (19, 8), "bytes": (20, 8),
}  # fmt: skip
NAMES = {code: name for name, (code, _) in DTYPES.items()}

Buffer = Union[bytes, bytearray, memoryview]
Descriptors = Sequence[Tuple[str, Tuple[int, ...], int]]


class WireError(Exception):
    """Bytes that are not a frame, or a frame that exceeds the bounds."""


class Array(NamedTuple):
    """A blob: elements of type ``dtype`` and ``shape`` [...], in C order and little-endian."""

    dtype: str
    shape: Tuple[int, ...]
    data: Buffer


class Frame(NamedTuple):
    """One message with blobs of any shape [...]; ``call`` is the number of the call that it belongs to."""

    kind: int
    call: int
    meta: Dict[str, Any]
    arrays: List[Array]


class Head(NamedTuple):
    """A checked header; ``total`` counts the bytes after it."""

    kind: int
    call: int
    meta_bytes: int
    blobs: int
    total: int


def nbytes(dtype: str, shape: Sequence[int]) -> int:
    """The size in bytes of elements of this type and shape, rounded up to a whole byte."""
    count = 1
    for dim in shape:
        count *= dim
    return (count * DTYPES[dtype][1] + 7) // 8


def encode(kind: int, call: int, meta: Optional[Dict[str, Any]] = None, arrays: Sequence[Array] = ()) -> List[Buffer]:
    """The buffers of a frame with ``arrays`` of any shape [...], to be sent in turn; blobs are not copied.

    Raises WireError where a bound is exceeded.
    """
    text = json.dumps(meta, separators=(",", ":"), allow_nan=True).encode() if meta else b""
    if len(text) > MAX_META:
        raise WireError("metadata of %d bytes, at most %d can be sent" % (len(text), MAX_META))
    if len(arrays) > MAX_BLOBS:
        raise WireError("%d blobs, at most %d can be sent" % (len(arrays), MAX_BLOBS))
    total = len(text) + DESCRIPTOR.size * len(arrays)
    first, blobs = [b"", text], []
    for array in arrays:
        blob = memoryview(array.data)
        if blob.format != "B" or blob.ndim != 1:
            blob = blob.cast("B")
        first.insert(-1, _descriptor(array.dtype, array.shape, len(blob)))
        total += len(blob)
        if len(blob):
            blobs.append(blob)
    if total > MAX_BYTES:
        raise WireError("a frame of %d bytes, at most %d can be sent" % (total, MAX_BYTES))
    first[0] = HEADER.pack(MAGIC, VERSION, kind, 0, call, len(text), len(arrays), 0, 0, total)
    return [b"".join(first), *blobs]


def decode_header(data: Buffer) -> Head:
    """Check a header. Raises WireError for one that is not valid."""
    if len(data) != HEADER.size:
        raise WireError("a header of %d bytes, %d are needed" % (len(data), HEADER.size))
    magic, version, kind, _, call, meta_bytes, blobs, _, _, total = HEADER.unpack(data)
    if magic != MAGIC:
        raise WireError("not a frame: it begins with %r" % (bytes(magic),))
    if version != VERSION:
        raise WireError("protocol version %d, this side speaks %d" % (version, VERSION))
    if kind not in KINDS:
        raise WireError("unknown message kind %d" % kind)
    if meta_bytes > MAX_META:
        raise WireError("metadata of %d bytes, at most %d are taken" % (meta_bytes, MAX_META))
    if blobs > MAX_BLOBS:
        raise WireError("%d blobs, at most %d are taken" % (blobs, MAX_BLOBS))
    if total > MAX_BYTES or total < meta_bytes + blobs * DESCRIPTOR.size:
        raise WireError("a frame of %d bytes cannot hold what its header says" % total)
    return Head(kind, call, meta_bytes, blobs, total)


def decode_descriptors(data: Buffer, head: Head) -> Descriptors:
    """The type, shape and size in bytes of every blob. Raises WireError where they do not agree."""
    size = head.blobs * DESCRIPTOR.size
    if len(data) != size:
        raise WireError("%d bytes of descriptors, %d are needed" % (len(data), size))
    left = head.total - head.meta_bytes - size
    if size <= REMEMBERED_BYTES:
        return _few_descriptors(bytes(data), head.blobs, left)
    return _descriptors(data, head.blobs, left)


def _descriptors(data: Buffer, blobs: int, left: int) -> Descriptors:
    """The parsed descriptors of blobs that have ``left`` bytes together."""
    found = []
    for index in range(blobs):
        code, rank, _, _, *rest = DESCRIPTOR.unpack_from(data, index * DESCRIPTOR.size)
        dims, size = tuple(rest[:MAX_RANK]), rest[MAX_RANK]
        if code not in NAMES:
            raise WireError("blob %d has the unknown type code %d" % (index, code))
        if rank > MAX_RANK:
            raise WireError("blob %d has rank %d, at most %d is taken" % (index, rank, MAX_RANK))
        shape = dims[:rank]
        if size != nbytes(NAMES[code], shape):
            raise WireError("blob %d says %d bytes for %s%s" % (index, size, NAMES[code], list(shape)))
        left -= size
        found.append((NAMES[code], shape, size))
    if left != 0:
        raise WireError("blobs and frame differ by %d bytes" % left)
    return found


@lru_cache(maxsize=64)  # inferences repeat the same few; errors are not remembered
def _few_descriptors(data: bytes, blobs: int, left: int) -> Descriptors:
    return tuple(_descriptors(data, blobs, left))


def decode_meta(data: Buffer) -> Dict[str, Any]:
    """The metadata; empty bytes are an empty object. Raises WireError for bytes that are not a JSON object."""
    if not len(data):
        return {}
    try:
        meta = json.loads(bytes(data).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise WireError("metadata is not JSON in UTF-8: %s" % error) from error
    if not isinstance(meta, dict):
        raise WireError("metadata is not an object")
    return meta


@lru_cache(maxsize=64)
def _descriptor(dtype: str, shape: Tuple[int, ...], size: int) -> bytes:
    if dtype not in DTYPES:
        raise WireError("type %r cannot be sent; one of %s" % (dtype, ", ".join(sorted(DTYPES))))
    if len(shape) > MAX_RANK:
        raise WireError("rank %d cannot be sent, at most %d" % (len(shape), MAX_RANK))
    if size != nbytes(dtype, shape):
        raise WireError("%d bytes given for %s%s" % (size, dtype, list(shape)))
    if any(not 0 <= dim < 1 << 32 for dim in shape):
        raise WireError("shape %s cannot be sent" % (list(shape),))
    dims = list(shape) + [0] * (MAX_RANK - len(shape))
    return DESCRIPTOR.pack(DTYPES[dtype][0], len(shape), 0, 0, *dims, size)
