"""From a cell to a compiled model: its source, the prepared graph, the artefact, and the run in another process."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

from bench_plugin.checks.compiled import artefacts, batches, carriers
from bench_plugin.checks.compiled.counted import note_counters
from bench_plugin.checks.compiled.needed import note_needs
from bench_plugin.checks.compiled.runnable import Artefact, not_runnable
from bench_plugin.checks.protocol import Parts, Request
from bench_plugin.domain.cell import Cell
from bench_plugin.domain.outcome import Cause, Failure, Outcome, Stage, Status, Symptom, Unverified
from bench_plugin.domain.precision import precision_of
from bench_plugin.inventory.models import Model
from bench_plugin.pipeline.board_stages import PLACE, PROGRAM
from bench_plugin.pipeline.cell_run import CellRun, OnnxFile
from bench_plugin.pipeline.schedule import Need
from bench_plugin.pipeline.stages import Done, Task
from bench_plugin.pipeline.tasks import graph_tasks, subjects
from bench_plugin.pipeline.tasks.generated_inputs import GeneratedInputs
from bench_plugin.pipeline.tasks.subjects import InputSet, Subject
from bench_plugin.reach.processes.leased_agent import Limits


def elsewhere(placement: Mapping[str, Any]) -> str:
    """What share of the nodes runs as it was asked for, where some do not; a tool counts them by backend or by type."""
    share = placement.get("requested")
    if not isinstance(share, int | float) or share >= 1:
        return ""
    where = "in the type" if placement.get("counted_by") == "type" else "on the backend"
    return f"{share:.0%} of the nodes {where} that was asked for"


@dataclass(frozen=True)
class Compiled:
    """A compiled model that waits for its verdict.

    ``subject`` is what was compiled, ``original`` the unrounded file that references and emulations come from. ``ran``
    is the run of a compiler without an artefact, where the same process compiles and runs; otherwise it is None.
    ``calibration`` is for tools that quantise.
    """

    subject: Subject
    original: Subject
    file: OnnxFile
    inputs: GeneratedInputs
    compiled: Done
    ran: Done | None
    calibration: InputSet | None = None


Judged = Callable[[CellRun, Compiled], Outcome]


class CompiledModels:
    """Compiles the models of cells and runs their artefacts; safe to use from several threads.

    With ``on_test_set`` an artefact runs on the test images of the dataset, not on generated inputs.
    """

    def __init__(self, parts: Parts, *, on_test_set: bool = False) -> None:
        self.workspace = parts.workspace
        self.compile_tasks = parts.compile_tasks
        self.tasks = parts.tasks
        self._parts = parts
        self._on_test_set = on_test_set

    def need(self, cell: Cell, *, after: tuple[Cell, ...] = ()) -> Need:
        """What a cell occupies: its source's toolchain, the model's memory, and the cells to compute before it.

        A pool of boards has as many lanes as boards of hardware, so that none waits for another.
        """
        need = replace(self.tasks.need(cell, self.tasks.toolchain(cell.framework)), after=after)
        boards = [self.workspace.boards[name].board for name in self.workspace.boards_of(cell.target)]
        lanes = sum(not board.emulated for board in boards) or 1
        return replace(need, lane=f"{need.lane} {cell.target} {crc32(cell.id.encode()) % lanes}") if boards else need

    def run(self, request: Request, judged: Judged) -> Outcome:
        """Compile the cell and call ``judged``. Failed stages, missing environments and tools are outcomes."""

        def compute(run: CellRun) -> Outcome:
            if missing := self.missing_tool(run.cell):
                return run.log.outcome(Status.NOT_PROVIDED, missing)
            found = self.compiled(run)
            return found if isinstance(found, Outcome) else judged(run, found)

        return self._parts.computed(request, compute)

    def ran(self, run: CellRun, found: Compiled) -> Done:
        """The stage that ran the artefact, with its outputs [N, ...] over N inputs."""
        ran = found.ran
        if ran is None:
            ran = run.obtain("run", self._run_task(run, found.subject, found.compiled))
        self.note_run(run, ran, "run")
        return ran

    def note_run(self, run: CellRun, ran: Done, operation: str) -> None:
        """Note where and how the artefact ran, as the reply to the operation says, and what its program counted."""
        for key in ("effective", "placement"):
            if not ran.failure and ran.meta[operation].get(key):
                value = ran.meta[operation][key]
                run.log.placement.update(value if isinstance(value, Mapping) else {key: value})
        self.note_place(run, ran)
        if not ran.failure:
            note_counters(run.log, ran.meta[operation].get("counters", {}))

    def note_place(self, run: CellRun, ran: Done) -> None:
        """Note the proof of place: on which board the artefact ran."""
        if self.workspace.simulates(run.cell.target):
            run.log.placement["timing"] = "emulated"
        place = ran.meta.get(PLACE)
        if place is None:
            return
        run.log.placement["board"] = dict(place)
        if self.workspace.boards[place["name"]].board.emulated:
            run.log.placement["timing"] = "emulated"

    def again(self, run: CellRun, found: Compiled) -> tuple[Done, Done]:
        """The same subject compiled and run once more in fresh processes: both stages, the second of which may fail."""
        task = self._compile_task(run, found.subject, found.calibration)
        compiled = run.again(task)
        if compiled.failure is not None or found.ran is not None:
            return compiled, compiled
        return compiled, run.again(self._run_task(run, found.subject, compiled))

    def with_options(self, run: CellRun, found: Compiled, options: Mapping[str, str]) -> Done:
        """The run of the same subject, compiled with other options of the tool, or the stage of it that failed."""
        chosen = {**self.compile_tasks.settings(run.cell)["options"], **options}
        subject = replace(found.subject, meta={**found.subject.meta, "options": chosen})
        compiled = run.uncredited(self._compile_task(run, subject, found.calibration))
        if compiled.failure is not None or found.ran is not None:
            return compiled
        return run.uncredited(self._run_task(run, subject, compiled))

    def prepared(
        self, run: CellRun, subject: Subject, calibration: InputSet, graph: str, *, every_contraction: bool = False
    ) -> Subject | Failure:
        """The subject as the graph ``graph`` (qdq, weights, dynamic, w16 or fp16), or why that could not be made.

        With ``every_contraction`` the graph ``weights`` has also rounded weights of ConvTranspose, LSTM, GRU and RNN.
        """
        method = self.compile_tasks.calibration
        types = precision_of(run.cell.precision, graph)
        task = graph_tasks.prepared(
            run.tasks, run.model, subject, calibration, graph, method, types, every_contraction=every_contraction
        )  # fmt: skip
        done = run.obtain("graph", task)
        if done.failure:
            return _of_the_tools(done.failure)
        said = done.meta["prepare"]
        if run.cell.graph:
            described = {key: said.get(key) for key in ("operators", "calibration", "weights")}
            run.log.artefacts["graph"] = {name: value for name, value in described.items() if value}
        files = {"model.onnx": done.given["model.onnx"]}
        meta = {"output_scales": said["output_scales"], "unrounded": said.get("unrounded", ())}
        return replace(subject, origin=done.key, files=files, meta=meta)

    def calibration(self, run: CellRun, subject: Subject) -> InputSet:
        """The calibration set of the subject, the same that every tool gets."""
        model = run.model
        return self._calibration(model, subject, run.uncredited(run.tasks.dataset(model)) if model.dataset else None)

    def limits(self, run: CellRun) -> Limits:
        """The limits of one stage of the cell's compiler, in seconds and bytes."""
        return run.tasks.limits(run.model, self.compile_tasks.adapter(run.cell).name)

    def missing_tool(self, cell: Cell) -> str:
        """Which executable that the compiler needs is not found, and its package; empty where all are there."""
        target, declared = self.compile_tasks.target(cell), self.compile_tasks.adapter(cell).declaration
        if declared.get("own_cross_compiler") and cell.target != "local":
            return ""
        for name in declared.get("needs", ()):
            cross = name in ("gcc", "g++", "cc") and "gcc" in target
            wanted = str(target["gcc"]) if cross else str(name)
            if shutil.which(wanted) is None:
                return f"{wanted} not found; install {target.get('package', wanted) if cross else wanted}"
        return _not_installed(declared.get("description", {}))

    def compiled(self, run: CellRun) -> Compiled | Outcome:
        """Export (or build) the source, prepare its graph and compile it; run it where there will be no artefact."""
        cell, model = run.cell, run.model
        file = run.file(None if self._by_file(cell, model) else self._default_export(cell))
        if isinstance(file, Failure):
            return _without_file(run, file)
        inputs = run.inputs(file)
        if (outcome := run.without_inputs(inputs)) is not None:
            return outcome
        dataset = run.uncredited(run.tasks.dataset(model)) if model.dataset else None
        if dataset is not None and dataset.failure:
            reason = f"no dataset to calibrate with: {dataset.failure.message}"
            return run.log.unverified(Unverified.BLOCKED, reason)
        note_needs(run, file)
        original = subject = subjects.of_file(cell, model, file, inputs)
        if cell.graph:
            graph = self.prepared(run, original, self._calibration(model, original, dataset), cell.graph)
            if isinstance(graph, Failure):
                reason = f"no {cell.graph} graph: {graph.message}"
                return run.log.unverified(Unverified.BLOCKED, reason, stage=graph.stage)
            subject = graph
        elif not self._by_file(cell, model):
            subject = subjects.of_framework(cell, model, file.weights, run.tasks)
        calibration = self._calibration(model, subject, dataset) if self.compile_tasks.quantises(cell) else None
        if cell.batch > 1:
            if why_not := batches.why_not(subject, cell.batch):
                return run.log.outcome(Status.UNSUPPORTED, why_not, stage=Stage.CHECK, symptom=Symptom.UNSUPPORTED)
            subject = batches.batched(subject, cell.batch)
            if beyond := self._beyond_memory(run, subject):
                return run.log.unverified(Unverified.NOT_RUN, beyond)
        compiled = run.obtain("compile", self._compile_task(run, subject, calibration))
        ran = compiled if self.compile_tasks.in_one_process(cell) else None
        return self._made(run, Compiled(subject, original, file, inputs, compiled, ran, calibration))

    def _compile_task(self, run: CellRun, subject: Subject, calibration: InputSet | None) -> Task:
        """The task that compiles the subject, and runs it too where there will be no artefact."""
        limits = self.limits(run)
        if not self.compile_tasks.in_one_process(run.cell):
            return self.compile_tasks.compile(run.cell, subject, limits, calibration=calibration)
        inputs = self._inputs(run, subject)
        return self.compile_tasks.compile_and_run(run.cell, subject, limits, calibration=calibration, inputs=inputs)

    def _run_task(self, run: CellRun, subject: Subject, compiled: Done) -> Task:
        """The task that runs the artefact, at the second binding of its symbols too where it keeps them."""
        second_binding = not self._on_test_set and keeps_symbols(compiled)
        return self.compile_tasks.run(
            run.cell, subject, compiled, self.limits(run), inputs=self._inputs(run, subject),
            second_binding=second_binding,
        )  # fmt: skip

    def _made(self, run: CellRun, found: Compiled) -> Compiled | Outcome:
        """Log what was compiled. The outcome where compilation failed or the target is not this machine."""
        failure = found.compiled.failure
        if failure:
            run.log.converted = failure.stage is Stage.RUN
            return run.failed(failure)
        run.log.converted = True
        self._note_artefact(run, found.compiled)
        if self.workspace.runs_here(run.cell.target):
            described = self.compile_tasks.adapter(run.cell).declaration.get("description")
            if described is None or "runner" in described:
                return found
            reason = f"not run: compiled, and the description of {run.cell.compiler} has no runner"
            return run.log.unverified(Unverified.NOT_RUN, reason)
        if why_not := self._not_runnable(run, found):
            return self._for_target(run, found.compiled, why_not)
        wrong = self._wrong_machine(run, found.compiled) if artefacts.elf_files(found.compiled.files) else None
        return wrong or found

    def _calibration(self, model: Model, subject: Subject, dataset: Done | None) -> InputSet:
        method = self.compile_tasks.calibration
        return subjects.calibration_set(model, subject, dataset, seed=self.tasks.seed, method=method)

    def _by_file(self, cell: Cell, model: Model) -> bool:
        """Whether the compiler reads an ONNX file instead of the framework's own model."""
        return bool(cell.exporter) or model.onnx is not None

    def _default_export(self, cell: Cell) -> Cell:
        """The export cell whose file gives the references of a framework's own model: that of its first exporter."""
        adapter = self.workspace.catalog[cell.framework]
        exporter = adapter.default_pairs[0][0] if adapter.default_pairs else next(iter(adapter.exporters))
        return replace(cell, exporter=exporter, opset=adapter.exporters[exporter].opset)

    def _inputs(self, run: CellRun, subject: Subject) -> InputSet:
        if not self._on_test_set:
            return subject.inputs
        return subjects.test_set(run.model, subject, run.uncredited(run.tasks.dataset(run.model)))

    def _note_artefact(self, run: CellRun, compiled: Done) -> None:
        said, log = compiled.meta["compile"], run.log
        log.artefacts.update(artefacts.described(compiled.files))
        log.artefacts["quantiser"] = run.cell.quantiser
        keys = ("effective", "integer", "switches", "options", "notes")
        log.placement.update({key: said[key] for key in keys if said.get(key)})
        log.placement.update(said.get("placement", {}))
        log.placement.setdefault("threads", self.compile_tasks.threads(run.cell))
        for text in said.get("shims", []):
            log.flag(f"shim: {text}")
        if run.cell.types.few_bits or run.cell.types.stored:
            carriers.note(log)
        if said.get("integer") == "simulated":
            log.flag("simulated")
        if share := elsewhere(said.get("placement", {})):
            log.flag(share)

    def _beyond_memory(self, run: CellRun, subject: Subject) -> str:
        """Why the inputs of a batch do not fit into the memory of a stage, or of the target; empty where they may."""
        adapter = self.compile_tasks.adapter(run.cell).name
        limits = run.tasks.limits(run.model, adapter)
        ram = int(self.compile_tasks.target(run.cell).get("ram_bytes", 0))
        return batches.beyond_memory(subject, batches.BATCHES * subject.batch, limits, ram)

    def _not_runnable(self, run: CellRun, found: Compiled) -> str:
        """Why the artefact of a cell for another target is not run; empty where it is."""
        adapter = self.compile_tasks.adapter(run.cell)
        artefact = Artefact(
            target=run.cell.target, target_name=self.workspace.target_name(run.cell.target), compiler=adapter.name,
            program=PROGRAM in found.compiled.files, leaves_none=found.ran is not None,
            runtime_for=tuple(adapter.declaration.get("boards", ())),
        )  # fmt: skip
        return not_runnable(
            artefact, [self.workspace.boards[name] for name in self.workspace.boards_of(artefact.target)]
        )

    def _for_target(self, run: CellRun, compiled: Done, why_not: str) -> Outcome:
        """The outcome of an artefact that is not run: unverified if it was built for the target's machine."""
        portable = self.compile_tasks.adapter(run.cell).declaration.get("portable")
        if portable or compiled.meta["compile"].get("portable"):
            reason = f"not run: compiled, the artefact is the same for every target; {why_not}"
            return run.log.unverified(Unverified.NOT_RUN, reason)
        reason = f"not run: compiled, the artefact is for {run.cell.target}; {why_not}"
        if not self.compile_tasks.target(run.cell).get("elf_machine"):
            return run.log.unverified(
                Unverified.NOT_RUN, reason
            )  # such as an accelerator, whose files are no ELF files
        return self._wrong_machine(run, compiled) or run.log.unverified(Unverified.NOT_RUN, reason)

    def _wrong_machine(self, run: CellRun, compiled: Done) -> Outcome | None:
        """The outcome of an artefact that was not built for the target's machine; None where it was."""
        wrong = artefacts.wrong_machine(compiled.files, self.compile_tasks.target(run.cell))
        if not wrong:
            return None
        return run.log.outcome(Status.ERROR, wrong, stage=Stage.COMPILE, symptom=Symptom.INVALID_MODEL)


