"""The summary for a pull request or for the step of a CI job, in Markdown: what broke, why, and how to repeat it.

It is always shorter than 60 kB, which is less than what GitHub takes of a comment (65,536 characters): what does not
fit is left out from the end of its section, and a line says how much.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bench_plugin.domain.thresholds import FASTER, NOT_COMPARABLE, SLOWER, TOO_NOISY
from bench_plugin.report.comparison.causes import Cause, causes
from bench_plugin.report.comparison.changes import Comparison, Listed
from bench_plugin.report.comparison.direction import OTHER, PROGRESS, REGRESSION, UNDECLARED
from bench_plugin.report.comparison.document import cell_text, change_text, counted, versions_text
from bench_plugin.report.comparison.times import TimeChange
from bench_plugin.report.entries import Entry
from bench_plugin.report.figures import duration
from bench_plugin.report.statuses import ORDER

MOST_BYTES = 60_000
LINE = 400  # characters of one text of a tool
NAMED = 12  # further cells of one cause by name
RESERVED = 160  # bytes for the line that says how much was left out
# Of the bytes that are there, what a section may take at most; later ones get what earlier ones left.
SHARES = {
    "regressions": 0.6,
    "slower": 0.6,
    "progress": 0.5,
    "undeclared": 0.5,
    "other": 0.5,
    "versions": 0.8,
    "added": 0.5,
    "removed": 0.9,
}


class Item(NamedTuple):
    """A line of a section with what belongs to it, and how many ``cells`` (or versions) it stands for."""

    text: str
    cells: int = 1


def summary(comparison: Comparison | None, entries: Sequence[Entry]) -> str:
    """The text: regressions with reason and command, then those in time, what else changed, counts of the ``entries``,
    and versions.

    Without a comparison, of a first run, there are the counts alone.
    """
    head = _counts(entries)
    if comparison is None:
        return "\n\n".join(["## Results", "There is no earlier run to compare with.", head]) + "\n"
    top = f"## {_headline(comparison)}\n\n{_safe(counted(comparison))}."
    if comparison.undecided:
        top += f"\n\n**Cannot say:** {_safe(comparison.undecided)}."
    runs = " → ".join(f"`{one.get('run') or 'unknown'}`" for one in (comparison.base, comparison.head))
    parts = [top, f"Runs: {runs}"]
    left = MOST_BYTES - sum(_size(part) + 2 for part in (*parts, head)) - 200
    sections = {
        "regressions": ("### Regressions", list(_regressions(comparison))),
        "undeclared": ("### Failures as before, known for other versions only", list(_undeclared(comparison))),
        "slower": ("### Slower", list(_slower(comparison))),
        "progress": ("### Progress", list(_progress(comparison))),
        "other": ("### Other changes", list(_others(comparison))),
        "versions": ("### Versions that changed", list(_versions(comparison))),
        "added": ("### New cells", [_listed(one, "") for one in comparison.added]),
        "removed": ("### Cells without a row now", [_listed(one, "was ") for one in comparison.removed]),
    }
    shown: dict[str, str] = {}
    for name, (title, items) in sections.items():
        if items:
            shown[name] = _fitting(title, items, int(left * SHARES[name]))
            left -= _size(shown[name]) + 2
    first = [shown[name] for name in ("regressions", "slower", "undeclared", "progress", "other") if name in shown]
    last = [shown[name] for name in ("versions", "added", "removed") if name in shown]
    return "\n\n".join([*parts, *first, head, *last]) + "\n"


def write(path: Path, text: str) -> None:
    """Write a summary, with the folder that it lies in. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def _headline(comparison: Comparison) -> str:
    worse, better = comparison.regressions, comparison.progress
    if worse:
        slower = sum(one.verdict == SLOWER for one in comparison.times)
        in_time = "" if not slower else " in time" if slower == worse else f", {slower} of them in time"
        return f"{worse} regression{'s' if worse > 1 else ''}{in_time}" + (f", {better} progress" if better else "")
    if comparison.undecided:
        return "No regression found, but not everything can be said"
    return "No regression" + (f", {better} progress" if better else "")


def _regressions(comparison: Comparison) -> Iterator[Item]:
    for cause in causes(one for one in comparison.statuses if one.direction == REGRESSION):
        yield _cause_item(cause)
    for number in comparison.numbers:
        if number.direction == REGRESSION:
            moved = f"{number.before:.3g} → {number.after:.3g}"
            ratio = f" ({number.ratio:.2g} times)" if number.ratio else ""
            yield Item(
                f"- **{_safe(cell_text(number.cell))}**: {number.measure} {moved}{ratio}{_beside(number.versions)}"
            )
    for count in comparison.counts:
        if count.direction == REGRESSION:
            moved = f"{count.before:,} → {count.after:,} ({count.after - count.before:+,})"
            yield Item(f"- **{_safe(cell_text(count.cell))}**: {count.measure} {moved}{_beside(count.versions)}")


def _slower(comparison: Comparison) -> Iterator[Item]:
    for time in comparison.times:
        if time.verdict == SLOWER:
            yield Item(_time_item(time) + _repro(time.repro))


