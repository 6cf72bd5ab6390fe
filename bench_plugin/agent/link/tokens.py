"""The token: the secret that host and agent share. Whoever holds it can run code on the board."""

from __future__ import annotations

import hashlib
import hmac

LEAST_BYTES = 32
MAKE = "head -c 32 /dev/urandom | base64 -w0 > %s && chmod 600 %s"
GRANTS = "whoever holds the token can run any code as this user: keep it secret, and cross a network through SSH"


class BadToken(Exception):
    """A token file that cannot be read, or that holds too little; the message says how to make a good one."""


def read_token(path: str) -> bytes:
    """The content of a token file without surrounding white space. Raises BadToken."""
    make = MAKE % (path, path)
    try:
        with open(path, "rb") as file:
            token = file.read(65536).strip()
    except OSError as error:
        text = "the token file %s cannot be read (%s); make one: %s"
        raise BadToken(text % (path, error.strerror or error, make)) from error
    if len(token) < LEAST_BYTES:
        text = "the token in %s has %d bytes; expected at least %d random ones; make one: %s"
        raise BadToken(text % (path, len(token), LEAST_BYTES, make))
    if len(set(token)) < LEAST_BYTES // 4:  # 32 random bytes have 30 different ones on average, in base64 about 32
        text = "the token in %s is not random: it has %d different bytes; make one: %s"
        raise BadToken(text % (path, len(set(token)), make))
    return token


def derived(token: bytes, label: bytes, transcript: bytes) -> bytes:
    """HMAC-SHA-256 (RFC 2104) with the token as its key, 32 bytes; the label keeps its uses apart."""
    return hmac.new(token, label + b"\0" + transcript, hashlib.sha256).digest()
