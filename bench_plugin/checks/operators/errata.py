"""The rules of ONNX that were changed without a new opset: ``errata.toml`` beside the index of the corpus.

A tool that was made after the older text differs from the test in the cases that depend on such a rule. That is no
defect of the tool, and no verdict on it can be had from these cases.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from bench_plugin.domain.outcome import Failure, Symptom
from bench_plugin.domain.records import Record, about, read

FILE = "errata.toml"
# What says that a tool knows nothing of a rule; crashes and timeouts say nothing of the kind.
REFUSALS = frozenset({Symptom.UNSUPPORTED, Symptom.EXCEPTION, Symptom.INVALID_MODEL, Symptom.VERSION_SKEW})


class ErratumRecord(Record, frozen=True, kw_only=True):
    """A rule that was changed, and the cases that depend on it."""

    operator: Annotated[str, about("the operator whose rule it is")]
    opset: Annotated[int, about("the opset that was changed after its release", ge=1)]
    pull_request: Annotated[int, about("the number of the change in onnx's repository", ge=1)]
    link: Annotated[str, about("the address of the change", pattern="^https://")]
    changed: Annotated[str, about("one sentence: the rule now, and what it was")]
    cases: Annotated[tuple[str, ...], about("the cases that depend on it", min_length=1)]
    outputs: Annotated[tuple[int, ...], about("the outputs that depend on it, from 0 (default: all)")] = ()
    refusals: Annotated[
        str, about("a regular expression: messages of tools that refuse what was added (default: none)")
    ] = ""

    def __post_init__(self) -> None:
        """Raises ValueError for refusals that are no regular expression."""
        try:
            re.compile(self.refusals)
        except re.error as error:
            raise ValueError(f"refusals: not a regular expression: {error}") from error


class ErrataFile(Record, frozen=True):
    """The file of all errata."""

    erratum: tuple[ErratumRecord, ...]


@dataclass(frozen=True)
class Erratum:
    """One change of a rule that one case depends on."""

    said: ErratumRecord

    @property
    def text(self) -> str:
        """What a row says of it."""
        said = self.said
        change = f"changed in place by onnx pull request {said.pull_request} ({said.link})"
        return f"{said.operator} {said.opset} was {change}: {said.changed}"

    def explains(self, wrong_outputs: Sequence[int]) -> bool:
        """Whether it is what wrong values of these outputs, by position, may come from."""
        return any(number in self.said.outputs or not self.said.outputs for number in wrong_outputs)

    def refused(self, failure: Failure) -> bool:
        """Whether the tool refused what was added."""
        said = f"{failure.message}\n{failure.detail}"
        return bool(self.said.refusals) and failure.symptom in REFUSALS and bool(re.search(self.said.refusals, said))


@cache
def _by_case(path: Path) -> Mapping[str, tuple[Erratum, ...]]:
    found: dict[str, tuple[Erratum, ...]] = {}
    for row in read(path, ErrataFile).erratum:
        for case in row.cases:
            found[case] = (*found.get(case, ()), Erratum(row))
    return found


def errata_of(case: str, folders: tuple[Path, ...]) -> tuple[Erratum, ...]:
    """The changes that a case depends on. Raises UsageError for a file that is not valid."""
    path = _file(folders)
    return _by_case(path).get(case, ()) if path is not None else ()


@cache
def errata_digest(folders: tuple[Path, ...]) -> str:
    """The SHA-256 of the file of errata in hexadecimal, a part of every row's key; empty where there is none."""
    path = _file(folders)
    return hashlib.sha256(path.read_bytes()).hexdigest() if path is not None else ""


@cache
def _file(folders: tuple[Path, ...]) -> Path | None:
    """The first file of errata in the folders of operator cases, or None."""
    return next((folder / FILE for folder in folders if (folder / FILE).is_file()), None)