def _undeclared(comparison: Comparison) -> Iterator[Item]:
    """Of each change of versions how many cells fail as they did."""
    found: dict[str, Counter[str]] = {}
    for one in comparison.statuses:
        if one.direction == UNDECLARED:
            found.setdefault(versions_text(one.versions), Counter())[one.after] += 1
    for versions, statuses in found.items():
        counts = ", ".join(f"{count} {_safe(status)}" for status, count in statuses.most_common())
        text = f"- {_safe(versions)}: {counts}; `bench expect update` writes rows for them"
        yield Item(text, statuses.total())


def _progress(comparison: Comparison) -> Iterator[Item]:
    for status in comparison.statuses:
        if status.direction == PROGRESS:
            moved = f"{_safe(status.before)} → {_safe(status.after)}"
            yield Item(f"- {_safe(cell_text(status.cell))}: {moved}{_beside(status.versions)}")
    for number in comparison.numbers:
        if number.direction == PROGRESS:
            yield Item(f"- {_safe(cell_text(number.cell))}: {number.measure} {number.before:.3g} → {number.after:.3g}")
    for time in comparison.times:
        if time.verdict == FASTER:
            yield Item(_time_item(time))
    for count in comparison.counts:
        if count.direction == PROGRESS:
            yield Item(f"- {_safe(cell_text(count.cell))}: {count.measure} {count.before:,} → {count.after:,}")


def _others(comparison: Comparison) -> Iterator[Item]:
    for cause in causes(one for one in comparison.statuses if one.direction == OTHER):
        yield _cause_item(cause)
    for time in comparison.times:
        if time.verdict in (TOO_NOISY, NOT_COMPARABLE):
            yield Item(f"- {_safe(cell_text(time.cell))}: {time.verdict}: {_safe(time.reason)}")
    for count in comparison.counts:
        if count.direction not in (REGRESSION, PROGRESS):
            moved = f"{count.before:,} → {count.after:,}"
            yield Item(f"- {_safe(cell_text(count.cell))}: {count.measure} {moved}: {_safe(count.reason)}")


def _cause_item(cause: Cause) -> Item:
    """The first cell with what it says and how it is repeated, and the names of others that say the same."""
    one, more = cause.first, len(cause.changes) - 1
    others = f" and {more} more" if more else ""
    moved = f"{_safe(one.before)} → {_safe(one.after)}"
    why = f"\n  {_safe(one.reason)}" if one.reason else ""
    names = ", ".join(_safe(name) for name in cause.others[:NAMED])
    rest = f" and {len(cause.others) - NAMED} more" if len(cause.others) > NAMED else ""
    also = f"\n  The same of: {names}{rest}" if names else ""
    text = f"- **{_safe(cell_text(one.cell))}**{others}: {moved}{_beside(one.versions)}{why}{also}{_repro(one.repro)}"
    return Item(text, len(cause.changes))


def _time_item(one: TimeChange) -> str:
    moved = f"{one.verdict}, {duration(one.before)} → {duration(one.after)} ({change_text(one)}, {one.how})"
    return f"- **{_safe(cell_text(one.cell))}**: {moved}{_beside(one.versions)}"


def _versions(comparison: Comparison) -> Iterator[Item]:
    for name, (old, new) in comparison.versions.items():
        yield Item(f"- {_safe(name)}: {_safe(old or 'none')} → {_safe(new or 'none')}")


def _listed(one: Listed, before: str) -> Item:
    return Item(f"- {_safe(cell_text(one.cell))}: {before}{_safe(one.status)}")


def _beside(versions: Mapping[str, tuple[str, str]]) -> str:
    text = versions_text(versions)
    return f"; {_safe(text)}" if text else ""


def _repro(arguments: Sequence[str]) -> str:
    return f"\n  `pytest {shlex.join(arguments).replace('`', '')}`" if arguments else ""


def _counts(entries: Sequence[Entry]) -> str:
    """How many cells have which status, by check."""
    by_check: dict[str, Counter[str]] = {}
    for one in entries:
        by_check.setdefault(str(one.cell["check"]), Counter())[one.shown] += 1
    seen = {status for counts in by_check.values() for status in counts}
    statuses = [status for status in reversed(ORDER) if status in seen]
    statuses += sorted(seen - set(statuses))
    lines = [("check", *statuses), ("---", *("---:" for _ in statuses))]
    lines += [(check, *(str(counts[status] or "") for status in statuses)) for check, counts in by_check.items()]
    return "### Counts\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _fitting(title: str, items: Sequence[Item], most: int) -> str:
    """A section with as many items as fit into ``most`` bytes, how many cells it is about, and a line for the rest."""
    kept: list[str] = []
    used = _size(title) + 2 + RESERVED
    for item in items:
        used += _size(item.text) + 1
        if used > most:
            break
        kept.append(item.text)
    rest = sum(item.cells for item in items[len(kept) :])
    if rest:
        kept.append(
            f"\n{rest} more {'is' if rest == 1 else 'are'} left out of this summary; `bench compare` lists all of them."
        )
    return f"{title} ({sum(item.cells for item in items)})\n\n" + "\n".join(kept)


def _safe(text: str) -> str:
    """A text of a tool in one line, bounded, in which Markdown and HTML mean nothing."""
    line = " ".join(text.split())
    line = line if len(line) <= LINE else line[: LINE - 1] + "…"
    for letter in ("\\", "`", "*", "_", "|", "[", "]", "#", "~"):
        line = line.replace(letter, f"\\{letter}")
    return line.replace("<", "&lt;").replace("@", "@&#8203;")  # no name is notified


def _size(text: str) -> int:
    return len(text.encode("utf-8"))
