"""A channel of frames over a connected stream socket; a frame arrives completely or not at all."""

from __future__ import annotations

import socket
import struct
import sys
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Union

from bench_plugin.agent import wire

if TYPE_CHECKING:
    from bench_plugin.agent.link.session import Session

CHUNK = 1 << 20  # memory is taken in steps of so many bytes, as they arrive
ZEROS = bytes(CHUNK)
IOV_MAX = 1000
HASHED = 1 << 18  # bytes that are hashed at once, so that both ends hash and the connection carries at the same time
JOINED = 1 << 16  # a frame with less is sent as one buffer
AHEAD = 1 << 14  # bytes that are read ahead, so that a small frame takes one system call
SPARE_MOST = 1 << 24  # the largest buffer that is kept for the next frame
QUANTUM = 0.2  # seconds: how often deadlines are looked at while nothing moves
CODE_BYTES = 16


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


class Pace:
    """How slowly the other side may move a frame: ``grace`` seconds, and one more for each ``rate`` bytes."""

    def __init__(self, grace: float, rate: float) -> None:
        self.grace = grace
        self.rate = rate

    def seconds(self, size: int) -> float:
        """The seconds that a frame of ``size`` bytes may take."""
        return self.grace + size / self.rate


class Channel:
    """Sends and receives frames. Both raise socket.timeout when the other side takes too long.

    With a ``session`` each frame is followed by its authentication code. The blobs of a received frame are views of
    buffers; a buffer is used for a later frame only when nothing refers to it, be it a view or an array. The socket is
    read ahead of frames, so ask :meth:`ready`, and not the socket, whether something came.
    """

    AHEAD = AHEAD

    def __init__(self, connection: socket.socket, session: Optional[Session] = None) -> None:
        self.connection = connection
        self.session = session
        self._seconds = connection.gettimeout()
        self.pace: Optional[Pace] = None
        self.broken = False  # whether a frame was sent in part, after which nothing more can be
        self.ahead = bytearray(AHEAD)
        self.view = memoryview(self.ahead)
        self._start = self._end = 0
        self._spare = bytearray()
        self._unused = self._references()
        # A Unix socket limits each of the waits within one system call, and TCP all of them together.
        self._most_sent = HASHED if connection.family == socket.AF_UNIX else wire.MAX_BYTES
        connection.settimeout(None)
        # The kernel ends a wait, so that no system call is spent on asking whether one is needed.
        _limit_waits(connection)

    def fileno(self) -> int:
        """The descriptor of the socket, for select."""
        return self.connection.fileno()

    def settimeout(self, seconds: Optional[float]) -> None:
        """Limit the time in seconds that one send or receive waits for the other side; None for no limit."""
        self._seconds = seconds

    @property
    def ready(self) -> bool:
        """Whether bytes were read that belong to no frame yet."""
        return self._start < self._end

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
        parts = wire.encode(kind, call, meta, arrays)
        size = sum(map(len, parts))
        if seconds is None:
            seconds = self._seconds if self.pace is None else self.pace.seconds(size)
        until = None if seconds is None else time.monotonic() + seconds
        self.broken = True
        self._send_parts(parts, size, until)
        self.broken = False

    def _send_parts(self, parts: List[wire.Buffer], size: int, until: Optional[float]) -> None:
        session = self.session
        if size < JOINED:
            whole = parts[0] if len(parts) == 1 else b"".join(parts)
            if session is not None:
                state = session.sealing()
                state.update(whole)
                whole = b"".join((whole, session.code(state)))
            sent = self._sent(whole)
            if sent < len(whole):
                self._send_all([memoryview(whole)[sent:]], until)
        elif session is None:
            self._send_all([memoryview(part) for part in parts], until)
        else:
            state = session.sealing()
            for part in parts:
                view = memoryview(part)
                for start in range(0, len(view), HASHED):
                    state.update(view[start : start + HASHED])
                    self._send_all([view[start : start + HASHED]], until)
            self._send_all([memoryview(session.code(state))], until)

    def _next(self, pending: List[memoryview]) -> List[memoryview]:
        """What one system call is given: no more than deadlines can be kept with."""
        if self._most_sent == wire.MAX_BYTES:
            return pending[:IOV_MAX]
        left, found = self._most_sent, []
        for part in pending[:IOV_MAX]:
            found.append(part[:left])
            left -= len(found[-1])
            if not left:
                break
        return found

    def send_and_read(self, frame: bytes) -> int:
        """Send a small frame, complete with its code, and read ahead at once; returns how many bytes were read.

        0 means that nothing came yet, or never will, as :meth:`receive` says then. Raises OSError.
        """
        self.broken = True
        try:
            sent = self.connection.send(frame)
        except BlockingIOError:
            sent = 0
        if sent != len(frame):
            seconds = self._seconds if self.pace is None else self.pace.seconds(len(frame))
            self._send_all([memoryview(frame)[sent:]], None if seconds is None else time.monotonic() + seconds)
        self.broken = False
        if self._start != self._end:
            return 0
        try:
            got = self.connection.recv_into(self.ahead)
        except BlockingIOError:
            got = 0
        self._start, self._end = 0, got
        return got

    def send_parts_and_read(self, parts: List[Any], size: int, seconds: Optional[float]) -> int:
        """Send a frame of ``size`` bytes, and read ahead at once; returns how many bytes were read.

        Raises as :meth:`send` does.
        """
        limit = seconds if self.pace is None else self.pace.seconds(size)
        until = None if limit is None else time.monotonic() + limit
        self.broken = True
        self._send_parts([memoryview(part).cast("B") for part in parts], size, until)
        self.broken = False
        if self._start != self._end:
            return 0
        try:
            got = self.connection.recv_into(self.ahead)
        except BlockingIOError:
            got = 0
        self._start, self._end = 0, got
        return got

    def read_blobs(self, at: int, sizes: Sequence[int], seconds: Optional[float]) -> List[memoryview]:
        """The blobs of a frame whose first ``at`` bytes were read ahead. Raises as :meth:`receive` does."""
        total = sum(sizes)
        limit = seconds if self.pace is None else self.pace.seconds(total)
        until = None if limit is None else time.monotonic() + limit
        state = None
        if self.session is not None:
            state = self.session.opening()
            state.update(self.view[:at])
        self._start = at
        blobs = [self._blob(size, until, state) for size in sizes]
        if state is not None and self.session is not None:
            self.session.check(state, self._taken(CODE_BYTES, until))
        return blobs

    def take_all(self) -> None:
        """Note that what was read ahead is taken."""
        self._start = self._end = 0

    def receive(
        self,
        seconds: Union[float, Callable[[], float], None] = None,
        most: Union[int, Callable[[int], int]] = wire.MAX_BYTES,
        waiting: Optional[Callable[[float], None]] = None,
    ) -> wire.Frame:
        """Receive one frame of at most ``most`` bytes, completely within ``seconds``.

        ``most`` may be a function that gives the limit for the kind of the frame. With ``waiting`` there is no limit
        for the wait for the frame's first byte: it is called every QUANTUM, with the seconds of it so far, and may
        raise; ``seconds`` then count from the first byte, and may be a function.
        Raises Closed when the connection ends, WireError for bytes that are not a frame (TooLong for too many of them,
        NotAuthentic for a wrong code), socket.timeout.
        """
        until: Optional[float] = None
        if waiting is not None:
            self._await(waiting)
        if seconds is None:
            seconds = self._seconds if self.pace is None else self.pace.grace
        if seconds is not None:
            until = time.monotonic() + (seconds if isinstance(seconds, (int, float)) else seconds())
        first = self._taken(wire.HEADER.size, until, first=True)
        head = wire.decode_header(first)
        limit = most if isinstance(most, int) else most(head.kind)
        if head.total > limit:
            raise TooLong(head.kind, head.total, limit)
        state = None
        if self.session is not None:
            state = self.session.opening()
            state.update(first)
        if self.pace is not None and until is not None:
            until += head.total / self.pace.rate
        described: wire.Descriptors = ()
        if head.blobs:
            data = self._taken(head.blobs * wire.DESCRIPTOR.size, until)
            if state is not None:
                state.update(data)
            described = wire.decode_descriptors(data, head)
        text: wire.Buffer = b""
        if head.meta_bytes:
            text = bytes(self._taken(head.meta_bytes, until))
            if state is not None:
                state.update(text)
        arrays = [wire.Array(dtype, shape, self._blob(size, until, state)) for dtype, shape, size in described]
        if state is not None and self.session is not None:
            self.session.check(state, self._taken(CODE_BYTES, until))
        return wire.Frame(head.kind, head.call, wire.decode_meta(text), arrays)

    def close(self) -> None:
        """End the connection."""
        self.connection.close()

    def _sent(self, data: wire.Buffer) -> int:
        """How many bytes of ``data`` were sent at once."""
        try:
            return self.connection.send(data)
        except BlockingIOError:
            return 0

    def _send_all(self, pending: List[memoryview], until: Optional[float]) -> None:
        while pending:
            try:
                sent = self.connection.sendmsg(self._next(pending))
            except BlockingIOError:
                sent = 0
            done = 0
            while done < len(pending) and sent >= len(pending[done]):
                sent -= len(pending[done])
                done += 1
            del pending[:done]
            if pending:
                pending[0] = pending[0][sent:]
                _check(until)

    def _await(self, waiting: Callable[[float], None]) -> None:
        """Wait for the first byte of a frame."""
        waits = 0
        while self._start == self._end:
            self._start = self._end = 0
            try:
                count = self.connection.recv_into(self.ahead)
            except BlockingIOError:
                waits += 1
                waiting(waits * QUANTUM)
                continue
            if not count:
                raise Closed(within=False)
            self._end = count

    def _taken(self, size: int, until: Optional[float], first: bool = False) -> memoryview:
        """The next ``size`` bytes. They are valid until the next ones are taken."""
        end = self._start + size
        if end <= self._end:  # the usual case: they were read ahead
            found = self.view[self._start : end]
            self._start = end
            return found
        if size > AHEAD:
            return self._blob(size, until, None, first)
        have = self._end - self._start
        self.ahead[:have] = self.ahead[self._start : self._end]
        while have < size:
            count = self._received(self.view[have:], until, 0)
            if not count:
                raise Closed(within=not (first and have == 0))
            have += count
            if have < size:
                _check(until)
        self._start, self._end = size, have
        return self.view[:size]

    def _blob(self, size: int, until: Optional[float], state: Any, first: bool = False) -> memoryview:
        """The next ``size`` bytes in a buffer of their own, which go into the hash ``state`` as they come."""
        have = min(size, self._end - self._start)
        if have == size:
            data = bytearray(self.view[self._start : self._start + size])
        else:
            data = self._buffer(size)
            data[:have] = self.view[self._start : self._start + have]
        self._start += have
        if state is not None and have:
            state.update(memoryview(data)[:have])
        flags = socket.MSG_WAITALL if state is None else 0
        done = have
        while done < size:
            if done == len(data):  # so that a header alone cannot make the reader take gigabytes
                data.extend(ZEROS[: min(size - done, CHUNK)])
            with memoryview(data) as view:
                last = len(data) if state is None else min(len(data), done + HASHED)
                with view[done:last] as part:
                    count = self._received(part, until, flags)
                if not count:
                    raise Closed(within=not (first and done == 0))
                if state is not None:
                    with view[done : done + count] as part:
                        state.update(part)
            done += count
            if done < size:
                _check(until)
        if JOINED <= size <= SPARE_MOST:
            self._spare = data
        return memoryview(data)

    def _buffer(self, size: int) -> bytearray:
        """A buffer of ``size`` bytes, or of the first CHUNK of them."""
        if len(self._spare) == size and self._unused == self._references() > 0:
            return self._spare
        return bytearray(min(size, CHUNK))

    def _references(self) -> int:
        """How often the spare buffer is referred to, always counted in this one way; 0 where Python does not count.

        Python locks the size of a buffer while a memoryview of it is left, but not for an array: numpy refers to the
        buffer behind the memoryview, and gives the memoryview back.
        """
        count = getattr(sys, "getrefcount", None)
        return count(self._spare) if count else 0

    def _received(self, view: memoryview, until: Optional[float], flags: int) -> int:
        """Receive into ``view``, at least one byte; 0 at the end of the connection."""
        while True:
            try:
                return self.connection.recv_into(view, 0, flags)
            except BlockingIOError:
                _check(until)


def _check(until: Optional[float]) -> None:
    """Raises socket.timeout where ``until`` is past."""
    if until is not None and time.monotonic() >= until:
        raise socket.timeout("the other side was too slow")


def _limit_waits(connection: socket.socket) -> None:
    """Let the kernel end each wait after QUANTUM."""
    microseconds = int(QUANTUM * 1e6)
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        try:
            connection.setsockopt(socket.SOL_SOCKET, option, struct.pack("@ll", 0, microseconds))
        except OSError:  # a system of 32 bits whose time has 64
            connection.setsockopt(socket.SOL_SOCKET, option, struct.pack("@qq", 0, microseconds))
