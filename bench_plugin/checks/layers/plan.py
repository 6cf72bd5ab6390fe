"""Cells of the layers check: one per model, source, compiler, precision and point of a sweep.

The layers of a model are not cells of their own. They are known only once its file has been exported, which a planner
must not wait for, and their figures are compared within launches that time all of them in turn. So a cell has all
layers and stacks of a model, and its row has a line for each (docs/layers.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bench_plugin.checks.compiled.planner import CompiledPlanner
from bench_plugin.checks.performance.sweep import swept
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.outcome import Status
from bench_plugin.domain.settings import Selection
from bench_plugin.inventory.models import Model
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.matrix.planner import ONNX, Declared, Planned, Planner

QUICK = ("digits_cnn",)  # what small profiles take apart
SMALL = ("smoke", "quick")
USUAL = "fp32"
TOOLS = ("onnx_facts", "onnx_units", "onnx_subgraphs")


class LayersPlanner(CompiledPlanner):
    """Compiled models whose file can be cut: those that a compiler takes as ONNX. Small profiles take fp32 alone."""

    checks = frozenset({Check.LAYERS})

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._quick = tuple(name for name in QUICK if name in workspace.models)

    def adapters(self, cell: Cell) -> Sequence[str]:
        """Those of every compiled model, and the tools that take its file apart."""
        return list(dict.fromkeys([*super().adapters(cell), *TOOLS]))

    def cells(self, check: Check, selection: Selection) -> Iterator[Planned]:
        """Every combination of a selection. What has no file to cut is declared ``unsupported`` with the reason."""
        if selection.profile in SMALL and not selection.precisions:
            selection = replace(selection, precisions=(USUAL,))
        for cell, declared in super().cells(check, selection):
            why_not = "" if declared is not None else self._why_not(cell)
            one = (cell, Declared(cell, Status.UNSUPPORTED, why_not)) if why_not else (cell, declared)
            yield from swept(one, selection, self._workspace, any_batch=True)  # layers may have one

    def _selected(self, selection: Selection) -> Iterator[Model]:
        if not selection.models and selection.profile in SMALL and self._quick:
            selection = replace(selection, models=self._quick)
        yield from super()._selected(selection)

    def _why_not(self, cell: Cell) -> str:
        """Why the model cannot be taken apart for this cell; empty where it can."""
        if not cell.exporter and cell.framework != ONNX:
            return f"{cell.compiler} gets the model from {cell.framework} itself, of which no layer is a file"
        boards = (self._workspace.boards[name] for name in self._workspace.boards_of(cell.target))
        program = next((reach.board.name for reach in boards if reach.programs), "")
        if program:
            return f"board {program} runs one compiled program at a time, and a launch times all layers in turn"
        return ""


def planner(workspace: Workspace) -> Planner:
    """The planner of this folder, for registry.py."""
    return LayersPlanner(workspace)
