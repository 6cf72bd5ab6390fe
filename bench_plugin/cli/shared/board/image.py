"""``bench board image NAME``: make the image of an emulated board, once, from Debian's packages."""

from __future__ import annotations

import argparse

from bench_plugin.cli.shared.output import note
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.texts.choices import hint
from bench_plugin.reach.boards.linux import image

HELP = "make the image of an emulated board, once, from Debian's packages"
IMAGES = (image.NAME,)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("image", metavar="IMAGE", help=f"one of: {', '.join(IMAGES)}")
    parser.add_argument(
        "--mirror", default="", metavar="LINE",
        help="a line of apt's sources, 'deb URL SUITE main' (default: Debian's among this machine's own)",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Make the image unless it is there, and print its folder. Raises UsageError for a name that there is not,
    EnvironmentMissing where it cannot be made.
    """
    if options.image not in IMAGES:
        raise UsageError(f"there is no image {options.image!r}; {hint(options.image, IMAGES)}")
    made = image.make(note, mirror=options.mirror)
    print(made.folder)
    return 0
