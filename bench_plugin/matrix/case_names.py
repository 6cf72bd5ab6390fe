"""The names of ``--bench-cases``: cases of ONNX's backend tests, and operators of the property suite."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from bench_plugin.domain.texts.choices import unknown
from bench_plugin.generation.catalogue import GRAPHS, OPERATORS
from bench_plugin.inventory.cases import Case

GENERATED = (*OPERATORS, GRAPHS)  # the cases of the property suite
WILDCARDS = frozenset("*?[")


def operator_cases(cases: Mapping[str, Case], wanted: Sequence[str]) -> list[Case]:
    """The cases that the texts name, each once; a text that names only generated operators gives none.

    The name of an operator stands for the cases that consist of it, and where there are none, for all that contain it.
    Raises UsageError for a text that names nothing in either suite.
    """
    _check(cases, wanted)
    return list({case.name: case for text in wanted for case in _named(cases, text)}.values())


def generated_names(cases: Callable[[], Mapping[str, Case]], wanted: Sequence[str]) -> list[str]:
    """The operators of the property suite that the texts name. Raises UsageError as :func:`operator_cases` does."""
    if not set(wanted) <= set(GENERATED):  # the index of cases is read only for texts that may name one
        _check(cases(), wanted)
    return list(dict.fromkeys(name for text in wanted for name in _matching(GENERATED, text)))


def _check(cases: Mapping[str, Case], wanted: Iterable[str]) -> None:
    for text in wanted:
        if not _matching(GENERATED, text) and not _named(cases, text):
            operators = {operator for case in cases.values() for operator in case.operators}
            raise unknown("case", text, [*sorted({*operators, *GENERATED}), *cases], listed="cases")


def _named(cases: Mapping[str, Case], text: str) -> list[Case]:
    matching = [cases[name] for name in _matching(cases, text)]
    if matching:
        return matching
    holding = [case for case in cases.values() if text in case.operators]
    return [case for case in holding if case.nodes == 1] or holding


def _matching(names: Iterable[str], text: str) -> list[str]:
    return [name for name in names if name == text or (WILDCARDS & set(text) and fnmatchcase(name, text))]
