"""The grid of compiled models as data: (model, source, precision) x compilers x targets, from equivalence and quality
rows, with what timing rows say of the same cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench_plugin.domain.cell import WHOLE, Cell
from bench_plugin.domain.compiler_name import CompilerName
from bench_plugin.domain.precision import PRECISIONS
from bench_plugin.report.entries import Entry, entry, header_of, heading, latest, partial, worst_entry
from bench_plugin.report.timed import is_swept

COMPILED_CHECKS = ("equivalence", "quality")
TIMING = "timing"  # its rows say how long a cell of this grid takes; they have a page of their own
ORDER = tuple(PRECISIONS)
LOCAL = "local"
BY_THE_TOOL = "by the tool"


@dataclass(frozen=True)
class Line:
    """A row of the grid: what was compiled, by whom its numbers were rounded, and the percentage of channels kept."""

    model: str
    source: str
    precision: str
    quantiser: str
    kept: int = WHOLE

    @property
    def text(self) -> str:
        """The precision, with the quantiser where there is one, and the share of channels of a pruned model."""
        text = f"{self.precision} ({self.quantiser})" if self.quantiser else self.precision
        return text if self.kept == WHOLE else f"{text}, {self.kept} % kept"


@dataclass(frozen=True)
class CompiledGrid:
    """Everything that the page shows. ``cells`` is keyed by check, line and compiler (backend included).

    ``elsewhere`` are the verdicts of ``targets`` other than this machine by target, line and compiler, with their times
    and instructions; ``times`` are the timing rows of this machine by line and compiler.
    """

    lines: tuple[Line, ...]
    columns: tuple[str, ...]
    headings: Mapping[str, str]
    titles: Mapping[str, str]
    cells: Mapping[tuple[str, Line, str], Entry]
    cross: tuple[Entry, ...]
    targets: tuple[str, ...]
    elsewhere: Mapping[tuple[str, Line, str], Entry]
    times: Mapping[tuple[Line, str], Entry]
    entries: tuple[Entry, ...]
    compilers: Mapping[str, Mapping[str, Any]]
    partial: str
    header: Mapping[str, Any]
    notes: tuple[str, ...]

    @property
    def compiler_names(self) -> tuple[str, ...]:
        """Every compiler with a computed cell, those that only compiled for other targets too."""
        others = (compiler for (_, _, compiler), one in self.elsewhere.items() if one.key)
        return tuple(dict.fromkeys([*self.columns, *others]))

    def of_check(self, check: str) -> list[Entry]:
        """The computed local cells of one check."""
        return [one for (name, _, _), one in self.cells.items() if name == check and one.key]


def build_grid(rows: Sequence[Mapping[str, Any]], notes: Sequence[str] = ()) -> CompiledGrid:
    """Join the rows of one or several results files."""
    header = header_of(rows)
    entries = [entry(row) for row in latest(rows, COMPILED_CHECKS)]
    timed = [one for row in latest(rows, (TIMING,)) if not is_swept(one := entry(row))]
    timed.sort(key=lambda one: "threads" not in one.cell)  # of several numbers of threads, that of the run comes last
    titles = header.get("titles", {})
    compilers = titles.get("compilers", {})
    local = [one for one in entries if _is_local(one)]
    places: dict[tuple[str, Line, str], list[Entry]] = {}
    for one in local:
        places.setdefault((one.cell["check"], line_of(one), one.cell["compiler"]), []).append(one)
    cells = {place: worst_entry(found) for place, found in places.items()}
    known = list(titles.get("models", {}))
    cross = [one for one in entries if not _is_local(one)]
    elsewhere = _elsewhere(cross, timed, known)
    lines = sorted({line for _, line, _ in cells}, key=lambda line: _place(line, known))
    columns = _columns(local, compilers)
    named = _columns([*local, *elsewhere.values()], compilers)
    return CompiledGrid(
        lines=tuple(lines), columns=tuple(columns), headings={name: heading(name, compilers) for name in named},
        titles=titles.get("models", {}), cells=cells, cross=tuple(cross),
        targets=tuple(dict.fromkeys(target for target, _, _ in elsewhere)), elsewhere=elsewhere,
        times={(line_of(one), str(one.cell["compiler"])): one for one in timed if _is_local(one)},
        entries=tuple(entries), compilers=compilers, partial=partial(rows), header=header, notes=tuple(notes),
    )  # fmt: skip


def _is_local(one: Entry) -> bool:
    return str(one.cell.get("target", LOCAL)) == LOCAL


def _elsewhere(
    cross: Sequence[Entry], timed: Sequence[Entry], known: Sequence[str]
) -> dict[tuple[str, Line, str], Entry]:
    """The verdicts of other targets by target, line and compiler: of equivalence, else of the timing check.

    A verdict of equivalence gets what the timing row of the same cell measured.
    """
    found: dict[tuple[str, Line, str], Entry] = {}
    judged = [one for one in cross if one.cell["check"] == "equivalence"]
    for one in (*judged, *(other for other in timed if not _is_local(other))):
        place = (str(one.cell["target"]), line_of(one), str(one.cell["compiler"]))
        first = found.get(place)
        if first is None:
            found[place] = one
        elif one.cell["check"] == TIMING:
            found[place] = _with_times(first, one)
        else:
            found[place] = worst_entry([first, one])
    return dict(sorted(found.items(), key=lambda item: (item[0][0], _place(item[0][1], known), item[0][2])))


def _with_times(verdict: Entry, timed: Entry) -> Entry:
    """The verdict on a cell with the figures of its timing row; that one is what it is where it is worse."""
    if worst_entry([verdict, timed]) is timed and timed.shown != verdict.shown:
        return timed
    numbers = {**verdict.numbers, "timing": timed.numbers.get("timing")}
    placement = {**(verdict.placement or {}), **(timed.placement or {})}
    return replace(verdict, numbers=numbers, placement=placement)


def line_of(one: Entry) -> Line:
    """Where an entry stands."""
    cell = one.cell
    source = f"{cell['framework']} ({cell['exporter']})" if cell.get("exporter") else str(cell["framework"])
    precision = str(cell.get("precision", "fp32"))
    graph = str(cell.get("graph", ""))
    by_the_tool = BY_THE_TOOL if Cell.from_axes(cell).quantiser else ""
    quantiser = (graph if graph != precision else "") if graph else by_the_tool
    return Line(str(cell["model"]), source, precision, quantiser, int(cell.get("kept", WHOLE)))


def _columns(entries: Iterable[Entry], compilers: Mapping[str, Any]) -> list[str]:
    present = dict.fromkeys(str(one.cell["compiler"]) for one in entries)
    known = list(compilers)
    return sorted(present, key=lambda name: (_index(CompilerName.parse(name, known).compiler, known), name))


def _place(line: Line, known: Sequence[str]) -> tuple[Any, ...]:
    place = (_index(line.model, known), line.model, line.source, -line.kept)
    return (*place, _index(line.precision, ORDER), line.quantiser)


def _index(name: str, known: Sequence[str]) -> int:
    return known.index(name) if name in known else len(known)
