"""Authentication of connections over a network: an HMAC challenge with a shared token that is never sent (RFC 2104)."""

from __future__ import annotations

import hashlib
import hmac
import os
import socket

from bench_plugin.agent import wire
from bench_plugin.agent.channel import Channel, Closed

SECONDS = 10.0  # limits for a peer before it is authenticated
BYTES = 4096


def answer_to(token: bytes, nonce: bytes) -> bytes:
    """HMAC-SHA-256 of the nonce with the token as its key, 32 bytes."""
    return hmac.new(token, nonce, hashlib.sha256).digest()


def admit(channel: Channel, token: bytes) -> bool:
    """The agent's side: send a fresh nonce; returns whether the answer to it is right."""
    nonce = os.urandom(32)
    channel.settimeout(SECONDS)
    try:
        channel.send(wire.CHALLENGE, 0, None, [wire.Array("bytes", (len(nonce),), nonce)])
        frame = channel.receive(SECONDS, BYTES)
        given = bytes(frame.arrays[0].data) if frame.kind == wire.AUTHENTICATE and frame.arrays else b""
        if hmac.compare_digest(given, answer_to(token, nonce)):
            return True
        channel.send(wire.ERROR, 0, {"symptom": "harness", "message": "the token is not the agent's"})
    except (Closed, wire.WireError, socket.timeout, OSError):
        pass
    return False


def authenticate(channel: Channel, token: bytes) -> None:
    """The host's side: answer the agent's challenge.

    Raises WireError when there is no challenge, Closed or OSError when the connection ends.
    """
    frame = channel.receive(SECONDS, BYTES)
    if frame.kind != wire.CHALLENGE or not frame.arrays:
        raise wire.WireError("the agent sent %s instead of a challenge" % wire.KINDS[frame.kind])
    answer = answer_to(token, bytes(frame.arrays[0].data))
    channel.send(wire.AUTHENTICATE, 0, None, [wire.Array("bytes", (len(answer),), answer)])
