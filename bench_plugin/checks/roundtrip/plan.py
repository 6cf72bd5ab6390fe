"""Cells of round trips: every exporter of a framework, and every importer of its files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bench_plugin.compare.table import TABLE_HASH
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.outcome import Status
from bench_plugin.domain.settings import Selection
from bench_plugin.inventory.adapters import Adapter
from bench_plugin.inventory.models import Model
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.matrix.planner import (
    ONNX,
    Declared,
    Planned,
    Planner,
    declared_export,
    pruned,
    selected_models,
    source_adapters,
    sources,
)


class RoundTripPlanner:
    """The exports of every selected model, and their imports into the same framework or into others."""

    checks = frozenset({Check.EXPORT, Check.IMPORT})

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._models = workspace.models
        self._frameworks = workspace.catalog.of_kind("framework")

    def adapters(self, cell: Cell) -> Sequence[str]:
        """The exporting and the importing framework, the adapter that trains the model, and our tools for its file."""
        return source_adapters(self._workspace, cell)

    def key_parts(self, cell: Cell) -> Mapping[str, Any]:
        """The model, the seed and the table of tolerances."""
        return {"model": self._models[cell.model].digest, "seed": self._workspace.seed, "table": TABLE_HASH}

    def cells(self, check: Check, selection: Selection) -> Iterator[Planned]:
        """Export cells, or import cells, of a selection."""
        for model in selected_models(self._models, selection):
            for framework, adapter in sources(model, self._frameworks, selection):
                for export in _exports(model, framework, adapter, selection):
                    for planned in self._expand(check, export, selection):
                        yield from pruned(planned, selection, model)

    def why_none(self, model: str, selection: Selection) -> str:
        """Why a model that was named has no cell."""
        if selection.exporters or selection.importers:
            names = ", ".join((*selection.exporters, *selection.importers))
            return f"no selected framework has both the model and {names}"
        return "no selected framework exports or imports it"

    def _expand(self, check: Check, export: Planned, selection: Selection) -> Iterator[Planned]:
        source, declared = export
        for precision in selection.precisions or ("fp32",):
            for target in selection.targets or ("local",):
                base = replace(source, precision=precision, target=target)
                refused = _refused_axes(base) or declared
                cells = [base] if check is Check.EXPORT else self._imports(base, selection)
                for cell in cells:
                    yield cell, refused and replace(refused, cell=cell)

    def _imports(self, export: Cell, selection: Selection) -> Iterable[Cell]:
        for name, adapter in self._frameworks.items():
            if name != export.framework and not _takes_imports(adapter, export, selection):
                continue
            for importer in _importers(adapter, export, selection):
                yield replace(export, check=Check.IMPORT, importer_framework=name, importer=importer)


def _exports(model: Model, framework: str, adapter: Adapter | None, selection: Selection) -> Iterator[Planned]:
    if adapter is None:
        yield Cell(Check.EXPORT, model.name, framework), None
        return
    for exporter in _exporters(adapter, selection):
        for opset in selection.opsets or (adapter.exporters[exporter].opset,):
            cell = Cell(Check.EXPORT, model.name, framework, exporter, opset)
            yield cell, declared_export(cell, model, adapter)


def _takes_imports(adapter: Adapter, export: Cell, selection: Selection) -> bool:
    """Whether another framework's exports (or a user's files) are imported into this one in the selection."""
    if selection.frameworks and (export.framework == ONNX or adapter.name in selection.frameworks):
        return adapter.name in selection.frameworks
    return not adapter.declaration.get("on_request")


def _exporters(adapter: Adapter, selection: Selection) -> list[str]:
    if selection.exporters:
        return [name for name in adapter.exporters if name in selection.exporters]
    if selection.profile == "full" or not adapter.default_pairs:
        return list(adapter.exporters)
    pairs = adapter.default_pairs[:1] if selection.profile == "smoke" else adapter.default_pairs
    return list(dict.fromkeys(exporter for exporter, _ in pairs))


def _importers(adapter: Adapter, export: Cell, selection: Selection) -> list[str]:
    """Importers of one framework for an exported cell.

    Within a framework these are the pairs of the profile (``full``: all). Another framework's importers are used only
    in ``full`` or when an importer was selected by name; a user's ONNX file is imported into every framework.
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


def _refused_axes(cell: Cell) -> Declared | None:
    if cell.precision != "fp32":
        return Declared(cell, Status.UNSUPPORTED, f"round trips are checked at fp32, asked for {cell.precision}")
    if cell.target != "local":
        return Declared(cell, Status.UNSUPPORTED, f"round trips run on the host, asked for {cell.target}")
    return None


def planner(workspace: Workspace) -> Planner:
    """The planner of this folder, for registry.py."""
    return RoundTripPlanner(workspace)
