"""Expectations: known failures, as typed rows in ``suites/expectations/*.toml``, and how they judge an outcome.

A row selects cells and names the stage, symptom and signature that they fail with, the reason, and the versions that it
holds for. Rows are strict: a cell that fails at another stage, in another way, or passes, fails the run until the row
is corrected. A row without a signature, as earlier versions wrote them, covers every failure of its stage and symptom.
Only a row of results that are nondeterministic covers wrong values of any size and lets right ones pass: two processes
can agree by chance, and be right by chance.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from bench_plugin.domain.axes import SWEPT, Check
from bench_plugin.domain.configuration import selector_of
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Outcome, Stage, Status, Symptom
from bench_plugin.domain.records import read
from bench_plugin.domain.texts.messages import matches, normalised
from bench_plugin.results.known_failures.expectation_file import ExpectationFile, texts
from bench_plugin.results.signature import BAND, WITHOUT, Signature, signature_of, three_digits

OPERATORS = "operators"  # the folder with one file per compiler
NOT_ANALYSED = "not analysed"  # the reason of a row whose cause nobody has looked for


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

    A row of generated graphs (check = "property") also has ``operators``, and an ``example`` that shows the failure, a
    file beside that of the row.
    """

    selector: Mapping[str, tuple[str, ...]]
    stage: Stage
    symptom: Symptom
    reason: str
    link: str
    when: tuple[Requirement, ...]
    path: Path
    number: int
    signature: Signature = field(default_factory=Signature)
    operators: tuple[str, ...] = ()
    example: Path | None = None

    @property
    def where(self) -> str:
        """File and number of the row, for messages."""
        return f"{self.path.name} row {self.number}"

    def selects(self, axes: Mapping[str, Any]) -> bool:
        """Whether every axis of the selector has one of its values."""
        return all(str(axes.get(key, "")) in values for key, values in self.selector.items())

    def selects_some(self, axes: Mapping[str, Any]) -> bool:
        """Whether it selects the cell at some point of a sweep, which the axes of a complete matrix do not have."""
        point = self._point
        if point and axes.get("check") != Check.TIMING:  # others are swept over variants of a model alone
            point = {name: value for name, value in point.items() if name == "kept"}
        return self.selects({**axes, **point} if point else axes)

    @cached_property
    def _point(self) -> Mapping[str, str]:
        """The first value of each swept axis that the selector names."""
        return {axis.name: values[0] for axis in SWEPT if (values := self.selector.get(axis.name))}

    def holds(self, versions: Mapping[str, str]) -> bool:
        """Whether the versions satisfy every requirement of the row."""
        return all(_satisfied(requirement, versions) for requirement in self.when)

    @property
    def unsigned(self) -> bool:
        """Whether it covers every failure of its stage and symptom, although such failures have a signature."""
        return not self.signature and self.symptom not in WITHOUT

    @property
    def varies(self) -> bool:
        """Whether its cells differ from run to run, so that they may fail alike twice, or pass."""
        return self.symptom is Symptom.NONDETERMINISTIC

    def alike(self, outcome: Outcome) -> bool:
        """Whether the outcome has the row's stage and symptom; results that vary may be wrong alike twice."""
        symptoms = (self.symptom, Symptom.MISMATCH) if self.varies else (self.symptom,)
        return outcome.stage == self.stage and outcome.symptom in symptoms

    def covers(self, outcome: Outcome) -> bool:
        """Whether the outcome is the failure of this row: stage, symptom and signature agree."""
        if not self.alike(outcome):
            return False
        return self.example is not None or self.signature.covers(signature_of(outcome))

    @property
    def text(self) -> str:
        """The failure in one line: ``compile: crash: 'SIGSEGV in mnn.py run'``."""
        up_to = f", so up to {three_digits(BAND * self.signature.needed)}" if self.signature.needed is not None else ""
        return f"{self.stage}: {self.symptom}" + (f": {self.signature}{up_to}" if self.signature else "")


