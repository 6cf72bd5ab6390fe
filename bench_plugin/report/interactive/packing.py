"""Data as text inside a page: JSON, gzipped, in base64, which no text of a row can break out of."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson

LEVEL = 6  # of gzip: level 9 saves 1 % and takes three times as long


def packed(value: Any) -> str:
    """Plain data as base64 of gzipped JSON."""
    return pack_bytes(orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS))


def packed_all(values: Iterable[Any]) -> list[str]:
    """The same of several values; zlib gives up Python's lock, so two are packed at a time."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(packed, values))


def pack_bytes(data: bytes, level: int = LEVEL) -> str:
    """Bytes as base64 of gzip; the same bytes give the same text at any time."""
    return base64.b64encode(gzip.compress(data, level, mtime=0)).decode()


def unpack_bytes(text: bytes) -> bytes:
    """The inverse of :func:`pack_bytes`. Raises ValueError or OSError for what it did not make."""
    try:
        return gzip.decompress(base64.b64decode(text, validate=True))
    except EOFError as error:
        raise ValueError("the text ends too early") from error
