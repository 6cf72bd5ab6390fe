"""``bench board serve``: an agent that listens on this machine, so that other machines use it as a board."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench_plugin.agent.link import serving
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.paths import cache_root
from bench_plugin.reach.processes.zipapp import build_agent

HELP = "let another machine use this one as a board"
LISTEN = "127.0.0.1:7878"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The address, the folder, the interpreter, the token and the bounds."""
    parser.add_argument(
        "--listen", metavar="HOST:PORT", default=LISTEN,
        help="the address (default %(default)s, which this machine and SSH tunnels reach; port 0 picks a free one)",
    )  # fmt: skip
    parser.add_argument("--folder", type=Path, help="the only folder that is written to (default: in the user's cache)")
    parser.add_argument(
        "--python", default=sys.executable, metavar="FILE",
        help="the interpreter that models run in, with their runtimes installed (default: this one)",
    )  # fmt: skip
    serving.add_options(parser)


def run(args: argparse.Namespace) -> int:
    """0 after SIGTERM or SIGINT. Raises UsageError for an option that is wrong."""
    folder = args.folder or cache_root() / "board"
    pyz = build_agent(folder)
    try:
        serving.run(args, folder, [args.python, "-I", "-u", "-X", "faulthandler", str(pyz)])
    except serving.Wrong as error:
        raise UsageError(str(error)) from error
    return 0
