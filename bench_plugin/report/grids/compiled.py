"""The grid of compiled models as data: (model, source, precision) x compilers, from equivalence and quality rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench_plugin.domain.cell import Cell
from bench_plugin.domain.compiler_name import CompilerName
from bench_plugin.domain.precision import PRECISIONS
from bench_plugin.report.entries import Entry, entry, header_of, heading, latest, partial, worst_entry

COMPILED_CHECKS = ("equivalence", "quality")
ORDER = tuple(PRECISIONS)
LOCAL = "local"
BY_THE_TOOL = "by the tool"


@dataclass(frozen=True)
class Line:
    """A row of the grid: what was compiled, and by whom its numbers were rounded."""

    model: str
    source: str
    precision: str
    quantiser: str

    @property
    def text(self) -> str:
        """The precision, with the quantiser where there is one."""
        return f"{self.precision} ({self.quantiser})" if self.quantiser else self.precision


@dataclass(frozen=True)
class CompiledGrid:
    """Everything that the page shows. ``cells`` is keyed by check, line and compiler (backend included)."""

    lines: tuple[Line, ...]
    columns: tuple[str, ...]
    headings: Mapping[str, str]
    titles: Mapping[str, str]
    cells: Mapping[tuple[str, Line, str], Entry]
    cross: tuple[Entry, ...]
    entries: tuple[Entry, ...]
    compilers: Mapping[str, Mapping[str, Any]]
    partial: str
    header: Mapping[str, Any]
    notes: tuple[str, ...]

    def of_check(self, check: str) -> list[Entry]:
        """The computed local cells of one check."""
        return [one for (name, _, _), one in self.cells.items() if name == check and one.key]


def build_grid(rows: Sequence[Mapping[str, Any]], notes: Sequence[str] = ()) -> CompiledGrid:
    """Join the rows of one or several results files."""
    header = header_of(rows)
    entries = [entry(row) for row in latest(rows, COMPILED_CHECKS)]
    titles = header.get("titles", {})
    compilers = titles.get("compilers", {})
    local = [one for one in entries if one.cell.get("target", LOCAL) == LOCAL]
    places: dict[tuple[str, Line, str], list[Entry]] = {}
    for one in local:
        places.setdefault((one.cell["check"], line_of(one), one.cell["compiler"]), []).append(one)
    cells = {place: worst_entry(found) for place, found in places.items()}
    known = list(titles.get("models", {}))
    lines = sorted({line for _, line, _ in cells}, key=lambda line: _place(line, known))
    columns = _columns(local, compilers)
    return CompiledGrid(
        lines=tuple(lines), columns=tuple(columns),
        headings={name: heading(name, compilers) for name in columns}, titles=titles.get("models", {}), cells=cells,
        cross=tuple(one for one in entries if one.cell.get("target", LOCAL) != LOCAL), entries=tuple(entries),
        compilers=compilers, partial=partial(rows), header=header, notes=tuple(notes),
    )  # fmt: skip


def line_of(one: Entry) -> Line:
    """Where an entry stands."""
    cell = one.cell
    source = f"{cell['framework']} ({cell['exporter']})" if cell.get("exporter") else str(cell["framework"])
    precision = str(cell.get("precision", "fp32"))
    graph = str(cell.get("graph", ""))
    by_the_tool = BY_THE_TOOL if Cell.from_axes(cell).quantiser else ""
    return Line(str(cell["model"]), source, precision, (graph if graph != precision else "") if graph else by_the_tool)


def _columns(entries: Iterable[Entry], compilers: Mapping[str, Any]) -> list[str]:
    present = dict.fromkeys(str(one.cell["compiler"]) for one in entries)
    known = list(compilers)
    return sorted(present, key=lambda name: (_index(CompilerName.parse(name, known).compiler, known), name))


def _place(line: Line, known: Sequence[str]) -> tuple[Any, ...]:
    return (_index(line.model, known), line.model, line.source, _index(line.precision, ORDER), line.quantiser)


def _index(name: str, known: Sequence[str]) -> int:
    return known.index(name) if name in known else len(known)
