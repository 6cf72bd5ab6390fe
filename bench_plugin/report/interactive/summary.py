"""What the page opens with: how many cells broke since the run before, and why, in groups of one cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench_plugin.domain.compiler_name import CompilerName
from bench_plugin.domain.texts.messages import normalised
from bench_plugin.report.interactive.changed import BROKE, SLOWER, WORDS, Changed, said_versions
from bench_plugin.report.interactive.funnel import Funnel, funnel, statuses
from bench_plugin.report.interactive.items import Item
from bench_plugin.report.interactive.reading import Source
from bench_plugin.report.parts import first_line, where

MOST_CELLS = 5  # of a group; the table has all of them
MOST_SLOWER = 12
WHOLE = ("bench_plugin", "python", "machine")  # begin the names of versions that concern every cell
USUAL = {("target", "local"), ("precision", "fp32")}


@dataclass(frozen=True)
class Group:
    """Cells that failed in one way, ``count`` of them: the tool, the status, where, the first useful line.

    ``before`` are their statuses in the run before, ``versions`` those that changed beside them, ``cells`` the first
    few as (id, in words), ``word`` what changed, empty where nothing did.
    """

    tool: str
    status: str
    place: str
    line: str
    word: str
    before: tuple[str, ...]
    versions: tuple[str, ...]
    cells: tuple[tuple[str, str], ...]
    count: int


@dataclass(frozen=True)
class SlowerCell:
    """A cell whose time grew: its id and words, the times, and the versions that changed beside them."""

    id: str
    words: str
    said: str
    versions: tuple[str, ...]


@dataclass(frozen=True)
class Summary:
    """Figures and groups: ``broke`` since the run before; ``failed`` are other failures that no expectation covers.

    ``slower`` are the first few of the cells that are slower than in the run before.
    """

    cells: int
    statuses: tuple[tuple[str, int], ...]
    moved: tuple[tuple[str, int], ...]
    gone: int
    broke: tuple[Group, ...]
    slower: tuple[SlowerCell, ...]
    failed: tuple[Group, ...]
    failures: int
    known: int
    funnel: Funnel
    compared: tuple[str, ...]
    not_compared: tuple[str, ...]
    versions: tuple[tuple[str, str, str], ...]

    def plain(self) -> dict[str, Any]:
        """What ``--json`` prints of it."""
        found = asdict(self)
        return found | {"statuses": dict(self.statuses), "moved": dict(self.moved)}


def summary(items: Sequence[Item], sources: Sequence[Source], changes: Sequence[Changed]) -> Summary:
    """What the opening says of all cells."""
    moved = Counter(one.moved.word for one in items if one.moved)
    broke = [one for one in items if one.moved and one.moved.word == BROKE]
    failed = [one for one in items if one.entry.failed and not (one.moved and one.moved.word == BROKE)]
    versions = {name: pair for one in changes for name, pair in one.versions.items()}
    pairs = list(zip(sources, changes, strict=True))
    return Summary(
        cells=len(items),
        statuses=tuple(statuses(one.entry for one in items)),
        moved=tuple((word, moved[word]) for word in WORDS if moved[word]),
        gone=sum(one.gone for one in changes),
        broke=_groups(broke, changes),
        slower=_slower(items, changes),
        failed=_groups(failed, changes),
        failures=sum(one.entry.failed for one in items),
        known=sum(one.entry.result == "xfailed" for one in items),
        funnel=funnel([one.entry for one in items]),
        compared=tuple(_compared(source, one.previous) for source, one in pairs if one.previous),
        not_compared=tuple(f"{source.name}: {one.why_not}" for source, one in pairs if one.why_not),
        versions=tuple((name, *pair) for name, pair in sorted(versions.items())),
    )


def in_words(cell: Mapping[str, Any]) -> str:
    """A cell by the values of its axes, without the usual ones."""
    return " ".join(str(value) for axis, value in cell.items() if (axis, value) not in USUAL and value is not None)


def when(header: Mapping[str, Any]) -> str:
    """When a run began, for a person."""
    return str(header.get("started", "")).replace("T", " ").replace("Z", " UTC")


def _slower(items: Sequence[Item], changes: Sequence[Changed]) -> tuple[SlowerCell, ...]:
    """The cells that are slower, in the order of the items."""
    found = [(one, one.moved) for one in items if one.moved and one.moved.word == SLOWER]
    return tuple(
        SlowerCell(one.id, in_words(one.entry.cell), "; ".join(moved.said), tuple(_versions(one, changes[one.source])))
        for one, moved in found[:MOST_SLOWER]
    )


def _groups(items: Sequence[Item], changes: Sequence[Changed]) -> tuple[Group, ...]:
    """Groups of one tool, place and first line without what varies in it; the largest first."""
    found: dict[tuple[str, ...], list[Item]] = {}
    for one in items:
        entry = one.entry
        line, word = normalised(first_line(entry)), one.moved.word if one.moved else ""
        same = (_tool(one), entry.shown, where(entry), line, word)
        found.setdefault(same, []).append(one)
    return tuple(sorted((_group(group, changes) for group in found.values()), key=lambda one: (-one.count, one.tool)))


def _group(items: Sequence[Item], changes: Sequence[Changed]) -> Group:
    first = items[0]
    return Group(
        tool=_tool(first),
        status=first.entry.shown,
        place=where(first.entry),
        line=first_line(first.entry),
        word=first.moved.word if first.moved else "",
        before=tuple(sorted({one.moved.before for one in items if one.moved and one.moved.before})),
        versions=tuple(dict.fromkeys(text for one in items for text in _versions(one, changes[one.source]))),
        cells=tuple((one.id, in_words(one.entry.cell)) for one in items[:MOST_CELLS]),
        count=len(items),
    )


def _tool(one: Item) -> str:
    """What did the work of a cell: the compiler, else what imports, exports, or the framework."""
    cell = one.entry.cell
    return next((str(cell[axis]) for axis in ("compiler", "importer", "exporter", "framework") if cell.get(axis)), "")


def _versions(one: Item, changed: Changed) -> list[str]:
    """The versions of a cell's own distributions that changed; else those of its toolchains, and of the whole run."""
    if one.moved and one.moved.versions:
        return list(one.moved.versions)
    cell = one.entry.cell
    names = {str(cell.get(axis, "")) for axis in ("framework", "importer_framework")}
    names |= {CompilerName.parse(str(cell.get("compiler", ""))).compiler, *WHOLE}
    return list(said_versions({name: two for name, two in changed.versions.items() if name.split(" ")[0] in names}))


def _compared(source: Source, previous: Mapping[str, Any]) -> str:
    commits = [str(one.get("commit") or "none") for one in (previous, source.header)]
    return (
        f"{source.name} ({when(source.header)}, commit {commits[1]}) against "
        f"{previous.get('run') or 'a run without an id'} ({when(previous)}, commit {commits[0]})"
    )
