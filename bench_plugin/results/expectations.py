"""Expectations: known failures, as typed rows in ``suites/expectations/*.toml``, and how they judge an outcome.

A row selects cells and names the stage and symptom that they fail with, the reason, and the versions that it holds for.
Rows are strict: a cell that fails at another stage, in another way, or passes, fails the run until the row is
corrected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from bench_plugin.domain.axes import AXES, Check
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Outcome, Stage, Symptom
from bench_plugin.domain.records import read
from bench_plugin.domain.selector import selector_of
from bench_plugin.results.expectation_file import ExpectationFile, texts

OPERATORS = "operators"  # the folder with one file per compiler


class Result(StrEnum):
    """pytest's result of an item."""

    PASSED = "passed"
    FAILED = "failed"
    XFAILED = "xfailed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Judgement:
    """pytest's result of a cell, and the sentence that the expectation adds to its text."""

    result: Result
    reason: str = ""


@dataclass(frozen=True)
class Expectation:
    """One row; ``when`` are version requirements that must all hold.

    A row of generated graphs (check = "property") also has ``operators`` and ``message``, which with stage and symptom
    are the signature of the failure, and an ``example`` that shows it, a file beside that of the row.
    """

    selector: Mapping[str, tuple[str, ...]]
    stage: Stage
    symptom: Symptom
    reason: str
    link: str
    when: tuple[Requirement, ...]
    path: Path
    number: int
    operators: tuple[str, ...] = ()
    message: str = ""
    example: Path | None = None

    @property
    def where(self) -> str:
        """File and number of the row, for messages."""
        return f"{self.path.name} row {self.number}"

    def selects(self, axes: Mapping[str, Any]) -> bool:
        """Whether every axis of the selector has one of its values."""
        return all(str(axes.get(key, "")) in values for key, values in self.selector.items())

    def holds(self, versions: Mapping[str, str]) -> bool:
        """Whether the versions satisfy every requirement of the row."""
        return all(_satisfied(requirement, versions) for requirement in self.when)


class OperatorRows:
    """The thousands of rows of operator cases, in a file per compiler that is read when one of its cells is judged."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self.paths: dict[str, Path] = {}
        for folder in folders:
            for path in sorted((folder / OPERATORS).glob("*.toml")):
                self.paths.setdefault(path.stem, path)
        self._by_case: dict[str, dict[str, list[Expectation]]] = {}

    def match(self, axes: Mapping[str, Any], versions: Mapping[str, str]) -> Expectation | None:
        """The first row of the cell's compiler for its case and these versions. Raises UsageError as :meth:`of`."""
        found = self.of(str(axes.get("compiler", ""))).get(str(axes["model"]), ())
        return next((row for row in found if row.selects(axes) and row.holds(versions)), None)

    def of(self, compiler: str) -> Mapping[str, list[Expectation]]:
        """The rows of a compiler by case. Raises UsageError for a row that names no case."""
        if compiler not in self._by_case:
            cases = self._by_case[compiler] = {}
            for row in _read(self.paths[compiler]) if compiler in self.paths else ():
                if row.selector.get("check") != (Check.OPERATOR,) or row.selector.get("compiler") != (compiler,):
                    raise UsageError(f"{row.path}: row {row.number}: check is operator and compiler {compiler!r} here")
                if "model" not in row.selector:
                    raise UsageError(f"{row.path}: row {row.number}: model = [...] must name its cases")
                for case in row.selector["model"]:
                    cases.setdefault(case, []).append(row)
        return self._by_case[compiler]

    def stale(self, known: Iterable[tuple[str, str]], locked: Mapping[str, Mapping[str, str]]) -> list[str]:
        """Sentences on rows whose case does not exist or whose versions can never hold.

        ``known`` are the pairs (case, compiler) of the matrix, ``locked`` the versions in each toolchain.
        """
        cells = set(known)
        found = []
        for compiler in self.paths:
            rows = self._rows(compiler)
            absent = sorted(case for case in self.of(compiler) if (case, compiler) not in cells)
            found += [f"{self.paths[compiler].name}: there is no case {case}" for case in absent]
            found += [f"{row.where}: when holds for no committed lock" for row in rows if _never(row, locked)]
        return found

    def count(self) -> int:
        """The number of rows of all compilers."""
        return sum(len(self._rows(compiler)) for compiler in self.paths)

    def _rows(self, compiler: str) -> list[Expectation]:
        """Every row of a compiler once, even if it names several cases."""
        return list({row.number: row for named in self.of(compiler).values() for row in named}.values())


