"""New failures, which no expectation covers: their kinds, and the reasons that a person gives for them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Outcome
from bench_plugin.domain.texts.messages import normalised
from bench_plugin.results.known_failures.row_toml import row_text
from bench_plugin.results.signature import signature_of

KEYED = re.compile(r"([0-9a-f]{4,12})=(.+)", re.DOTALL)
SHOWN = 100


class Kind(NamedTuple):
    """What failures with one cause have in common: stage, symptom and normalised message."""

    stage: str
    symptom: str
    message: str

    def __str__(self) -> str:
        return f"{self.stage}: {self.symptom}: {self.message[:SHOWN]}"


@dataclass(frozen=True)
class NewFailure:
    """A cell that failed and has no row: its key of 12 hex digits, its axes, its outcome."""

    key: str
    axes: Mapping[str, Any]
    outcome: Outcome

    @cached_property
    def kind(self) -> Kind:
        """The kind that it belongs to."""
        message = signature_of(self.outcome).text or normalised(self.outcome.reason)
        return Kind(str(self.outcome.stage), str(self.outcome.symptom), message)

    def row_text(self, reason: str) -> str:
        """The expectation row that covers it, as TOML."""
        return row_text(self.axes, self.outcome, reason)


def by_kind(new: Sequence[NewFailure]) -> dict[Kind, list[NewFailure]]:
    """The failures by kind, in the order in which each kind first occurs."""
    kinds: dict[Kind, list[NewFailure]] = {}
    for one in new:
        kinds.setdefault(one.kind, []).append(one)
    return kinds


def with_reasons(
    new: Sequence[NewFailure], texts: Sequence[str]
) -> tuple[list[tuple[NewFailure, str]], list[NewFailure]]:
    """The failures with their reasons, and the failures without a reason.

    ``KEY=TEXT`` is the reason of the cell KEY (or a unique beginning of it), and of all others of its kind that have no
    reason of their own. A plain text is the reason of the one remaining kind. Raises UsageError for a key that no new
    failure has, for a second plain text, and for a plain text where several kinds remain.
    """
    own: dict[str, str] = {}
    of_kind: dict[Kind, str] = {}
    plain: list[str] = []
    for text in texts:
        keyed = KEYED.fullmatch(text)
        if keyed is None:
            plain.append(_said(text))
            continue
        failure = _named(new, keyed[1])
        own[failure.key] = _said(keyed[2])
        of_kind.setdefault(failure.kind, own[failure.key])
    left = {kind: members for kind, members in by_kind(new).items() if kind not in of_kind}
    if plain:
        of_kind.update(_for_one_kind(left, plain))
    explained = [(one, own.get(one.key, of_kind.get(one.kind, ""))) for one in new if one.kind in of_kind]
    return explained, [one for one in new if one.kind not in of_kind]


def _for_one_kind(left: Mapping[Kind, Sequence[NewFailure]], plain: Sequence[str]) -> dict[Kind, str]:
    if len(plain) > 1:
        raise UsageError(f"--reason: {len(plain)} texts without a key; write --reason KEY=TEXT, KEY being a cell's key")
    if len(left) > 1:
        listed = "".join(f"\n  {members[0].key}  {len(members)} x {kind}" for kind, members in left.items())
        raise UsageError(
            f"--reason: one reason for {len(left)} kinds of failures; give each its own, as --reason KEY=TEXT:{listed}"
        )
    return dict.fromkeys(left, plain[0])


def _named(new: Sequence[NewFailure], key: str) -> NewFailure:
    found = [one for one in new if one.key.startswith(key)]
    if len({one.key for one in found}) != 1:
        many = "several new failures have keys that begin so" if found else "no new failure has this key"
        raise UsageError(f"--reason {key}=...: {many}; the keys are {', '.join(one.key for one in new) or 'none'}")
    return found[-1]


def _said(text: str) -> str:
    if not text.strip():
        raise UsageError("--reason: the reason is empty; say why the failure is known")
    return text.strip()
