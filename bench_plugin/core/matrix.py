"""Axes to cells: what a selection asks for, pruned before any pytest item is made."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench_plugin.core.catalog import Adapter, Catalog
from bench_plugin.core.cell import Cell, Check
from bench_plugin.core.errors import UsageError
from bench_plugin.core.models import PROFILES, Model
from bench_plugin.core.outcome import Status
from bench_plugin.core.precision import ALIASES, PRECISIONS
from bench_plugin.core.settings import Selection

ONNX = "onnx"  # the framework column of plain ONNX files


@dataclass(frozen=True)
class Declared:
    """A cell that was decided before the run, with the reason: it makes a row, but no pytest item."""

    cell: Cell
    status: Status
    reason: str


@dataclass(frozen=True)
class Plan:
    """The cells of one check and what was pruned from them."""

    cells: tuple[Cell, ...]
    declared: tuple[Declared, ...]


class Matrix:
    """All combinations that a selection asks for. Raises UsageError where a value is not a valid one."""

    def __init__(
        self, models: Mapping[str, Model], catalog: Catalog, targets: Sequence[str], selection: Selection
    ) -> None:
        self.models = models
        self.frameworks = catalog.of_kind("framework")
        compilers = catalog.of_kind("compiler")
        exporters = sorted({name for adapter in self.frameworks.values() for name in adapter.exporters})
        importers = sorted({name for adapter in self.frameworks.values() for name in adapter.importers})
        files = {model.name for model in models.values() if model.onnx}
        self.selection = replace(
            selection,
            precisions=tuple(ALIASES.get(name, name) for name in selection.precisions),
            models=tuple(dict.fromkeys((*selection.models, *sorted(files)))),
        )
        _check("profile", [selection.profile], PROFILES)
        _check("framework", selection.frameworks, self.frameworks)
        _check("compiler", [name.partition("[")[0] for name in selection.compilers], compilers)
        _check("target", selection.targets, targets)
        _check("precision", self.selection.precisions, PRECISIONS)
        _check("model", selection.models, models)
        _check("exporter", selection.exporters, exporters)
        _check("importer", selection.importers, importers)
        for rule in (*selection.include, *selection.exclude):
            _check("model", rule.selector.get("model", ()), models)
            _check("framework", rule.selector.get("framework", ()), [*self.frameworks, ONNX])

    def plan(self, check: Check, narrowed: Mapping[str, Sequence[str]] | None = None) -> Plan:
        """The cells of ``check``, narrowed further by a marker's axes (``models=[...]``, ``frameworks=[...]`` ...)."""
        found: dict[Cell, Declared | None] = {}
        for selection in (self._narrow(narrowed or {}), *self._included()):
            for cell, declared in self._round_trips(check, selection):
                found.setdefault(cell, declared)
        for cell, declared in found.items():
            rule = next((rule for rule in self.selection.exclude if rule.matches(cell.axes())), None)
            if declared is None and rule:
                found[cell] = Declared(cell, Status.UNVERIFIED, f"excluded: {rule.reason}")
        cells = tuple(cell for cell, declared in found.items() if declared is None)
        return Plan(cells, tuple(declared for declared in found.values() if declared))

    def complete(self) -> list[Cell]:
        """Every cell of every profile, pruned or not: what expectations may speak of."""
        everything = Selection(profile="full", frameworks=tuple(self.frameworks), models=tuple(self.models))
        return [cell for check in (Check.EXPORT, Check.IMPORT) for cell, _ in self._round_trips(check, everything)]

    def profile_cells(self) -> list[Cell]:
        """Every cell that the profile would run when nothing else was selected: what a partial run is a part of."""
        whole = Selection(profile=self.selection.profile)
        pairs = [pair for check in (Check.EXPORT, Check.IMPORT) for pair in self._round_trips(check, whole)]
        return [cell for cell, declared in pairs if declared is None]

    def _narrow(self, narrowed: Mapping[str, Sequence[str]]) -> Selection:
        valid = {"models": self.models, "frameworks": self.frameworks}
        for key, values in narrowed.items():
            if key not in {"models", "frameworks", "exporters", "importers", "opsets"}:
                raise UsageError(
                    f"marker bench: unknown axis {key!r}; valid are models, frameworks, exporters, importers, opsets"
                )
            if key in valid:
                _check(key.rstrip("s"), values, valid[key])
        merged: dict[str, Any] = {
            key: _both(getattr(self.selection, key), tuple(values)) for key, values in narrowed.items()
        }
        return replace(self.selection, **merged)

    def _included(self) -> Iterator[Selection]:
        for rule in self.selection.include:
            axes = rule.selector
            yield Selection(
                profile="full", models=axes.get("model", ()), frameworks=axes.get("framework", ()),
                exporters=axes.get("exporter", ()), importers=axes.get("importer", ()),
                opsets=tuple(int(opset) for opset in axes.get("opset", ())), precisions=axes.get("precision", ()),
            )  # fmt: skip

    def _round_trips(self, check: Check, selection: Selection) -> Iterator[tuple[Cell, Declared | None]]:
        for model in self._models(selection):
            for framework, adapter in self._sources(model, selection):
                for export in self._exports(check, model, framework, adapter, selection):
                    yield from self._expand(check, export, model, selection)

    def _models(self, selection: Selection) -> Iterator[Model]:
        names = selection.models
        for model in self.models.values():
            if model.name in names if names else selection.profile in model.profiles:
                yield model

    def _sources(self, model: Model, selection: Selection) -> Iterator[tuple[str, Adapter | None]]:
        if model.onnx:
            yield ONNX, None
            return
        for name, adapter in self.frameworks.items():
            if name in selection.frameworks if selection.frameworks else not adapter.declaration.get("on_request"):
                yield name, adapter

    def _exports(
        self, check: Check, model: Model, framework: str, adapter: Adapter | None, selection: Selection
    ) -> Iterator[tuple[Cell, Declared | None]]:
        if adapter is None:
            yield Cell(Check.EXPORT, model.name, framework), None
            return
        for exporter in _exporters(adapter, selection):
            for opset in selection.opsets or (adapter.exporters[exporter].opset,):
                cell = Cell(Check.EXPORT, model.name, framework, exporter, opset)
                yield cell, _declared_export(cell, model, adapter)

    def _expand(
        self, check: Check, export: tuple[Cell, Declared | None], model: Model, selection: Selection
    ) -> Iterator[tuple[Cell, Declared | None]]:
        source, declared = export
        precisions = selection.precisions or ("fp32",)
        targets = selection.targets or ("local",)
        for precision in precisions:
            for target in targets:
                base = replace(source, precision=precision, target=target)
                refused = _refused_axes(base) or declared
                cells = [base] if check is Check.EXPORT else self._imports(base, selection)
                for cell in cells:
                    yield cell, refused and replace(refused, cell=cell)

    def _imports(self, export: Cell, selection: Selection) -> Iterable[Cell]:
        for name, adapter in self.frameworks.items():
            if name != export.framework and not self._takes_imports(adapter, export, selection):
                continue
            for importer in _importers(adapter, export, selection):
                yield replace(export, check=Check.IMPORT, importer_framework=name, importer=importer)

    def _takes_imports(self, adapter: Adapter, export: Cell, selection: Selection) -> bool:
        """Whether another framework's exports (or plain files) go into this one: asked for, or present in every run."""
        if selection.frameworks and (export.framework == ONNX or adapter.name in selection.frameworks):
            return adapter.name in selection.frameworks
        return not adapter.declaration.get("on_request")


