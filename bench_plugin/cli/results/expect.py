"""``bench expect check | update | apply``: stale, too broad and new known failures, and those of results."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench_plugin.checks.registry import planners
from bench_plugin.cli.shared.arguments import Actions, add_json, add_results
from bench_plugin.cli.shared.output import note, print_json, shown
from bench_plugin.domain.cell import Check
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Outcome
from bench_plugin.domain.settings import Selection, Settings, settings_here
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.matrix.matrix import Matrix
from bench_plugin.results.known_failures.applied import applied
from bench_plugin.results.known_failures.expectations import NOT_ANALYSED, Expectation, Expectations
from bench_plugin.results.known_failures.graph_examples import rows_with_examples
from bench_plugin.results.known_failures.known_operators import pinned, updated, write
from bench_plugin.results.known_failures.new_failures import NewFailure, by_kind, with_reasons
from bench_plugin.results.known_failures.review import Review, Seen, reviewed
from bench_plugin.results.known_failures.row_toml import drop, rewrite, sign
from bench_plugin.results.opening import replace_rows
from bench_plugin.results.rows import commit, outcome_of, read_rows
from bench_plugin.results.writer import in_use

HELP = "check known failures for stale and too broad rows, update them from results, or apply them to results"
FOLDER = Path("suites/expectations")


@dataclass
class Edited:
    """The rows that an update changed in their files, and sentences on those that a person must change."""

    signed: list[Expectation] = field(default_factory=list)
    changed: list[Expectation] = field(default_factory=list)
    dropped: list[Expectation] = field(default_factory=list)
    by_hand: list[str] = field(default_factory=list)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The actions check, update and apply."""
    actions = Actions(parser)
    check = actions.add(
        "check", _check, "list rows that match no cell, that hold for no committed lock, or that are too broad"
    )
    check.add_argument(
        "--results", type=Path, metavar="FILE", help="also list rows that cover more than one failure of this run"
    )
    add_json(check)
    update = actions.add(
        "update", _update,
        "drop rows whose cells passed, write signatures, and add rows for failures that have none",
    )  # fmt: skip
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
    apply = actions.add(
        "apply", _apply,
        "judge the cells of a results file by the known failures of today, without computing them again",
    )  # fmt: skip
    add_results(apply, "the run to judge, whose file is written anew")
    add_json(apply)


def run(args: argparse.Namespace) -> int:
    """0 when nothing is stale, everything was updated, or no cell of the results fails the run now; 1 otherwise."""
    settings = settings_here()
    code: int = args.do(args, settings, Workspace.load(settings))
    return code


def _check(args: argparse.Namespace, settings: Settings, workspace: Workspace) -> int:
    expectations = Expectations.load(workspace.expectation_folders)
    matrix = Matrix(workspace.models, workspace.catalog, list(workspace.targets), Selection(), planners(workspace))
    cells = [cell.axes() for cell in matrix.complete()]
    stale = expectations.stale(cells, workspace.locked_versions(), _skewed(workspace, cells))
    broad = reviewed(expectations, _cells(args.results)).too_broad if args.results else []
    rows, operators = expectations.rows, expectations.operators.all()
    unsigned = [sum(row.unsigned for row in some) for some in (rows, operators)]
    unknown = [sum(row.reason == NOT_ANALYSED for row in some) for some in (rows, operators)]
    code = 1 if stale or broad else 0
    if args.json:
        print_json({
            "rows": len(rows), "operator_rows": len(operators), "stale": stale, "too_broad": broad,
            "without_signature": sum(unsigned), "not_analysed": sum(unknown),
        })  # fmt: skip
        return code
    for line in [*stale, *broad]:
        print(line)
    said = f"{len(stale)} stale" + (f", {len(broad)} too broad" if args.results else "")
    print(f"{len(rows)} rows and {len(operators)} of operator cases, {said}")
    print(f"without a signature: {unsigned[0]} and {unsigned[1]}; {NOT_ANALYSED}: {unknown[0]} and {unknown[1]}")
    return code


def _skewed(workspace: Workspace, cells: Iterable[Mapping[str, Any]]) -> set[tuple[str, str]]:
    """The pairs (case, compiler) of operator cells whose case is outside the opsets and IR versions of the compiler."""
    found = set()
    for axes in cells:
        case = workspace.cases().get(axes["model"]) if axes["check"] == Check.OPERATOR else None
        if case is not None:
            declared = workspace.catalog.adapters[axes["compiler"]].declaration
            oldest, newest = declared.get("opsets", [0, 0])
            newest_ir = declared.get("ir", [0, 0])[1]
            if 0 < case.opset < oldest or 0 < newest < case.opset or 0 < newest_ir < case.ir:
                found.add((case.name, str(axes["compiler"])))
    return found


def _cells(results: Path) -> list[Mapping[str, Any]]:
    return [row for row in read_rows(results).rows if row["kind"] == "cell" and not row.get("outvoted")]


