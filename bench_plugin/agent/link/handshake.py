"""The handshake: both ends prove the token over both nonces, and derive the keys of their connection from it.

The host speaks first, so a listener that it does not know has learned a random number and no more when it is refused.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import socket
import time
from typing import Any, Dict, Mapping, Optional, Tuple

from bench_plugin.agent import wire
from bench_plugin.agent.channel import Channel
from bench_plugin.agent.link.session import Session
from bench_plugin.agent.link.tokens import derived

SECONDS = 10.0  # limits for a peer before it is authenticated
BYTES = 4096
NONCE_BYTES = 32
ABOUT_BYTES = 1024
SIGNED = ("machine", "machine_id", "agent", "nonce")  # what a hello says about its place
AUTHENTICATED, TUNNELLED = "authenticated", "tunnelled"  # whether each frame carries a code


class Refused(Exception):
    """The other end has not proven the token, or asked for what is not given."""


class Transcript:
    """What both ends agree on: the nonces of 32 bytes of both, and what the host said about itself."""

    def __init__(self, token: bytes, host: bytes, agent: bytes, about: bytes) -> None:
        self._token = token
        self.host = host
        self._bytes = b"bench link 1\0" + host + agent + hashlib.sha256(about).digest()

    def proof(self, side: str) -> bytes:
        """The proof of one side, "host" or "agent", 32 bytes: that of the other cannot be sent back as its own."""
        return derived(self._token, b"proof of the " + side.encode(), self._bytes)

    def session(self, side: str) -> Session:
        """The session of one side, with a key for each direction."""
        to_agent = derived(self._token, b"key from host to agent", self._bytes)
        to_host = derived(self._token, b"key from agent to host", self._bytes)
        return Session(to_agent, to_host) if side == "host" else Session(to_host, to_agent)

    def hello_key(self) -> bytes:
        """The key that the agent signs its hello with, 32 bytes."""
        return derived(self._token, b"key of the hello", self._bytes)


def signature(key: bytes, hello: Mapping[str, Any]) -> str:
    """What an agent signs its hello with, in hexadecimal, so that it was said on this connection."""
    text = "\0".join("%s=%s" % (name, hello.get(name, "")) for name in SIGNED)
    return derived(key, b"hello", text.encode()).hex()


class Stranger:
    """The agent's side, for one connection that has proven nothing yet; fed with bytes as they come.

    ``who`` is what the host calls itself, ``asks`` the session that it wants to know the end of, ``frames`` how its
    frames are sent. They hold once ``transcript`` is proven.
    """

    def __init__(self, token: bytes, tunnelled: bool) -> None:
        self._token = token
        self._tunnelled = tunnelled
        self._data = bytearray()
        self._transcript: Optional[Transcript] = None
        self.proven: Optional[Transcript] = None
        self.who = ""
        self.asks = ""
        self.frames = AUTHENTICATED

    @property
    def wanted(self) -> int:
        """How many bytes are to be read now, so that none of the next frame is. Raises WireError."""
        if len(self._data) < wire.HEADER.size:
            return wire.HEADER.size - len(self._data)
        head = wire.decode_header(bytes(self._data[: wire.HEADER.size]))
        if head.total > BYTES:
            raise wire.WireError("a frame of %d bytes, at most %d are taken here" % (head.total, BYTES))
        return wire.HEADER.size + head.total - len(self._data)

    def feed(self, data: bytes) -> bytes:
        """Take bytes; returns those to be sent. Raises WireError, or Refused, which is to be told to the host."""
        self._data += data
        if len(self._data) < wire.HEADER.size or self.wanted:
            return b""
        frame = _decoded(bytes(self._data))
        self._data.clear()
        if self._transcript is None:
            return self._challenged(frame)
        given = bytes(frame.arrays[0].data) if frame.kind == wire.AUTHENTICATE and len(frame.arrays) == 1 else b""
        if not hmac.compare_digest(given, self._transcript.proof("host")):
            raise Refused("the token is not the agent's")
        self.proven = self._transcript
        return b""

    def _challenged(self, frame: wire.Frame) -> bytes:
        if frame.kind != wire.CHALLENGE or len(frame.arrays) != 2:
            raise wire.WireError("the host sent %s instead of a challenge" % wire.KINDS[frame.kind])
        nonce, about = (bytes(array.data) for array in frame.arrays)
        if len(nonce) != NONCE_BYTES or len(about) > ABOUT_BYTES:
            text = "a challenge with a nonce of %d bytes and %d bytes about the host"
            raise wire.WireError(text % (len(nonce), len(about)))
        said = wire.decode_meta(about)
        self.who, self.asks = str(said.get("who", ""))[:200], str(said.get("asks", ""))[:64]
        self.frames = str(said.get("frames", AUTHENTICATED))
        if self.frames not in ((AUTHENTICATED, TUNNELLED) if self._tunnelled else (AUTHENTICATED,)):
            text = "frames are asked to be %r; this agent was not started with --tunnelled, so they are authenticated"
            raise Refused(text % self.frames[:40])
        own = os.urandom(NONCE_BYTES)
        self._transcript = Transcript(self._token, nonce, own, about)
        return _frame(wire.AUTHENTICATE, own, self._transcript.proof("agent"))


def prove(
    connection: socket.socket, token: bytes, about: Dict[str, str], seconds: float = SECONDS
) -> Tuple[Channel, Transcript]:
    """The host's side: prove the token and let the agent prove it, within ``seconds``.

    Raises Refused where the agent does not, WireError for what is no agent, Closed, socket.timeout, OSError.
    """
    until = time.monotonic() + seconds
    channel = Channel(connection)
    nonce, text = os.urandom(NONCE_BYTES), json.dumps(about).encode()
    channel.send(wire.CHALLENGE, 0, None, [_blob(nonce), _blob(text)], seconds)
    frame = channel.receive(max(0.1, until - time.monotonic()), BYTES)
    if frame.kind == wire.ERROR:
        raise Refused(str(frame.meta.get("message", ""))[:200])
    if frame.kind != wire.AUTHENTICATE or [len(array.data) for array in frame.arrays] != [NONCE_BYTES, 32]:
        raise wire.WireError("the agent sent %s instead of its proof" % wire.KINDS[frame.kind])
    own, proof = (bytes(array.data) for array in frame.arrays)
    transcript = Transcript(token, nonce, own, text)
    if not hmac.compare_digest(proof, transcript.proof("agent")):
        raise Refused("it does not know the token")
    channel.send(wire.AUTHENTICATE, 0, None, [_blob(transcript.proof("host"))], seconds)
    if about.get("frames", AUTHENTICATED) == AUTHENTICATED:
        channel.session = transcript.session("host")
    return channel, transcript


def refusal(message: str) -> bytes:
    """The frame that says why a connection is refused."""
    return b"".join(wire.encode(wire.ERROR, 0, {"symptom": "harness", "message": message}))


def _blob(data: bytes) -> wire.Array:
    return wire.Array("bytes", (len(data),), data)


def _frame(kind: int, *blobs: bytes) -> bytes:
    return b"".join(wire.encode(kind, 0, None, [_blob(blob) for blob in blobs]))


def _decoded(data: bytes) -> wire.Frame:
    """A whole frame in memory. Raises WireError."""
    head = wire.decode_header(data[: wire.HEADER.size])
    at = wire.HEADER.size + head.blobs * wire.DESCRIPTOR.size
    described = wire.decode_descriptors(data[wire.HEADER.size : at], head)
    meta = wire.decode_meta(data[at : at + head.meta_bytes])
    at += head.meta_bytes
    arrays = []
    for dtype, shape, size in described:
        arrays.append(wire.Array(dtype, shape, data[at : at + size]))
        at += size
    return wire.Frame(head.kind, head.call, meta, arrays)
