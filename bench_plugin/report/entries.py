"""One row of a results file as reports show it, and what all pages say of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FAILED = ("ERROR", "mismatch", "unsupported")


@dataclass(frozen=True)
class Entry:
    """``error`` is E against the truth; ``converted`` what older grids called supported."""

    status: str
    reason: str
    key: str
    error: float | None
    tolerance: float | None
    converted: bool
    expected: str
    flags: tuple[str, ...]
    stage: str
    symptom: str
    cell: Mapping[str, Any]
    timings: Mapping[str, float]
    peaks: Mapping[str, int]
    versions: Mapping[str, str]
    numbers: Mapping[str, Any]
    repro: str
    cached: bool = False
    placement: Mapping[str, Any] | None = None
    artefacts: Mapping[str, Any] | None = None

    @property
    def unconfirmed(self) -> bool:
        """Whether a conversion succeeded without its numbers being verified: where the two vocabularies differ."""
        return self.converted and self.status != "supported"

    @property
    def unexpected(self) -> bool:
        """Whether it failed, and no expectation says so."""
        return self.status in FAILED and not self.expected and bool(self.key)


def entry(row: Mapping[str, Any]) -> Entry:
    """A ``cell`` or ``declared`` row."""
    numbers = row.get("numbers") or {}
    expected = row.get("expected") or {}
    return Entry(
        status=row["status"],
        reason=row.get("reason", ""),
        key=row.get("key", ""),
        error=numbers.get("E"),
        tolerance=numbers.get("tolerance_E"),
        converted=bool(row.get("converted")),
        expected=expected.get("reason", ""),
        flags=tuple(row.get("flags", ())),
        stage=row.get("stage") or "",
        symptom=row.get("symptom") or "",
        cell=row["cell"],
        timings=row.get("timings") or {},
        peaks=row.get("peaks") or {},
        versions=row.get("versions") or {},
        numbers=numbers,
        repro=f"bench repro {row['key']}" if row.get("key") else "",
        cached=bool(row.get("stages_cached")),
        placement=row.get("placement") or {},
        artefacts=row.get("artefacts") or {},
    )


def latest(rows: Iterable[Mapping[str, Any]], checks: Sequence[str]) -> list[Mapping[str, Any]]:
    """The rows of these checks; a later row of the same cell replaces an earlier one."""
    found: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        if row["kind"] in ("declared", "cell") and row["cell"]["check"] in checks:
            found[str(sorted(row["cell"].items()))] = row
    return list(found.values())


def header_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The first header; its command names those of resumed runs too."""
    headers = [row for row in rows if row["kind"] == "header"]
    if not headers:
        return {}
    commands = [" ".join(row["command"]) for row in headers if row.get("command")]
    return {**headers[0], "command": "; ".join(dict.fromkeys(commands))}


def partial(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many of the profile's cells are in the rows, when it is not all of them."""
    plans = [row for row in rows if row["kind"] == "plan"]
    done = len({row["key"] for row in rows if row["kind"] == "cell"})
    total = max((max(row.get("total", 0), row["count"]) for row in plans), default=done)
    return f"partial: {done} of {total} cells" if done < total else ""