def _update(args: argparse.Namespace, settings: Settings, workspace: Workspace) -> int:
    file = _file_to_write(args.file, settings, workspace)
    expectations = Expectations.load(workspace.expectation_folders)
    cells = _cells(args.results or settings.results)
    review = reviewed(expectations, [row for row in cells if row["check"] != Check.OPERATOR])
    explained, rest = with_reasons(review.new, args.reason)  # a reason that is refused must leave every file alone
    written = [row for one, reason in explained for row in rows_with_examples(one, reason, file)]
    operators = _update_operators(workspace, expectations, file.parent, cells)
    edited = _edited(review.rows, [settings.root, *settings.expectations, file.parent])
    if written:
        _append(file, written, args.link)
    if args.json:
        print_json({
            "file": file, "added": [one.key for one, _ in explained], "dropped": _names(edited.dropped),
            "signed": _names(edited.signed), "changed": _names(edited.changed),
            "mixed": _names(one.row for one in review.rows if one.mixed), "too_broad": review.too_broad,
            "by_hand": edited.by_hand, "without_reason": _plain(rest), "operators": operators,
        })  # fmt: skip
    else:
        _print(review, edited, operators, rest)
        print(f"{len(written)} rows added to {shown(file)}")
    return 1 if rest else 0


def _apply(args: argparse.Namespace, settings: Settings, workspace: Workspace) -> int:
    results = args.results or settings.results
    rows = read_rows(results)
    if in_use(results):
        raise UsageError(f"--results: {shown(results)} is in use by a run that is not over; wait for its end")
    for remark in rows.notes:
        note(remark)
    made = commit(settings.root)
    done = applied(rows.rows, Expectations.load(workspace.expectation_folders), made)
    replace_rows(results, done.rows)
    if args.json:
        print_json({
            "file": results, "commit": made, "failed": list(done.failed),
            "changes": [{"before": old, "now": new, "cells": count} for (old, new), count in done.changes.items()],
        })  # fmt: skip
        return 1 if done.failed else 0
    for line in done.failed:
        print(line)
    for (old, new), count in done.changes.items():
        print(f"{count} cells: {old} before, {f'{new} now' if new != old else 'another cause or link'}")
    count = sum(row["kind"] == "cell" for row in done.rows)
    changed = sum(done.changes.values())
    print(f"judged {count} cells of {shown(results)} again, {changed} changed, {len(done.failed)} fail")
    return 1 if done.failed else 0


def _edited(seen: Sequence[Seen], own: Sequence[Path]) -> Edited:
    """Change the rows in files below the folders ``own`` as the results say; those that cannot be are left alone.

    Rows are removed last, and from the end of each file, because their numbers name them.
    """
    edited = Edited()
    for one in sorted(seen, key=lambda one: (one.row.path, one.row.number), reverse=True):
        changed, missing = one.changed, one.missing
        if not (one.gone or changed or missing):
            continue
        if not any(one.row.path.resolve().is_relative_to(folder.resolve()) for folder in own):
            edited.by_hand.append(f"{one.row.where}: belongs to no folder of this project and is left alone")
            continue
        try:
            if one.gone:
                drop(one.row)
                edited.dropped.append(one.row)
            elif changed is not None:
                rewrite(one.row, changed)
                edited.changed.append(one.row)
            else:
                sign(one.row, missing)
                edited.signed.append(one.row)
        except UsageError as error:
            edited.by_hand.append(str(error))
    return edited


def _names(rows: Iterable[Expectation]) -> list[str]:
    return [row.where for row in rows]


def _print(
    review: Review, edited: Edited, operators: Sequence[Mapping[str, Any]], rest: Sequence[NewFailure]
) -> None:  # fmt: skip
    for one in operators:
        gone = ", ".join(f"{count} {status}" for status, count in one["dropped"].items())
        print(
            f"{shown(one['file'])}: {one['cases']} cases, {one['added']} added, {one['changed']} fail otherwise than "
            f"before, {one['signed']} signed anew, {sum(one['dropped'].values())} dropped"
            f"{f' ({gone})' if gone else ''}, {one['not_analysed']} {NOT_ANALYSED}"
        )
    mixed = [one.row for one in review.rows if one.mixed]
    otherwise = [one.row for one in review.rows if one.otherwise]
    for rows, said in (
        (mixed, "covers cells that passed and cells that did not; narrow it by hand"),
        (otherwise, "its cells fail otherwise than it says; correct it by hand"),
        (edited.signed, "its signature was written"),
        (edited.changed, f"its cells fail otherwise now: written anew, {NOT_ANALYSED}"),
        (edited.dropped, "dropped, its cells passed"),
    ):
        for row in rows:
            print(f"{row.where}: {said}")
    for line in [*review.too_broad, *edited.by_hand]:
        print(line)
    for failure in rest:
        print(f"\n# key {failure.key}\n{failure.row_text('')}")
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
    """Rewrite the grouped files of the compilers that the run has operator cells of; says what was written.

    Failures that a row outside these files covers, as those of few bits, are left to that row.
    """
    found: dict[str, list[tuple[str, Outcome]]] = {}
    for row in rows:
        if row["check"] == Check.OPERATOR:
            outcome = outcome_of(row)
            if not expectations.written_by_hand(row["cell"], outcome):
                found.setdefault(row["cell"]["compiler"], []).append((row["cell"]["model"], outcome))
    written: list[Mapping[str, Any]] = []
    for compiler, results in found.items():
        versions = results[0][1].versions
        when = pinned(workspace.catalog.compiler(compiler)[0].build(versions), versions)
        result = updated(expectations.operators, compiler, when, results)
        path = expectations.operators.paths.get(compiler)
        path = write(path.parent.parent if path else folder, compiler, result.known, result.others)
        written.append({
            "file": path, "cases": len(result.known), "added": result.added, "changed": result.changed,
            "signed": result.signed, "dropped": dict(result.dropped), "not_analysed": result.not_analysed,
        })  # fmt: skip
    return written


def _append(path: Path, rows: Sequence[str], link: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    linked = [f'{row}link = "{link}"\n' if link else row for row in rows]
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(f"\n{row}" for row in linked))
