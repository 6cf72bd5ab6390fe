"""The matrix: from a selection of axis values to cells, pruned before any pytest item is made."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bench_plugin.domain.axes import BY_NAME, MARKER_AXES, SELECTABLE
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.compiler_name import ALL
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Status
from bench_plugin.domain.precision import PRECISIONS
from bench_plugin.domain.settings import PROFILES, Rule, Selection
from bench_plugin.domain.texts.choices import unknown
from bench_plugin.inventory.adapters import Catalog
from bench_plugin.inventory.models import Model
from bench_plugin.matrix.axis_values import AxisValues
from bench_plugin.matrix.planner import Declared, Planned, Planner

NOTHING = ("",)  # the value of an axis on which two selections have nothing in common
# The checks whose cells have a precision of their own.
COMPILED = (Check.EQUIVALENCE, Check.QUALITY, Check.TIMING, Check.OPERATOR)


@dataclass(frozen=True)
class Plan:
    """The cells of one check, and ``declared`` those that were decided before the run.

    ``without`` says why a model that was named has neither, by its name.
    """

    cells: tuple[Cell, ...]
    declared: tuple[Declared, ...]
    not_asked: str = ""  # why the selection has none of its cells
    without: Mapping[str, str] = field(default_factory=dict)

    @property
    def why_empty(self) -> str:
        """One line on why there is no cell: all were decided before the run, or the selection has none."""
        if self.not_asked:
            return self.not_asked
        if not self.declared and self.without:
            return "; ".join(f"{model}: {why}" for model, why in self.without.items())
        if not self.declared:
            return "the axes that were selected leave nothing of this check"
        first, more = self.declared[0], len(self.declared) - 1
        return f"{first.cell.id}: {first.status}: {first.reason}" + (f", and {more} more" if more else "")


class Matrix:
    """The cells of a selection. Raises UsageError for a value that is not valid."""

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
        files = {path.stem for path in selection.onnx_files}
        self._planners = tuple(planners)
        self._by_check = {check: planner for planner in self._planners for check in planner.checks}
        self._values = AxisValues(models, catalog, targets, self.checks)
        if selection.profile not in PROFILES:
            raise unknown("profile", selection.profile, PROFILES)
        asked = {axis: getattr(selection, axis.plural) for axis in SELECTABLE}
        known: dict[str, Any] = {axis.plural: self._values.known(axis, values) for axis, values in asked.items()}
        known["models"] = tuple(dict.fromkeys((*known["models"], *sorted(files))))
        self.selection = replace(selection, **known)
        for rule in (*selection.include, *selection.exclude):
            self._check_rule(rule, included=rule in selection.include)

    @property
    def checks(self) -> list[Check]:
        """Every check that has a planner."""
        return [check for check in Check if any(check in planner.checks for planner in self._planners)]

    def planner(self, cell: Cell) -> Planner:
        """The planner of the cell's check."""
        return self._by_check[cell.check]

    def plan(self, check: Check, narrowed: Mapping[str, Any] | None = None) -> Plan:
        """The cells of ``check``, narrowed by the axes of a marker (``models=[...]``, ``frameworks=[...]`` ...).

        Raises UsageError for a value that is not valid.
        """
        asked = self.selection.checks
        if asked and check not in asked:
            return Plan((), (), f"--bench-checks asks for {', '.join(asked)}, this is {check}")
        found: dict[Cell, Declared | None] = {}
        asked_for = self._narrow(narrowed or {})
        for selection in (asked_for, *self._included(check)):
            if any(getattr(selection, axis) == NOTHING for axis in MARKER_AXES):
                continue
            for cell, declared in self._planned(check, selection):
                found.setdefault(cell, declared)
        for cell, declared in found.items():
            rule = next((rule for rule in self.selection.exclude if rule.matches(cell.axes())), None)
            if declared is None and rule:
                found[cell] = Declared(cell, Status.UNVERIFIED, f"excluded: {rule.reason}")
        cells = tuple(cell for cell, declared in found.items() if declared is None)
        without = self._without(check, asked_for, {cell.model for cell in found})
        return Plan(cells, tuple(declared for declared in found.values() if declared), without=without)

    def _without(self, check: Check, selection: Selection, have: Container[str]) -> dict[str, str]:
        """Why models that were named have no cell of a check, by their names; nothing for checks of no models."""
        planner = self._by_check[check]
        nothing = [axis for axis in MARKER_AXES if getattr(selection, axis) == NOTHING]
        found = {}
        for name in self.selection.models:
            other = nothing or (["models"] if name not in selection.models else [])
            why = "" if name in have else planner.why_none(name, self.selection if other else selection)
            if why:
                found[name] = f"the test's marker selects other {other[0]}" if other else why
        return found

    def complete(self) -> list[Cell]:
        """Every cell of every profile, pruned or not: those that expectations may select."""
        everything = Selection(
            profile="full", frameworks=tuple(self.frameworks), models=tuple(self.models), targets=self.targets
        )
        local = replace(everything, targets=())
        operators = replace(local, frameworks=(), models=(), compilers=(ALL,))
        by_check = {Check.EXPORT: local, Check.IMPORT: local, Check.OPERATOR: operators, Check.PROPERTY: operators}
        pairs = [(check, by_check.get(check, everything)) for check in self.checks]
        # Stored weights are planned on request; every target would make half a million cells of those of few bits.
        asked = tuple(name for name, precision in PRECISIONS.items() if precision.few_bits or precision.weight_only)
        few = [(check, by_check.get(check, local)) for check in self.checks if check in COMPILED]
        pairs += [(check, replace(selection, precisions=asked)) for check, selection in few]
        return list(dict.fromkeys(cell for check, selection in pairs for cell, _ in self._planned(check, selection)))

    def profile_cells(self, checks: Sequence[Check]) -> list[Cell]:
        """Every cell of these checks that the profile runs when nothing else is selected."""
        whole = Selection(profile=self.selection.profile)
        pairs = [pair for check in checks for pair in self._planned(check, whole)]
        return [cell for cell, declared in pairs if declared is None]

    def _planned(self, check: Check, selection: Selection) -> Iterator[Planned]:
        for planner in self._planners:
            if check in planner.checks:
                yield from planner.cells(check, selection)

    def _check_rule(self, rule: Rule, *, included: bool) -> None:
        """Raises UsageError for a row with a value that does not exist, or an include row with a derived axis."""
        self._values.of_rule(rule)
        follows = [name for name in rule.selector if included and not BY_NAME[name].plural]
        if follows:
            wanted = ", ".join(axis.name for axis in SELECTABLE)
            raise UsageError(f"{rule.where}: {follows[0]} cannot be asked for, it follows from the others: {wanted}")

    def _narrow(self, narrowed: Mapping[str, Any]) -> Selection:
        wanted = {key: self._values.of_marker(key, given) for key, given in narrowed.items()}
        merged: dict[str, Any] = {key: _both(getattr(self.selection, key), values) for key, values in wanted.items()}
        return replace(self.selection, **merged)

    def _included(self, check: Check) -> Iterator[Selection]:
        for rule in self.selection.include:
            axes = rule.selector
            if "compiler" not in axes and check not in (Check.EXPORT, Check.IMPORT):
                continue  # an include row for a model must not add that model for every compiler
            if str(check) not in axes.get("check", (str(check),)):
                continue
            wanted = {axis.plural: tuple(axis.parse(value) for value in axes.get(axis.name, ())) for axis in SELECTABLE}
            # What was selected on the command line wins: a row adds to the profile, not to a narrower selection.
            merged = {name: _both(getattr(self.selection, name), wanted[name]) for name in MARKER_AXES}
            yield Selection(profile="full", **merged)


def plan_hash(cells: Sequence[Cell]) -> str:
    """A hash of the selected cells, independent of their order: 16 hex digits."""
    lines = sorted(str(sorted(cell.axes().items())) for cell in cells)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _both(selected: tuple[Any, ...], narrowed: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values that both select; a selector that matches nothing still matches nothing."""
    if not selected or not narrowed:
        return selected or narrowed
    return tuple(value for value in selected if value in narrowed) or NOTHING
