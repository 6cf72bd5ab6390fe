"""Cells of the timing check: compiled models, of every compiler that is ready on this machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from bench_plugin.checks.compiled.planner import DEFAULT_SOURCE, CompiledPlanner
from bench_plugin.checks.performance.sweep import swept
from bench_plugin.domain.cell import Check
from bench_plugin.domain.compiler_name import DEFAULT
from bench_plugin.domain.outcome import Status
from bench_plugin.domain.settings import Selection
from bench_plugin.inventory.models import Model
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.matrix.planner import Declared, Planned, Planner

QUICK = ("digits_cnn", "mobilenet_v2")  # the models that small profiles time: one of microseconds, one of milliseconds
SMALL = ("smoke", "quick")
USUAL = "fp32"


class TimingPlanner(CompiledPlanner):
    """Compiled models, timed. Small profiles take quick models in fp32 and every compiler whose toolchain is made.

    Where neither compilers nor frameworks were named, a compiler gets a model from one framework.

    No profile sweeps by itself: each combination costs as much as a cell, so they are asked for by their options.
    """

    checks = frozenset({Check.TIMING})

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._quick = tuple(name for name in QUICK if name in workspace.models)

    def cells(self, check: Check, selection: Selection) -> Iterator[Planned]:
        """Every combination of a selection; where no compiler was named, one that is not ready says how to add it."""
        if selection.profile in SMALL and not selection.precisions:
            selection = replace(selection, precisions=(USUAL,))
        chosen_by_us = self._small(selection)
        planned = super().cells(check, selection)
        for cell, declared in _one_framework(planned) if chosen_by_us and not selection.frameworks else planned:
            missing = self._not_ready(cell.compiler, cell.framework) if chosen_by_us and declared is None else ""
            one = cell, Declared(cell, Status.NOT_PROVIDED, missing) if missing else declared
            yield from swept(one, selection, self._workspace)

    def _selected(self, selection: Selection) -> Iterator[Model]:
        if not selection.models and selection.profile in SMALL and self._quick:
            selection = replace(selection, models=self._quick)
        yield from super()._selected(selection)

    def _chosen(self, selection: Selection) -> list[str]:
        if not self._small(selection):
            return super()._chosen(selection)
        return [
            name for name, adapter in self._compilers.items()
            if not adapter.declaration.get("on_request") and USUAL in adapter.graphs
        ]  # fmt: skip

    def _small(self, selection: Selection) -> bool:
        """Whether the compilers are those that are ready, because the user named none."""
        return not selection.compilers and selection.profile in SMALL

    def _not_ready(self, compiler: str, framework: str) -> str:
        """Why a compiler is left out: its toolchain is not made, and how to add it. Empty where it is made."""
        toolchain = self._compilers[compiler].toolchain_for(framework)
        if compiler == DEFAULT or self._workspace.toolchains.ready(toolchain):
            return ""
        return f"toolchain {toolchain} is not made; bench env sync {toolchain}, or --compilers {compiler}, adds it"


def _one_framework(planned: Iterable[Planned]) -> Iterator[Planned]:
    """The cells without those of further frameworks: a model and a compiler have the usual one, else the first."""
    cells = list(planned)
    found: dict[tuple[str, str], str] = {}
    for cell, declared in cells:
        pair = cell.model, cell.compiler
        if declared is None and (pair not in found or cell.framework == DEFAULT_SOURCE):
            found[pair] = cell.framework
    for cell, declared in cells:
        if declared is not None or cell.framework == found[cell.model, cell.compiler]:
            yield cell, declared


def planner(workspace: Workspace) -> Planner:
    """The planner of this folder, for registry.py."""
    return TimingPlanner(workspace)
