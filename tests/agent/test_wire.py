"""Any frame survives the way; whatever is not a frame ends in a typed error, at once and without taking memory."""

from __future__ import annotations

import socket
import struct
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench_plugin.agent import wire
from bench_plugin.agent.arrays import from_numpy, to_numpy
from bench_plugin.agent.channel import Channel, Closed

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@st.composite
def arrays(draw: st.DrawFn) -> wire.Array:
    """An array of any type; its rank goes to the bound, its size stays small."""
    dtype = draw(st.sampled_from(sorted(wire.DTYPES)))
    shape = tuple(draw(st.lists(st.integers(0, 3), max_size=wire.MAX_RANK)))
    size = wire.nbytes(dtype, shape)
    return wire.Array(dtype, shape, draw(st.randoms(use_true_random=False)).randbytes(size))


@contextmanager
def pair() -> Iterator[tuple[Channel, socket.socket]]:
    """A channel, and the plain socket at its other end."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(5)
        theirs.settimeout(5)
        yield Channel(ours), theirs


def whole(kind: int, call: int, meta: dict[str, object] | None = None, blobs: list[wire.Array] | None = None) -> bytes:
    return b"".join(bytes(part) for part in wire.encode(kind, call, meta, blobs or []))


@settings(max_examples=150, deadline=None)
@given(
    kind=st.sampled_from(sorted(wire.KINDS)),
    call=st.integers(0, 2**32 - 1),
    meta=st.dictionaries(st.text(), json_values, max_size=5),
    blobs=st.lists(arrays(), max_size=5),
)
def test_any_frame_comes_out_as_it_went_in(
    kind: int, call: int, meta: dict[str, object], blobs: list[wire.Array]
) -> None:
    with pair() as (channel, theirs):
        other = Channel(theirs)
        sender = threading.Thread(target=other.send, args=(kind, call, meta, blobs))
        sender.start()
        frame = channel.receive(5)
        sender.join()
    assert (frame.kind, frame.call, frame.meta) == (kind, call, meta)
    assert [(a.dtype, a.shape, bytes(a.data)) for a in frame.arrays] == [(a.dtype, a.shape, a.data) for a in blobs]


@settings(max_examples=200, deadline=None)
@given(position=st.integers(0, 200), value=st.integers(0, 255))
def test_a_flipped_byte_is_another_frame_or_a_typed_error(position: int, value: int) -> None:
    data = bytearray(
        whole(wire.CALL, 1, {"a": 1}, [wire.Array("float32", (2,), bytes(8)), wire.Array("int4", (3,), b"ab")])
    )
    data[position % len(data)] = value
    with pair() as (channel, theirs):
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        try:
            channel.receive()
        except (wire.WireError, Closed):
            return


def test_a_frame_cut_at_any_byte_says_so() -> None:
    data = whole(wire.RESULT, 3, {"meta": {}}, [wire.Array("uint8", (3,), b"abc"), wire.Array("int16", (), b"de")])
    for length in range(len(data)):
        with pair() as (channel, theirs):
            theirs.sendall(data[:length])
            theirs.shutdown(socket.SHUT_WR)
            with pytest.raises(Closed) as caught:
                channel.receive()
        assert caught.value.within == (length > 0)
        assert ("within a frame" in str(caught.value)) == (length > 0)


@pytest.mark.parametrize("sent", [0, 16, 60])
def test_a_frame_that_stops_ends_with_the_deadline_however_it_trickles(sent: int) -> None:
    data = whole(wire.RESULT, 3, None, [wire.Array("uint8", (200,), bytes(200))])
    with pair() as (channel, theirs):
        theirs.sendall(data[:sent])
        stop = threading.Event()

        def trickle() -> None:
            for byte in data[sent : sent + 100] if sent else b"":
                if stop.wait(0.05):
                    return
                theirs.sendall(bytes([byte]))

        thread = threading.Thread(target=trickle)
        thread.start()
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            channel.receive(0.3)
        took = time.monotonic() - began
        stop.set()
        thread.join()
    assert 0.25 < took < 1.5


def test_a_header_alone_takes_no_memory() -> None:
    """A peer that promises 32 GiB and sends nothing costs the reader a chunk, not gigabytes."""
    size = 1 << 34
    header = wire.HEADER.pack(wire.MAGIC, wire.VERSION, wire.RUN, 0, 1, 0, 1, 0, 0, wire.DESCRIPTOR.size + size)
    descriptor = wire.DESCRIPTOR.pack(1, 2, 0, 0, 1 << 17, 1 << 17, *[0] * 6, size)
    with pair() as (channel, theirs):
        theirs.sendall(header + descriptor)
        theirs.shutdown(socket.SHUT_WR)
        tracemalloc.start()
        try:
            with pytest.raises(Closed):
                channel.receive()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 16 << 20


def test_a_reader_can_take_less_than_the_protocol_allows() -> None:
    with pair() as (channel, theirs):
        theirs.sendall(whole(wire.AUTHENTICATE, 0, None, [wire.Array("bytes", (5000,), bytes(5000))]))
        with pytest.raises(wire.WireError, match="a frame of 5048 bytes, at most 4096 are taken here"):
            channel.receive(5, most=4096)


def test_metadata_nested_without_end_is_refused() -> None:
    text = b'{"a":' * 150_000
    header = wire.HEADER.pack(wire.MAGIC, wire.VERSION, wire.STAGE, 0, 1, len(text), 0, 0, 0, len(text))
    with pair() as (channel, theirs):
        sender = threading.Thread(target=theirs.sendall, args=(header + text,))
        sender.start()
        with pytest.raises(wire.WireError, match="not JSON"):
            channel.receive()
        sender.join()


@pytest.mark.parametrize(
    ("meta", "blobs", "message"),
    [
        ({"a": "x" * wire.MAX_META}, [], "metadata of 4194312 bytes, at most 4194304"),
        ({}, [wire.Array("uint8", (0,), b"")] * 4097, "4097 blobs, at most 4096"),
        ({}, [wire.Array("uint8", (1,) * 9, b"x")], "rank 9 cannot be sent, at most 8"),
        ({}, [wire.Array("str", (1,), b"x")], "type 'str' cannot be sent; one of bfloat16, bool"),
        ({}, [wire.Array("float32", (3,), b"x")], r"1 bytes given for float32\[3\]"),
        ({}, [wire.Array("float32", (0, 1 << 32), b"")], r"shape \[0, 4294967296\] cannot be sent"),
    ],
    ids=["metadata", "blobs", "rank", "type", "size", "dim"],
)
def test_what_is_out_of_bounds_is_not_sent(meta: dict[str, object], blobs: list[wire.Array], message: str) -> None:
    with pytest.raises(wire.WireError, match=message):
        wire.encode(wire.CALL, 1, meta, blobs)


def test_headers_and_descriptors_of_the_wrong_length_are_refused() -> None:
    with pytest.raises(wire.WireError, match="a header of 31 bytes, 32 are needed"):
        wire.decode_header(bytes(31))
    head = wire.decode_header(whole(wire.RUN, 1, None, [wire.Array("uint8", (1,), b"x")])[:32])
    with pytest.raises(wire.WireError, match="47 bytes of descriptors, 48 are needed"):
        wire.decode_descriptors(bytes(47), head)


def test_many_and_large_blobs_arrive() -> None:
    """More buffers than one system call takes, and more bytes than a socket holds."""
    blobs = [wire.Array("uint16", (1,), struct.pack("<H", number)) for number in range(wire.MAX_BLOBS - 1)]
    blobs.append(wire.Array("bytes", (5 << 20,), bytes(range(256)) * (5 << 12)))
    with pair() as (channel, theirs):
        sender = threading.Thread(target=Channel(theirs).send, args=(wire.RESULT, 1, None, blobs))
        sender.start()
        frame = channel.receive(10)
        sender.join()
    assert [bytes(array.data) for array in frame.arrays] == [array.data for array in blobs]


def received(size: int) -> Iterator[wire.Array]:
    """The only blobs of frames that come one after the other, each with ``size`` bytes of its own number.

    They are given away: ``map`` lets go of them, a variable of a loop would keep each until the next one is there.
    """
    with pair() as (channel, theirs):
        for number in range(1, 5):
            blob = wire.Array("uint8", (size,), bytes([number]) * size)
            sender = threading.Thread(target=Channel(theirs).send, args=(wire.RESULT, number, None, [blob]))
            sender.start()
            yield channel.receive(10).arrays[0]
            sender.join()


def address(array: wire.Array) -> int:
    place: int = to_numpy(array).__array_interface__["data"][0]
    return place


@pytest.mark.parametrize("kept", [to_numpy, lambda array: array.data, lambda array: to_numpy(array)[7:]])
@pytest.mark.parametrize("size", [1 << 10, 1 << 16, 1 << 20])
def test_what_is_kept_of_a_frame_outlives_the_next(size: int, kept: Callable[[wire.Array], Any]) -> None:
    values = list(map(kept, received(size)))
    assert [set(bytes(value)) for value in values] == [{1}, {2}, {3}, {4}]


def test_a_large_buffer_that_nobody_keeps_is_used_again() -> None:
    assert len(set(map(address, received(1 << 20)))) == 1


@pytest.mark.parametrize("dtype", ["<f4", ">f4", ">i8", "?", "<c16", ">u2", "<f2"])
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_numpy_arrays_keep_values_type_and_shape(dtype: str, shape: tuple[int, ...]) -> None:
    values = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    back = to_numpy(from_numpy(values.T)).T
    assert back.dtype == values.dtype.newbyteorder("<")
    assert back.shape == shape
    assert (back == values).all()


@pytest.mark.parametrize(("dtype", "plain"), [("bfloat16", "uint16"), ("float8e5m2", "uint8"), ("int4", "uint8")])
def test_types_that_numpy_lacks_come_as_bits(dtype: str, plain: str) -> None:
    array = wire.Array(dtype, (2, 3), bytes(range(wire.nbytes(dtype, (2, 3)))))
    assert to_numpy(array).dtype == plain
    assert to_numpy(array).tobytes() == array.data
