"""What planners of checks share: declared cells, the choice of models and frameworks, the values of an axis."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from bench_plugin.core.catalog import Adapter
from bench_plugin.core.cell import Cell, Check
from bench_plugin.core.errors import UsageError
from bench_plugin.core.models import Model
from bench_plugin.core.outcome import Status
from bench_plugin.core.settings import Selection

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


def check_values(axis: str, values: Iterable[str], valid: Iterable[str]) -> None:
    """Raise UsageError for the first value that is not a valid one."""
    choices = list(valid)
    for value in values:
        if value not in choices:
            listed = ", ".join(choices) if choices else "none is available"
            raise UsageError(f"unknown {axis} {value!r}; valid are: {listed}")
