"""Whatever bytes come, a reader ends with an error of the protocol, and takes no more memory than arrives."""

from __future__ import annotations

import json
import socket
import struct
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench_plugin.agent import wire
from bench_plugin.agent.arrays import to_numpy
from bench_plugin.agent.channel import Channel, Closed
from bench_plugin.agent.link.handshake import Refused, Stranger, Transcript
from bench_plugin.agent.link.session import Session
from bench_plugin.agent.repeating import Repeating, form_of

VECTORS = json.loads(Path(__file__).with_name("vectors.json").read_text())
FRAMES = [bytes.fromhex(row["frame"]) for row in [*VECTORS["frames"], *VECTORS["refused"]]]
MIB = 1 << 20
# Of a frame with one blob of rank 1: flags, reserved fields, and dims beyond the rank, which a reader ignores.
IGNORED = {6, 7, 18, 19, *range(20, 24), *range(34, 40), *range(44, 72)}
TOKEN = bytes(range(32))


@st.composite
def changed(draw: st.DrawFn) -> bytes:
    """Frames of the vectors, one after another, with bytes changed, removed and inserted, and fields overwritten."""
    data = bytearray(b"".join(draw(st.lists(st.sampled_from(FRAMES), min_size=1, max_size=3))))
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(data)))
        kind = draw(st.sampled_from(("byte", "remove", "insert", "field")))
        if kind == "byte":
            data[at : at + 1] = draw(st.binary(min_size=1, max_size=1))
        elif kind == "remove":
            del data[at : at + draw(st.integers(1, 40))]
        elif kind == "insert":
            data[at:at] = draw(st.binary(max_size=40))
        else:
            layout = draw(st.sampled_from("HIQ"))
            value = draw(st.sampled_from((0, 1, 48, 4096, (1 << 16) - 1, (1 << 32) - 1, 1 << 34, (1 << 64) - 1)))
            packed = struct.pack("<" + layout, value & ((1 << 8 * struct.calcsize(layout)) - 1))
            data[at : at + len(packed)] = packed
    return bytes(data)


def read_all(data: bytes, session: Session | None = None) -> int:
    """How many frames a reader takes from a connection that brings these bytes and ends."""
    ours, theirs = socket.socketpair()
    count = 0
    with ours, theirs:
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        channel = Channel(ours, session)
        try:
            while True:
                channel.receive(5, waiting=lambda seconds: None)
                count += 1
        except (wire.WireError, Closed):
            return count


@settings(max_examples=400, deadline=None)
@given(data=st.one_of(changed(), st.binary(max_size=400)))
def test_any_bytes_end_in_an_error_of_the_protocol(data: bytes) -> None:
    read_all(data)


