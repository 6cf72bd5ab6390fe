"""Known failures: typed rows in ``suites/expectations/*.toml``, and what they make of an outcome.

A row names the cells that it speaks of, the stage and symptom that they fail with, why, and for which versions.
Rows are strict: a cell that fails elsewhere, fails otherwise, or passes, fails the run until the row is corrected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from bench_plugin.domain.axes import AXES, Check
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Outcome, Stage, Status, Symptom
from bench_plugin.domain.records import read
from bench_plugin.domain.selector import selector_of
from bench_plugin.results.expectation_file import ExpectationFile, texts

OPERATORS = "operators"  # the folder of one file per compiler


class Result(StrEnum):
    """What pytest says of an item."""

    PASSED = "passed"
    FAILED = "failed"
    XFAILED = "xfailed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Judgement:
    """pytest's result of a cell, and what the expectation adds to its text."""

    result: Result
    reason: str = ""


@dataclass(frozen=True)
class Expectation:
    """One row; ``where`` is its file and number, for messages; ``when`` are version requirements that must all hold.

    A row of generated graphs (check = "property") has a signature, ``operators`` and ``message`` beside stage and
    symptom, and an ``example`` that shows it, in a file beside the row's own.
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
        """File and row, as messages name it."""
        return f"{self.path.name} row {self.number}"

    def selects(self, axes: Mapping[str, Any]) -> bool:
        """Whether every axis of the selector has one of its values."""
        return all(str(axes.get(key, "")) in values for key, values in self.selector.items())

    def holds(self, versions: Mapping[str, str]) -> bool:
        """Whether the versions are those that the row speaks of."""
        return all(_satisfied(requirement, versions) for requirement in self.when)


class OperatorRows:
    """Rows of operator cases: thousands, in one file per compiler, read when one of its cells is judged."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self.paths: dict[str, Path] = {}
        for folder in folders:
            for path in sorted((folder / OPERATORS).glob("*.toml")):
                self.paths.setdefault(path.stem, path)
        self._by_case: dict[str, dict[str, list[Expectation]]] = {}

    def match(self, axes: Mapping[str, Any], versions: Mapping[str, str]) -> Expectation | None:
        """The first row of the cell's compiler that names its case."""
        found = self.of(str(axes.get("compiler", ""))).get(str(axes["model"]), ())
        return next((row for row in found if row.selects(axes) and row.holds(versions)), None)

    def of(self, compiler: str) -> Mapping[str, list[Expectation]]:
        """The rows of a compiler, by case. Raises UsageError for a row that names no case."""
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
        """Cases that are not there, and rows that can never hold; ``known`` are (case, compiler) of the matrix."""
        cells = set(known)
        found = []
        for compiler in self.paths:
            rows = self._rows(compiler)
            absent = sorted(case for case in self.of(compiler) if (case, compiler) not in cells)
            found += [f"{self.paths[compiler].name}: there is no case {case}" for case in absent]
            found += [f"{row.where}: when holds for no committed lock" for row in rows if _never(row, locked)]
        return found

    def count(self) -> int:
        """How many rows there are, of every compiler."""
        return sum(len(self._rows(compiler)) for compiler in self.paths)

    def _rows(self, compiler: str) -> list[Expectation]:
        """Every row once, however many cases it names."""
        return list({row.number: row for named in self.of(compiler).values() for row in named}.values())


@dataclass(frozen=True)
class Expectations:
    """Every row of every folder, in the order of files and rows; those of operators apart."""

    rows: tuple[Expectation, ...]
    operators: OperatorRows = field(default_factory=lambda: OperatorRows(()))

    @staticmethod
    def load(folders: Iterable[Path]) -> Expectations:
        """Read ``*.toml`` of the folders; raise UsageError that names the file, the row and what would be right."""
        places = list(folders)
        rows = tuple(row for folder in places for path in sorted(folder.glob("*.toml")) for row in _read(path))
        return Expectations(rows, OperatorRows(places))

    def match(
        self, axes: Mapping[str, Any], versions: Mapping[str, str], signature: Mapping[str, Any] | None = None
    ) -> Expectation | None:
        """The first row that speaks of the cell at these versions, and of the ``signature`` that it ended with."""
        if axes.get("check") == Check.OPERATOR and (found := self.operators.match(axes, versions)):
            return found
        rows = (row for row in self.rows if row.selects(axes) and row.holds(versions))
        return next((row for row in rows if row.example is None or _signed(row, signature)), None)

    def stale(self, cells: Sequence[Mapping[str, Any]], locked: Mapping[str, Mapping[str, str]]) -> list[str]:
        """What is wrong with rows: they match no cell of the complete matrix, or can never hold for the locks.

        ``cells`` are the axes of every declared cell, ``locked`` each toolchain's distributions and versions.
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
    """The truth table's last column (docs/architecture.md).

    ==============================================  ========
    no row, the outcome failed                      failed
    no row, the outcome says nothing                skipped
    a row, same stage and symptom                   xfailed
    a row, another stage or symptom                 failed
    a row, it passed                                failed (progress)
    a row, the cell was never reached               skipped
    ==============================================  ========
    """
    passed = outcome.status is Status.SUPPORTED
    if expectation is None:
        return Judgement(Result.FAILED if outcome.failed else Result.PASSED if passed else Result.SKIPPED)
    if passed:
        return Judgement(Result.FAILED, f"progress: it passed, {expectation.where} expected a failure; remove the row")
    if outcome.stage is None:
        return Judgement(Result.SKIPPED)
    if (outcome.stage, outcome.symptom) == (expectation.stage, expectation.symptom):
        return Judgement(Result.XFAILED, expectation.reason)
    wanted = f"{expectation.stage}: {expectation.symptom}"
    found = f"{outcome.stage}: {outcome.symptom or outcome.status}"
    return Judgement(Result.FAILED, f"{expectation.where} expected {wanted} ({expectation.reason}), found {found}")


def row_text(axes: Mapping[str, Any], outcome: Outcome, reason: str) -> str:
    """The row that would cover a failed cell, as TOML, with what was seen as a comment."""
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
    any_operator = row.operators == ("*",)  # the tool does it whatever the operator
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
