"""``bench merge A B … -o OUT``: the results of shards and of other runs as one file."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench_plugin.cli.shared.arguments import add_json
from bench_plugin.cli.shared.output import note, print_json, shown
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.paths import check_file_name
from bench_plugin.domain.settings import settings_here
from bench_plugin.report.merging.merge import Conflict, Merged, Source, merge
from bench_plugin.report.merging.side_files import Logs, copy_series
from bench_plugin.report.statuses import NOT_RUN
from bench_plugin.results.checking.check import check
from bench_plugin.results.history import find_run
from bench_plugin.results.opening import replace_rows
from bench_plugin.results.rows import parse_rows, read_rows
from bench_plugin.results.writer import in_use

SHOWN = 5  # findings of a file that has rows against the schema
HELP = "merge the results of shards and of other runs into one file"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The files, and where the merged one goes."""
    parser.add_argument("results", nargs="+", metavar="RESULTS", help="a results file, or the id of a run")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="OUT",
        help="the merged file, compressed if its name ends with .gz; series and logs are copied to folders beside it",
    )  # fmt: skip
    parser.add_argument(
        "--mixed", action="store_true",
        help="merge shards of plans that have cells in common and are not the same plan, such as of two commits",
    )  # fmt: skip
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Write the merged file; 1 when files say different things of a cell, else 0. Raises UsageError, also for
    rows that are against the schema.
    """
    check_file_name(str(args.output), "--output")
    paths = [find_run(name, settings_here().results) for name in args.results]
    logs, sources = Logs(), []
    for path in paths:
        found = read_rows(path)
        for remark in found.notes:
            note(remark)
        _check_rows(path)
        rows = [logs.named(row, path) if row["kind"] == "cell" else row for row in found.rows]
        sources.append(Source(str(shown(path)), rows))
    merged = merge(sources, mixed=args.mixed)
    _check_nothing_is_lost(args.output, merged)
    args.output.parent.mkdir(parents=True, exist_ok=True)
    logs.copy(merged.rows, args.output.parent)
    notes = [*merged.notes, *copy_series(merged.rows, paths, args.output.parent)]
    replace_rows(args.output, merged.rows)
    if args.json:
        print_json(_plain(args.output, merged, notes))
    else:
        _print(args.output, merged, notes)
    return 1 if merged.conflicts else 0


def _check_rows(path: Path) -> None:
    """Raises UsageError for rows that are against the schema of rows: one of them would spoil the merged file."""
    found = check(path, most=SHOWN, as_read=True)
    if found.wrong:
        listed = "\n".join(f"{shown(path)}: {finding}" for finding in found.findings)
        more = f", {found.wrong - SHOWN} more are not shown" if found.wrong > SHOWN else ""
        raise UsageError(
            f"{found.wrong} findings in {shown(path)}{more}; nothing was merged (`bench schema rows` is the schema, "
            f"`bench history check` shows every finding):\n{listed}"
        )


def _check_nothing_is_lost(output: Path, merged: Merged) -> None:
    """Raises UsageError where the file that would be replaced has rows of runs that the merged one does not have."""
    if not output.exists():
        return
    if in_use(output):
        raise UsageError(f"--output: {output} is in use by a run that is not over; name another file")
    kept = {row.get("run") for row in merged.rows if row["kind"] == "header"}
    runs = [row.get("run") for row in parse_rows(output).rows if row["kind"] == "header"]
    lost = [str(run) for run in runs if run not in kept]
    if lost:
        raise UsageError(
            f"--output: {output} has the results of the run {lost[0]}, which would be lost; name it among the files to "
            "merge, or name another output"
        )


def _counts(merged: Merged) -> dict[str, int]:
    kinds = [row["kind"] for row in merged.rows]
    return {
        "runs": len({row.get("run") for row in merged.rows if row["kind"] == "header"}),
        "cells": len({json.dumps(row["cell"], sort_keys=True) for row in merged.rows if row["kind"] == "cell"}),
        "declared": kinds.count("declared") - (not_run := sum(row.get("status") == NOT_RUN for row in merged.rows)),
        "not_run": not_run,
    }


def _plain(output: Path, merged: Merged, notes: Sequence[str]) -> dict[str, Any]:
    conflicts = [
        {"cell": dict(one.cell), "counts": one.verdicts[0].text,
         "verdicts": [{"verdict": said.text, "run": said.run, "files": list(said.files)} for said in one.verdicts]}
        for one in merged.conflicts
    ]  # fmt: skip
    return {"output": output, **_counts(merged), "conflicts": conflicts, "notes": list(notes)}


def _print(output: Path, merged: Merged, notes: Sequence[str]) -> None:
    for one in merged.conflicts:
        print(_sentence(one))
    for text in notes:
        print(text)
    counts = _counts(merged)
    print(
        f"wrote {shown(output)}: {counts['cells']} cells of {counts['runs']} runs, {counts['declared']} declared "
        f"before, {counts['not_run']} not run, {len(merged.conflicts)} conflicts"
    )


def _sentence(one: Conflict) -> str:
    said = "; ".join(f"{verdict.text} in {', '.join(verdict.files)} (run {verdict.run})" for verdict in one.verdicts)
    cell = " ".join(str(value) for value in one.cell.values())
    return f"conflict: {cell}: {said}; the first counts"
