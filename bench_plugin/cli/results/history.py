"""``bench history``: an index over the rows of many runs, what it says of them, and the check of rows from outside."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from bench_plugin.cli.shared.arguments import Actions, add_json, add_results, completed_by
from bench_plugin.cli.shared.names import keys
from bench_plugin.cli.shared.output import note, print_json, shown
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.settings import settings_here

if TYPE_CHECKING:
    from bench_plugin.results.tables.database import Connection

HELP = "index the rows of many runs: history of a cell, new failures, flaky cells, trends; check rows from outside"
SUFFIX = ".duckdb"  # so that no other file is taken for an index, and replaced because it is a damaged one
LAST = 30  # runs in which flaky cells are looked for
MOST = 20  # lines that are shown unless asked for more


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What can be asked, each with its options."""
    actions = Actions(parser)
    index = actions.add("index", _index, "bring the index up to date with rows of runs")
    index.add_argument(
        "sources", nargs="*", type=Path, metavar="FILE",
        help="results files, folders of them, and folders that bench export wrote as Parquet (default: the results "
        "file and its history, of which copies are kept)",
    )  # fmt: skip
    index.add_argument("--rebuild", action="store_true", help="make a new index from all rows, in place of the old one")
    index.add_argument(
        "--forget", action="store_true", help="with --rebuild: drop the runs whose rows are nowhere any more"
    )
    asked = [
        actions.add("runs", _runs, "list the runs"),
        actions.add("cell", _cell, "show a cell over runs: changes of its status, E and time"),
        actions.add("failures", _failures, "list the cells that failed since a run and did not before"),
        actions.add("flaky", _flaky, "list the cells that had several outcomes although nothing else changed"),
        actions.add("trends", _trends, "show the time of cells over runs, those that moved most first"),
    ]
    for one in (index, *asked):
        add_results(one, "results file beside whose history the index is")
        one.add_argument("--index", type=Path, metavar="FILE", help="the index (default: history/index.duckdb there)")
        one.add_argument(
            "--wait", type=float, default=10.0, metavar="SECONDS",
            help="how long to wait for a process that has the index open (default %(default)g)",
        )  # fmt: skip
        add_json(one)
    _, cell, failures, flaky, trends = asked
    words = cell.add_argument(
        "words", nargs="+", metavar="WORD", help="a key or its beginning, the canonical text, or values of axes"
    )
    completed_by(words, keys)
    cell.add_argument("--all", action="store_true", help="show every run, not the changes alone")
    failures.add_argument("--since", metavar="RUN", help="run id or its beginning (default: the last run but one)")
    failures.add_argument("--known", action="store_true", help="known failures too")
    flaky.add_argument("--last", type=_positive, default=LAST, help="of so many runs (default %(default)s)")
    trends.add_argument("words", nargs="*", metavar="WORD", help="as of cell (default: those that moved most)")
    trends.add_argument("--most", type=_positive, default=MOST, help="at most so many cells (default %(default)s)")
    check = actions.add("check", _check, "check rows that somebody contributes against the schema of rows")
    check.add_argument("sources", nargs="+", type=Path, metavar="FILE", help="results files, or folders of Parquet")
    check.add_argument("--most", type=_positive, default=MOST, help="findings to show of a file (default %(default)s)")
    add_json(check)


def run(args: argparse.Namespace) -> int:
    """Do what is asked; 1 for a finding (a new failure, a flaky cell, a row that is wrong), else 0."""
    code: int = args.do(args)
    return code


def _index(args: argparse.Namespace) -> int:
    from bench_plugin.results.index.making import update

    if args.forget and not args.rebuild:
        raise UsageError("--forget: it says what --rebuild may drop; say both")
    results, path = _places(args)
    made = update(path, args.sources, results, note, rebuild=args.rebuild, forget=args.forget, wait=args.wait)
    if args.json:
        print_json({"index": str(path), **vars(made)})
        return 0
    cells = sum(made.runs.values())
    print(f"indexed {len(made.runs)} runs with {cells} cells; {made.unchanged} sources had not changed")
    print(f"{shown(path)}: {path.stat().st_size / 1e6:.1f} MB")
    return 0


