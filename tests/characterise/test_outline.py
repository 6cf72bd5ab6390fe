"""Outlines: files without their weights, of which the same is known, and whose large tensors are never read."""

from __future__ import annotations

import time
from pathlib import Path

from bench_plugin.characterise.outline import SMALL, outline_of, outlined

RAW_DATA, DIMS, DATA_TYPE, NAME = 9, 1, 2, 8
FLOAT, INT64 = 1, 7


def varint(value: int) -> bytes:
    made = b""
    while value > 127:
        made, value = made + bytes([value & 127 | 128]), value >> 7
    return made + bytes([value])


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def number(which: int, value: int) -> bytes:
    return varint(which << 3) + varint(value)


def tensor(size: int, kind: int = FLOAT, name: bytes = b"w") -> bytes:
    return number(DIMS, size // 4) + number(DATA_TYPE, kind) + field(NAME, name) + field(RAW_DATA, b"\x01" * size)


def model(*tensors: bytes) -> bytes:
    """A ModelProto: IR version, a graph with a name, initializers and an input, and a producer behind it."""
    graph = field(2, b"graph") + b"".join(field(5, one) for one in tensors) + field(11, b"\x0a\x01x")
    return number(1, 10) + field(7, graph) + field(2, b"producer")


def test_large_tensors_lose_their_elements_and_nothing_else() -> None:
    small, large = tensor(SMALL), tensor(1 << 20, name=b"large")
    bare = number(DIMS, 1 << 18) + number(DATA_TYPE, FLOAT) + field(NAME, b"large")
    assert outlined(model(small, large)) == model(small, bare)


def test_constants_of_nodes_lose_theirs_too() -> None:
    def node(inner: bytes) -> bytes:
        return number(1, 10) + field(
            7, field(1, field(4, b"Constant") + field(5, field(1, b"value") + field(5, inner)))
        )

    bare = number(DIMS, 1 << 18) + number(DATA_TYPE, FLOAT) + field(NAME, b"w")
    assert outlined(node(tensor(1 << 20))) == node(bare)


def test_whole_numbers_that_shapes_may_follow_from_stay() -> None:
    whole = model(tensor(4 * SMALL, INT64))
    assert outlined(whole) == whole


def test_what_is_no_model_is_as_it_is() -> None:
    for data in (b"", b"this is no model", b"\xff" * 40, model(tensor(1 << 12))[:60]):
        assert outlined(data) == data


def test_half_a_gigabyte_takes_no_time(tmp_path: Path) -> None:
    path, size = tmp_path / "large.onnx", 1 << 29
    head = number(DIMS, size // 4) + number(DATA_TYPE, FLOAT) + varint(RAW_DATA << 3 | 2) + varint(size)
    graph = varint(5 << 3 | 2) + varint(len(head) + size) + head
    with path.open("wb") as file:  # a hole of the file system: nothing is stored of the weights
        file.write(number(1, 10) + varint(7 << 3 | 2) + varint(len(graph) + size) + graph)
        file.seek(size - 1, 1)
        file.write(b"\0")
    began = time.process_time()
    found = outline_of(path)
    assert found.data == number(1, 10) + field(7, field(5, number(DIMS, size // 4) + number(DATA_TYPE, FLOAT)))
    assert time.process_time() - began < 1.0  # reading and hashing it would take several
