"""``bench export``: rows as flat tables, CSV or Parquet, with a data dictionary and the metadata of a dataset."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from bench_plugin.cli.shared.arguments import add_json
from bench_plugin.cli.shared.output import note, print_json, shown
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.settings import settings_here

HELP = "write rows as flat tables (CSV or Parquet) with a data dictionary and Croissant metadata"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which rows, as what, where to, and what the dataset's metadata say."""
    from bench_plugin.results.tables.files import Format

    parser.add_argument(
        "sources", nargs="*", metavar="RESULTS",
        help="results files, run ids, folders of results, or earlier exports as Parquet (default: the configured one)",
    )  # fmt: skip
    parser.add_argument("-o", "--output", type=Path, metavar="FOLDER", help="where the tables go")
    parser.add_argument("--format", choices=get_args(Format), default="csv", help="of the tables (default %(default)s)")
    parser.add_argument("--name", default="bench_plugin-results", help="of the dataset (default %(default)s)")
    parser.add_argument("--licence", default="", help="SPDX identifier, for runs that do not say theirs")
    parser.add_argument("--contributor", default="", help="who made the rows, for runs that do not say it")
    parser.add_argument(
        "--dictionary", type=Path, metavar="PAGE", help="write the data dictionary into a page such as docs/data.md"
    )
    parser.add_argument("--check", action="store_true", help="only say whether the page has the dictionary of the code")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Write the tables, or the dictionary; 1 when ``--check`` finds an old one. Raises UsageError for wrong sources."""
    if args.dictionary is not None:
        return _dictionary(args.dictionary, check=args.check)
    if args.check:
        raise UsageError("--check: it is of a page; say --dictionary docs/data.md too")
    if args.output is None:
        raise UsageError("say with -o FOLDER where the tables go")
    from bench_plugin.results.checking.reading import sources
    from bench_plugin.results.history import find_run
    from bench_plugin.results.tables.export import export

    configured = settings_here().results
    named = [Path(one) if Path(one).exists() else find_run(one, configured) for one in args.sources]
    done = export(
        sources(named or [configured]), args.output, args.format, note, name=args.name, licence=args.licence,
        contributor=args.contributor,
    )  # fmt: skip
    if args.json:
        print_json({"files": done.files, "runs": list(done.runs), "rows": done.rows})
        return 0
    for path in done.files:
        print(f"wrote {shown(path)}")
    print(f"{done.rows} rows of {len(done.runs)} runs")
    return 0


def _dictionary(page: Path, *, check: bool) -> int:
    from bench_plugin.results.tables.dictionary import with_columns

    old = page.read_text("utf-8")
    try:
        new = with_columns(old)
    except ValueError as error:
        raise UsageError(f"{page}: {error}") from error
    if check:
        print(f"{page}: {'as the code says' if new == old else 'old; bench export --dictionary writes it again'}")
        return 0 if new == old else 1
    page.write_text(new, "utf-8")
    print(f"wrote {page}")
    return 0
