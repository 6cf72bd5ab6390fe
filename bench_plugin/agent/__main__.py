"""Starts an agent: on an inherited descriptor, or on a TCP port that wants a token."""

from __future__ import annotations

import argparse
import socket

from bench_plugin.agent.channel import Channel
from bench_plugin.agent.server import Server
from bench_plugin.agent.tokens import admit


def main() -> None:
    """Serve one connection on ``--fd``, or one after another on ``--listen``."""
    parser = argparse.ArgumentParser(prog="bench agent", description=__doc__)
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument("--fd", type=int, help="an inherited, connected stream socket")
    place.add_argument("--listen", metavar="HOST:PORT", help="a TCP address; 127.0.0.1:0 picks a free port")
    parser.add_argument("--token-file", help="the file that holds the token, needed with --listen")
    parser.add_argument("--folder", required=True, help="the only folder that the agent writes to")
    options = parser.parse_args()
    if options.fd is not None:
        Server(Channel(socket.socket(fileno=options.fd)), options.folder).serve()
        return
    if not options.token_file:
        parser.error("--listen needs --token-file")
    with open(options.token_file, "rb") as file:
        token = file.read().strip()
    if len(token) < 16:
        parser.error("the token in %s is shorter than 16 bytes" % options.token_file)
    _listen(options.listen, token, options.folder)


def _listen(address: str, token: bytes, folder: str) -> None:
    host, _, port = address.rpartition(":")
    listener = socket.create_server((host or "127.0.0.1", int(port)))
    print("listening on %s:%d" % listener.getsockname()[:2], flush=True)
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # a lost peer frees the agent
        with connection:
            channel = Channel(connection)
            if admit(channel, token):
                channel.settimeout(None)
                try:
                    Server(channel, folder).serve()
                except OSError as error:  # the peer ended the connection during an answer, so wait for the next one
                    print("connection lost: %s" % error, flush=True)


if __name__ == "__main__":
    main()
