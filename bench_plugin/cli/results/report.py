"""``bench report RESULTS… -o reports/``: one self-contained interactive page of results files."""

from __future__ import annotations

import argparse
import atexit
import gc
import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bench_plugin.cli.shared.arguments import add_json
from bench_plugin.cli.shared.output import note, print_json, shown
from bench_plugin.domain.errors import EnvironmentMissing, UsageError
from bench_plugin.domain.settings import settings_here
from bench_plugin.results.history import find_run

if TYPE_CHECKING:
    from bench_plugin.report.interactive.page import Report

HELP = "write one interactive page of results files, which works offline"
NAME = "report.html"
NEEDED = {"jinja2": "jinja2", "orjson": "orjson", "vl_convert": "vl-convert-python"}  # module -> distribution
MB = 1e6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """RESULTS, where the page goes and what is left out of it."""
    parser.add_argument(
        "results", nargs="*", help="results files, or ids of earlier runs (default: the results file configured)"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FOLDER",
        help=f"folder for the page, {NAME}, or a name that ends with .html (default: beside the first of RESULTS)",
    )  # fmt: skip
    parser.add_argument(
        "--against", metavar="RUN",
        help="the run to compare with: a results file, or a run id (default: the newest earlier run of the same "
        "selection in the history beside RESULTS)",
    )  # fmt: skip
    parser.add_argument(
        "--index", type=Path, metavar="FILE",
        help="the index of `bench history`, from which the evidence of a cell has its last runs (default: "
        "history/index.duckdb beside RESULTS, where it is)",
    )  # fmt: skip
    parser.add_argument(
        "--without-details", action="store_true", help="leave out the evidence of cells: a page of a third of the size"
    )
    parser.add_argument("--svg", type=Path, metavar="FOLDER", help="write each picture as an SVG file, too")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Write the page and say where it is and how large. Raises EnvironmentMissing where the extra is not installed."""
    _require_extra()
    from bench_plugin.report.interactive.page import make_report, render
    from bench_plugin.report.interactive.reading import read_source, with_previous
    from bench_plugin.report.pictures.svg import write

    configured = settings_here().results
    paths = [find_run(name, configured) for name in args.results] or [configured]
    against = find_run(args.against, configured) if args.against else None
    if against is not None and len(paths) > 1:
        raise UsageError(f"--against: {len(paths)} results files are given, and it names the run before one of them")
    with _collection_paused():
        report = make_report([with_previous(read_source(path), against) for path in paths], args.index)
        text = render(report, details=not args.without_details)
    path = _place(args.output, paths)
    path.parent.mkdir(parents=True, exist_ok=True)
    size = path.write_bytes(text.encode())
    drawn = write(args.svg, [one.entry for one in report.items], {"titles": report.titles}) if args.svg else []
    _say(report, path, size, drawn, as_json=args.json)
    return 0


@contextmanager
def _collection_paused() -> Iterator[None]:
    """Millions of objects are made from rows, and none of them is garbage: looking for it takes a third of the time.

    They are left out of later looks too. By the end of the process they are gone, and what DuckDB made must be found
    then, or it says that it leaks.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
        atexit.register(gc.unfreeze)


def _require_extra() -> None:
    missing = [name for module, name in NEEDED.items() if importlib.util.find_spec(module) is None]
    if missing:
        raise EnvironmentMissing(
            f"needs {', '.join(missing)}, which the extra 'report' brings: pip install 'bench-plugin[report]'"
        )


def _place(output: Path | None, paths: Sequence[Path]) -> Path:
    if output is None:
        return paths[0].parent / NAME
    return output if output.suffix == ".html" else output / NAME


def _say(report: Report, path: Path, size: int, drawn: Sequence[Path], *, as_json: bool) -> None:
    if as_json:
        written = {"file": path, "bytes": size, "svg": drawn, "remarks": report.remarks}
        print_json(written | report.summary.plain())
        return
    summary = report.summary
    moved = ", ".join(f"{count} {word}" for word, count in summary.moved)
    for text in (*report.remarks, *(f"not compared: {text}" for text in summary.not_compared)):
        note(text)
    if summary.compared:
        print(f"since the previous run: {moved or 'nothing changed'}")
    print(f"wrote {shown(path)}: {summary.cells} cells, {size / MB:.1f} MB")
    for picture in drawn:
        print(f"wrote {shown(picture)}")
