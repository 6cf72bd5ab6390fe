"""``bench env``: make, list, mend and lock the toolchains."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench_plugin.domain.errors import EnvironmentMissing
from bench_plugin.domain.settings import settings_here
from bench_plugin.reach.environments.doctor import examine
from bench_plugin.reach.environments.locking import make_lock
from bench_plugin.reach.environments.toolchain_file import Toolchain
from bench_plugin.reach.environments.toolchains import Toolchains

HELP = "make, list, mend and lock the toolchains (isolated Python environments)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The actions sync, list, doctor and lock."""
    parser.add_argument(
        "--toolchains", type=Path, action="append", default=[], metavar="FOLDER", help="a folder of <name>.{toml,lock}"
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    sync = actions.add_parser("sync", help="make the environments that are not there yet")
    sync.add_argument("names", nargs="*", metavar="NAME", help="toolchains; all when none is named")
    actions.add_parser("list", help="what toolchains there are, and which are ready")
    actions.add_parser("doctor", help="what is missing, and how to mend it")
    lock = actions.add_parser("lock", help="make lock files again from the requirements in the toml")
    lock.add_argument("names", nargs="+", metavar="NAME", help="toolchains")
    lock.add_argument("--upgrade", action="store_true", help="take newer versions where the requirements allow it")


def run(args: argparse.Namespace) -> int:
    """Do the action; 4 when an environment is missing and cannot be made."""
    toolchains = Toolchains([*args.toolchains, *settings_here().toolchains])
    if args.action == "sync":
        return _sync(toolchains, args.names or toolchains.names)
    if args.action == "lock":
        return _lock(toolchains, args.names, upgrade=args.upgrade)
    if args.action == "doctor":
        return _doctor(toolchains)
    for name in toolchains.names:
        _print_row(toolchains, toolchains[name])
    return 0


def _sync(toolchains: Toolchains, names: Sequence[str]) -> int:
    chosen = [toolchains[name] for name in names]
    code = 0
    for toolchain in chosen:
        try:
            python = toolchains.ensure(toolchain.name, progress=lambda text: print(text, flush=True))
            print(f"{toolchain.name}: {python}")
        except EnvironmentMissing as error:
            print(f"bench env: {error}", file=sys.stderr)
            code = error.exit_code
    return code


def _lock(toolchains: Toolchains, names: Sequence[str], *, upgrade: bool) -> int:
    for name in names:
        changes = make_lock(toolchains, name, upgrade=upgrade)
        print(f"{toolchains[name].lock_path}: {len(changes)} changed")
        for distribution, (before, after) in changes.items():
            print(f"  {distribution} {before or '-'} -> {after or '-'}")
    return 0


def _doctor(toolchains: Toolchains) -> int:
    code = 0
    for finding in examine(toolchains):
        print(f"{'ok     ' if finding.fine else 'MISSING'} {finding.subject}: {finding.text}")
        code = code if finding.fine else EnvironmentMissing.exit_code
    return code


def _print_row(toolchains: Toolchains, toolchain: Toolchain) -> None:
    locked = toolchain.locked_versions
    pinned = [one.split("==")[0] for one in toolchain.requirements]
    versions = " ".join(f"{name} {locked[name]}" for name in pinned if name in locked)
    state = "ready" if toolchains.ready(toolchain.name) else "not made yet"
    print(f"{toolchain.name:12} {state:13} Python {toolchain.interpreter:13} {versions}")
