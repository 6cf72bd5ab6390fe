"""Options of TCP sockets: a link that is dead, or a machine that is gone, is noticed within five seconds."""

from __future__ import annotations

import socket

USER_TIMEOUT = 4000  # milliseconds that sent bytes may stay unacknowledged (tcp(7), TCP_USER_TIMEOUT)
PROBE_AFTER = 1  # seconds of silence, after which the other machine is asked whether it is there
PROBE_EVERY = 1
PROBES = 3


def tune(connection: socket.socket) -> None:
    """Send small frames at once, and ask a silent machine whether it is still there (its kernel answers)."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", PROBE_AFTER), ("TCP_KEEPINTVL", PROBE_EVERY), ("TCP_KEEPCNT", PROBES),
        ("TCP_USER_TIMEOUT", USER_TIMEOUT),
    ):  # fmt: skip
        if hasattr(socket, name):  # Linux has them all; the others some
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
