"""Cells of single operators: every case of ONNX's backend tests x compiler."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from bench_plugin.core.cases import Case, sample
from bench_plugin.core.catalog import Adapter
from bench_plugin.core.cell import Cell, Check
from bench_plugin.core.outcome import Status
from bench_plugin.core.plan import ONNX, Declared, Planned, check_values
from bench_plugin.core.plan_equivalence import ALL, DEFAULT_COMPILER, compiler_of
from bench_plugin.core.settings import Selection

SAMPLED = ("smoke", "quick", "published")  # profiles that take a fixed part of the cases
# Of operators, ``all`` compilers are those that read any ONNX file, and the reference evaluator, asked for or not.
COMPLETE = ("onnxruntime", "openvino", "tvm", "iree", "ncnn", "mnn", "tflite", "emx", "reference")


class OperatorPlanner:
    """The default compiler unless others are named; cases by the profile, or by name."""

    checks = frozenset({Check.OPERATOR})

    def __init__(self, cases: Callable[[], Mapping[str, Case]], compilers: Mapping[str, Adapter]) -> None:
        self._cases = cases
        self._compilers = compilers

    def cells(self, check: Check, selection: Selection) -> Iterator[Planned]:
        """Compiler by compiler, every case. Raises UsageError for a case that there is not."""
        if selection.models and not selection.cases and not self._meant(selection):
            return  # models were asked for by name, and no case is one of them
        names = self._chosen(selection)
        for name in names:  # one compiler after the other: the rows of the first are there while the next work ahead
            for case in self._selected(selection):
                cell = Cell(check, case.name, ONNX, compiler=name)
                declared = elsewhere(cell, selection, "operators")
                yield declared.cell if declared else cell, declared

    def _meant(self, selection: Selection) -> bool:
        return any(name in self._cases() for name in selection.models)

    def _selected(self, selection: Selection) -> list[Case]:
        cases = self._cases()
        wanted = selection.cases or tuple(name for name in selection.models if name in cases)
        if wanted:
            check_values("case", wanted, cases)
            return [cases[name] for name in wanted]
        return sample(cases.values()) if selection.profile in SAMPLED else list(cases.values())

    def _chosen(self, selection: Selection) -> list[str]:
        if ALL in selection.compilers:
            return [name for name in COMPLETE if name in self._compilers]
        named = list(selection.compilers or (DEFAULT_COMPILER,))
        return [name for name in named if ONNX in self._compilers[compiler_of(name, self._compilers)[0]].takes]


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
