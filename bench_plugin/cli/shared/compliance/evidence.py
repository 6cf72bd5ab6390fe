"""The committed tables of operator evidence, and what is known of each compiler from them, its declaration and rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_plugin.characterise.compliance.cases import (
    NO_OUTCOMES,
    Outcomes,
    outcomes_of,
    read_outcomes,
    read_signatures,
    tried,
)
from bench_plugin.characterise.compliance.evidence import Evidence, compiled_of
from bench_plugin.characterise.compliance.lists import Listed, read_lists
from bench_plugin.characterise.compliance.schemas import Schemas, Signature, read_schemas
from bench_plugin.domain.compiler_name import ALL, CompilerName
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Status
from bench_plugin.domain.texts.choices import hint
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.results.known_failures.expectations import OperatorRows

FOLDER = "evidence"  # below fixtures/operators
SCHEMAS, SIGNATURES, OUTCOMES, LISTS = "schemas.csv", "signatures.csv", "outcomes.csv", "lists.csv"


@dataclass(frozen=True)
class Tables:
    """The committed tables: ONNX's operators, what its tests consist of, how these ended, and the tools' own lists."""

    schemas: Schemas
    signatures: Mapping[str, tuple[Signature, ...]]
    outcomes: Outcomes
    lists: Mapping[str, Listed]


def evidence_folder(folders: Sequence[Path]) -> Path:
    """The folder of the tables, the nearest to the user. Raises UsageError where there is none."""
    for folder in folders:
        if (folder / FOLDER / SCHEMAS).is_file():
            return folder / FOLDER
    raise UsageError(f"there is no {FOLDER}/{SCHEMAS} in {', '.join(map(str, folders)) or 'fixtures/operators'}")


def read_tables(folder: Path) -> Tables:
    """The tables of a folder. Raises UsageError for a file that is missing or no such table."""
    read = {name: _text(folder / name) for name in (SCHEMAS, SIGNATURES, OUTCOMES, LISTS)}
    place = folder
    try:
        place = folder / SCHEMAS
        schemas = read_schemas(read[SCHEMAS])
        place = folder / SIGNATURES
        signatures = read_signatures(read[SIGNATURES])
        place = folder / OUTCOMES
        outcomes = read_outcomes(read[OUTCOMES]) if read[OUTCOMES] else NO_OUTCOMES
        place = folder / LISTS
        return Tables(schemas, signatures, outcomes, read_lists(read[LISTS]))
    except (KeyError, ValueError) as error:
        raise UsageError(
            f"{place}: not a table of operator evidence: {error}; write it: bench corpus evidence"
        ) from error


def evidence_of(
    workspace: Workspace, names: Iterable[str], tables: Tables, rows: Sequence[Mapping[str, Any]]
) -> list[Evidence]:
    """What is known of each compiler. Outcomes in ``rows`` count instead of the committed ones, case by case."""
    outcomes = tables.outcomes.merged(outcomes_of(rows))
    expected = OperatorRows(workspace.expectation_folders)
    cases = workspace.cases()
    found = []
    for name in names:
        adapter, _ = workspace.catalog.compiler(name)
        said = adapter.declaration
        listed = tables.lists.get(name)
        opsets = said.get("opsets")
        known = expected.of(name)
        # A case whose result varies from run to run proves nothing by being right once.
        statuses = {
            case: status for case, status in outcomes.by_compiler.get(name, {}).items()
            if status != Status.SUPPORTED or case not in known or not known[case][0].varies
        }  # fmt: skip
        found.append(
            Evidence(
                compiler=name, takes=adapter.takes, opsets=(opsets[0], opsets[1]) if opsets else None,
                cases=tried(statuses, tables.signatures, cases),
                run=outcomes.runs.get(name, ""),
                reasons={case: first.reason for case, (first, *_) in known.items()},
                compiled=compiled_of(rows, name), listed=listed.operators if listed else None,
                source=listed.source if listed else "",
            )
        )  # fmt: skip
    return found


def chosen_compilers(workspace: Workspace, asked: str) -> list[str]:
    """The compilers that a list of names stands for; ``all`` are those that are not only run on request.

    Raises UsageError for one that does not exist.
    """
    known = workspace.catalog.of_kind("compiler")
    if asked == ALL:
        return [name for name, adapter in known.items() if not adapter.declaration.get("on_request")]
    names = [part.strip() for part in asked.split(",") if part.strip()]
    for name in names:
        if CompilerName.parse(name, known).compiler not in known:
            raise UsageError(f"--compilers: unknown compiler {name!r}; {hint(name, known)}")
        workspace.catalog.compiler(name)
    if not names:
        raise UsageError("--compilers: name one at least, or all of them: --compilers all")
    return list(dict.fromkeys(names))


def _text(path: Path) -> str:
    """The text of a table; empty for one that nobody has written yet."""
    try:
        return path.read_text("utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error
