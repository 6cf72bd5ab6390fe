"""Packets on a serial line: how they are written, and how they are found again (docs/microcontrollers.md).

The firmware has the same in C: ``agent/c/firmware/uart_framing.c``.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

PAYLOAD = 512  # the most bytes of a payload
HEADER = struct.Struct("<BBH")  # kind, sequence, bytes of the payload
SUM = struct.Struct("<I")  # CRC-32 of header and payload
LONGEST = HEADER.size + PAYLOAD + SUM.size
STUFFED = LONGEST + LONGEST // 254 + 1  # without the bytes 0 around it


class Kind(IntEnum):
    """What a packet is for."""

    SYNC = 1
    READY = 2
    DATA = 3
    ACK = 4
    POLL = 5
    FAULT = 6


KINDS = {int(kind): kind for kind in Kind}


class Packet(NamedTuple):
    """A packet that was read without an error."""

    kind: Kind
    sequence: int
    payload: bytes


def encode(kind: Kind, sequence: int, payload: bytes = b"") -> bytes:
    """The bytes of a packet on the line, with a byte 0 before and after them.

    Raises ValueError for a payload of more than PAYLOAD bytes.
    """
    if len(payload) > PAYLOAD:
        raise ValueError(f"a payload of {len(payload)} bytes; at most {PAYLOAD} fit into a packet")
    body = HEADER.pack(kind, sequence, len(payload)) + payload
    return b"\0" + stuffed(body + SUM.pack(zlib.crc32(body))) + b"\0"


class Decoder:
    """Finds the packets in what a line gives, whatever stands between them; ``refused`` counts what was none."""

    def __init__(self) -> None:
        self.refused = 0
        self._held = bytearray()
        self._skipping = False  # more came than a packet has: forget all until the next byte 0

    def feed(self, data: bytes) -> Iterator[Packet]:
        """The packets that end in ``data``; it takes at most the bytes of one packet as memory between calls."""
        *ended, begun = data.split(b"\0")
        for part in ended:
            whole, self._held = bytes(self._held) + part, bytearray()
            skipped, self._skipping = self._skipping, False
            if not whole and not skipped:
                continue
            packet = None if skipped or len(whole) > STUFFED else decoded(whole)
            if packet is None:
                self.refused += 1
            else:
                yield packet
        if self._skipping or len(self._held) + len(begun) > STUFFED:
            self._held, self._skipping = bytearray(), True
        else:
            self._held += begun


def decoded(data: bytes) -> Packet | None:
    """The packet in the bytes between two bytes 0; None where they are not one."""
    body = unstuffed(data)
    if body is None or not HEADER.size + SUM.size <= len(body) <= LONGEST:
        return None
    kind, sequence, length = HEADER.unpack_from(body)
    end = len(body) - SUM.size
    if length != end - HEADER.size or SUM.unpack_from(body, end)[0] != zlib.crc32(body[:end]):
        return None
    return Packet(KINDS[kind], sequence, body[HEADER.size : end]) if kind in KINDS else None


def stuffed(data: bytes) -> bytes:
    """Bytes without a byte 0 that mean ``data`` (consistent overhead byte stuffing, COBS)."""
    made = bytearray()
    for part in data.split(b"\0"):
        whole = len(part) // 254
        for at in range(whole):
            made += b"\xff" + part[254 * at : 254 * (at + 1)]
        rest = part[254 * whole :]
        made += bytes([len(rest) + 1]) + rest
    return bytes(made)


def unstuffed(data: bytes) -> bytes | None:
    """What stuffed bytes mean; None where a block has fewer bytes than it says."""
    made, at = bytearray(), 0
    while at < len(data):
        code = data[at]
        block = data[at + 1 : at + code]
        if len(block) != code - 1:
            return None
        made += block
        at += code
        if code != 255 and at < len(data):
            made.append(0)
    return bytes(made)