def _not_installed(described: Mapping[str, Any]) -> str:
    """Which program of a described compiler is not found, and where it comes from; empty where all are there.

    Only a description that tells where its tool comes from is asked, before its toolchain is made: the tool of any
    other may be a part of the toolchain.
    """
    if not described.get("obtain"):
        return ""
    commands = described["command"]
    for argv in [commands] if isinstance(commands[0], str) else commands:
        if "{" not in argv[0] and shutil.which(argv[0]) is None:
            return f"{argv[0]} not found; to get it: {described['obtain']}"
    return ""


def keeps_symbols(compiled: Done) -> bool:
    """Whether the artefact accepts sizes of symbolic dimensions other than those that it was compiled with."""
    return compiled.meta["compile"].get("dynamic") in (True, "preserved")


def _of_the_tools(failure: Failure) -> Failure:
    """The failure to make a graph, which says whose it is where it is an exception from within ONNX Runtime's tools."""
    if failure.symptom is not Symptom.EXCEPTION or failure.cause is not Cause.TOOL:
        return failure
    return replace(failure, message=f"ONNX Runtime's own tool failed: {failure.message}")


def _without_file(run: CellRun, failure: Failure) -> Outcome:
    """The outcome without a file: a user's file that is not a model fails; a failed export has its own cell."""
    if run.model.onnx is not None:
        return run.failed(failure)
    why = "" if run.cell.exporter else " (noise and mutants are made of its file)"
    reason = f"export failed{why}: {failure.symptom} at {failure.stage}: {failure.message}"
    return run.log.unverified(Unverified.BLOCKED, reason)
