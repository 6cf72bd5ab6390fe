"""The protocol of planners, and the functions that they share: the choice of models, frameworks and compilers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from bench_plugin.domain.cell import WHOLE, Cell, Check
from bench_plugin.domain.compiler_name import ALL, DEFAULT, CompilerName
from bench_plugin.domain.outcome import Status
from bench_plugin.domain.settings import Selection
from bench_plugin.inventory.adapters import Adapter
from bench_plugin.inventory.models import Model
from bench_plugin.inventory.workspace import Workspace

ONNX = "onnx"  # the framework of users' ONNX files


@dataclass(frozen=True)
class Declared:
    """A cell that was decided before the run, with the reason: it makes a row, but no pytest item."""

    cell: Cell
    status: Status
    reason: str


Planned = tuple[Cell, Declared | None]


class Planner(Protocol):
    """Makes the cells of some kinds of checks."""

    checks: frozenset[Check]

    def cells(self, check: Check, selection: Selection) -> Iterator[Planned]:
        """Every cell of the selection; :class:`Declared` where it is decided before the run. Raises UsageError."""

    def why_none(self, model: str, selection: Selection) -> str:
        """Why a model that was named has no cell, in words that follow its name; empty where cells are of no models."""

    def adapters(self, cell: Cell) -> Sequence[str]:
        """The adapters that a cell uses. Their sources and locks are a part of its key, their versions of its row."""

    def key_parts(self, cell: Cell) -> Mapping[str, Any]:
        """What else decides the outcome of a cell, beside its axes, tolerances, adapters and locks, as plain data."""


FILE_TOOLS = (
    "onnx_check", "onnx_operators", "onnx_float64", "onnx_emulate", "onnx_mutations", "onnx_mutants", "onnxruntime",
)  # fmt: skip


def source_adapters(workspace: Workspace, cell: Cell) -> list[str]:
    """The adapters that build, train, export and import a cell's model, and check its file."""
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
    """The sources of a model: the frameworks that were named, else all of them; a user's file has none."""
    if model.onnx:
        yield ONNX, None
        return
    for name, adapter in frameworks.items():
        if name in selection.frameworks if selection.frameworks else not adapter.declaration.get("on_request"):
            yield name, adapter


def declared_export(cell: Cell, model: Model, adapter: Adapter) -> Declared | None:
    """Why an export is not tried, or None: the model has no constructor, or the exporter does not write that opset."""
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


def pruned(planned: Planned, selection: Selection, model: Model) -> Iterator[Planned]:
    """The planned cell at every share of channels that was asked for; with none asked for, the cell itself.

    A model that is not trained here cannot be pruned, which is declared ``unsupported`` with the reason.
    """
    cell, declared = planned
    if not selection.kept:
        yield planned
        return
    for kept in selection.kept:
        one = replace(cell, kept=kept)
        if declared is not None:
            yield one, replace(declared, cell=one)
        elif kept != WHOLE and not model.training(cell.framework):
            yield one, Declared(one, Status.UNSUPPORTED, _not_pruned(model, one))
        else:
            yield one, None


def _not_pruned(model: Model, cell: Cell) -> str:
    trained = model.extra.get("training", {}).get("frameworks", ())
    known = f"is trained in {', '.join(trained)} only" if trained else "is not trained here"
    return (
        f"{model.name} {known}: pruning keeps the channels that training gave large weights, and trains again; asked "
        f"for {cell.kept} percent of the channels of {cell.framework}"
    )


def operator_compilers(compilers: Mapping[str, Adapter], selection: Selection) -> list[str]:
    """The compilers for single operators: those that were named and read ONNX files, else the default one.

    ``all`` stands for those whose adapter declares ``operators``, because their tools read any ONNX file. It includes
    the compilers that otherwise run on request only.
    """
    if ALL in selection.compilers:
        declared = [name for name, adapter in compilers.items() if adapter.declaration.get("operators")]
        return sorted(declared, key=lambda name: name != DEFAULT)
    named = list(selection.compilers or (DEFAULT,))
    return [name for name in named if ONNX in compilers[CompilerName.parse(name, compilers).compiler].takes]


def elsewhere(cell: Cell, selection: Selection, what: str) -> Declared | None:
    """Why a cell is not run, or None: its check does not have the selected precision, target or share of channels."""
    changed = cell
    if selection.precisions and "fp32" not in selection.precisions:
        changed = replace(cell, precision=selection.precisions[0])
    if selection.targets and "local" not in selection.targets:
        changed = replace(changed, target=selection.targets[0])
    if selection.kept and WHOLE not in selection.kept:
        changed = replace(changed, kept=selection.kept[0])
    if changed == cell:
        return None
    reason = f"{what} are checked at fp32 on the host, asked for {changed.precision} on {changed.target}"
    if changed.kept != WHOLE:
        reason = f"{what} have no channels that pruning could keep, asked for {changed.kept} percent"
    return Declared(changed, Status.UNSUPPORTED, reason)