def _runs(args: argparse.Namespace) -> int:
    from bench_plugin.cli.shared.history_text import print_runs
    from bench_plugin.results.index.queries import runs

    with _opened(args) as index:
        found = runs(index)
    _show(args, found, lambda: print_runs(found))
    return 0


def _cell(args: argparse.Namespace) -> int:
    from bench_plugin.cli.shared.history_text import print_cell, print_cells
    from bench_plugin.results.index.queries import cells_named, history
    from bench_plugin.results.index.trends import trends_of

    with _opened(args) as index:
        cells = cells_named(index, args.words)
        trends = trends_of(index, cells)
        points = history(index, cells[0]) if len(cells) == 1 else []
    if not points:
        _show(args, [one.plain() for one in trends], lambda: print_cells(trends))
        return 0
    data = {"cell": cells[0], "points": [point.plain() for point in points]}
    _show(args, data, lambda: print_cell(cells[0], points, trends[0], everything=args.all))
    return 0


def _failures(args: argparse.Namespace) -> int:
    from bench_plugin.cli.shared.history_text import print_failures
    from bench_plugin.results.index.queries import failures, run_named

    with _opened(args) as index:
        since = run_named(index, args.since) if args.since else _last_but_one(index)
        found = failures(index, since, known=args.known) if since else []
    if since is None and not args.json:
        print("the index has 1 run; new failures are those of later runs than another one")
        return 0
    _show(args, {"since": since, "failures": found}, lambda: print_failures(found, str(since)))
    return 1 if found else 0


def _flaky(args: argparse.Namespace) -> int:
    from bench_plugin.cli.shared.history_text import print_flaky
    from bench_plugin.results.index.queries import flaky

    with _opened(args) as index:
        found = flaky(index, args.last)
    _show(args, found, lambda: print_flaky(found, args.last))
    return 1 if found else 0


def _trends(args: argparse.Namespace) -> int:
    from bench_plugin.cli.shared.history_text import print_trends
    from bench_plugin.results.index.queries import cells_named
    from bench_plugin.results.index.trends import moved_most, trends_of

    with _opened(args) as index:
        cells = cells_named(index, args.words) if args.words else moved_most(index, args.most)
        found = [one for one in trends_of(index, cells) if one.comparable]
    found.sort(key=lambda one: -abs((one.ratio or 1.0) - 1.0))
    found = found[: args.most]
    _show(args, [one.plain() for one in found], lambda: print_trends(found))
    return 0


def _check(args: argparse.Namespace) -> int:
    from bench_plugin.results.checking.check import check

    found = {source: check(source, most=args.most) for source in args.sources}
    if args.json:
        print_json({str(source): one.plain() for source, one in found.items()})
    for source, one in found.items() if not args.json else ():
        for finding in one.findings:
            print(f"{source}: {finding}")
        rows = ", ".join(f"{count} {kind}" for kind, count in one.rows.items()) or "none"
        said = f"{one.wrong} findings" if one.wrong else "fine"
        print(f"{source}: {said}; rows: {rows}")
    return 1 if any(one.wrong for one in found.values()) else 0


def _opened(args: argparse.Namespace) -> AbstractContextManager[Connection]:
    from bench_plugin.results.index.store import opened

    return opened(_places(args)[1], wait=args.wait)


def _places(args: argparse.Namespace) -> tuple[Path, Path]:
    """The results file and the index of its history."""
    from bench_plugin.results.index.making import index_of

    results = (args.results or settings_here().results).resolve()
    if args.index is not None and args.index.suffix != SUFFIX:
        raise UsageError(f"--index: {args.index} is not the name of an index, which ends with {SUFFIX}")
    return results, args.index or index_of(results)


def _last_but_one(index: Connection) -> str | None:
    """The run before the newest one; None where there is one run alone."""
    from bench_plugin.results.index.queries import runs

    known = [one["run"] for one in runs(index)]
    return str(known[-2]) if len(known) > 1 else None


def _show(args: argparse.Namespace, data: object, in_words: Callable[[], None]) -> None:
    if args.json:
        print_json(data)
    else:
        in_words()


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number
