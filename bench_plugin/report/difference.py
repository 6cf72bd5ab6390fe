"""What changed between two results files: status of cells, E as a ratio, versions. A pure function of their rows.

A comparison of repeated runs can build on :func:`compare_rows`: it pairs the cells and leaves the judgement of a
movement to ``moved``, which here is a plain threshold on the ratio of the errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench_plugin.report.entries import Entry, entry, header_of
from bench_plugin.report.statuses import FAILED

FACTOR = 2.0
BETTER, WORSE, OTHER, ADDED, GONE = "better", "worse", "other", "added", "gone"
# A failure is worse than no answer, and no answer worse than a pass: what a change of status is judged by.
RANK = {"passed": 2, "xfailed": 1, "skipped": 1, "failed": 0, "": 1}

Moved = Callable[[Entry, Entry], str]


@dataclass(frozen=True)
class Change:
    """A cell that differs: ``kind`` is better, worse, other, added or gone; ``ratio`` is E after / E before."""

    kind: str
    cell: Mapping[str, Any]
    before: str
    after: str
    error_before: float | None
    error_after: float | None
    ratio: float | None
    reason: str
    key: str


@dataclass(frozen=True)
class Difference:
    """Two runs side by side: ``versions`` maps toolchain and distribution to (before, after) where they differ."""

    before: Mapping[str, Any]
    after: Mapping[str, Any]
    changes: tuple[Change, ...]
    same: int
    versions: Mapping[str, tuple[str, str]]

    @property
    def worse(self) -> int:
        """How many cells changed for the worse."""
        return sum(change.kind == WORSE for change in self.changes)

    def plain(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "before": _about(self.before), "after": _about(self.after), "same": self.same, "worse": self.worse,
            "changes": [asdict(change) for change in self.changes],
            "versions": {name: list(pair) for name, pair in self.versions.items()},
        }  # fmt: skip


def by_factor(factor: float) -> Moved:
    """A movement of E counts when it grew or shrank by ``factor`` at least (which is above 1).

    Below the noise of the cell there is nothing to see: a smaller E is taken for that noise.
    """

    def moved(before: Entry, after: Entry) -> str:
        if before.error is None or after.error is None:
            return ""
        noise = max(float(one.numbers.get("noise_E") or 0.0) for one in (before, after))
        old, new = max(before.error, noise), max(after.error, noise)
        ratio = new / old if old else 1.0 if new == old else float("inf")
        if 1 / factor < ratio < factor:
            return ""
        return WORSE if ratio > 1 else BETTER

    return moved


def compare_rows(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]], moved: Moved) -> Difference:
    """Pair the cells of two results files by their axes; a cell that was only declared counts too."""
    old, new = _cells(before), _cells(after)
    paired = (_change(old.get(place), new.get(place), moved) for place in dict.fromkeys([*old, *new]))
    changes = [change for change in paired if change is not None]
    order = {kind: number for number, kind in enumerate((WORSE, OTHER, BETTER, ADDED, GONE))}
    changes.sort(key=lambda change: order[change.kind])
    headers = header_of(before), header_of(after)
    same = len(set(old) & set(new)) - sum(change.kind in (WORSE, OTHER, BETTER) for change in changes)
    return Difference(*headers, tuple(changes), same, _versions(*headers))


def error_ratio(before: Entry, after: Entry) -> float | None:
    """E after / E before; infinite when it was 0 and is not; None where one of them has none."""
    if before.error is None or after.error is None:
        return None
    if before.error == after.error:
        return 1.0
    return after.error / before.error if before.error else float("inf")


def _cells(rows: Sequence[Mapping[str, Any]]) -> dict[str, Entry]:
    """Entries by their axes; a later row of the same cell replaces an earlier one."""
    found = (entry(row) for row in rows if row["kind"] in ("declared", "cell"))
    return {str(sorted(one.cell.items())): one for one in found}


def _change(before: Entry | None, after: Entry | None, moved: Moved) -> Change | None:
    if before is None or after is None:
        one = after or before
        assert one is not None
        kind, pair = (ADDED, ("no row", one.status)) if before is None else (GONE, (one.status, "no row"))
        return Change(kind, one.cell, *pair, *_errors(before, after), None, one.reason, one.key)
    kind = _judged(before, after) or moved(before, after)
    if not kind:
        return None
    ratio = error_ratio(before, after)
    ratio = ratio if ratio != float("inf") else None
    return Change(
        kind, after.cell, _said(before), _said(after), *_errors(before, after), ratio, after.reason, after.key
    )


def _judged(before: Entry, after: Entry) -> str:
    """Better, worse or other by status and pytest's result; empty when both are the same."""
    if (before.status, before.result) == (after.status, after.result):
        return ""
    ranks = RANK.get(before.result, 1), RANK.get(after.result, 1)
    if ranks[0] == ranks[1]:
        return _by_failure(before, after)
    return BETTER if ranks[1] > ranks[0] else WORSE


def _by_failure(before: Entry, after: Entry) -> str:
    """Of two that pytest calls alike: the one that newly fails (as a known failure) is worse."""
    failed = before.status in FAILED, after.status in FAILED
    return OTHER if failed[0] == failed[1] else WORSE if failed[1] else BETTER


def _said(one: Entry) -> str:
    return f"{one.status} ({one.result})" if one.result in ("xfailed",) or one.shown != one.status else one.status


def _errors(before: Entry | None, after: Entry | None) -> tuple[float | None, float | None]:
    return (before.error if before else None), (after.error if after else None)


def _versions(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    old, new = _flat(before), _flat(after)
    names = sorted(set(old) | set(new))
    return {name: (old.get(name, ""), new.get(name, "")) for name in names if old.get(name) != new.get(name)}


def _flat(header: Mapping[str, Any]) -> dict[str, str]:
    found = {
        f"{toolchain} {name}": str(version)
        for toolchain, lock in header.get("versions", {}).items() for name, version in lock.items()
    }  # fmt: skip
    own = {name: str(header[name]) for name in ("bench_plugin", "python") if name in header}
    machine = header.get("machine", {})
    return found | own | {f"machine {name}": str(value) for name, value in machine.items()}


def _about(header: Mapping[str, Any]) -> dict[str, Any]:
    return {name: header.get(name, "") for name in ("run", "started", "commit", "command")}
