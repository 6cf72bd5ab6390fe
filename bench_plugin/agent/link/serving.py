"""The options of an agent that listens, for ``python agent.pyz --listen`` and for ``bench board serve``."""

from __future__ import annotations

import argparse
import os
from typing import List, Union

from bench_plugin.agent.link import bounds
from bench_plugin.agent.link.listener import Listener
from bench_plugin.agent.link.tokens import GRANTS, BadToken, read_token


class Wrong(Exception):
    """An option that is wrong; the message says what would be right."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The token, the kind of link, and the bounds."""
    parser.add_argument("--token-file", metavar="FILE", help="the file that holds the token; " + GRANTS)
    parser.add_argument(
        "--tunnelled", action="store_true",
        help="hosts may ask for frames without authentication codes, because all of them come through SSH",
    )  # fmt: skip
    bounds.add_options(parser)


def run(options: argparse.Namespace, folder: Union[str, "os.PathLike[str]"], command: List[str]) -> None:
    """Listen until SIGTERM or SIGINT; ``command`` starts an agent. Raises Wrong for an option that is wrong."""
    if not options.token_file:
        raise Wrong("--listen needs --token-file")
    try:
        token = read_token(options.token_file)
    except BadToken as error:
        raise Wrong(str(error)) from error
    try:
        listener = Listener(
            options.listen, token, command, os.fspath(folder), bounds.from_options(options), options.tunnelled
        )
    except (OSError, ValueError) as error:
        raise Wrong("--listen %s: %s; expected HOST:PORT" % (options.listen, error)) from error
    print("listening on %s" % listener.address, flush=True)
    print("whoever proves the token may use this board: %s" % GRANTS, flush=True)
    listener.serve()
