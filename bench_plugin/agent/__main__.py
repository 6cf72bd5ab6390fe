"""Starts an agent: on an inherited descriptor, or on a TCP port that wants a token."""

from __future__ import annotations

import argparse
import socket
from typing import Optional

from bench_plugin.agent.channel import Channel
from bench_plugin.agent.server import Server


def main() -> None:
    """Serve one connection on ``--fd``, or listen on ``--listen`` and start a process for each host."""
    parser = argparse.ArgumentParser(prog="bench agent", description=__doc__)
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument("--fd", type=int, help="an inherited, connected stream socket")
    place.add_argument("--listen", metavar="HOST:PORT", help="a TCP address; 127.0.0.1:0 picks a free port")
    parser.add_argument("--folder", required=True, help="the only folder that the agent writes to")
    parser.add_argument("--admitted", type=int, help=argparse.SUPPRESS)  # a pipe of the listener
    known, _ = parser.parse_known_args()
    if known.fd is not None:
        options = parser.parse_args()
        _serve(options.fd, options.folder, options.admitted)
        return
    from bench_plugin.agent.link import serving
    from bench_plugin.agent.link.listener import own_command

    serving.add_options(parser)
    options = parser.parse_args()
    try:
        serving.run(options, options.folder, own_command())
    except serving.Wrong as error:
        parser.error(str(error))


def _serve(descriptor: int, folder: str, admitted: Optional[int]) -> None:
    connection = socket.socket(fileno=descriptor)
    if admitted is None:
        Server(Channel(connection), folder).serve()
        return
    from bench_plugin.agent.link.admitted import Admitted
    from bench_plugin.agent.link.processes import end_with_parent

    end_with_parent()
    terms = Admitted.read(admitted)
    terms.bounds.limit_process()
    channel = Channel(connection, terms.session)
    channel.pace = terms.bounds.pace()
    try:
        Server(channel, folder, terms).serve()
    except OSError as error:  # the host ended the connection during an answer, or takes it too slowly
        print("connection lost: %s" % error, flush=True)


if __name__ == "__main__":
    main()
