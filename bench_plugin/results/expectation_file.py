"""A file of known failures, ``suites/expectations/*.toml``: its rows, their keys and what they mean."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from packaging.requirements import InvalidRequirement, Requirement

from bench_plugin.domain.axes import AXIS_KEYS, Check
from bench_plugin.domain.outcome import Stage, Symptom
from bench_plugin.domain.records import NOT_BLANK, Record, about
from bench_plugin.domain.selector import selector_fields

SIGNATURE = ("operators", "message", "example")  # the keys that distinguish failures of generated graphs
Texts = tuple[str, ...]
OneOrMore = str | Texts


class _Checked(Record, frozen=True):
    """The rules for a row that types cannot express."""

    def __post_init__(self) -> None:
        """Raises ValueError for a row that would cover every cell, or that names no failure."""
        row: Any = self
        if sum(getattr(row, name) is not None for name in AXIS_KEYS) < 2:
            raise ValueError("a selector of the check alone would cover every cell; name a model or a converter")
        try:
            [Requirement(text) for text in texts(row.when)]
        except InvalidRequirement as error:
            raise ValueError(f"when must be like 'onnx2pytorch<0.7': {error}") from error
        signed = [key for key in SIGNATURE if getattr(row, key)]
        if signed and len(signed) != len(SIGNATURE):
            raise ValueError(f"a signature has {', '.join(SIGNATURE)}; there is only {', '.join(signed)}")
        if row.check == Check.PROPERTY and not signed and row.symptom != Symptom.UNSUPPORTED:
            raise ValueError(f"of generated graphs, name the failure by {', '.join(SIGNATURE)}")


def texts(value: OneOrMore) -> Texts:
    """One text or several as a tuple."""
    return (value,) if isinstance(value, str) else value


_SELECTOR = {name: (name, kind, default) for name, kind, default in selector_fields()}
del _SELECTOR["check"]
_FIELDS: list[Any] = [
    ("check", Annotated[Check | tuple[Check, ...], about("kinds of check")]),
    ("stage", Annotated[Stage, about("the stage that fails")]),
    ("symptom", Annotated[Symptom, about("how it fails")]),
    ("reason", Annotated[str, about("why, in a sentence; it stands in the results", pattern=NOT_BLANK)]),
    *_SELECTOR.values(),
    ("link", Annotated[str, about("where the failure is reported")], ""),
    ("when", Annotated[OneOrMore, about("versions that it holds for, such as 'onnx2pytorch<0.7'; all must")], ()),
    ("operators", Annotated[Texts, about("of generated graphs: the operators of the smallest example; *: any")], ()),
    ("message", Annotated[str, about("of generated graphs: the message, with # for each number")], ""),
    ("example", Annotated[str, about("of generated graphs: a file that shows the failure, beside this one")], ""),
]
ExpectationRow: Any = msgspec.defstruct("ExpectationRow", _FIELDS, bases=(_Checked,), frozen=True)
ExpectationRow.__doc__ = "A known failure: cells by their axes, how they fail, and why."


class ExpectationFile(Record, frozen=True):
    """Known failures."""

    expectation: Annotated[tuple[ExpectationRow, ...], about("rows, each written as [[expectation]]")] = ()