class OperatorRows:
    """The thousands of rows of operator cases, in a file per compiler that is read when one of its cells is judged."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self.paths: dict[str, Path] = {}
        for folder in folders:
            for path in sorted((folder / OPERATORS).glob("*.toml")):
                self.paths.setdefault(path.stem, path)
        self._by_case: dict[str, dict[str, list[Expectation]]] = {}

    def selecting(self, axes: Mapping[str, Any], versions: Mapping[str, str]) -> Iterator[Expectation]:
        """The rows of the cell's compiler for its case and these versions. Raises UsageError as :meth:`of`."""
        found = self.of(str(axes.get("compiler", ""))).get(str(axes["model"]), ())
        return (row for row in found if row.selects(axes) and row.holds(versions))

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

    def stale(
        self,
        known: Iterable[tuple[str, str]],
        locked: Mapping[str, Mapping[str, str]],
        skewed: Container[tuple[str, str]] = (),
    ) -> list[str]:
        """Sentences on rows whose case does not exist or fails as version skew, or whose versions can never hold.

        ``known`` are the pairs (case, compiler) of the matrix, ``locked`` the versions in each toolchain, ``skewed``
        the pairs whose case is outside the opsets and IR versions that the compiler takes.
        """
        cells = set(known)
        found = []
        for compiler in self.paths:
            rows = self.rows(compiler)
            absent = sorted(case for case in self.of(compiler) if (case, compiler) not in cells)
            found += [f"{self.paths[compiler].name}: there is no case {case}" for case in absent]
            outside = sorted(case for case in self.of(compiler) if (case, compiler) in skewed)
            found += [
                f"{self.paths[compiler].name}: {case} is outside the opsets that {compiler} takes, so that a failure "
                "reads version skew and no row can match"
                for case in outside
            ]
            found += [f"{row.where}: when holds for no committed lock" for row in rows if _never(row, locked)]
        return found

    def all(self) -> list[Expectation]:
        """The rows of all compilers."""
        return [row for compiler in self.paths for row in self.rows(compiler)]

    def rows(self, compiler: str) -> list[Expectation]:
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

    def match(self, axes: Mapping[str, Any], outcome: Outcome) -> Expectation | None:
        """The row that covers the outcome of the cell, else the first one that selects it for these versions.

        Rows of generated graphs select by their signature too, so that a cell may have several of them.
        """
        found = list(self._selecting(axes, outcome))
        return next((row for row in found if row.covers(outcome)), found[0] if found else None)

    def written_by_hand(self, axes: Mapping[str, Any], outcome: Outcome) -> bool:
        """Whether a row outside the generated files of operator cases covers the outcome of the cell."""
        found = self.match(axes, outcome)
        return found is not None and found.covers(outcome) and any(found is row for row in self.rows)

    def of_signature(
        self, axes: Mapping[str, Any], versions: Mapping[str, str], signature: Mapping[str, Any]
    ) -> Expectation | None:
        """The row that has a signature of generated graphs, as numbers of a row hold it, for a cell or its compiler."""
        for row in self.rows:
            mine = row.selects(axes) or axes["compiler"] in row.selector.get("compiler", ())
            if row.example is not None and mine and row.holds(versions) and _signed(row, signature):
                return row
        return None

    def _selecting(self, axes: Mapping[str, Any], outcome: Outcome) -> Iterator[Expectation]:
        if axes.get("check") == Check.OPERATOR:
            yield from self.operators.selecting(axes, outcome.versions)
        signature = outcome.numbers.get("signature")
        for row in self._by_check.get(str(axes.get("check", "")), self.rows):
            if row.selects(axes) and row.holds(outcome.versions) and (row.example is None or _signed(row, signature)):
                yield row

    @cached_property
    def _by_check(self) -> Mapping[str, Sequence[Expectation]]:
        """The rows that may select cells of each check, because thousands of operator cells need few of them."""
        names = [str(check) for check in Check]
        return {name: [row for row in self.rows if name in row.selector.get("check", names)] for name in names}

    def stale(
        self,
        cells: Sequence[Mapping[str, Any]],
        locked: Mapping[str, Mapping[str, str]],
        skewed: Container[tuple[str, str]] = (),
    ) -> list[str]:
        """Sentences on rows that match no cell of the complete matrix or can never hold for the locked versions.

        ``cells`` are the axes of every declared cell, ``locked`` the versions by distribution in each toolchain,
        ``skewed`` the pairs (case, compiler) whose failures read version skew.
        """
        found = []
        of_check: dict[str, list[Mapping[str, Any]]] = {}  # a row of one check is held against few of the cells
        for axes in cells:
            of_check.setdefault(str(axes["check"]), []).append(axes)
        for row in self.rows:
            own = (of_check.get(name, ()) for name in row.selector.get("check", tuple(of_check)))
            if not any(row.selects_some(axes) for group in own for axes in group):
                found.append(f"{row.where}: its selector matches no cell of the matrix: {_selector_text(row.selector)}")
            elif _never(row, locked):
                wanted = ", ".join(str(requirement) for requirement in row.when)
                found.append(f"{row.where}: when = {wanted!r} holds for no committed lock")
        known = ((axes["model"], axes["compiler"]) for axes in cells if axes["check"] == Check.OPERATOR)
        return found + self.operators.stale(known, locked, skewed)


