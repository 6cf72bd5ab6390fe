"""Data as text inside a page: JSON, gzipped, in base64, which no text of a row can break out of."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson

LEVEL = 4  # of gzip: level 6 makes the page 6 % smaller and takes nearly twice as long


def packed(value: Any) -> str:
    """Plain data as base64 of gzipped JSON."""
    return pack_bytes(orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS))


def packed_all(values: Iterable[tuple[str, Any]]) -> dict[str, str]:
    """The same of several values by name. zlib gives up Python's lock: one is packed while the next is made."""
    with ThreadPoolExecutor(2) as pool:
        packing = {name: pool.submit(packed, value) for name, value in values}
        return {name: one.result() for name, one in packing.items()}


def pack_bytes(data: bytes, level: int = LEVEL) -> str:
    """Bytes as base64 of gzip; the same bytes give the same text at any time."""
    return base64.b64encode(gzip.compress(data, level, mtime=0)).decode()


def unpack_bytes(text: bytes) -> bytes:
    """The inverse of :func:`pack_bytes`. Raises ValueError or OSError for what it did not make."""
    try:
        return gzip.decompress(base64.b64decode(text, validate=True))
    except EOFError as error:
        raise ValueError("the text ends too early") from error
