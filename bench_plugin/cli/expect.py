"""``bench expect check | update``: known failures that are stale, and rows for those that are new."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench_plugin.checks.registry import planners
from bench_plugin.domain.cell import Check
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Outcome, Status
from bench_plugin.domain.settings import Selection, settings_here
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.matrix.matrix import Matrix
from bench_plugin.results.expectations import Expectation, Expectations, row_text
from bench_plugin.results.known_operators import pinned, updated, write
from bench_plugin.results.rows import outcome_of, read_rows

HELP = "check known failures for stale rows, or update them from a results file"
HEADER = re.compile(r"^\s*\[\[expectation\]\]", re.MULTILINE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to do, and where rows come from and go to."""
    parser.add_argument(
        "what", choices=("check", "update"), help="check: stale rows; update: drop rows that passed, add new ones"
    )
    parser.add_argument(
        "--results", type=Path, help="update: the run to learn from (default: the configured results file)"
    )
    parser.add_argument("--reason", default="", help="update: why the new failures are known; without it none is added")
    parser.add_argument("--link", default="", help="update: where the failure is reported")
    parser.add_argument(
        "--file", type=Path, default=Path("suites/expectations/new.toml"), help="update: where new rows go"
    )


def run(args: argparse.Namespace) -> int:
    """0 when nothing is stale (or everything was updated), 1 otherwise."""
    settings = settings_here()
    workspace = Workspace.load(settings)
    expectations = Expectations.load(workspace.expectation_folders)
    if args.what == "check":
        return _check(workspace, expectations)
    return _update(args, workspace, expectations, read_rows(args.results or settings.results).rows)


def _check(workspace: Workspace, expectations: Expectations) -> int:
    matrix = Matrix(workspace.models, workspace.catalog, list(workspace.targets), Selection(), planners(workspace))
    cells = [cell.axes() for cell in matrix.complete()]
    stale = expectations.stale(cells, workspace.locked_versions())
    for line in stale:
        print(line)
    print(f"{len(expectations.rows)} rows and {expectations.operators.count()} of operator cases, {len(stale)} stale")
    return 1 if stale else 0


def _update(
    args: argparse.Namespace, workspace: Workspace, expectations: Expectations, rows: Sequence[Mapping[str, Any]]
) -> int:
    passed: dict[tuple[Path, int], Expectation] = {}
    kept: set[tuple[Path, int]] = set()
    new = []
    cells = [row for row in rows if row["kind"] == "cell"]
    _update_operators(workspace, expectations, args.file.parent, cells)
    for row in (row for row in cells if row["check"] != Check.OPERATOR):
        outcome = outcome_of(row)
        found = expectations.match(row["cell"], outcome.versions, outcome.numbers.get("signature"))
        if found is None:
            new += [(row["cell"], outcome)] if outcome.failed else []
        elif outcome.status is Status.SUPPORTED:
            passed[(found.path, found.number)] = found
        else:
            kept.add((found.path, found.number))
    for place, expectation in sorted(passed.items(), reverse=True):
        if place in kept:
            print(f"{expectation.where}: covers cells that passed and cells that failed; narrow it by hand")
            continue
        _drop(expectation)
        print(f"{expectation.where}: dropped, its cells passed")
    if not args.reason:
        for axes, outcome in new:
            print(f"\n{row_text(axes, outcome, '')}")
        if new:
            print(f"{len(new)} failures have no row; say why with --reason, or write them by hand")
        return 1 if new else 0
    if new:
        _append(args.file, [row_text(axes, outcome, args.reason) for axes, outcome in new], args.link)
    print(f"{len(new)} rows added to {args.file}")
    return 0


def _update_operators(
    workspace: Workspace, expectations: Expectations, folder: Path, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Rewrite the grouped files of the compilers that the run has operator cells of."""
    found: dict[str, list[tuple[str, Outcome]]] = {}
    for row in rows:
        if row["check"] == Check.OPERATOR:
            found.setdefault(row["cell"]["compiler"], []).append((row["cell"]["model"], outcome_of(row)))
    for compiler, results in found.items():
        distribution = workspace.catalog.compiler(compiler)[0].distribution
        when = pinned(distribution, results[0][1].versions)
        known, added, dropped = updated(expectations.operators, compiler, when, results)
        path = expectations.operators.paths.get(compiler)
        path = write(path.parent.parent if path else folder, compiler, known)
        print(f"{path}: {len(known)} cases, {added} written anew, {dropped} dropped, they passed")


def _drop(expectation: Expectation) -> None:
    text = expectation.path.read_text("utf-8")
    starts = [match.start() for match in HEADER.finditer(text)]
    if expectation.number > len(starts):
        raise UsageError(
            f"{expectation.path}: rows are not written as [[expectation]]; drop row {expectation.number} by hand"
        )
    end = starts[expectation.number] if expectation.number < len(starts) else len(text)
    expectation.path.write_text(text[: starts[expectation.number - 1]] + text[end:], "utf-8")


def _append(path: Path, rows: Sequence[str], link: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    linked = [f'{row}link = "{link}"\n' if link else row for row in rows]
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(f"\n{row}" for row in linked))
