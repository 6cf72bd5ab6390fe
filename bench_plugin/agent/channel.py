"""A channel of frames over a connected stream socket; a frame arrives completely or not at all."""

from __future__ import annotations

import socket
import time
from typing import Any, Dict, Optional, Sequence

from bench_plugin.agent import wire

CHUNK = 1 << 20
IOV_MAX = 1000


class Closed(Exception):
    """The other side ended the connection; ``within`` says whether it ended in the middle of a frame."""

    def __init__(self, within: bool) -> None:
        super().__init__("the connection ended within a frame" if within else "the connection ended")
        self.within = within


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
        self, kind: int, call: int, meta: Optional[Dict[str, Any]] = None, arrays: Sequence[wire.Array] = ()
    ) -> None:
        """Send one frame, with blobs of any shape [...].

        Raises OSError when the connection has ended, WireError when the frame exceeds the bounds of wire.py.
        """
        pending = [memoryview(part).cast("B") for part in wire.encode(kind, call, meta, arrays)]
        while pending:
            sent = self._connection.sendmsg(pending[:IOV_MAX])
            while pending and sent >= len(pending[0]):
                sent -= len(pending.pop(0))
            if pending:
                pending[0] = pending[0][sent:]

    def receive(self, seconds: Optional[float] = None, most: int = wire.MAX_BYTES) -> wire.Frame:
        """Receive one frame of at most ``most`` bytes, completely within ``seconds``.

        Raises Closed when the connection ends, WireError for bytes that are not a frame, socket.timeout.
        """
        until = None if seconds is None else time.monotonic() + seconds
        head = wire.decode_header(self._exactly(wire.HEADER.size, until, first=True))
        if head.total > most:
            raise wire.WireError("a frame of %d bytes, at most %d are taken here" % (head.total, most))
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
            if until is not None:
                self._connection.settimeout(max(0.001, until - time.monotonic()))
            with memoryview(data) as view:
                count = self._connection.recv_into(view[done:])
            if not count:
                raise Closed(within=not (first and done == 0))
            done += count
        return data