@dataclass(frozen=True)
class Expectations:
    """All rows of all folders, in the order of files and rows; those of operator cases are kept in ``operators``."""

    rows: tuple[Expectation, ...]
    operators: OperatorRows = field(default_factory=lambda: OperatorRows(()))

    @staticmethod
    def load(folders: Iterable[Path]) -> Expectations:
        """Read ``*.toml`` of the folders.

        Raises UsageError for a row that is not valid, with the file, the row and what would be right.
        """
        places = list(folders)
        rows = tuple(row for folder in places for path in sorted(folder.glob("*.toml")) for row in _read(path))
        return Expectations(rows, OperatorRows(places))

    def match(
        self, axes: Mapping[str, Any], versions: Mapping[str, str], signature: Mapping[str, Any] | None = None
    ) -> Expectation | None:
        """The first row that selects the cell, holds for these versions and has the ``signature``, if one is given."""
        if axes.get("check") == Check.OPERATOR and (found := self.operators.match(axes, versions)):
            return found
        named = self._by_check.get(str(axes.get("check", "")), self.rows)
        rows = (row for row in named if row.selects(axes) and row.holds(versions))
        return next((row for row in rows if row.example is None or _signed(row, signature)), None)

    @cached_property
    def _by_check(self) -> Mapping[str, Sequence[Expectation]]:
        """The rows that may select cells of each check, because thousands of operator cells need few of them."""
        names = [str(check) for check in Check]
        return {name: [row for row in self.rows if name in row.selector.get("check", names)] for name in names}

    def stale(self, cells: Sequence[Mapping[str, Any]], locked: Mapping[str, Mapping[str, str]]) -> list[str]:
        """Sentences on rows that match no cell of the complete matrix or can never hold for the locked versions.

        ``cells`` are the axes of every declared cell, ``locked`` the versions by distribution in each toolchain.
        """
        found = []
        for row in self.rows:
            if not any(row.selects(axes) for axes in cells):
                found.append(f"{row.where}: its selector matches no cell of the matrix: {_selector_text(row.selector)}")
            elif _never(row, locked):
                wanted = ", ".join(str(requirement) for requirement in row.when)
                found.append(f"{row.where}: when = {wanted!r} holds for no committed lock")
        known = ((axes["model"], axes["compiler"]) for axes in cells if axes["check"] == Check.OPERATOR)
        return found + self.operators.stale(known, locked)


def judge(outcome: Outcome, expectation: Expectation | None) -> Judgement:
    """pytest's result of an outcome under its expectation, by the last column of the table in docs/vocabulary.md.

    ==============================================  ========
    no row, the outcome failed                      failed
    no row, the outcome says nothing                skipped
    a row, same stage and symptom                   xfailed
    a row, another stage or symptom                 failed
    a row, it passed                                failed (progress)
    a row, the cell was never reached               skipped
    ==============================================  ========
    """
    if expectation is None:
        return Judgement(Result.FAILED if outcome.failed else Result.PASSED if outcome.passed else Result.SKIPPED)
    if outcome.passed:
        return Judgement(Result.FAILED, f"progress: it passed, {expectation.where} expected a failure; remove the row")
    if outcome.stage is None:
        return Judgement(Result.SKIPPED)
    if (outcome.stage, outcome.symptom) == (expectation.stage, expectation.symptom):
        return Judgement(Result.XFAILED, expectation.reason)
    wanted = f"{expectation.stage}: {expectation.symptom}"
    found = f"{outcome.stage}: {outcome.symptom or outcome.status}"
    return Judgement(Result.FAILED, f"{expectation.where} expected {wanted} ({expectation.reason}), found {found}")


def row_text(axes: Mapping[str, Any], outcome: Outcome, reason: str) -> str:
    """The row that would cover a failed cell, as TOML, with the observed message as a comment."""
    seen = outcome.reason.strip().splitlines()
    lines = ["[[expectation]]"]
    given = {axis.name: axes[axis.name] for axis in AXES if axes.get(axis.name) not in (None, "", 0, axis.usual)}
    lines += [f"{key} = {_toml(value)}" for key, value in given.items()]
    lines += [f'stage = "{outcome.stage}"', f'symptom = "{outcome.symptom}"', f"reason = {_toml(reason)}"]
    signature = outcome.numbers.get("signature")
    if signature:
        listed = ", ".join(_toml(name) for name in signature["operators"])
        lines += [f"operators = [{listed}]", f"message = {_toml(signature['message'])}"]
    lines += [f"# seen: {seen[0][:120]}"] if seen else []
    return "\n".join(lines) + "\n"


def _read(path: Path) -> list[Expectation]:
    rows = read(path, ExpectationFile).expectation
    return [_row(path, number, row) for number, row in enumerate(rows, 1)]


def _row(path: Path, number: int, row: Any) -> Expectation:
    return Expectation(
        selector_of(row), row.stage, row.symptom, row.reason.strip(), row.link,
        tuple(Requirement(text) for text in texts(row.when)), path, number, tuple(sorted(row.operators)), row.message,
        path.parent / row.example if row.example else None,
    )  # fmt: skip


def _never(row: Expectation, locked: Mapping[str, Mapping[str, str]]) -> bool:
    return not any(row.holds(versions) for versions in ({}, *locked.values(), _merged(locked)))


def _signed(row: Expectation, signature: Mapping[str, Any] | None) -> bool:
    if signature is None:
        return False
    kind = (str(row.stage), str(row.symptom), row.message)
    any_operator = row.operators == ("*",)  # the tool fails so with any operator
    return kind == (signature["stage"], signature["symptom"], signature["message"]) and (
        any_operator or set(row.operators) <= set(signature["operators"])
    )


def _satisfied(requirement: Requirement, versions: Mapping[str, str]) -> bool:
    version = versions.get(requirement.name)
    return version is not None and requirement.specifier.contains(version, prereleases=True)


def _merged(locked: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    return {name: version for lock in locked.values() for name, version in lock.items()}


def _selector_text(selector: Mapping[str, tuple[str, ...]]) -> str:
    return ", ".join(f"{key} = {' or '.join(values)}" for key, values in selector.items())


def _toml(value: Any) -> str:
    if isinstance(value, int):
        return str(value)
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'
