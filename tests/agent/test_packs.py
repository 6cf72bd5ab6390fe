"""Values survive a file and the wire, whatever they are made of, without pickle."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

from bench_plugin.agent import packs

VALUES = [
    np.arange(6, dtype=np.float32).reshape(2, 3),
    np.array(3.5),
    np.zeros((0, 4), dtype=np.int64),
    np.array([True, False]),
    np.array([["a", "ü"], ["", "long"]], dtype=object),
    [np.array([1.0]), np.array([[2.0]])],
    [],
    None,
    [None],
]


def same(one: Any, other: Any) -> bool:
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(same, one, other))
    if one is None:
        return other is None
    return one.shape == other.shape and one.dtype == other.dtype and bool((one == other).all())


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_through_a_file(value: Any) -> None:
    file = io.BytesIO()
    writer = packs.Writer(file)
    writer.add_bytes(b"something before")
    description = writer.add(value)
    assert same(value, packs.Reader(file.getvalue()).value(description))


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_through_a_call(value: Any) -> None:
    descriptions, blobs = packs.blobs_of([value])
    assert same(value, packs.read({"x": descriptions[0]}, blobs)["x"])


def test_what_an_adapter_must_take() -> None:
    assert packs.kinds({"d": "float32", "s": [1]}) == ()
    assert packs.kinds({"d": "bfloat16", "s": [1]}) == ("bfloat16",)
    assert packs.kinds([{"d": "str", "s": [1]}]) == ("sequence", "str")
    assert packs.kinds(None) == ("optional",)


def test_plain_outputs_are_plain_arrays() -> None:
    meta, blobs = packs.reply([np.float32(1.5), np.array([1])])
    assert meta == {} and list(blobs) == ["out0", "out1"]
    meta, blobs = packs.reply([np.array(["a"], dtype=object)])
    assert meta["values"] == [{"d": "str", "s": [1], "o": 0}]
