"""A channel of frames over a connected stream socket; a frame arrives completely or not at all."""

from __future__ import annotations

import socket
import time
from typing import Any, Callable, Dict, Optional, Sequence, Union

from bench_plugin.agent import wire

CHUNK = 1 << 20
IOV_MAX = 1000


class Closed(Exception):
    """The other side ended the connection; ``within`` says whether it ended in the middle of a frame."""

    def __init__(self, within: bool) -> None:
        super().__init__("the connection ended within a frame" if within else "the connection ended")
        self.within = within


class TooLong(wire.WireError):
    """A frame that has more bytes than its reader takes; they are given, and none was read."""

    def __init__(self, kind: int, size: int, most: int) -> None:
        super().__init__("a frame of %d bytes, at most %d are taken here" % (size, most))
        self.kind = kind
        self.bytes = size
        self.most = most


class Channel:
    """Sends and receives frames. Both raise socket.timeout when the other side takes too long."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def fileno(self) -> int:
        """The descriptor of the socket, for select."""
        return self._connection.fileno()

    def settimeout(self, seconds: Optional[float]) -> None:
        """Limit the time in seconds that one send or receive waits for the other side; None for no limit."""
        self._connection.settimeout(seconds)

    def send(
        self,
        kind: int,
        call: int,
        meta: Optional[Dict[str, Any]] = None,
        arrays: Sequence[wire.Array] = (),
        seconds: Optional[float] = None,
    ) -> None:
        """Send one frame, with blobs of any shape [...], completely within ``seconds``; None for no limit of its own.

        Raises OSError when the connection has ended, WireError when the frame exceeds the bounds of wire.py,
        socket.timeout when the other side does not take it in time, however much of it.
        """
        pending = [memoryview(part).cast("B") for part in wire.encode(kind, call, meta, arrays)]
        until = None if seconds is None else time.monotonic() + seconds
        while pending:
            self._wait_at_most(until)
            sent = self._connection.sendmsg(pending[:IOV_MAX])
            while pending and sent >= len(pending[0]):
                sent -= len(pending.pop(0))
            if pending:
                pending[0] = pending[0][sent:]

    def receive(
        self, seconds: Optional[float] = None, most: Union[int, Callable[[int], int]] = wire.MAX_BYTES
    ) -> wire.Frame:
        """Receive one frame of at most ``most`` bytes, completely within ``seconds``.

        ``most`` may be a function that gives the limit for the kind of the frame.
        Raises Closed when the connection ends, WireError for bytes that are not a frame (TooLong for too many of them),
        socket.timeout.
        """
        until = None if seconds is None else time.monotonic() + seconds
        head = wire.decode_header(self._exactly(wire.HEADER.size, until, first=True))
        limit = most if isinstance(most, int) else most(head.kind)
        if head.total > limit:
            raise TooLong(head.kind, head.total, limit)
        descriptors = wire.decode_descriptors(self._exactly(head.blobs * wire.DESCRIPTOR.size, until), head)
        meta = wire.decode_meta(self._exactly(head.meta_bytes, until))
        arrays = [wire.Array(dtype, shape, self._exactly(size, until)) for dtype, shape, size in descriptors]
        return wire.Frame(head.kind, head.call, meta, arrays)

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def _exactly(self, size: int, until: Optional[float], first: bool = False) -> bytearray:
        # Memory is allocated as bytes arrive, so that a header alone cannot make the reader allocate gigabytes.
        data = bytearray(min(size, CHUNK))
        done = 0
        while done < size:
            if done == len(data):
                data.extend(bytes(min(size - done, max(CHUNK, done))))
            self._wait_at_most(until)
            with memoryview(data) as view:
                count = self._connection.recv_into(view[done:])
            if not count:
                raise Closed(within=not (first and done == 0))
            done += count
        return data

    def _wait_at_most(self, until: Optional[float]) -> None:
        """Let the next operation wait until then. Raises socket.timeout where that is past."""
        if until is not None:
            left = until - time.monotonic()
            if left <= 0:
                raise socket.timeout("the other side was too slow")
            self._connection.settimeout(left)
