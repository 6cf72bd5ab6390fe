"""Cells of the property-based search: every operator of the catalogue, and graphs of several, x compiler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.settings import Selection
from bench_plugin.generation.catalogue import GRAPHS, OPERATORS
from bench_plugin.inventory.adapters import Adapter
from bench_plugin.matrix.planner import ONNX, Planned, check_values, elsewhere, operator_compilers

NAMES = (*OPERATORS, GRAPHS)


class PropertyPlanner:
    """The default compiler unless others are named; operators by ``--bench-cases``, or all of them."""

    checks = frozenset({Check.PROPERTY})

    def __init__(self, compilers: Mapping[str, Adapter]) -> None:
        self._compilers = compilers

    def cells(self, check: Check, selection: Selection) -> Iterator[Planned]:
        """Operator by operator, each with its compilers. Raises UsageError for one that is not in the catalogue."""
        wanted = selection.cases
        if selection.models and not wanted:
            wanted = tuple(name for name in selection.models if name in NAMES)
            if not wanted:
                return  # models were asked for by name, and no operator is one of them
        check_values("case", wanted, NAMES)
        for name in wanted or NAMES:
            for compiler in operator_compilers(self._compilers, selection):
                cell = Cell(check, name, ONNX, compiler=compiler)
                declared = elsewhere(cell, selection, "drawn graphs")
                yield declared.cell if declared else cell, declared