def plan_hash(cells: Sequence[Cell]) -> str:
    """A hash of the selected cells, independent of their order: 16 hex digits."""
    lines = sorted(str(sorted(cell.axes().items())) for cell in cells)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _exporters(adapter: Adapter, selection: Selection) -> list[str]:
    if selection.exporters:
        return [name for name in adapter.exporters if name in selection.exporters]
    if selection.profile == "full" or not adapter.default_pairs:
        return list(adapter.exporters)
    pairs = adapter.default_pairs[:1] if selection.profile == "smoke" else adapter.default_pairs
    return list(dict.fromkeys(exporter for exporter, _ in pairs))


def _importers(adapter: Adapter, export: Cell, selection: Selection) -> list[str]:
    """Importers of one framework for an exported cell.

    Within a framework the profile's pairs (``full``: all); into another framework only in ``full`` or when an
    importer was asked for by name; a plain ONNX file goes into every framework.
    """
    if selection.importers:
        return [name for name in adapter.importers if name in selection.importers]
    defaults = list(dict.fromkeys(importer for _, importer in adapter.default_pairs)) or list(adapter.importers)
    if export.framework == ONNX:
        return defaults
    if export.framework != adapter.name:
        return defaults[:1] if selection.profile == "full" else []
    if selection.profile == "full" or not adapter.default_pairs:
        return list(adapter.importers)
    pairs = adapter.default_pairs[:1] if selection.profile == "smoke" else adapter.default_pairs
    chosen = [importer for exporter, importer in pairs if exporter == export.exporter]
    return list(dict.fromkeys(chosen)) or defaults[:1]


def _declared_export(cell: Cell, model: Model, adapter: Adapter) -> Declared | None:
    if cell.framework not in model.constructors:
        reason = model.missing.get(cell.framework, f"{model.name} has no constructor for {cell.framework}")
        return Declared(cell, Status.NOT_PROVIDED, reason)
    low, high = adapter.exporters[cell.exporter].opsets
    if not low <= cell.opset <= high:
        reason = f"{cell.exporter} writes opsets {low} to {high}, asked for {cell.opset}"
        return Declared(cell, Status.UNSUPPORTED, reason)
    return None


def _refused_axes(cell: Cell) -> Declared | None:
    if cell.precision != "fp32":
        return Declared(cell, Status.UNSUPPORTED, f"round trips are checked at fp32, asked for {cell.precision}")
    if cell.target != "local":
        return Declared(cell, Status.UNSUPPORTED, f"round trips run on the host, asked for {cell.target}")
    return None


def _both(selected: tuple[Any, ...], narrowed: tuple[Any, ...]) -> tuple[Any, ...]:
    """What both ask for; a selector that matches nothing keeps matching nothing."""
    if not selected:
        return narrowed
    return tuple(value for value in selected if value in narrowed) or ("",)


def _check(axis: str, values: Iterable[str], valid: Iterable[str]) -> None:
    choices = list(valid)
    for value in values:
        if value not in choices:
            listed = ", ".join(choices) if choices else "none is available"
            raise UsageError(f"unknown {axis} {value!r}; valid are: {listed}")
