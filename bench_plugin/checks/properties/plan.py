"""Cells of the property-based search: every operator of the catalogue, and graphs of several, x compiler."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.settings import Selection
from bench_plugin.inventory.adapters import Adapter
from bench_plugin.inventory.cases import Case
from bench_plugin.matrix.case_names import GENERATED as NAMES
from bench_plugin.matrix.case_names import generated_names
from bench_plugin.matrix.planner import ONNX, Planned, elsewhere, operator_compilers


class PropertyPlanner:
    """The default compiler unless others are named; operators by ``--bench-cases``, or all of them."""

    checks = frozenset({Check.PROPERTY})

    def __init__(self, cases: Callable[[], Mapping[str, Case]], compilers: Mapping[str, Adapter]) -> None:
        self._cases = cases
        self._compilers = compilers

    def cells(self, check: Check, selection: Selection) -> Iterator[Planned]:
        """Operator by operator, each with its compilers. Raises UsageError for one that is not in the catalogue."""
        wanted = selection.cases
        if selection.models and not wanted:
            wanted = tuple(name for name in selection.models if name in NAMES)
            if not wanted:
                return  # models were asked for by name, and no operator is one of them
        for name in generated_names(self._cases, wanted) if wanted else NAMES:
            for compiler in operator_compilers(self._compilers, selection):
                cell = Cell(check, name, ONNX, compiler=compiler)
                declared = elsewhere(cell, selection, "drawn graphs")
                yield declared.cell if declared else cell, declared
