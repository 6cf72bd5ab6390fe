"""The session of an authenticated connection: each frame ends with a code over its number and its bytes."""

from __future__ import annotations

import hashlib
import hmac
import json
import struct
from typing import TYPE_CHECKING, Any, List, Tuple, Union

from bench_plugin.agent.wire import WireError

if TYPE_CHECKING:
    Hash = Any  # a hash object of hashlib

COUNTER = struct.Struct("<Q")
CODE_BYTES = 16
BLOCK = 64  # bytes of a block of SHA-256


WRONG = "a frame with a wrong authentication code: it was altered, repeated or made on the way"


class NotAuthentic(WireError):
    """A frame whose code is wrong: it was made, altered, repeated or moved by somebody without the keys."""


class Session:
    """The keys of both directions, 32 bytes each, and how many frames went each way.

    The code of a frame is the first 16 bytes of HMAC-SHA-256 over its number (8 bytes, little-endian, from 0) and its
    bytes. HMAC is put together from two hash objects here, which costs half of what the module ``hmac`` does.
    """

    def __init__(self, sending: bytes, receiving: bytes, sent: int = 0, received: int = 0) -> None:
        self._keys = (sending, receiving)
        self._sending, self._receiving = _states(sending), _states(receiving)
        self._sent, self._received = sent, received

    def sealing(self) -> Hash:
        """The hash that the bytes of the next frame to be sent go into."""
        state = self._sending[0].copy()
        state.update(COUNTER.pack(self._sent))
        self._sent += 1
        return state

    def code(self, state: Hash) -> bytes:
        """The code of a frame whose bytes went into ``state``."""
        return _code(self._sending[1], state)

    def opening(self) -> Hash:
        """The hash that the bytes of the next received frame go into."""
        state = self._receiving[0].copy()
        state.update(COUNTER.pack(self._received))
        self._received += 1
        return state

    def check(self, state: Hash, code: Union[bytes, bytearray, memoryview]) -> None:
        """Compare the code of a received frame, in constant time. Raises NotAuthentic."""
        if not hmac.compare_digest(_code(self._receiving[1], state), bytes(code)):
            raise NotAuthentic(WRONG)

    def sealed(self, frame: bytes) -> bytes:
        """The next frame to be sent, with its code behind it; for small frames, in as few steps as there are."""
        inner, outer = self._sending[0].copy(), self._sending[1].copy()
        inner.update(COUNTER.pack(self._sent) + frame)
        self._sent += 1
        outer.update(inner.digest())
        sealed: bytes = frame + outer.digest()[:CODE_BYTES]
        return sealed

    def check_sealed(self, frame: bytes, code: bytes) -> None:
        """Check the next received frame, which is small. Raises NotAuthentic."""
        inner, outer = self._receiving[0].copy(), self._receiving[1].copy()
        inner.update(COUNTER.pack(self._received) + frame)
        self._received += 1
        outer.update(inner.digest())
        if not hmac.compare_digest(outer.digest()[:CODE_BYTES], code):
            raise NotAuthentic(WRONG)

    def exported(self) -> bytes:
        """The session as bytes, for another process that carries the connection on."""
        sending, receiving = self._keys
        text = json.dumps([sending.hex(), receiving.hex(), self._sent, self._received])
        return text.encode()

    @classmethod
    def imported(cls, data: bytes) -> Session:
        """The session that another process exported."""
        found: List[Any] = json.loads(data.decode())
        return cls(bytes.fromhex(found[0]), bytes.fromhex(found[1]), int(found[2]), int(found[3]))


def _states(key: bytes) -> Tuple[Hash, Hash]:
    """The inner and the outer hash of HMAC (RFC 2104) after their first block."""
    padded = key.ljust(BLOCK, b"\0")
    return (
        hashlib.sha256(bytes(byte ^ 0x36 for byte in padded)),
        hashlib.sha256(bytes(byte ^ 0x5C for byte in padded)),
    )


def _code(outer: Hash, inner: Hash) -> bytes:
    state = outer.copy()
    state.update(inner.digest())
    code: bytes = state.digest()[:CODE_BYTES]
    return code
