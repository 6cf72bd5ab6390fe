"""Cells of single operators: case of ONNX's backend tests x compiler, and cases of few bits x precision x compiler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from bench_plugin.checks.operators.errata import errata_digest
from bench_plugin.compare.operators.rules import RULES_HASH
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.outcome import Status
from bench_plugin.domain.precision import PRECISIONS
from bench_plugin.domain.settings import Selection
from bench_plugin.inventory import low_bit_cases
from bench_plugin.inventory.cases import Case, sample
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.matrix.case_names import operator_cases
from bench_plugin.matrix.planner import ONNX, Declared, Planned, Planner, elsewhere, operator_compilers

SAMPLED = ("smoke", "quick", "published")  # profiles with a fixed sample of the cases

LOCAL = "local"
TOOLS = ("onnx_corpus", "low_bits", "low_bits_cases", "onnx_operators", "onnx_float64", "onnx_terms", "onnx_truths")


class OperatorPlanner:
    """The compilers that are named, else the default one; the cases of ``--bench-cases``, else of the profile.

    Cases of few bits are those of the precisions that are asked for.
    """

    checks = frozenset({Check.OPERATOR})

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._compilers = workspace.catalog.of_kind("compiler")

    def adapters(self, cell: Cell) -> Sequence[str]:
        """The compiler with the adapters that it uses, and our tools that make cases and float64 references."""
        catalog = self._workspace.catalog
        return [*catalog.used(catalog.compiler(cell.compiler)[0].name), *TOOLS]

    def why_none(self, model: str, selection: Selection) -> str:
        """Nothing: these cells are of no models."""
        return ""

    def key_parts(self, cell: Cell) -> Mapping[str, Any]:
        """The rules of operators, the errata and the compiler's options. The lock of onnx already covers the cases."""
        workspace = self._workspace
        options = dict(workspace.options.get(workspace.catalog.compiler(cell.compiler)[0].name, {}))
        return {"rules": RULES_HASH, "options": options, "errata": errata_digest(workspace.operator_folders)}

    def cells(self, check: Check, selection: Selection) -> Iterator[Planned]:
        """Every case, compiler by compiler. Raises UsageError for a case or a compiler that does not exist."""
        if selection.models and not selection.cases and not self._meant(selection):
            return  # models were selected by name, and operator cases are not models
        names = operator_compilers(self._compilers, selection)
        few_bits = _few_bits(selection)
        others = not few_bits or set(few_bits) != set(selection.precisions)
        for name in names:  # by compiler, so that the rows of the first are complete while the next ones are computed
            for case in self._selected(selection):
                cell = Cell(check, case.name, ONNX, compiler=name)
                if case.category == low_bit_cases.CATEGORY:
                    yield from _of_few_bits(cell, selection)
                elif others:
                    declared = elsewhere(cell, selection, "operators")
                    yield declared.cell if declared else cell, declared

    def _meant(self, selection: Selection) -> bool:
        return any(name in self._known for name in selection.models)

    @cached_property
    def _known(self) -> Mapping[str, Case]:
        """The cases of ONNX and those of few bits, by name."""
        return {**self._workspace.cases(), **low_bit_cases.CASES}

    def _selected(self, selection: Selection) -> list[Case]:
        wanted = selection.cases or tuple(name for name in selection.models if name in self._known)
        if wanted:
            return operator_cases(self._known, wanted)
        cases = self._workspace.cases()
        own = sample(cases.values()) if selection.profile in SAMPLED else list(cases.values())
        return [*own, *(low_bit_cases.CASES.values() if _few_bits(selection) else ())]


def _few_bits(selection: Selection) -> tuple[str, ...]:
    """The precisions of the selection whose weights are integers of few bits."""
    return tuple(name for name in selection.precisions if PRECISIONS[name].few_bits)


def _of_few_bits(cell: Cell, selection: Selection) -> Iterator[Planned]:
    """The cells of a case of few bits: one for each precision that it belongs to and that is asked for."""
    graph = low_bit_cases.graph_of(cell.model)
    for precision in low_bit_cases.precisions_of(cell.model):
        if selection.precisions and precision not in selection.precisions:
            continue
        found = replace(cell, precision=precision, graph=graph)
        if selection.targets and LOCAL not in selection.targets:
            found = replace(found, target=selection.targets[0])
            reason = f"operators are checked on the host, asked for {found.target}"
            yield found, Declared(found, Status.UNSUPPORTED, reason)
        else:
            yield found, None


def planner(workspace: Workspace) -> Planner:
    """The planner of this folder, for registry.py."""
    return OperatorPlanner(workspace)
