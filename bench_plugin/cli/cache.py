"""``bench cache info | prune``: what the stage cache holds, and making room in it."""

from __future__ import annotations

import argparse
from pathlib import Path

from bench_plugin.domain.settings import settings_here
from bench_plugin.pipeline.cache import LIMIT_BYTES, Cache, default_folder

HELP = "show or prune the cache of finished stages"
GB = 10**9
DAY = 86400.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to do, where, and how much to keep."""
    parser.add_argument(
        "what", choices=("info", "prune"), help="info: what is stored; prune: drop the least recently used"
    )
    parser.add_argument("--cache", type=Path, help="the folder (default: the configured one, else the user's)")
    parser.add_argument(
        "--keep-gb", type=float, default=LIMIT_BYTES / GB, help="prune: how many GB may stay (default %(default).0f)"
    )
    parser.add_argument("--older-days", type=float, help="prune: also drop what was not used for so many days")


def run(args: argparse.Namespace) -> int:
    """Always 0: an empty cache is a fine cache."""
    cache = Cache(args.cache or settings_here().cache or default_folder())
    if args.what == "prune":
        older = None if args.older_days is None else args.older_days * DAY
        dropped, freed = cache.prune(limit_bytes=int(args.keep_gb * GB), older_seconds=older)
        print(f"dropped {dropped} entries, {freed / GB:.2f} GB")
    usage = cache.usage()
    print(f"{usage.folder}: {usage.entries} entries, {usage.bytes / GB:.2f} GB of at most {LIMIT_BYTES / GB:.0f} GB")
    for stage, (size, count) in sorted(usage.stages.items()):
        print(f"  {stage:<10} {count:>6} entries {size / GB:>8.2f} GB")
    return 0
