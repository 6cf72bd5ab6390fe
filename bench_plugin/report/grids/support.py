"""The ONNX support grid as data: models x frameworks, joined from export and import rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench_plugin.domain.outcome import Stage
from bench_plugin.report.entries import Entry, absent, entry, header_of, heading, latest, partial, worst_entry
from bench_plugin.report.grids.published import Published, published_grid
from bench_plugin.report.statuses import NOT_RUN, worst

ROUND_TRIPS = ("export", "import")
SOURCE = ("model", "framework", "exporter", "opset", "kept")  # what is exported, and then imported
FUNNEL = (Stage.BUILD, Stage.REFERENCE, Stage.EXPORT, Stage.CHECK, Stage.IMPORT, Stage.RUN, Stage.COMPARE)


@dataclass(frozen=True)
class Pair:
    """An exporter with an importer, for one model and framework."""

    exporter: str
    opset: int
    importer_framework: str
    importer: str
    export: Entry
    imported: Entry

    @property
    def title(self) -> str:
        """Such as ``dynamo (opset 20) -> onnx2torch``."""
        source = f"{self.exporter} (opset {self.opset})" if self.exporter else "file"
        return f"{source} -> {self.importer}" if self.importer else source

    @property
    def text(self) -> str:
        """``export / import`` in the published vocabulary."""
        return f"{self.export.status} / {self.imported.status}"

    @property
    def worst(self) -> float | None:
        """The larger E of the two cells."""
        errors = [one.error for one in (self.export, self.imported) if one.error is not None]
        return max(errors, default=None)


@dataclass(frozen=True)
class Joined:
    """One place of the grid: the worst export and the worst import of all pairs of a model and a framework."""

    pairs: tuple[Pair, ...]
    export: Entry
    imported: Entry

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every cell that is joined here."""
        return tuple(one for pair in self.pairs for one in (pair.export, pair.imported))

    @property
    def text(self) -> str:
        """``export / import`` in the published vocabulary."""
        return f"{self.export.status} / {self.imported.status}"

    @property
    def status(self) -> str:
        """The status that colours the place: the worse of the two."""
        return worst((self.export.shown, self.imported.shown))

    @property
    def error(self) -> float | None:
        """The largest E of all cells."""
        return max((one.error for one in self.entries if one.error is not None), default=None)

    @property
    def fine(self) -> int:
        """How many pairs are supported in both directions."""
        return sum(pair.export.shown == pair.imported.shown == "supported" for pair in self.pairs)


@dataclass(frozen=True)
class Grid:
    """Everything that a page shows. ``pairs`` is keyed by model and framework."""

    models: tuple[str, ...]
    frameworks: tuple[str, ...]
    titles: Mapping[str, str]
    headings: Mapping[str, str]
    pairs: Mapping[tuple[str, str], tuple[Pair, ...]]
    entries: tuple[Entry, ...]
    funnel: tuple[tuple[str, int], ...]
    partial: str
    header: Mapping[str, Any]
    published: Published
    notes: tuple[str, ...]

    def joined(self, model: str, framework: str) -> Joined | None:
        """What the grid shows of a model in a framework: the worst of the pairs that were computed."""
        pairs = self.pairs.get((model, framework), ())
        if not pairs:
            return None
        exports, imports = ([getattr(pair, side) for pair in pairs] for side in ("export", "imported"))
        return Joined(pairs, worst_entry(exports), worst_entry(imports))

    def differing(self) -> int:
        """How many cells merely converted: supported by the older rule, but not verified here."""
        return sum(one.unconfirmed for one in self.entries)


def build_grid(rows: Sequence[Mapping[str, Any]], notes: Sequence[str] = ()) -> Grid:
    """Join the rows of one or several results files; a later row of the same cell replaces an earlier one."""
    header = header_of(rows)
    entries = [entry(row) for row in latest(rows, ROUND_TRIPS)]
    titles = header.get("titles", {})
    frameworks = _order(entries, "framework", titles.get("frameworks", {}))
    models = _order(entries, "model", titles.get("models", {}))
    return Grid(
        models=tuple(models), frameworks=tuple(frameworks),
        titles={name: titles.get("models", {}).get(name, name) for name in models},
        headings={name: heading(name, titles.get("frameworks", {})) for name in frameworks},
        pairs=_pairs(entries), entries=tuple(entries), funnel=_funnel(entries), partial=partial(rows), header=header,
        published=published_grid(), notes=tuple(notes),
    )  # fmt: skip


def _pairs(entries: Iterable[Entry]) -> dict[tuple[str, str], tuple[Pair, ...]]:
    exports: dict[tuple[Any, ...], Entry] = {}
    imports: dict[tuple[Any, ...], list[Entry]] = {}
    for one in entries:
        source = tuple(one.cell.get(axis, "") for axis in SOURCE)
        if one.cell["check"] == "export":
            exports[source] = one
        else:
            imports.setdefault(source, []).append(one)
    pairs: dict[tuple[str, str], list[Pair]] = {}
    for source in dict.fromkeys([*exports, *imports]):
        model, framework, exporter, opset, kept = source
        exporter = f"{exporter}, {kept} % kept" if kept else exporter
        export = exports.get(source) or _missing("export", source)
        for imported in imports.get(source) or [_missing("import", source)]:
            into = imported.cell.get("importer_framework", "")
            pair = Pair(exporter, opset or 0, into, imported.cell.get("importer", ""), export, imported)
            pairs.setdefault((model, framework), []).append(pair)
    return {
        place: tuple(sorted(found, key=lambda pair: pair.importer_framework not in ("", place[1])))
        for place, found in pairs.items()
    }


def _missing(check: str, source: tuple[Any, ...]) -> Entry:
    axes = {axis: value for axis, value in zip(SOURCE, source, strict=True) if value != "" or axis != "kept"}
    return absent(NOT_RUN, {"check": check, **axes})


def _funnel(entries: Sequence[Entry]) -> tuple[tuple[str, int], ...]:
    """How many computed cells got past each stage, and how many were verified in the end."""
    ran = [one for one in entries if one.key]
    counts = [("selected", len(ran))]
    for stage in FUNNEL:
        takes_part = [one for one in ran if not (stage is Stage.IMPORT and one.cell["check"] == "export")]
        passed = sum(_past(one, stage) for one in takes_part)
        counts.append((f"{stage}" + ("" if len(takes_part) == len(ran) else f" (of {len(takes_part)})"), passed))
    return (*counts, ("supported", sum(one.status == "supported" for one in ran)))


def _past(one: Entry, stage: Stage) -> bool:
    if one.status == "supported":
        return True
    if one.status == "unverified" and one.reason.startswith("export failed"):
        return stage in (Stage.BUILD, Stage.REFERENCE)
    order = list(FUNNEL)
    reached = Stage(one.stage) if one.stage else Stage.COMPARE
    return order.index(stage) < order.index(reached) if reached in order else True


def _order(entries: Iterable[Entry], axis: str, titles: Mapping[str, Any]) -> list[str]:
    present = dict.fromkeys(one.cell[axis] for one in entries)
    return [name for name in titles if name in present] + [name for name in present if name not in titles]
