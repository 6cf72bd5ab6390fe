"""The valid values of each axis, and the errors for others in options, markers and the configuration."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from bench_plugin.domain.axes import BY_NAME, MARKER_AXES, SELECTABLE, Axis, Check
from bench_plugin.domain.compiler_name import ALL, CompilerName
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.precision import ALIASES, PRECISIONS
from bench_plugin.domain.settings import Rule
from bench_plugin.domain.texts.choices import unknown
from bench_plugin.inventory.adapters import Catalog
from bench_plugin.matrix.planner import ONNX

BY_PLURAL = {axis.plural: axis for axis in SELECTABLE}


class AxisValues:
    """Checks values of axes against the workspace. Every method raises UsageError for the first bad value."""

    def __init__(
        self, models: Iterable[str], catalog: Catalog, targets: Iterable[str], checks: Sequence[Check]
    ) -> None:
        frameworks = catalog.of_kind("framework")
        self._compilers = catalog.of_kind("compiler")
        self._valid: dict[str, list[str]] = {
            "check": [str(check) for check in checks],
            "model": list(models),
            "framework": list(frameworks),
            "exporter": sorted({name for adapter in frameworks.values() for name in adapter.exporters}),
            "importer": sorted({name for adapter in frameworks.values() for name in adapter.importers}),
            "importer_framework": list(frameworks),
            "compiler": [*self._compilers, ALL],
            "precision": list(PRECISIONS),
            "target": list(targets),
        }

    def known(self, axis: Axis, values: Sequence[Any]) -> tuple[Any, ...]:
        """The values of an axis with aliases (``int8``) resolved. Raises UsageError for a value that is not valid."""
        if axis.name == "precision":
            values = [ALIASES.get(name, name) for name in values]
        names = [self._compiler(name) for name in values] if axis.name == "compiler" else values
        for name in names:
            self._check(axis.name, name)
            if axis.swept and axis.kind is int and int(name) < 1:
                raise UsageError(f"{axis.plural}: {name} is not a positive number")
            if axis.most and int(name) > axis.most:
                raise UsageError(f"{axis.plural}: {name} is more than {axis.most}")
        return tuple(values)

    def of_marker(self, keyword: str, given: Any) -> tuple[Any, ...]:
        """The values that the marker ``bench`` gives for an axis: a list, or a single value.

        Raises UsageError for a keyword that is no axis, or a value that is not valid.
        """
        if keyword not in MARKER_AXES:
            raise UsageError(f"marker bench: unknown axis {keyword!r}; valid are {', '.join(MARKER_AXES)}")
        axis = BY_PLURAL[keyword]
        values = [given] if isinstance(given, str | int) else given
        if not isinstance(values, Sequence) or not all(type(value) is axis.kind for value in values):
            kind = "whole numbers" if axis.kind is int else "names"
            raise UsageError(f"marker bench: {keyword} is {given!r}; it takes one or a list of {kind}")
        return self.known(axis, values)

    def of_rule(self, rule: Rule) -> None:
        """Check every value of an include or exclude row. Raises UsageError for the first that is not valid."""
        for name, values in rule.selector.items():
            try:
                for value in values:
                    self._check_row(BY_NAME[name], value)
            except UsageError as error:
                raise UsageError(f"{rule.where}: {error}") from None

    def _check_row(self, axis: Axis, value: str) -> None:
        if axis.kind is int and not value.isdigit():
            raise UsageError(f"{axis.name} is {value!r}; it takes whole numbers")
        if value != ONNX or axis.name != "framework":  # the framework of users' ONNX files
            self._check(axis.name, self._compiler(value) if axis.name == "compiler" else value)

    def _check(self, name: str, value: Any) -> None:
        if name in self._valid and value not in self._valid[name]:
            raise unknown(name.replace("_", " "), value, self._valid[name], listed=f"{name}s")

    def _compiler(self, text: str) -> str:
        """The compiler's name without its backend, which is checked too."""
        compiler, backend = CompilerName.parse(text, self._compilers)
        if backend and compiler in self._compilers and backend not in self._compilers[compiler].backends:
            raise unknown(f"backend of {compiler}", backend, self._compilers[compiler].backends)
        return compiler
