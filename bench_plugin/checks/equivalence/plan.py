"""Cells of compiled models: model x source framework x compiler x precision x target, for numbers and for quality."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.compiler_name import ALL, DEFAULT, CompilerName
from bench_plugin.domain.outcome import Status
from bench_plugin.domain.precision import ORIGINAL
from bench_plugin.domain.settings import Selection
from bench_plugin.inventory.adapters import Adapter
from bench_plugin.inventory.models import Model
from bench_plugin.matrix.planner import ONNX, Declared, Planned, declared_export

DEFAULT_SOURCE = "pytorch"
ROUND_TRIPS_ONLY = "published"  # a profile without compiled models


class EquivalencePlanner:
    """What small profiles run by themselves is the default compiler on the smallest models; the rest is asked for."""

    checks = frozenset({Check.EQUIVALENCE, Check.QUALITY})

    def __init__(
        self,
        models: Mapping[str, Model],
        frameworks: Mapping[str, Adapter],
        compilers: Mapping[str, Adapter],
        targets: Sequence[str],
    ) -> None:
        self._models = models
        self._frameworks = frameworks
        self._compilers = compilers
        self._targets = targets

    def cells(self, check: Check, selection: Selection) -> Iterator[Planned]:
        """Every combination of a selection; a compiler without a choice of backends has one cell per precision."""
        for model in self._selected(check, selection):
            for name in self._chosen(selection):
                compiler, backend = CompilerName.parse(name, self._compilers)
                for source in self._sources(check, model, self._compilers[compiler], selection):
                    yield from self._compiled(source, self._compilers[compiler], backend, model, selection)

    def _selected(self, check: Check, selection: Selection) -> Iterator[Model]:
        small = not selection.compilers and selection.profile in ("smoke", "quick")
        profile = "smoke" if small else selection.profile
        for model in self._models.values():
            if check is Check.QUALITY and not model.dataset:
                continue
            if selection.models:
                wanted = model.name in selection.models
            else:
                wanted = profile != ROUND_TRIPS_ONLY and profile in model.compiled_profiles
            if wanted and not model.detections:
                yield model

    def _chosen(self, selection: Selection) -> list[str]:
        if ALL in selection.compilers or (not selection.compilers and selection.profile == "full"):
            return [name for name, adapter in self._compilers.items() if not adapter.declaration.get("on_request")]
        return list(selection.compilers or (DEFAULT,))

    def _sources(self, check: Check, model: Model, compiler: Adapter, selection: Selection) -> Iterator[Planned]:
        """Where a compiler gets the model from: an exported file, or the framework itself."""
        if model.onnx:
            if check is Check.QUALITY:
                return  # nobody knows what a plain file was trained for
            if ONNX in compiler.takes:
                yield Cell(check, model.name, ONNX), None
            return
        for name, adapter in self._frameworks.items():
            if selection.frameworks and name not in selection.frameworks:
                continue
            if check is Check.QUALITY and not model.training(name):
                continue  # drawn weights have no quality
            if name in compiler.takes:
                cell = Cell(check, model.name, name)
                yield cell, declared_export(cell, model, adapter)
            by_file = ONNX in compiler.takes and adapter.exporters
            if by_file and (selection.frameworks or name == DEFAULT_SOURCE or selection.profile == "full"):
                yield from _exported(check, model, adapter, selection)

    def _compiled(
        self, source: Planned, compiler: Adapter, backend: str, model: Model, selection: Selection
    ) -> Iterator[Planned]:
        cell, declared = source
        name = f"{compiler.name}[{backend}]" if backend else compiler.name
        offered = compiler.graphs
        for precision in selection.precisions or tuple(offered):
            for target in self._wanted_targets(compiler, model, selection):
                base = replace(cell, compiler=name, precision=precision, target=target)
                if precision not in offered:
                    reason = f"{compiler.name} offers {', '.join(offered)}; asked for {precision}"
                    yield base, declared or Declared(base, Status.UNSUPPORTED, reason)
                    continue
                for graph in offered[precision]:
                    if graph != ORIGINAL and not cell.exporter and cell.framework != ONNX:
                        continue  # ready graphs are ONNX files
                    full = replace(base, graph="" if graph == ORIGINAL else graph)
                    refused = None
                    if target not in compiler.targets:
                        reason = f"{compiler.name} compiles for {', '.join(compiler.targets)}; asked for {target}"
                        refused = Declared(full, Status.UNSUPPORTED, reason)
                    yield full, (declared and replace(declared, cell=full)) or refused

    def _wanted_targets(self, compiler: Adapter, model: Model, selection: Selection) -> Sequence[str]:
        if selection.targets:
            return selection.targets
        cross = selection.profile == "full" and "smoke" in model.compiled_profiles
        return [name for name in compiler.targets if name in self._targets] if cross else ("local",)


def _exported(check: Check, model: Model, adapter: Adapter, selection: Selection) -> Iterator[Planned]:
    first = adapter.default_pairs[0][0] if adapter.default_pairs else next(iter(adapter.exporters))
    for exporter in [name for name in adapter.exporters if name in selection.exporters] or [first]:
        for opset in selection.opsets or (adapter.exporters[exporter].opset,):
            cell = Cell(check, model.name, adapter.name, exporter, opset)
            yield cell, declared_export(cell, model, adapter)