def judge(outcome: Outcome, expectation: Expectation | None) -> Judgement:
    """pytest's result of an outcome under its expectation, by the last column of the table in docs/vocabulary.md.

    ==============================================  ========
    no row, the outcome failed                      failed
    no row, the outcome says nothing                skipped
    a row, same stage, symptom and signature        xfailed
    a row, another stage, symptom or signature      failed (a new failure)
    a row, it passed                                failed (progress)
    a row of nondeterministic results, it passed    passed
    a row, the cell was never reached               skipped
    a row, the board was lost                       skipped
    it passed, but slower than --bench-against      failed (a regression in time)
    ==============================================  ========
    """
    if outcome.passed and outcome.slower:
        counted = outcome.numbers["against"].get("how") == "counted"
        return Judgement(Result.FAILED, f"a regression in {'instructions' if counted else 'time'}: {outcome.slower}")
    if expectation is None:
        return Judgement(Result.FAILED if outcome.failed else Result.PASSED if outcome.passed else Result.SKIPPED)
    if outcome.passed and expectation.varies:
        return Judgement(Result.PASSED)
    if outcome.passed:
        return Judgement(Result.FAILED, f"progress: it passed, {expectation.where} expected a failure; remove the row")
    if outcome.stage is None or outcome.status is Status.BOARD_LOST:
        return Judgement(Result.SKIPPED)
    if expectation.covers(outcome):
        return Judgement(Result.XFAILED, expectation.reason)
    found = f"{outcome.stage}: {outcome.symptom or outcome.status}"
    signature = signature_of(outcome)
    found = f"{found}: {signature}" if signature and expectation.signature else found
    return Judgement(Result.FAILED, f"a new failure, found {found}\n{expectation.where} expected {expectation.text}")


def known(expectation: Expectation | None, judgement: Judgement) -> dict[str, str] | None:
    """What the row of a computed cell says of the known failure that it is; None where it is none."""
    if expectation is None or judgement.result is not Result.XFAILED:
        return None
    return {"reason": expectation.reason, "link": expectation.link}


def _read(path: Path) -> list[Expectation]:
    rows = read(path, ExpectationFile).expectation
    return [_row(path, number, row) for number, row in enumerate(rows, 1)]


def _row(path: Path, number: int, row: Any) -> Expectation:
    said = row.signature or row.message
    if row.symptom != Symptom.CRASH:  # whose exit code is no number that varies; a person may paste any other message
        said = normalised(said) if said else ""
    return Expectation(
        selector_of(row), row.stage, row.symptom, row.reason.strip(), row.link,
        tuple(Requirement(text) for text in texts(row.when)), path, number,
        Signature(said, row.needed), tuple(sorted(row.operators)),
        path.parent / row.example if row.example else None,
    )  # fmt: skip


def _never(row: Expectation, locked: Mapping[str, Mapping[str, str]]) -> bool:
    return not any(row.holds(versions) for versions in ({}, *locked.values(), _merged(locked)))


def _signed(row: Expectation, signature: Mapping[str, Any] | None) -> bool:
    """Whether a row of generated graphs has the signature, as numbers of a row hold it."""
    if signature is None:
        return False
    alike = (str(row.stage), str(row.symptom)) == (signature["stage"], signature["symptom"])
    any_operator = row.operators == ("*",)  # the tool fails so with any operator
    return (
        alike
        and matches(row.signature.text, signature["message"])
        and (any_operator or set(row.operators) <= set(signature["operators"]))
    )


def _satisfied(requirement: Requirement, versions: Mapping[str, str]) -> bool:
    version = versions.get(requirement.name)
    return version is not None and requirement.specifier.contains(version, prereleases=True)


def _merged(locked: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    return {name: version for lock in locked.values() for name, version in lock.items()}


def _selector_text(selector: Mapping[str, tuple[str, ...]]) -> str:
    return ", ".join(f"{key} = {' or '.join(values)}" for key, values in selector.items())
