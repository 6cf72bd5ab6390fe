"""``bench attributes``: what was measured of compilers, beside attributes of platforms, frameworks and models."""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench_plugin.characterise.compliance.catalogues import (
    MEASURED,
    PUBLISHED,
    measured_text,
    read_catalogue,
    read_measured,
)
from bench_plugin.characterise.compliance.figures import Figures, figures_of, named_of
from bench_plugin.cli.shared.arguments import add_json
from bench_plugin.cli.shared.compliance.attributes_page import attributes_page, compilers_table
from bench_plugin.cli.shared.output import print_json, shown
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.paths import CHECKOUT
from bench_plugin.domain.settings import settings_here
from bench_plugin.report.formats import markdown
from bench_plugin.report.formats.terminal import lines
from bench_plugin.results.history import find_run
from bench_plugin.results.rows import read_rows

HELP = "show semantic preservation, timing determinism and traceability by compiler, beside published attributes"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """ROWS to compute from, and what is written."""
    parser.add_argument(
        "rows", nargs="*", metavar="ROWS",
        help="results files or ids of runs to compute from (default: the figures that were written last)",
    )  # fmt: skip
    parser.add_argument(
        "--traces", action="append", type=Path, default=[], metavar="FILE",
        help="what bench complies MODEL --trace --json printed; may be repeated",
    )  # fmt: skip
    parser.add_argument("--write", action="store_true", help="keep the figures: later commands without ROWS show them")
    parser.add_argument("--markdown", action="store_true", help="print the page docs/attributes.md")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Always 0: print the table of compilers, or the page, or the data. Raises UsageError for what is not there."""
    figures = _figures(args)
    catalogues = {name: read_catalogue(name) for name in PUBLISHED}
    if args.write:
        if not (CHECKOUT / "pyproject.toml").is_file():
            raise UsageError(
                f"--write: {MEASURED} belongs to the installed package; run it in a checkout of bench_plugin"
            )
        figures = _updated(read_measured(), figures)
        MEASURED.write_text(measured_text(figures), "utf-8")
    if args.json:
        published = {
            name: {"source": one.source, "entries": list(one.entries)} for name, one in catalogues.items()
        }  # fmt: skip
        print_json({"compilers": {name: asdict(one) for name, one in figures.items()}, **published})
    elif args.markdown:
        print(markdown.render(attributes_page(figures, catalogues)), end="")
    else:
        for line in lines(compilers_table(figures), shutil.get_terminal_size().columns):
            print("".join(text for text, _ in line).rstrip())
        if args.write:
            print(f"\nwrote {shown(MEASURED)}")
    return 0


def _figures(args: argparse.Namespace) -> dict[str, Figures]:
    """Those of the rows and traces that are named, else those that were written last."""
    if not args.rows and not args.traces:
        return read_measured()
    results = settings_here().results
    rows = [row for one in args.rows for row in read_rows(find_run(one, results)).rows]
    return _updated(figures_of(rows), *(named_of(_traces(path)) for path in args.traces))


def _updated(first: Mapping[str, Figures], *others: Mapping[str, Figures]) -> dict[str, Figures]:
    """All figures together; the later ones count."""
    found = dict(first)
    for other in others:
        for name, one in other.items():
            found[name] = found[name].updated(one) if name in found else one
    return dict(sorted(found.items()))


def _traces(path: Path) -> Mapping[str, Any]:
    """What ``bench complies`` printed. Raises UsageError for another file."""
    try:
        said = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error
    if not isinstance(said, dict) or not isinstance(said.get("traces"), Iterable):
        raise UsageError(f"{path}: no traces in it; write it: bench complies MODEL --trace --json")
    return said
