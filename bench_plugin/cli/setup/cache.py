"""``bench cache info | prune``: what the stage cache holds, and making room in it."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from bench_plugin.cli.shared.arguments import Actions, add_json
from bench_plugin.cli.shared.output import note, print_json
from bench_plugin.domain.paths import cache_root
from bench_plugin.domain.settings import settings_here
from bench_plugin.pipeline.cache import LIMIT_BYTES, Cache, Usage, default_folder
from bench_plugin.reach.processes.scratch import sweep

HELP = "show or prune the cache of finished stages"
GB = 10**9
DAY = 86400.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The actions info and prune."""
    actions = Actions(parser)
    info = actions.add("info", _info, "show what is stored, per stage")
    prune = actions.add("prune", _prune, "drop entries, the least recently used first, until the rest fits")
    prune.add_argument(
        "--keep-gb", type=float, default=LIMIT_BYTES / GB, metavar="GB",
        help="how many GB (10^9 bytes) may stay (default %(default).0f)",
    )  # fmt: skip
    prune.add_argument("--older-days", type=float, metavar="DAYS", help="also drop what was not used for so many days")
    for action in (info, prune):
        action.add_argument(
            "--cache",
            type=Path,
            metavar="DIR",
            help="the folder (default: as configured, or in the user's cache folder)",
        )
        add_json(action)


def run(args: argparse.Namespace) -> int:
    """Always 0: an empty cache is a fine cache."""
    code: int = args.do(args)
    return code


def _info(args: argparse.Namespace) -> int:
    usage = _cache(args).usage()
    if args.json:
        print_json(_plain(usage))
    else:
        _print(usage)
    return 0


def _prune(args: argparse.Namespace) -> int:
    cache = _cache(args)
    older = None if args.older_days is None else args.older_days * DAY
    dropped, freed = cache.prune(limit_bytes=int(args.keep_gb * GB), older_seconds=older)
    swept = sweep(cache_root() / "scratch")
    usage = cache.usage()
    if args.json:
        print_json({"dropped_entries": dropped, "dropped_bytes": freed, "dropped_scratch": swept, **_plain(usage)})
    else:
        print(f"dropped {dropped} entries, {freed / GB:.2f} GB; {swept} scratch folders of runs that are gone")
        _print(usage)
    return 0


def _cache(args: argparse.Namespace) -> Cache:
    configured = settings_here().cache or default_folder()
    if args.cache is not None and not args.cache.is_dir():
        note(f"{args.cache} is no folder, so nothing is stored there; without --cache it is {configured}")
    return Cache(args.cache or configured, note=note)


def _plain(usage: Usage) -> dict[str, object]:
    stages = {stage: {"bytes": size, "entries": count} for stage, (size, count) in sorted(usage.stages.items())}
    return {**asdict(usage), "stages": stages, "limit_bytes": LIMIT_BYTES}


def _print(usage: Usage) -> None:
    print(f"{usage.folder}: {usage.entries} entries, {usage.bytes / GB:.2f} GB of at most {LIMIT_BYTES / GB:.0f} GB")
    for stage, (size, count) in sorted(usage.stages.items()):
        print(f"  {stage:<10} {count:>6} entries {size / GB:>8.2f} GB")
