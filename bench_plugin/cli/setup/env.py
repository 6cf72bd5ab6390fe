"""``bench env``: make, list, examine and lock the toolchains, and try other versions in them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench_plugin.cli.shared import env_try
from bench_plugin.cli.shared.arguments import Actions, add_json, completed_by
from bench_plugin.cli.shared.output import note, print_json
from bench_plugin.domain.errors import EnvironmentMissing, UsageError
from bench_plugin.domain.settings import settings_here
from bench_plugin.reach.environments.disk_size import disk_bytes
from bench_plugin.reach.environments.doctor import examine
from bench_plugin.reach.environments.locking import make_lock
from bench_plugin.reach.environments.toolchains import Toolchains

HELP = "make, list, examine and lock the toolchains (isolated Python environments)"
GB = 10**9


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The actions sync, list, doctor, lock and try."""
    _add_folders(parser, "folders", argparse.SUPPRESS)  # an older place of the option: before the action
    actions = Actions(parser)
    sync = actions.add("sync", _sync, "make the environments that are not there yet")
    listed = actions.add("list", _list, "list the toolchains: which are made, their size on disk, what they pin")
    doctor = actions.add("doctor", _doctor, "say what is missing and how to fix it")
    lock = actions.add("lock", _lock, "make lock files again from the requirements in the toml")
    for action, many in ((sync, "*"), (lock, "+")):
        names = action.add_argument("names", nargs=many, metavar="NAME", help="toolchains (sync without one: all)")
        completed_by(names, lambda: _toolchains([]).names)
    sync.add_argument("--again", action="store_true", help="make the named environments anew, also those that exist")
    lock.add_argument("--upgrade", action="store_true", help="take newer versions where the requirements allow it")
    tried = actions.add("try", env_try.run, env_try.HELP)
    env_try.add_arguments(tried)
    for action in (sync, listed, doctor, lock):
        add_json(action)
    for action in (sync, listed, doctor, lock, tried):
        _add_folders(action, "toolchains", "a folder of <name>.toml and <name>.lock, searched first; may be repeated")


def run(args: argparse.Namespace) -> int:
    """Do the action; 1 when a lock and its toml disagree, 4 when an environment is missing and cannot be made."""
    code: int = args.do(args, _toolchains([*args.toolchains, *args.folders]))
    return code


def _toolchains(folders: list[Path]) -> Toolchains:
    return Toolchains([*folders, *settings_here().toolchains])


def _add_folders(parser: argparse.ArgumentParser, name: str, help: str) -> None:
    parser.add_argument("--toolchains", dest=name, type=Path, action="append", default=[], metavar="FOLDER", help=help)


def _sync(args: argparse.Namespace, toolchains: Toolchains) -> int:
    if args.again and not args.names:
        raise UsageError("bench env sync --again: name the toolchains that are made anew")
    chosen = [toolchains[name].name for name in args.names or toolchains.names]
    made: list[Mapping[str, Any]] = []
    code = 0
    for name in chosen:
        try:
            python = toolchains.ensure(name, progress=note, again=args.again)
            made.append({"name": name, "python": python, "error": None})
        except (EnvironmentMissing, UsageError) as error:
            print(f"bench env: {error}", file=sys.stderr)
            made.append({"name": name, "python": None, "error": str(error)})
            code = max(code, error.exit_code)
    if args.json:
        print_json(made)
    else:
        for row in made:
            print(f"{row['name']}: {row['python'] or 'not made'}")
    return code


def _lock(args: argparse.Namespace, toolchains: Toolchains) -> int:
    written = []
    for name in args.names:
        changes = make_lock(toolchains, name, upgrade=args.upgrade)
        path = toolchains[name].lock_path
        written.append({"name": name, "path": path, "changes": changes})
        if not args.json:
            print(f"{path}: {len(changes)} changed")
            for distribution, (before, after) in changes.items():
                print(f"  {distribution} {before or '-'} -> {after or '-'}")
    if args.json:
        print_json(written)
    return 0


def _doctor(args: argparse.Namespace, toolchains: Toolchains) -> int:
    findings = []
    for finding in examine(toolchains):
        findings.append(finding)
        if not args.json:
            print(f"{'ok     ' if finding.fine else 'MISSING'} {finding.subject}: {finding.text}", flush=True)
    if args.json:
        print_json([{"subject": one.subject, "fine": one.fine, "text": one.text} for one in findings])
    return 0 if all(finding.fine for finding in findings) else EnvironmentMissing.exit_code


def _list(args: argparse.Namespace, toolchains: Toolchains) -> int:
    rows = [_row(toolchains, name) for name in toolchains.names]
    if args.json:
        print_json(rows)
    else:
        for row in rows:
            _print_row(row)
        total = sum(row["bytes"] or 0 for row in rows)
        note(f"{sum(row['ready'] for row in rows)} of {len(rows)} are made, {total / GB:.1f} GB")
    for row in rows:
        if row["disagreement"]:
            note(f"{row['name']}: {row['disagreement']}")
    return 1 if any(row["disagreement"] for row in rows) else 0


def _row(toolchains: Toolchains, name: str) -> dict[str, Any]:
    toolchain = toolchains[name]
    try:
        locked, disagreement = toolchain.locked_versions, toolchain.disagreement()
    except UsageError as error:
        locked, disagreement = {}, str(error)
    pinned = [one.split("==")[0] for one in toolchain.requirements]
    ready = toolchains.ready(name)
    own = toolchain.python is not None
    return {
        "name": name, "title": toolchain.title, "ready": ready,
        "interpreter": str(toolchain.python) if own else toolchain.interpreter,
        "folder": toolchains.folder(name) if locked or own else None,
        "bytes": disk_bytes(toolchains.folder(name)) if ready and not own else None,
        "versions": {one: locked[one] for one in pinned if one in locked},
        "disagreement": disagreement or None,
    }  # fmt: skip


def _print_row(row: Mapping[str, Any]) -> None:
    state = "ready" if row["ready"] else "not made yet"
    state = "LOCK DIFFERS" if row["disagreement"] else state
    size = "" if row["bytes"] is None else f"{row['bytes'] / GB:.2f} GB"
    versions = " ".join(f"{name} {version}" for name, version in row["versions"].items())
    print(f"{row['name']:12} {state:13} {size:>8}  Python {row['interpreter']:13} {versions}".rstrip())