@settings(max_examples=150, deadline=None)
@given(data=changed())
def test_no_bytes_make_a_reader_take_memory_that_did_not_arrive(data: bytes) -> None:
    tracemalloc.start()
    try:
        read_all(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 * MIB + 4 * len(data)


@settings(max_examples=200, deadline=None)
@given(data=changed())
def test_without_the_keys_no_frame_is_taken(data: bytes) -> None:
    assert read_all(data, Session(bytes(32), bytes(range(32)))) == 0


@settings(max_examples=300, deadline=None)
@given(data=st.one_of(changed(), st.binary(max_size=200)))
def test_a_stranger_s_bytes_prove_nothing(data: bytes) -> None:
    stranger = Stranger(TOKEN, tunnelled=True)
    try:
        while data:
            size = stranger.wanted
            assert 0 < size <= 4096 + wire.HEADER.size
            stranger.feed(data[:size])
            data = data[size:]
            assert stranger.proven is None
    except (wire.WireError, Refused):
        return


@settings(max_examples=100, deadline=None)
@given(cut=st.integers(1, 400), about=st.binary(max_size=900))
def test_a_handshake_in_any_pieces_is_the_same(cut: int, about: bytes) -> None:
    about = b'{"who": %s}' % json.dumps(about.hex()).encode()
    about = about[:1000] if len(about) <= 1000 else b"{}"
    nonce = bytes(32)
    stranger = Stranger(TOKEN, tunnelled=False)
    blobs = [wire.Array("bytes", (len(one),), one) for one in (nonce, about)]
    answer = b""
    data = b"".join(wire.encode(wire.CHALLENGE, 0, None, blobs))
    while not answer:
        size = min(cut, stranger.wanted)
        answer = stranger.feed(data[:size])
        data = data[size:]
    own = answer[wire.HEADER.size + 2 * wire.DESCRIPTOR.size :][:32]
    proof = Transcript(TOKEN, nonce, own, about).proof("host")
    last = b"".join(wire.encode(wire.AUTHENTICATE, 0, None, [wire.Array("bytes", (32,), proof)]))
    assert stranger.feed(last) == b""
    assert stranger.proven is not None


def test_a_repeated_inference_takes_nothing_but_the_form_that_it_knows() -> None:
    """What has another head, in any bit, goes to the reader that checks all of it."""
    values = np.array([1, 2], np.float32)
    sent, received = form_of(wire.RUN, [values]), form_of(wire.RESULT, [values])
    assert sent is not None and received is not None
    good = b"".join(wire.encode(wire.RESULT, 7, None, [wire.Array("float32", (2,), values.tobytes())]))
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(good)
        found = Repeating(Channel(ours), sent, received).exchange(7, [values])
        assert found is not None and (found[0] == values).all() and found[0].dtype == values.dtype
    for at in range(wire.HEADER.size + wire.DESCRIPTOR.size):
        bad = bytearray(good)
        bad[at] ^= 0x10
        ours, theirs = socket.socketpair()
        with ours, theirs:
            theirs.sendall(bad)
            theirs.shutdown(socket.SHUT_WR)
            channel = Channel(ours)
            assert Repeating(channel, sent, received).exchange(7, [values]) is None
            try:
                frame = channel.receive(5)
            except (wire.WireError, Closed):
                continue
            assert frame.call != 7 or frame.kind != wire.RESULT or at in IGNORED


@pytest.mark.parametrize("authenticated", [False, True])
@pytest.mark.parametrize("size", [1, 4000, 16_290, 200_000])
def test_repeated_inferences_of_any_size_come_out_as_they_went_in(size: int, authenticated: bool) -> None:
    """Both ends repeat; sizes around what is read ahead and what is hashed at once."""
    keys = bytes(32), bytes(range(32))
    host_end, agent_end = socket.socketpair()
    with host_end, agent_end:
        host = Channel(host_end, Session(*keys) if authenticated else None)
        agent = Channel(agent_end, Session(*keys[::-1]) if authenticated else None)
        first = np.arange(size, dtype=np.int32)
        form, back = form_of(wire.RUN, [first, first]), form_of(wire.RESULT, [first])
        assert form is not None and back is not None

        def serve() -> None:
            frame = agent.receive(5)
            repeating = Repeating(agent, back, form, 5)
            request = frame.call, [to_numpy(one) for one in frame.arrays]
            while request is not None:
                call, (a, b) = request
                request = repeating.next_request([a + b], call)

        thread = threading.Thread(target=serve)
        thread.start()
        repeating = Repeating(host, form, back, 5)
        for turn in range(5):
            found = repeating.exchange(turn, [first, first + turn])
            while found is None:  # the answer took longer than one look
                frame = host.receive(5)
                assert frame.call == turn
                found = [to_numpy(one) for one in frame.arrays]
            assert (found[0] == 2 * first + turn).all()
        host.send(wire.BYE, 0)
        thread.join(5)
        assert agent.receive(5).kind == wire.BYE


def test_a_form_is_of_plain_arrays_and_small_where_it_is_read_ahead_as_a_whole() -> None:
    assert form_of(wire.RUN, []) is None
    assert form_of(wire.RUN, [np.zeros(0)]) is None
    assert form_of(wire.RUN, [np.zeros(3, ">f4")]) is None
    for size, small in ((1 << 10, True), (1 << 14, False)):
        form = form_of(wire.RUN, [np.zeros(2, np.float32), np.zeros(size, np.uint8)])
        assert form is not None and form.small is small
