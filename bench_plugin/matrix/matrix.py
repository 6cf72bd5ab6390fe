"""Axes to cells: what a selection asks for, pruned before any pytest item is made."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.compiler_name import ALL, CompilerName
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Status
from bench_plugin.domain.precision import ALIASES, PRECISIONS
from bench_plugin.domain.settings import Selection
from bench_plugin.inventory.adapters import Catalog
from bench_plugin.inventory.models import PROFILES, Model
from bench_plugin.matrix.planner import ONNX, Declared, Planned, Planner, check_values

MARKER_AXES = ("models", "frameworks", "exporters", "importers", "opsets", "compilers", "precisions", "targets")
NOTHING = ("",)  # an axis on which two selections have no value in common


@dataclass(frozen=True)
class Plan:
    """The cells of one check and what was pruned from them."""

    cells: tuple[Cell, ...]
    declared: tuple[Declared, ...]

    @property
    def why_empty(self) -> str:
        """In one line, why there is no cell: what was declared before the run, or that nothing was asked for."""
        if not self.declared:
            return "the axes that were selected leave nothing of this check"
        first, more = self.declared[0], len(self.declared) - 1
        return f"{first.cell.id}: {first.status}: {first.reason}" + (f", and {more} more" if more else "")


class Matrix:
    """All combinations that a selection asks for. Raises UsageError where a value is not a valid one."""

    def __init__(
        self,
        models: Mapping[str, Model],
        catalog: Catalog,
        targets: Sequence[str],
        selection: Selection,
        planners: Sequence[Planner],
    ) -> None:
        self.models = models
        self.frameworks = catalog.of_kind("framework")
        self.compilers = catalog.of_kind("compiler")
        self.targets = tuple(targets)
        files = {model.name for model in models.values() if model.onnx}
        self.selection = replace(
            selection,
            precisions=tuple(ALIASES.get(name, name) for name in selection.precisions),
            models=tuple(dict.fromkeys((*selection.models, *sorted(files)))),
        )
        self._valid = {
            "profiles": list(PROFILES),
            "models": list(models),
            "frameworks": list(self.frameworks),
            "exporters": sorted({name for adapter in self.frameworks.values() for name in adapter.exporters}),
            "importers": sorted({name for adapter in self.frameworks.values() for name in adapter.importers}),
            "compilers": [*self.compilers, ALL],
            "precisions": list(PRECISIONS),
            "targets": list(targets),
        }
        check_values("profile", [selection.profile], PROFILES)
        for axis in ("frameworks", "compilers", "targets", "precisions", "exporters", "importers"):
            self._check_axis(axis, getattr(self.selection, axis))
        check_values("model", selection.models, models)
        for rule in (*selection.include, *selection.exclude):
            check_values("model", rule.selector.get("model", ()), models)
            check_values("framework", rule.selector.get("framework", ()), [*self.frameworks, ONNX])
        self._planners = tuple(planners)
        self._by_check = {check: planner for planner in self._planners for check in planner.checks}

    @property
    def checks(self) -> list[Check]:
        """Every check that has a planner."""
        return [check for check in Check if any(check in planner.checks for planner in self._planners)]

    def planner(self, cell: Cell) -> Planner:
        """The planner that makes cells like this one."""
        return self._by_check[cell.check]

    def plan(self, check: Check, narrowed: Mapping[str, Sequence[str]] | None = None) -> Plan:
        """The cells of ``check``, narrowed further by a marker's axes (``models=[...]``, ``frameworks=[...]`` ...)."""
        found: dict[Cell, Declared | None] = {}
        for selection in (self._narrow(narrowed or {}), *self._included(check)):
            if any(getattr(selection, axis) == NOTHING for axis in MARKER_AXES):
                continue
            for cell, declared in self._planned(check, selection):
                found.setdefault(cell, declared)
        for cell, declared in found.items():
            rule = next((rule for rule in self.selection.exclude if rule.matches(cell.axes())), None)
            if declared is None and rule:
                found[cell] = Declared(cell, Status.UNVERIFIED, f"excluded: {rule.reason}")
        cells = tuple(cell for cell, declared in found.items() if declared is None)
        return Plan(cells, tuple(declared for declared in found.values() if declared))

    def complete(self) -> list[Cell]:
        """Every cell of every profile, pruned or not: what expectations may speak of."""
        everything = Selection(
            profile="full", frameworks=tuple(self.frameworks), models=tuple(self.models), targets=self.targets
        )
        local = replace(everything, targets=())
        operators = replace(local, frameworks=(), models=(), compilers=(ALL,))
        by_check = {Check.EXPORT: local, Check.IMPORT: local, Check.OPERATOR: operators, Check.PROPERTY: operators}
        pairs = ((check, by_check.get(check, everything)) for check in self.checks)
        return [cell for check, selection in pairs for cell, _ in self._planned(check, selection)]

    def profile_cells(self, checks: Sequence[Check]) -> list[Cell]:
        """Every cell of these checks that the profile would run when nothing else was selected."""
        whole = Selection(profile=self.selection.profile)
        pairs = [pair for check in checks for pair in self._planned(check, whole)]
        return [cell for cell, declared in pairs if declared is None]

    def _planned(self, check: Check, selection: Selection) -> Iterator[Planned]:
        for planner in self._planners:
            if check in planner.checks:
                yield from planner.cells(check, selection)

    def _check_axis(self, axis: str, values: Sequence[str]) -> None:
        if axis == "compilers":
            for name in values:
                compiler, backend = CompilerName.parse(name, self.compilers)
                if backend and compiler in self.compilers:
                    check_values(f"backend of {compiler}", [backend], self.compilers[compiler].backends)
            values = [CompilerName.parse(name, self.compilers).compiler for name in values]
        if axis in self._valid:
            check_values(axis.rstrip("s"), values, self._valid[axis])

    def _narrow(self, narrowed: Mapping[str, Sequence[str]]) -> Selection:
        for key, values in narrowed.items():
            if key not in MARKER_AXES:
                raise UsageError(f"marker bench: unknown axis {key!r}; valid are {', '.join(MARKER_AXES)}")
            self._check_axis(key, values)
        merged: dict[str, Any] = {
            key: _both(getattr(self.selection, key), tuple(values)) for key, values in narrowed.items()
        }
        return replace(self.selection, **merged)

    def _included(self, check: Check) -> Iterator[Selection]:
        for rule in self.selection.include:
            axes = rule.selector
            if "compiler" not in axes and check not in (Check.EXPORT, Check.IMPORT):
                continue  # a model that is wanted beside others is not meant for every compiler
            wanted: dict[str, tuple[Any, ...]] = {f"{axis}s": values for axis, values in axes.items()}
            wanted["opsets"] = tuple(int(opset) for opset in axes.get("opset", ()))
            # What was selected on the command line wins: a row adds to the profile, not to a narrower selection.
            merged = {name: _both(getattr(self.selection, name), wanted.get(name, ())) for name in MARKER_AXES}
            yield Selection(profile="full", **merged)


def plan_hash(cells: Sequence[Cell]) -> str:
    """A hash of the selected cells, independent of their order: 16 hex digits."""
    lines = sorted(str(sorted(cell.axes().items())) for cell in cells)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _both(selected: tuple[Any, ...], narrowed: tuple[Any, ...]) -> tuple[Any, ...]:
    """What both ask for; a selector that matches nothing keeps matching nothing."""
    if not selected or not narrowed:
        return selected or narrowed
    return tuple(value for value in selected if value in narrowed) or NOTHING
