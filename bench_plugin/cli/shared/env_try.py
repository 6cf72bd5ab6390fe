"""``bench env try NAME==VERSION``: the same cells with the locked version of a distribution and with another one."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench_plugin.cli.results import compare
from bench_plugin.cli.shared.arguments import EXIT_CODES, add_json
from bench_plugin.cli.shared.output import note, print_json, shown
from bench_plugin.domain.errors import BenchError, UsageError
from bench_plugin.domain.paths import cache_root
from bench_plugin.domain.settings import Settings, settings_here
from bench_plugin.reach.environments.toolchains import OWN_FOLDER, Toolchains
from bench_plugin.reach.environments.trial import Asked, Changes, asked_for, holders, make_trial

HELP = "run the same cells with the locked version of a distribution and with another one, and compare them"
AXES = ("models", "compilers", "frameworks", "precisions", "profile")
LOCKED, TRIED = "locked", "tried"


class CannotRun(BenchError):
    """A run of pytest ended without results."""

    exit_code = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The versions, the toolchains, and which cells are run."""
    parser.add_argument("versions", nargs="+", metavar="NAME==VERSION", help="a distribution and the version to try")
    parser.add_argument(
        "--in", dest="only", action="append", default=[], metavar="TOOLCHAIN",
        help="change this toolchain only; may be repeated (default: all that lock the distribution)",
    )  # fmt: skip
    for axis in AXES:
        parser.add_argument(f"--{axis}", metavar="A,B", help=f"run these cells: --bench-{axis} of pytest")
    parser.add_argument("--select", metavar="EXPR", help="run these tests: -k of pytest")
    parser.add_argument("--dry-run", action="store_true", help="make the trial's locks, say what changed, run nothing")
    add_json(parser)
    parser.add_argument(
        "--pytest", dest="pytest_arguments", nargs=argparse.REMAINDER, default=[], metavar="ARG",
        help="everything behind it goes to both runs of pytest",
    )  # fmt: skip


def run(args: argparse.Namespace, toolchains: Toolchains) -> int:
    """Make the trial, run both, compare; the exit codes are those of bench compare.

    Raises UsageError for a distribution that no toolchain locks, EnvironmentMissing where a version cannot be locked,
    and CannotRun where a run leaves no results.
    """
    asked = asked_for(args.versions)
    chosen = _chosen(toolchains, asked, args.only)
    settings = settings_here()
    name = "-".join(one.text.replace("==", "-") for one in asked)
    folder = cache_root() / "trials" / name
    note(f"resolving {' '.join(one.text for one in asked)} for {', '.join(chosen)}")
    changes = make_trial(folder, toolchains, chosen)
    _say(changes)
    if args.dry_run:
        if args.json:
            print_json({"folder": folder, "changes": changes})
        _adopt(folder, toolchains, chosen)
        return 0
    results = settings.results.absolute().parent / "try" / name
    selected = _selected(args)
    folders = [f"--bench-toolchains={one.absolute()}" for one in (*args.toolchains, *args.folders)]
    _pytest(settings, [*selected, *folders], results / LOCKED / "results.jsonl")
    _pytest(settings, [*selected, f"--bench-toolchains={folder}", *folders], results / TRIED / "results.jsonl")
    code = _compare(results, as_json=args.json)
    _adopt(folder, toolchains, chosen)
    return code


def _chosen(toolchains: Toolchains, asked: Sequence[Asked], only: Sequence[str]) -> dict[str, list[Asked]]:
    """What is asked of each toolchain that changes. Raises UsageError where none does."""
    found: dict[str, list[Asked]] = {}
    for one in asked:
        having = holders(toolchains, one.name)
        kept = [name for name in having if not only or name in only]
        if not kept:
            raise UsageError(f"{one.name} is locked by {', '.join(having)}, not by {', '.join(only)}")
        note(f"{one.name} is locked by: {_versions(toolchains, having, one.name)}")
        for name in kept:
            found.setdefault(name, []).append(one)
    for name in only:
        if name not in found:
            raise UsageError(f"--in: toolchain {toolchains[name].name} locks none of these distributions")
    return found


def _versions(toolchains: Toolchains, names: Sequence[str], distribution: str) -> str:
    return ", ".join(f"{name} ({toolchains.locked_versions(name)[distribution]})" for name in names)


def _selected(args: argparse.Namespace) -> list[str]:
    """pytest's arguments for the cells; only tests of this plugin, unless the user says another ``-m``."""
    axes = [f"--bench-{axis}={value}" for axis in AXES if (value := getattr(args, axis)) is not None]
    words = ["-k", args.select] if args.select is not None else []
    return ["-m", "bench", *axes, *words, *args.pytest_arguments]


def _pytest(settings: Settings, arguments: Sequence[str], results: Path) -> None:
    """One run. Its output goes to standard error. Raises CannotRun where it ends with neither 0 nor 1."""
    results.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", *arguments, f"--bench-results={results}"]
    note(f"run {results.parent.name}: {shown(results)}")
    done = subprocess.run(command, cwd=settings.root, stdout=sys.stderr, check=False)
    if done.returncode not in (0, 1) or not results.is_file():
        why = "selects no test with a cell" if done.returncode == 5 else f"ended with exit code {done.returncode}"
        raise CannotRun(f"the run {results.parent.name} {why}; {shown(results)} cannot be compared")


def _compare(results: Path, *, as_json: bool) -> int:
    parser = argparse.ArgumentParser(prog="bench compare", epilog=EXIT_CODES)
    compare.add_arguments(parser)
    files = [str(results / name / "results.jsonl") for name in (LOCKED, TRIED)]
    return compare.run(parser.parse_args([*files, *(["--json"] if as_json else [])]))


def _say(changes: dict[str, Changes]) -> None:
    for name, found in changes.items():
        note(f"toolchain {name}: {len(found)} of its distributions change")
        for distribution, (before, after) in found.items():
            note(f"  {distribution} {before or '-'} -> {after or '-'}")


def _adopt(folder: Path, toolchains: Toolchains, chosen: dict[str, list[Asked]]) -> None:
    """Say where the trial is, and how its versions become the locked ones."""
    note(f"the trial is in {folder}; use it elsewhere: pytest --bench-toolchains={folder}")
    for name, asked in chosen.items():
        path = toolchains[name].path
        texts = ", ".join(one.text for one in asked)
        if path.parent == OWN_FOLDER:
            note(
                f"to adopt it: copy {name}.toml and {name}.lock of the trial into a folder that `toolchains` of the "
                f"configuration names; in a checkout of bench_plugin, write {texts} into {path.name}, then: "
                f"bench env lock {name}"
            )
        else:
            option = f" --toolchains={shown(path.parent)}"
            note(f"to adopt it: write {texts} into {shown(path)}, then: bench env lock {name}{option}")
