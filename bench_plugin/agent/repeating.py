"""Inferences that repeat: frames of one form each way, of which nothing is encoded or parsed again.

What costs a microsecond here is a tenth of a round trip on loopback. What a process does between sending and waiting
costs several times as much as elsewhere, because the other process is woken on another core meanwhile: so each send is
followed by a read at once.
"""

from __future__ import annotations

import struct
from typing import Any, List, Optional, Sequence, Tuple

from bench_plugin.agent import wire
from bench_plugin.agent.arrays import from_numpy, is_sent_as_it_is
from bench_plugin.agent.channel import CODE_BYTES, Channel

CALL = struct.Struct("<I")
CALL_AT = 8  # where the number of the call is in a header
COUNTER = struct.Struct("<Q")


class Form:
    """Frames of one kind without metadata, whose blobs have the types and shapes of ``examples``, numpy arrays."""

    def __init__(self, kind: int, examples: Sequence[Any]) -> None:
        import numpy as np

        self.make = np.ndarray
        self.kinds = [(one.dtype, one.shape) for one in examples]
        parts = wire.encode(kind, 0, None, [from_numpy(one) for one in examples])
        self.head = bytearray(parts[0])
        self.size = sum(map(len, parts))
        ends, at = [], len(self.head)
        for one in examples:
            ends.append((at, at + one.nbytes))
            at += one.nbytes
        self.places = ends

    def fits(self, values: Sequence[Any]) -> bool:
        """Whether numpy arrays [...] are of this form."""
        return [(one.dtype, one.shape) for one in values] == self.kinds

    @property
    def small(self) -> bool:
        """Whether a frame of this form is read ahead as a whole."""
        return self.size + CODE_BYTES <= Channel.AHEAD

    def values(self, data: bytearray) -> List[Any]:
        """The arrays of a small frame of this form, in memory of their own."""
        make = self.make
        return [make(shape, dtype, data[start:end]) for (dtype, shape), (start, end) in zip(self.kinds, self.places)]

    def views(self, blobs: Sequence[memoryview]) -> List[Any]:
        """The arrays of the blobs of a frame of this form."""
        make = self.make
        return [make(shape, dtype, blob) for (dtype, shape), blob in zip(self.kinds, blobs)]


def form_of(kind: int, values: Sequence[Any]) -> Optional[Form]:
    """The form of a frame with these numpy arrays [...]; None where some of them cannot be sent as they are."""
    if not values or not all(one.size and is_sent_as_it_is(one) for one in values):
        return None
    return Form(kind, values)


class Repeating:
    """The two forms of an inference, over one channel. Each method returns None where something else came.

    That is then in the channel, to be received as any frame. They raise what the channel raises.
    """

    def __init__(self, channel: Channel, sent: Form, received: Form, seconds: Optional[float] = None) -> None:
        self._channel = channel
        self._seconds = seconds  # in which a frame has to be sent or received, unless the channel has a pace
        self.sent = sent
        self.received = received
        self._codes = 0 if channel.session is None else CODE_BYTES

    def exchange(self, call: int, values: Sequence[Any]) -> Optional[List[Any]]:
        """Send a request, and return the answer to it. Raises OSError."""
        CALL.pack_into(self.received.head, CALL_AT, call)
        return self._checked(self.send(call, values))

    def next_request(self, values: List[Any], call: int) -> "Optional[Tuple[int, List[Any]]]":
        """Send the answer to request ``call``, and return the number and the arrays of the next.

        ``values`` is emptied, so that their memory is used for the next ones. Raises as the channel does.
        """
        got = self.send(call, values)
        values.clear()
        self.received.head[CALL_AT : CALL_AT + 4] = self._channel.ahead[CALL_AT : CALL_AT + 4]
        arrays = self._checked(got)
        return None if arrays is None else (CALL.unpack_from(self.received.head, CALL_AT)[0], arrays)

    def send(self, call: int, values: Sequence[Any]) -> int:
        """Send a frame, and return how many bytes could be read then. Raises OSError."""
        channel, head = self._channel, self.sent.head
        CALL.pack_into(head, CALL_AT, call)
        if not self.sent.small:
            return channel.send_parts_and_read([head, *values], self.sent.size, self._seconds)
        frame = b"".join([head, *values])
        session = channel.session
        return channel.send_and_read(frame if session is None else session.sealed(frame))

    def _checked(self, got: int) -> Optional[List[Any]]:
        channel, received = self._channel, self.received
        if not received.small:
            if got < len(received.head) or not channel.ahead.startswith(received.head):
                return None
            sizes = [end - start for start, end in received.places]
            return received.views(channel.read_blobs(len(received.head), sizes, self._seconds))
        if got != received.size + self._codes or not channel.ahead.startswith(received.head):
            return None
        session = channel.session
        if session is not None:
            session.check_sealed(bytes(channel.view[: received.size]), bytes(channel.view[received.size : got]))
        channel.take_all()
        return received.values(channel.ahead)
