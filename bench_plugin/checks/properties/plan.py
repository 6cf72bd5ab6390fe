"""Cells of the property-based search: operator of the catalogue, or graphs of several, x compiler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench_plugin.compare.operators.rules import RULES_HASH
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.outcome import Status
from bench_plugin.domain.settings import Selection
from bench_plugin.generation.graphs import source_digest
from bench_plugin.generation.search import available
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.matrix.case_names import GENERATED as NAMES
from bench_plugin.matrix.case_names import generated_names
from bench_plugin.matrix.planner import ONNX, Declared, Planned, Planner, elsewhere, operator_compilers

TOOLS = ("onnx_build", "onnx_operators", "onnx_float64", "onnx_terms", "onnx_truths")


class PropertyPlanner:
    """The compilers that are named, else the default one; the operators of ``--bench-cases``, else all of them."""

    checks = frozenset({Check.PROPERTY})

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._compilers = workspace.catalog.of_kind("compiler")

    def adapters(self, cell: Cell) -> Sequence[str]:
        """The compiler with the adapters that it uses, and our tools that build and evaluate the graphs."""
        catalog = self._workspace.catalog
        return [*catalog.used(catalog.compiler(cell.compiler)[0].name), *TOOLS]

    def why_none(self, model: str, selection: Selection) -> str:
        """Nothing: these cells are of no models."""
        return ""

    def key_parts(self, cell: Cell) -> Mapping[str, Any]:
        """The rules of operators, the compiler's options, the search's budget, and the generators' source."""
        workspace = self._workspace
        options = dict(workspace.options.get(workspace.catalog.compiler(cell.compiler)[0].name, {}))
        return {"rules": RULES_HASH, "options": options, "search": workspace.search, "source": source_digest()}

    def cells(self, check: Check, selection: Selection) -> Iterator[Planned]:
        """Every operator with its compilers. Raises UsageError for an operator that is not in the catalogue."""
        wanted = selection.cases
        if selection.models and not wanted:
            wanted = tuple(name for name in selection.models if name in NAMES)
            if not wanted:
                return  # models were selected by name, and operators are not models
        for name in generated_names(self._workspace.cases, wanted) if wanted else NAMES:
            for compiler in operator_compilers(self._compilers, selection):
                cell = Cell(check, name, ONNX, compiler=compiler)
                declared = elsewhere(cell, selection, "generated graphs") or _without_hypothesis(cell)
                yield declared.cell if declared else cell, declared


def _without_hypothesis(cell: Cell) -> Declared | None:
    """Why no cell is run where the extra is missing, which pytest says at collection."""
    reason = "hypothesis is not installed: pip install 'bench-plugin[properties]'"
    return None if available() else Declared(cell, Status.NOT_PROVIDED, reason)


def planner(workspace: Workspace) -> Planner:
    """The planner of this folder, for registry.py."""
    return PropertyPlanner(workspace)
