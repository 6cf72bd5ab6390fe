"""What planners of checks share: declared cells, the choice of models and frameworks, the values of an axis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.compiler_name import ALL, DEFAULT, CompilerName
from bench_plugin.domain.outcome import Status
from bench_plugin.domain.settings import Selection
from bench_plugin.inventory.adapters import Adapter
from bench_plugin.inventory.models import Model
from bench_plugin.inventory.workspace import Workspace

ONNX = "onnx"  # the framework column of plain ONNX files


@dataclass(frozen=True)
class Declared:
    """A cell that was decided before the run, with the reason: it makes a row, but no pytest item."""

    cell: Cell
    status: Status
    reason: str


Planned = tuple[Cell, Declared | None]


class Planner(Protocol):
    """Makes the cells of a few checks; siblings look alike."""

    checks: frozenset[Check]

    def cells(self, check: Check, selection: Selection) -> Iterator[Planned]:
        """Every cell that the selection asks for, each with the reason why it is not run, if any."""

    def adapters(self, cell: Cell) -> Sequence[str]:
        """The adapters that a cell works with: their sources and locks decide its outcome, their versions its row."""

    def key_parts(self, cell: Cell) -> Mapping[str, Any]:
        """What decides a cell's outcome beside its axes, its tolerances, adapters and locks, as plain data."""


FILE_TOOLS = ("onnx_check", "onnx_operators", "onnx_float64", "onnx_mutants", "onnxruntime")


def source_adapters(workspace: Workspace, cell: Cell) -> list[str]:
    """The adapters that make a model, train it, export it, import it, and look at its file."""
    named = (cell.framework, cell.importer_framework)
    catalog, model = workspace.catalog, workspace.models[cell.model]
    used = [one for name in named if name in catalog.adapters for one in catalog.used(name)]
    if model.training(cell.framework):
        used += [model.dataset, *catalog.used(f"training_{cell.framework}")]
    return list(dict.fromkeys([*used, *FILE_TOOLS]))


def selected_models(models: Mapping[str, Model], selection: Selection) -> Iterator[Model]:
    """The models that were named, or those of the profile."""
    for model in models.values():
        if model.name in selection.models if selection.models else selection.profile in model.profiles:
            yield model


def sources(
    model: Model, frameworks: Mapping[str, Adapter], selection: Selection
) -> Iterator[tuple[str, Adapter | None]]:
    """Where a model may come from: the frameworks that were named, or all; a plain file has none."""
    if model.onnx:
        yield ONNX, None
        return
    for name, adapter in frameworks.items():
        if name in selection.frameworks if selection.frameworks else not adapter.declaration.get("on_request"):
            yield name, adapter


def declared_export(cell: Cell, model: Model, adapter: Adapter) -> Declared | None:
    """Why an export is not even tried: the model has no constructor, the exporter does not write that opset."""
    if cell.framework not in model.constructors:
        reason = model.missing.get(cell.framework, f"{model.name} has no constructor for {cell.framework}")
        return Declared(cell, Status.NOT_PROVIDED, reason)
    if not cell.exporter:
        return None
    low, high = adapter.exporters[cell.exporter].opsets
    if not low <= cell.opset <= high:
        reason = f"{cell.exporter} writes opsets {low} to {high}, asked for {cell.opset}"
        return Declared(cell, Status.UNSUPPORTED, reason)
    return None


def operator_compilers(compilers: Mapping[str, Adapter], selection: Selection) -> list[str]:
    """The compilers that single operators are tried in: those that were named and read ONNX files, or the default one.

    ``all`` are those whose adapter declares ``operators``: their tools take any ONNX file, and none is left out because
    it runs on request only.
    """
    if ALL in selection.compilers:
        declared = [name for name, adapter in compilers.items() if adapter.declaration.get("operators")]
        return sorted(declared, key=lambda name: name != DEFAULT)
    named = list(selection.compilers or (DEFAULT,))
    return [name for name in named if ONNX in compilers[CompilerName.parse(name, compilers).compiler].takes]


def elsewhere(cell: Cell, selection: Selection, what: str) -> Declared | None:
    """Why a cell is not run: a precision or a target was asked for that this check does not have."""
    changed = cell
    if selection.precisions and "fp32" not in selection.precisions:
        changed = replace(cell, precision=selection.precisions[0])
    if selection.targets and "local" not in selection.targets:
        changed = replace(changed, target=selection.targets[0])
    if changed == cell:
        return None
    reason = f"{what} are checked at fp32 on the host, asked for {changed.precision} on {changed.target}"
    return Declared(changed, Status.UNSUPPORTED, reason)
