"""``bench expect check | update``: known failures that are stale, and rows for those that are new."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_plugin.checks.registry import planners
from bench_plugin.cli.shared.arguments import Actions, add_json, add_results
from bench_plugin.cli.shared.output import note, print_json, shown
from bench_plugin.domain.cell import Check
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Outcome, Status
from bench_plugin.domain.settings import Selection, Settings, settings_here
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.matrix.matrix import Matrix
from bench_plugin.results.expectations import Expectation, Expectations
from bench_plugin.results.known_operators import pinned, updated, write
from bench_plugin.results.new_failures import NewFailure, by_kind, with_reasons
from bench_plugin.results.rows import outcome_of, read_rows

HELP = "check known failures for stale rows, or update them from a results file"
HEADER = re.compile(r"^\s*\[\[expectation\]\]", re.MULTILINE)
FOLDER = Path("suites/expectations")


@dataclass(frozen=True)
class Reviewed:
    """What a results file says of the rows: which passed, which cover passes and failures, and what has no row."""

    passed: tuple[Expectation, ...]
    mixed: tuple[Expectation, ...]
    new: tuple[NewFailure, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The actions check and update."""
    actions = Actions(parser)
    check = actions.add("check", _check, "list rows that match no cell, or that hold for no committed lock")
    add_json(check)
    update = actions.add("update", _update, "drop rows whose cells passed, and add rows for failures that have none")
    add_results(update, "the run to learn from")
    update.add_argument(
        "--reason", action="append", default=[], metavar="[KEY=]TEXT",
        help="why the new failures are known: TEXT for new failures that are all of one kind (same stage, symptom "
        "and message), KEY=TEXT for the cell KEY and all others of its kind; may be repeated; without a reason no "
        "row is added",
    )  # fmt: skip
    update.add_argument("--link", default="", metavar="URL", help="where the failure is reported")
    update.add_argument("--file", type=Path, help=f"where new rows go (default: {FOLDER}/new.toml of the project)")
    add_json(update)


def run(args: argparse.Namespace) -> int:
    """0 when nothing is stale (or everything was updated), 1 otherwise."""
    settings = settings_here()
    code: int = args.do(args, settings, Workspace.load(settings))
    return code


def _check(args: argparse.Namespace, settings: Settings, workspace: Workspace) -> int:
    expectations = Expectations.load(workspace.expectation_folders)
    matrix = Matrix(workspace.models, workspace.catalog, list(workspace.targets), Selection(), planners(workspace))
    cells = [cell.axes() for cell in matrix.complete()]
    stale = expectations.stale(cells, workspace.locked_versions())
    operators = expectations.operators.count()
    if args.json:
        print_json({"rows": len(expectations.rows), "operator_rows": operators, "stale": stale})
        return 1 if stale else 0
    for line in stale:
        print(line)
    print(f"{len(expectations.rows)} rows and {operators} of operator cases, {len(stale)} stale")
    return 1 if stale else 0


def _update(args: argparse.Namespace, settings: Settings, workspace: Workspace) -> int:
    file = _file_to_write(args.file, settings, workspace)
    expectations = Expectations.load(workspace.expectation_folders)
    cells = [row for row in read_rows(args.results or settings.results).rows if row["kind"] == "cell"]
    reviewed = _reviewed(expectations, [row for row in cells if row["check"] != Check.OPERATOR])
    explained, rest = with_reasons(reviewed.new, args.reason)  # a reason that is refused must leave every file alone
    operators = _update_operators(workspace, expectations, file.parent, cells)
    for expectation in sorted(reviewed.passed, key=lambda one: (one.path, one.number), reverse=True):
        _drop(expectation)
    if explained:
        _append(file, [one.row_text(reason) for one, reason in explained], args.link)
    if args.json:
        print_json({
            "file": file, "added": [one.key for one, _ in explained], "dropped": [one.where for one in reviewed.passed],
            "mixed": [one.where for one in reviewed.mixed], "without_reason": _plain(rest), "operators": operators,
        })  # fmt: skip
    else:
        _print(reviewed, operators, rest)
        print(f"{len(explained)} rows added to {shown(file)}")
    return 1 if rest else 0


def _reviewed(expectations: Expectations, rows: Sequence[Mapping[str, Any]]) -> Reviewed:
    passed: dict[str, Expectation] = {}
    failing: dict[str, Expectation] = {}
    new = []
    for row in rows:
        outcome = outcome_of(row)
        found = expectations.match(row["cell"], outcome.versions, outcome.numbers.get("signature"))
        if found is None:
            new += [NewFailure(row["key"], row["cell"], outcome)] if outcome.failed else []
        elif outcome.status is Status.SUPPORTED:
            passed[f"{found.path}:{found.number}"] = found
        else:
            failing[f"{found.path}:{found.number}"] = found
    mixed = tuple(one for place, one in passed.items() if place in failing)
    return Reviewed(tuple(one for place, one in passed.items() if place not in failing), mixed, tuple(new))


def _print(reviewed: Reviewed, operators: Sequence[Mapping[str, Any]], rest: Sequence[NewFailure]) -> None:
    for row in operators:
        print(
            f"{shown(row['file'])}: {row['cases']} cases, {row['written']} written anew, "
            f"{row['dropped']} dropped, they passed"
        )
    for expectation in reviewed.mixed:
        print(f"{expectation.where}: covers cells that passed and cells that failed; narrow it by hand")
    for expectation in reviewed.passed:
        print(f"{expectation.where}: dropped, its cells passed")
    for one in rest:
        print(f"\n# key {one.key}\n{one.row_text('')}")
    if rest:
        kinds = by_kind(rest)
        note(f"{len(rest)} failures of {len(kinds)} kinds have no row; say why, or write the rows by hand:")
        for kind, members in kinds.items():
            note(f"  --reason '{members[0].key}=...'   {len(members)} x {kind}")


def _plain(new: Sequence[NewFailure]) -> list[dict[str, Any]]:
    return [{"key": one.key, "cell": dict(one.axes), "kind": str(one.kind)} for one in new]


def _file_to_write(file: Path | None, settings: Settings, workspace: Workspace) -> Path:
    """Where new rows go. Raises UsageError for a file that a run would not read."""
    own = settings.root / FOLDER
    if file is None:
        return own / "new.toml"
    read = list(dict.fromkeys([*settings.expectations, own, *workspace.expectation_folders]))
    if file.suffix != ".toml" or file.resolve().parent not in [folder.resolve() for folder in read]:
        listed = ", ".join(str(shown(folder)) for folder in read)
        raise UsageError(
            f"--file {file}: a run would not read it: expectations are the *.toml files of {listed}; choose one of "
            f"these folders, or add the file's folder to 'expectations' in bench.toml"
        )
    return file


def _update_operators(
    workspace: Workspace, expectations: Expectations, folder: Path, rows: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Rewrite the grouped files of the compilers that the run has operator cells of; says what was written."""
    found: dict[str, list[tuple[str, Outcome]]] = {}
    for row in rows:
        if row["check"] == Check.OPERATOR:
            found.setdefault(row["cell"]["compiler"], []).append((row["cell"]["model"], outcome_of(row)))
    written: list[Mapping[str, Any]] = []
    for compiler, results in found.items():
        distribution = workspace.catalog.compiler(compiler)[0].distribution
        when = pinned(distribution, results[0][1].versions)
        known, added, dropped = updated(expectations.operators, compiler, when, results)
        path = expectations.operators.paths.get(compiler)
        path = write(path.parent.parent if path else folder, compiler, known)
        written.append({"file": path, "cases": len(known), "written": added, "dropped": dropped})
    return written


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
