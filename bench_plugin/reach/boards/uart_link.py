"""A reliable stream of bytes over a serial line that may lose, double or change some (docs/microcontrollers.md).

The other side is ``agent/c/firmware/uart_link.c``. Only this side has a clock.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import threading
import time
from contextlib import suppress
from typing import Any

from bench_plugin.reach.boards.uart_framing import PAYLOAD, Decoder, Kind, Packet, encode

FIRST_SECONDS = 0.5  # until something is sent again; twice as long each time
LAST_SECONDS = 8.0
FAULT = struct.Struct("<6I")  # exception, status, hard fault's status, address, program counter, stack pointer
EXCEPTIONS = {0: "fault", 2: "NMI", 3: "hard fault", 4: "memory fault", 5: "bus fault", 6: "usage fault"}
# Bits of the configurable fault status register (Armv7-M Architecture Reference Manual, B3.2.15).
STATUS = {
    0: "an instruction was fetched where there is none", 1: "access to data that is not allowed",
    4: "the stack overflowed", 8: "an instruction was fetched from no memory", 9: "access to no memory",
    10: "access to no memory", 12: "the stack overflowed", 16: "undefined instruction", 17: "invalid state",
    18: "invalid return", 19: "no coprocessor", 20: "the stack overflowed", 24: "unaligned access",
    25: "division by zero",
}  # fmt: skip


class Link:
    """Carries bytes between a socket of ours and a serial line, on a thread of its own.

    ``line`` is the descriptor of the line, which this class owns from here on. ``peer`` is the socket whose other end
    gets the stream: it is closed when the line ends or the board reports a fault, and then ``ended`` says why.
    """

    def __init__(self, line: int, peer: socket.socket) -> None:
        self._line = line
        self._peer = peer
        self._decoder = Decoder()
        self._nonce = os.urandom(4)
        self._ready = False
        self._expected = 0  # the sequence of the board's next packet
        self._sending = 0  # that of our next one
        self._waiting = b""  # the payload that is under way, empty where none is
        self._again = FIRST_SECONDS
        self._due = 0.0
        self._stop, self._stopped = socket.socketpair()
        self.ended = ""
        self.fault = ""  # of the firmware, as it reported it
        os.set_blocking(line, False)
        self._thread = threading.Thread(target=self._carry, name="bench-uart", daemon=True)
        self._thread.start()

    @property
    def refused(self) -> int:
        """How many packets were not taken because bytes of them were lost, doubled or changed."""
        return self._decoder.refused

    def close(self) -> None:
        """End the thread and close line and socket."""
        with suppress(OSError):
            self._stop.send(b"x")
        self._thread.join()

    def _carry(self) -> None:
        try:
            self._begin()
            while self._step():
                pass
        except OSError as error:
            self.ended = self.ended or f"the serial line ended: {error.strerror or error}"
        finally:
            for one in (self._peer, self._stop, self._stopped):
                one.close()
            with suppress(OSError):
                os.close(self._line)

    def _begin(self) -> None:
        self._put(Kind.SYNC, 0, self._nonce)
        self._due = time.monotonic() + self._again

    def _step(self) -> bool:
        """Wait for something to do and do it. Returns False at the end."""
        asked: list[Any] = [self._line, self._stopped, *([self._peer] if self._ready and not self._waiting else [])]
        found = select.select(asked, [], [], max(0.0, self._due - time.monotonic()))[0]
        if self._stopped in found:
            return False
        if self._line in found:
            data = os.read(self._line, 1 << 16)
            if not data:
                self.ended = self.ended or "the serial line ended"
                return False
            for packet in self._decoder.feed(data):
                if not self._take(packet):
                    return False
        if self._peer in found:
            self._waiting = self._peer.recv(PAYLOAD)
            if not self._waiting:
                return False
            self._put(Kind.DATA, self._sending, self._waiting)
            self._busy()
        if time.monotonic() >= self._due:
            self._remind()
        return True

    def _take(self, packet: Packet) -> bool:
        """Take a packet of the board. Returns False after a fault."""
        if packet.kind is Kind.FAULT and len(packet.payload) == FAULT.size:
            self.ended = self.fault = described(packet.payload)
            return False
        if packet.kind is Kind.READY and packet.payload == self._nonce:
            self._ready = True
            self._busy()
        elif not self._ready:
            return True  # of an earlier session
        elif packet.kind is Kind.ACK and self._waiting and packet.sequence == self._sending:
            self._waiting = b""
            self._sending = (self._sending + 1) % 256
            self._busy()
        elif packet.kind is Kind.DATA and packet.sequence == self._expected:
            self._peer.sendall(packet.payload)
            self._put(Kind.ACK, self._expected)
            self._expected = (self._expected + 1) % 256
            self._busy()
        elif packet.kind is Kind.DATA and packet.sequence == (self._expected - 1) % 256:
            self._put(Kind.ACK, packet.sequence)  # the acknowledgement was lost
        return True

    def _busy(self) -> None:
        """Something happened: it is not yet time to send anything again."""
        self._again = FIRST_SECONDS
        self._due = time.monotonic() + self._again

    def _remind(self) -> None:
        """Send again what was not answered, or ask for what did not come."""
        if not self._ready:
            self._put(Kind.SYNC, 0, self._nonce)
        elif self._waiting:
            self._put(Kind.DATA, self._sending, self._waiting)
        else:
            self._put(Kind.POLL, self._expected)
        self._again = min(2 * self._again, LAST_SECONDS)
        self._due = time.monotonic() + self._again

    def _put(self, kind: Kind, sequence: int, payload: bytes = b"") -> None:
        """Write a packet to the line. One that the line does not take now is lost, and sent again like any other."""
        data = memoryview(encode(kind, sequence, payload))
        until = time.monotonic() + FIRST_SECONDS
        while data:
            try:
                data = data[os.write(self._line, data) :]
            except BlockingIOError:
                left = until - time.monotonic()
                if left <= 0 or self._stopped in select.select([self._stopped], [self._line], [], left)[0]:
                    return


def described(report: bytes) -> str:
    """What a report of a fault says: the fault, where it was, and the address that was used."""
    exception, status, _, address, pc, stack = FAULT.unpack(report)
    reasons = list(dict.fromkeys(text for bit, text in STATUS.items() if status >> bit & 1))
    name = EXCEPTIONS.get(exception, f"exception {exception}")
    where = f" at PC {pc:#010x}" if pc else f" with the stack at {stack:#010x}"
    used = f", address {address:#010x}" if address else ""
    return f"{name}{where}{used}: {'; '.join(reasons) or f'status {status:#x}'}"


def connected(line: int) -> tuple[Link, socket.socket]:
    """A link over the line, and the socket that carries its stream."""
    ours, theirs = socket.socketpair()
    return Link(line, theirs), ours
