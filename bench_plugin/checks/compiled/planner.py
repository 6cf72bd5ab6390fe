"""Cells of compiled models: model x source framework x compiler x precision x target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from bench_plugin.compare.table import TABLE_HASH
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.compiler_name import ALL, DEFAULT, CompilerName
from bench_plugin.domain.outcome import Status
from bench_plugin.domain.precision import ORIGINAL, PRECISIONS, STORED
from bench_plugin.domain.settings import Selection
from bench_plugin.inventory.adapters import Adapter
from bench_plugin.inventory.models import Model
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.matrix.planner import ONNX, Declared, Planned, declared_export, pruned, source_adapters
from bench_plugin.pipeline.tasks.detection_tasks import METRICS
from bench_plugin.pipeline.tasks.graph_tasks import FACTS

DEFAULT_SOURCE = "pytorch"
ROUND_TRIPS_ONLY = "published"  # a profile without compiled models
GRAPH_TOOLS = ("onnx_graphs", "onnx_rounding", "onnx_emulate")


class CompiledPlanner:
    """Plans the cells of compiled models.

    Small profiles run only the default compiler on the smallest models by themselves; all else is opt-in, as precisions
    of few bits are in every profile. ``by_task``
    restricts the cells to models that are trained for a task, and to the frameworks that they are trained in.
    """

    def __init__(self, workspace: Workspace, *, by_task: bool = False) -> None:
        self._workspace = workspace
        self._by_task = by_task
        self._models = workspace.models
        self._frameworks = workspace.catalog.of_kind("framework")
        self._compilers = workspace.catalog.of_kind("compiler")
        self._targets = tuple(workspace.targets)
        self._boards_of = cache(workspace.boards_of)  # asked for every cell

    def adapters(self, cell: Cell) -> Sequence[str]:
        """The adapters of the source, the compiler with those that it uses, and our tools for its graphs."""
        catalog = self._workspace.catalog
        compiler = catalog.used(catalog.compiler(cell.compiler)[0].name)
        model = self._models[cell.model]
        tools = [*GRAPH_TOOLS, *([FACTS] if model.training(cell.framework) else ())]
        tools += [METRICS] if model.boxes_of_places and cell.check in (Check.QUALITY, Check.TIMING) else []
        return list(dict.fromkeys([*source_adapters(self._workspace, cell), *compiler, *tools]))

    def key_parts(self, cell: Cell) -> Mapping[str, Any]:
        """The model, the seed, the table of tolerances, the compiler's options and the calibration."""
        workspace = self._workspace
        options = dict(workspace.options.get(workspace.catalog.compiler(cell.compiler)[0].name, {}))
        return {
            "model": self._models[cell.model].digest, "seed": workspace.seed, "table": TABLE_HASH, "options": options,
            "calibration": workspace.calibration,
        }  # fmt: skip

    def cells(self, check: Check, selection: Selection) -> Iterator[Planned]:
        """Every combination of a selection. A compiler without a choice of backends has one cell per precision.

        Cells of boards come last, those of one runtime together: a board has one agent at a time, which is of one
        toolchain, and every change of it is a start on the board.
        """
        yield from sorted(self._combinations(check, selection), key=lambda planned: self._runtime(planned[0]))

    def _runtime(self, cell: Cell) -> tuple[str, str]:
        """The target and the toolchain of a cell that a board runs; empty texts for all others."""
        if not self._boards_of(cell.target):
            return "", ""
        return cell.target, self._workspace.catalog.compiler(cell.compiler)[0].toolchain_for(cell.framework)

    def _combinations(self, check: Check, selection: Selection) -> Iterator[Planned]:
        for model in self._selected(selection):
            for name in self._chosen(selection):
                compiler, backend = CompilerName.parse(name, self._compilers)
                for source in self._sources(check, model, self._compilers[compiler], selection):
                    for planned in self._compiled(source, self._compilers[compiler], backend, model, selection):
                        yield from pruned(planned, selection, model)

    def _selected(self, selection: Selection) -> Iterator[Model]:
        small = not selection.compilers and selection.profile in ("smoke", "quick")
        profile = "smoke" if small else selection.profile
        for model in self._models.values():
            if self._by_task and not model.dataset:
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
        """The sources that a compiler gets the model from: exported files, or the framework itself."""
        if model.onnx:
            if self._by_task:
                return  # the task of a user's file is not known
            if ONNX in compiler.takes:
                yield Cell(check, model.name, ONNX), None
            return
        default = self._default_source(model)
        for name, adapter in self._frameworks.items():
            if selection.frameworks and name not in selection.frameworks:
                continue
            if self._by_task and not model.training(name):
                continue  # a model with seeded weights cannot do a task
            if name in compiler.takes:
                cell = Cell(check, model.name, name)
                yield cell, declared_export(cell, model, adapter)
            by_file = ONNX in compiler.takes and adapter.exporters
            if by_file and (selection.frameworks or name == default or selection.profile == "full"):
                yield from _exported(check, model, adapter, selection)

    def _default_source(self, model: Model) -> str:
        """The framework whose exports small profiles compile: the usual one, else the first that has the model."""
        for name in (DEFAULT_SOURCE, *self._frameworks):
            adapter = self._frameworks.get(name)
            usual = adapter is not None and adapter.exporters and not adapter.declaration.get("on_request")
            if usual and name in model.constructors and (not self._by_task or model.training(name)):
                return name
        return DEFAULT_SOURCE

    def why_none(self, model: str, selection: Selection) -> str:
        """Why a model that was named has no cell."""
        found = self._models[model]
        if found.detections:
            return "its outputs are detections, which only round trips compare"
        if self._by_task and not found.dataset:
            return "it has no dataset on which its task could be judged"
        if self._by_task:
            trained = [name for name in self._frameworks if found.training(name)]
            return f"it is trained in {', '.join(trained) or 'no framework'}, and no other source can do its task"
        compilers = [
            self._compilers[CompilerName.parse(name, self._compilers).compiler] for name in self._chosen(selection)
        ]
        taken = sorted({one for compiler in compilers for one in compiler.takes})
        asked = f" of {', '.join(selection.frameworks)}" if selection.frameworks else ""
        return f"the selected compilers take {', '.join(taken)}, and the model{asked} does not come as that"

    def _compiled(
        self, source: Planned, compiler: Adapter, backend: str, model: Model, selection: Selection
    ) -> Iterator[Planned]:
        cell, declared = source
        name = f"{compiler.name}[{backend}]" if backend else compiler.name
        offered = compiler.graphs
        for precision in selection.precisions or [name for name in offered if not _on_request(name, offered[name])]:
            for target in self._wanted_targets(compiler, model, selection):
                if precision not in offered:
                    base = replace(cell, compiler=name, precision=precision, target=target)
                    reason = f"{compiler.name} offers {', '.join(offered)}; asked for {precision}"
                    yield base, _of(base, declared) or Declared(base, Status.UNSUPPORTED, reason)
                    continue
                for graph in offered[precision]:
                    if graph != ORIGINAL and not cell.exporter and cell.framework != ONNX:
                        continue  # pre-quantised and pre-converted models are ONNX files
                    prepared = "" if graph == ORIGINAL else graph
                    full = replace(cell, compiler=name, precision=precision, target=target, graph=prepared)
                    refused = None
                    if self._workspace.target_name(target) not in compiler.targets:
                        reason = f"{compiler.name} compiles for {', '.join(compiler.targets)}; asked for {target}"
                        refused = Declared(full, Status.UNSUPPORTED, reason)
                    yield full, _of(full, declared) or refused

    def _wanted_targets(self, compiler: Adapter, model: Model, selection: Selection) -> Sequence[str]:
        if selection.targets:
            return selection.targets
        cross = selection.profile == "full" and "smoke" in model.compiled_profiles
        return [name for name in compiler.targets if name in self._targets] if cross else ("local",)


def _of(cell: Cell, declared: Declared | None) -> Declared | None:
    """What is declared of the source of a cell, said of the cell."""
    return declared and replace(declared, cell=cell)


def _on_request(precision: str, graphs: Sequence[str]) -> bool:
    """Whether a compiler's graphs of a precision are planned only where it is asked for: few bits, and weight-only."""
    return PRECISIONS[precision].few_bits or STORED.issuperset(graphs)


def _exported(check: Check, model: Model, adapter: Adapter, selection: Selection) -> Iterator[Planned]:
    first = adapter.default_pairs[0][0] if adapter.default_pairs else next(iter(adapter.exporters))
    for exporter in [name for name in adapter.exporters if name in selection.exporters] or [first]:
        for opset in selection.opsets or (adapter.exporters[exporter].opset,):
            cell = Cell(check, model.name, adapter.name, exporter, opset)
            yield cell, declared_export(cell, model, adapter)
