"""A file of known failures, ``suites/expectations/*.toml``: its rows, their keys and what they mean."""

from __future__ import annotations

import re
from typing import Annotated, Any

import msgspec
from packaging.requirements import InvalidRequirement, Requirement

from bench_plugin.domain.axes import AXIS_KEYS, Check
from bench_plugin.domain.configuration import selector_fields
from bench_plugin.domain.outcome import Stage, Symptom
from bench_plugin.domain.records import NOT_BLANK, Record, about
from bench_plugin.domain.texts.messages import ANYTHING
from bench_plugin.results.signature import WITHOUT

GENERATED = ("operators", "signature", "example")  # the keys that distinguish failures of generated graphs
OLD_SIGNATURE = "message"  # what earlier versions called the signature of generated graphs
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
        _check_signature(row)
        named = {"operators": row.operators, "signature": row.signature or row.message, "example": row.example}
        given = [key for key in GENERATED if named[key]]
        if (row.operators or row.example) and len(given) != len(GENERATED):
            raise ValueError(f"of generated graphs, name {', '.join(GENERATED)}; there is only {', '.join(given)}")
        if row.check == Check.PROPERTY and not row.example and row.symptom != Symptom.UNSUPPORTED:
            raise ValueError(f"of generated graphs, name the failure by {', '.join(GENERATED)}")


def _check_signature(row: Any) -> None:
    """Raises ValueError for a signature that the symptom cannot have, or that would cover every failure."""
    signed = [key for key in ("signature", OLD_SIGNATURE, "needed") if getattr(row, key) not in (None, "")]
    if len(signed) > 1:
        raise ValueError(f"{' and '.join(signed)}: a row has one of them; another failure is another row")
    if signed and row.symptom in WITHOUT and not row.example:  # of generated graphs, what is said is normalised
        raise ValueError(f"{signed[0]}: failures with symptom {row.symptom} have none; what they say differs each time")
    if row.needed is not None and row.symptom != Symptom.MISMATCH:
        raise ValueError(f"needed: only a mismatch has it; write what a failure with symptom {row.symptom} says as "
                         "signature")  # fmt: skip
    if row.needed is not None and row.example:
        raise ValueError("needed: generated graphs have no band, because their values are random; name the signature")
    said = row.signature or row.message
    if said and not re.search(r"\w", said.replace(ANYTHING, "")):
        raise ValueError(f"signature: {said!r} would cover every failure; leave it out, or say what this one has")


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
    (
        "signature",
        Annotated[
            str,
            about(
                "what the failure says: its first useful line, with # for numbers, PATH for paths and ... for "
                "anything; of a crash the signal and the top frame; another one is a new failure"
            ),
        ],
        "",
    ),
    (
        "needed",
        Annotated[
            float,
            about(
                "of a mismatch that was measured: how many tolerances it is off; more than 3 times as many is a new "
                "failure",
                gt=0,
            ),
        ]
        | None,
        None,
    ),
    ("link", Annotated[str, about("where the failure is reported")], ""),
    ("when", Annotated[OneOrMore, about("versions that it holds for, such as 'onnx2pytorch<0.7'; all must")], ()),
    ("operators", Annotated[Texts, about("of generated graphs: the operators of the smallest example; *: any")], ()),
    ("message", Annotated[str, about("of generated graphs: what earlier versions called their signature")], ""),
    ("example", Annotated[str, about("of generated graphs: a file that shows the failure, beside this one")], ""),
]
ExpectationRow: Any = msgspec.defstruct("ExpectationRow", _FIELDS, bases=(_Checked,), frozen=True)
ExpectationRow.__doc__ = "A known failure: cells by their axes, how they fail, and why."


class ExpectationFile(Record, frozen=True):
    """Known failures."""

    expectation: Annotated[tuple[ExpectationRow, ...], about("rows, each written as [[expectation]]")] = ()
