"""The one builder of compile and run calls, for models, operator cases, generated graphs and parts of graphs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from bench_plugin.domain.cell import Cell
from bench_plugin.domain.outcome import Stage
from bench_plugin.domain.precision import ORIGINAL, PRECISIONS
from bench_plugin.inventory.adapters import Adapter
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.pipeline.array_sets import joined
from bench_plugin.pipeline.stages import CallSpec, Done, Task
from bench_plugin.pipeline.tasks.subjects import InputSet, Subject
from bench_plugin.reach.processes.leased_agent import Limits


class CompileTasks:
    """Makes the tasks of compiled cells.

    ``threads`` is the number of threads that a runtime may use, ``calibration`` the name of the calibration method.
    """

    def __init__(self, workspace: Workspace, *, threads: int) -> None:
        self._workspace = workspace
        self._threads = threads
        self.calibration = workspace.calibration

    def compile(self, cell: Cell, subject: Subject, limits: Limits, *, calibration: InputSet | None = None) -> Task:
        """The task that compiles the subject; ``calibration`` is for tools that quantise (:meth:`quantises`)."""
        return self._compiled(cell, subject, limits, [self._compile_call(cell, subject, calibration)], calibration)

    def run(
        self, cell: Cell, subject: Subject, compiled: Done, limits: Limits, *, inputs: InputSet | None = None,
        second_binding: bool = False,
    ) -> Task:  # fmt: skip
        """The task that runs the artefact, in another process than the one that compiled it.

        It runs on ``inputs``, by default the subject's own, and with ``second_binding`` also on that of the subject.
        """
        given = inputs or subject.inputs
        calls = self._run_calls(cell, subject, given, second_binding=second_binding)
        return Task(
            Stage.RUN, self.adapter(cell).name, tuple(calls), {"artefact": compiled.key, **given.parts}, limits,
            compiled.given, affinity=compiled.key, role="run", toolchain=self.toolchain(cell),
            board="" if self.runs_here(cell) else cell.target,
        )  # fmt: skip

    def rebuild(
        self, cell: Cell, subject: Subject, compiled: Done, limits: Limits, *, fused_sums: bool = False
    ) -> Task:
        """The task that reads back what the tool quantised, from the artefact alone (docs/numbers.md).

        With ``fused_sums`` what is added to something does not become an output.
        """
        more = {"fused_sums": True} if fused_sums else {}
        call = CallSpec("rebuild", {**self._meta(cell, subject), **more})
        parts = {"artefact": compiled.key}
        return Task(
            Stage.BUILD, self.adapter(cell).name, (call,), parts, limits, compiled.given, role="rebuild",
            toolchain=self.toolchain(cell),
        )  # fmt: skip

    def rebuilds(self, cell: Cell) -> bool:
        """Whether the adapter of the cell's compiler can read back what the tool quantised."""
        return "rebuild" in self.adapter(cell).declaration.get("operations", ())

    def compile_and_run(
        self, cell: Cell, subject: Subject, limits: Limits, *, calibration: InputSet | None = None,
        inputs: InputSet | None = None, short: bool = False,
    ) -> Task:  # fmt: skip
        """The task that compiles and runs in one process, for compilers without an artefact.

        The artefact of a ``short`` subject, if there is one, stays with that process: nobody else reads it.
        """
        given = inputs or subject.inputs
        compiled = replace(self._compile_call(cell, subject, calibration), take_files=not short)
        calls = [compiled, *self._run_calls(cell, subject, given)]
        task = self._compiled(cell, subject, limits, calls, calibration)
        return replace(task, parts={**task.parts, **given.parts})

    def in_one_process(self, cell: Cell, *, short: bool = False) -> bool:
        """Whether the process that compiles also runs.

        It must where the compiler leaves no artefact. A ``short`` subject, such as an operator case, is also run there
        where the artefact is the model file itself: another process would only compile it a second time.
        """
        adapter, backend = self._workspace.catalog.compiler(cell.compiler)
        said = adapter.declaration
        no_artefact = not said.get("artefact", True) or backend in said.get("jit_backends", ())
        return no_artefact or (short and cell.target == "local" and bool(said.get("artefact_is_model")))

    def quantises(self, cell: Cell) -> bool:
        """Whether the tool itself quantises activations, so that it needs a calibration set."""
        return cell.quantiser == "own" and PRECISIONS[cell.precision].quantised

    def fast_math(self, cell: Cell) -> bool:
        """Whether the tool declares fast math at the cell's precision."""
        return cell.precision in self.adapter(cell).declaration.get("loose", ())

    def exact_options(self, cell: Cell, operators: Collection[str]) -> dict[str, str]:
        """The options, with values that this run does not have, by which the tool does without its fast math.

        Empty at precisions for which it declares none, and where they change none of the ``operators`` of the file.
        """
        adapter = self.adapter(cell)
        changed = adapter.declaration.get("exact_for", ())
        if changed and not set(changed).intersection(operators):
            return {}
        exact: Mapping[str, str] = adapter.declaration.get("exact", {}) if self.fast_math(cell) else {}
        chosen = self._options(adapter)
        return {name: value for name, value in exact.items() if chosen[name] != value}

    def target(self, cell: Cell) -> dict[str, Any]:
        """The description of the cell's target; for ``local`` only its name."""
        return dict(self._workspace.description(cell.target) or {"name": cell.target})

    def runs_here(self, cell: Cell) -> bool:
        """Whether the artefact of the cell runs on this machine, and not on a board."""
        return self._workspace.runs_here(cell.target)

    def adapter(self, cell: Cell) -> Adapter:
        """The adapter of the cell's compiler."""
        return self._workspace.catalog.compiler(cell.compiler)[0]

    def toolchain(self, cell: Cell) -> str:
        """The name of the toolchain in which the cell's compiler works."""
        return self.adapter(cell).toolchain_for(cell.framework)

    def settings(self, cell: Cell) -> dict[str, Any]:
        """The fields of the compile and run calls that do not depend on the subject."""
        adapter, backend = self._workspace.catalog.compiler(cell.compiler)
        description = adapter.declaration.get("description")
        return {
            **({"description": description} if description else {}),
            "precision": cell.precision, "graph": cell.graph or ORIGINAL, "target": self.target(cell),
            "backend": backend or next(iter(adapter.backends), ""), "options": self._options(adapter),
            "threads": self.threads(cell), "calibration_method": self.calibration,
        }  # fmt: skip

    def threads(self, cell: Cell) -> int:
        """The number of threads that the cell's runtime may use: its own where it is swept, else that of the run."""
        return cell.threads or self._threads

    def _compiled(
        self, cell: Cell, subject: Subject, limits: Limits, calls: list[CallSpec], calibration: InputSet | None
    ) -> Task:
        parts = {"subject": subject.origin, **({"calibration": calibration.parts} if calibration else {})}
        return Task(
            Stage.COMPILE, self.adapter(cell).name, tuple(calls), parts, limits, dict(subject.files), role="compile",
            toolchain=self.toolchain(cell),
        )  # fmt: skip

    def _compile_call(self, cell: Cell, subject: Subject, calibration: InputSet | None) -> CallSpec:
        arrays = joined(subject.example, calibration.arrays) if calibration else subject.example
        return CallSpec("compile", self._meta(cell, subject), arrays)

    def _run_calls(
        self, cell: Cell, subject: Subject, given: InputSet, *, second_binding: bool = False
    ) -> list[CallSpec]:
        meta = {**self._meta(cell, subject), "batched": given.batched, "ragged": False}
        own = {**meta, **({"whole": True} if given.once else {}), **({"values": given.values} if given.values else {})}
        calls = [CallSpec("run", own, given.arrays)]
        if second_binding and subject.second_binding is not None:
            other = {**meta, "whole": True}
            calls.append(CallSpec("run", other, subject.second_binding, prefix="alt:", optional=True))
        return calls

    def _meta(self, cell: Cell, subject: Subject) -> dict[str, Any]:
        return {
            **self.settings(cell), "inputs": subject.described, "outputs": subject.outputs,
            "batched": subject.inputs.batched, "binding": dict(subject.binding),
            **({"batch": subject.batch} if subject.batch > 1 else {}), **subject.meta,
        }  # fmt: skip

    def _options(self, adapter: Adapter) -> dict[str, str]:
        declared: Mapping[str, list[str]] = adapter.declaration.get("options", {})
        return {
            **{name: values[0] for name, values in declared.items()},
            **self._workspace.options.get(adapter.name, {}),
        }
