"""From a cell to a compiled model: the source, its ready graph, the artefact, and its run in another process."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from bench_plugin.checks.compiled import artefacts
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.errors import EnvironmentMissing
from bench_plugin.domain.outcome import Failure, Outcome, Stage, Status, Symptom
from bench_plugin.inventory.adapters import Adapter
from bench_plugin.inventory.models import Model
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.pipeline.cell_log import Trail
from bench_plugin.pipeline.compile_tasks import CompileTasks, Given, Subject
from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.steps import OnnxFile, Steps
from bench_plugin.pipeline.tasks import Drawn, Tasks


@dataclass(frozen=True)
class Compiled:
    """A cell on its way: what was compiled, the artefact, and the file that truths and emulations come from."""

    subject: Subject
    original: Subject
    file: OnnxFile
    drawn: Drawn
    compiled: Done
    ran: Done | None
    calibration: Given | None


class Compiling:
    """What the checks of compiled models share; safe to use from several threads."""

    def __init__(self, workspace: Workspace, steps: Steps, tasks: Tasks, compile_tasks: CompileTasks) -> None:
        self.workspace = workspace
        self.steps = steps
        self.tasks = tasks
        self.compile_tasks = compile_tasks

    def carry(self, cell: Cell, judged: Callable[[Cell, Model, Trail, Compiled], Outcome]) -> Outcome:
        """Compile the cell and have it judged; a missing environment or tool is an outcome too."""
        trail = Trail(self.workspace.versions(cell))
        model = self.workspace.models[cell.model]
        try:
            if missing := self._missing_tool(cell):
                return trail.outcome(Status.NOT_PROVIDED, missing)
            found = self._compiled(cell, model, trail)
            return found if isinstance(found, Outcome) else judged(cell, model, trail, found)
        except EnvironmentMissing as missing:
            return trail.outcome(Status.NOT_PROVIDED, str(missing))
        finally:
            self.steps.finished(cell)

    def _missing_tool(self, cell: Cell) -> str:
        """Executables of this machine that the compiler needs: what is not there, and the package that brings it."""
        target = self.compile_tasks.target(cell)
        for name in self.adapter(cell).declaration.get("needs", ()):
            cross = name in ("gcc", "g++", "cc") and "gcc" in target
            wanted = str(target["gcc"]) if cross else str(name)
            if shutil.which(wanted) is None:
                return f"{wanted} not found; install {target.get('package', wanted) if cross else wanted}"
        return ""

    def _compiled(self, cell: Cell, model: Model, trail: Trail) -> Compiled | Outcome:
        """Export (or build), prepare the graph, compile; and run in the same process what leaves no artefact."""
        source = cell if cell.exporter or model.onnx else self._default_export(cell)
        file = self.steps.file(source, model, trail)
        if isinstance(file, Failure) and model.onnx is not None:
            return trail.failed(file)
        if isinstance(file, Failure):
            return trail.outcome(Status.UNVERIFIED, f"export failed: {file.symptom} at {file.stage}: {file.message}")
        drawn = self.tasks.drawn(model, cell.framework, file.check)
        if drawn.complaint:
            return trail.outcome(Status.ERROR, drawn.complaint, stage=Stage.CHECK, symptom=Symptom.INVALID_MODEL)
        original = subject = self.compile_tasks.of_file(cell, model, file, drawn)
        dataset = self.steps.unnoted(self.tasks.dataset(model)) if model.dataset else None
        if dataset is not None and dataset.failure:
            return trail.outcome(Status.UNVERIFIED, f"no dataset to calibrate with: {dataset.failure.message}")
        calibration = self.compile_tasks.calibration_given(model, original, dataset)
        if cell.graph:
            graph = self.graph(cell, model, trail, original, calibration, cell.graph)
            if isinstance(graph, Failure):
                return trail.outcome(Status.UNVERIFIED, f"no {cell.graph} graph: {graph.message}", stage=graph.stage)
            subject = graph
        elif not cell.exporter and not model.onnx:
            subject = self.compile_tasks.of_framework(cell, model, file.weights)
            calibration = self.compile_tasks.calibration_given(model, subject, dataset)
        own = calibration if cell.quantiser == "own" and cell.precision.startswith("w8") else None
        ran = None
        if self._in_one_process(cell):
            task = self.compile_tasks.compile_and_run(cell, model, subject, own, self._given(cell, model, subject))
            compiled = ran = self.steps.take(cell, trail, "compile", task)
        else:
            compiled = self.steps.take(cell, trail, "compile", self.compile_tasks.compile(cell, model, subject, own))
        if compiled.failure:
            trail.converted = compiled.failure.stage is Stage.RUN
            if compiled.failure.types and compiled.failure.types[0].endswith(".NotProvided"):
                return trail.outcome(Status.NOT_PROVIDED, compiled.failure.message)
            return trail.failed(compiled.failure)
        trail.converted = True
        self._note_artefact(cell, trail, compiled, subject)
        if cell.target != "local":
            return self._for_target(cell, trail, compiled)
        return Compiled(subject, original, file, drawn, compiled, ran, own)

    def _default_export(self, cell: Cell) -> Cell:
        """The file that truths of a framework's own model come from: that of its first exporter."""
        adapter = self.workspace.catalog[cell.framework]
        exporter = adapter.default_pairs[0][0] if adapter.default_pairs else next(iter(adapter.exporters))
        return replace(cell, exporter=exporter, opset=adapter.exporters[exporter].opset)

    def graph(
        self, cell: Cell, model: Model, trail: Trail, subject: Subject, calibration: Given, graph: str
    ) -> Subject | Failure:
        """A subject as the ready graph of a reduced precision."""
        done = self.steps.take(cell, trail, "graph", self.compile_tasks.graph(cell, model, subject, calibration, graph))
        if done.failure:
            return done.failure
        if cell.graph:
            described = {key: done.meta["prepare"].get(key) for key in ("operators", "calibration")}
            trail.artefacts["graph"] = {name: value for name, value in described.items() if value}
        return replace(
            subject, origin=done.key, files={"model.onnx": done.files["model.onnx"]},
            meta={"output_scales": done.meta["prepare"]["output_scales"]},
        )  # fmt: skip

    def _in_one_process(self, cell: Cell) -> bool:
        adapter, backend = self.workspace.catalog.compiler(cell.compiler)
        return not adapter.declaration.get("artefact", True) or backend in adapter.declaration.get("jit_backends", ())

    def _note_artefact(self, cell: Cell, trail: Trail, compiled: Done, subject: Subject) -> None:
        said = compiled.meta["compile"]
        trail.artefacts.update(artefacts.described(compiled.files))
        trail.artefacts["quantiser"] = cell.quantiser
        keys = ("effective", "integer", "switches", "options", "notes")
        trail.placement.update({key: said[key] for key in keys if said.get(key)})
        trail.placement.update(said.get("placement", {}))
        trail.placement["threads"] = self.tasks.threads
        for text in said.get("shims", []):
            trail.flag(f"shim: {text}")
        if said.get("integer") == "simulated":
            trail.flag("simulated")
        fallback = said.get("placement", {}).get("requested")
        if isinstance(fallback, int | float) and fallback < 1:
            trail.flag(f"{fallback:.0%} of the nodes on the requested backend")

    def _for_target(self, cell: Cell, trail: Trail, compiled: Done) -> Outcome:
        """What can be said of an artefact that nobody has run: that it is for the machine that it should be for."""
        adapter = self.adapter(cell)
        if adapter.declaration.get("portable") or compiled.meta["compile"].get("portable"):
            return trail.outcome(Status.UNVERIFIED, "not run: compiled, the artefact is the same for every target")
        wrong = artefacts.wrong_machine(compiled.files, self.compile_tasks.target(cell))
        if wrong:
            return trail.outcome(Status.ERROR, wrong, stage=Stage.COMPILE, symptom=Symptom.INVALID_MODEL)
        return trail.outcome(Status.UNVERIFIED, f"not run: compiled, the artefact is for {cell.target}")

    def _given(self, cell: Cell, model: Model, subject: Subject) -> Given:
        if cell.check is Check.QUALITY:
            dataset = self.steps.unnoted(self.tasks.dataset(model))
            return self.compile_tasks.dataset_given(model, subject, dataset)
        return subject.given

    def ran(self, cell: Cell, model: Model, trail: Trail, found: Compiled) -> Done:
        """The artefact's outputs."""
        if found.ran is not None:
            return found.ran
        given = self._given(cell, model, found.subject)
        whole = cell.check is Check.EQUIVALENCE and keeps_symbols(found.compiled)
        task = self.compile_tasks.run(cell, model, found.subject, found.compiled, given, whole=whole)
        ran = self.steps.take(cell, trail, "run", task)
        for key in ("effective", "placement"):
            if not ran.failure and ran.meta["run"].get(key):
                value = ran.meta["run"][key]
                trail.placement.update(value if isinstance(value, Mapping) else {key: value})
        return ran

    def adapter(self, cell: Cell) -> Adapter:
        """The cell's compiler."""
        return self.workspace.catalog.compiler(cell.compiler)[0]
        """The cell's compiler."""


def keeps_symbols(compiled: Done) -> bool:
    """Whether the artefact takes other sizes of the model's symbolic dimensions than it was compiled with."""
    return compiled.meta["compile"].get("dynamic") in (True, "preserved")
