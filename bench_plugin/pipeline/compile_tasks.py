"""Stages of compiled models as tasks: ready graphs, compiling, running the artefact, emulated precisions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_plugin.domain.cell import Cell
from bench_plugin.domain.outcome import Stage
from bench_plugin.domain.precision import ORIGINAL
from bench_plugin.inventory.adapters import Adapter
from bench_plugin.inventory.models import Model
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.pipeline import inputs
from bench_plugin.pipeline.stages import CallSpec, Done, Task
from bench_plugin.pipeline.steps import OnnxFile
from bench_plugin.pipeline.tasks import Drawn, Tasks, Weights
from bench_plugin.reach.processes.client import Limits

if TYPE_CHECKING:
    import numpy as np

Arrays = Mapping[str, "np.ndarray[Any, Any]"]

EMULATED_SAMPLES = 4
CALIBRATION_SAMPLES = 64
CALIBRATION_SEED = 1000  # apart from the inputs that are compared
PERTURBED_RUNS = 2  # of a quantised graph, to find the inputs whose rounding is stable


@dataclass(frozen=True)
class Given:
    """Inputs [N, ...] as a subject takes them, made when they are asked for; ``parts`` name them in recipes."""

    arrays: Callable[[], Arrays]
    parts: Mapping[str, Any]
    batched: bool


@dataclass(frozen=True)
class Subject:
    """What a compiler is given: an ONNX file, or a framework's own model (``files`` then holds at most its weights).

    ``described`` are its inputs with layouts, ``outputs`` what it declares; ``meta`` is what only a framework needs.
    """

    origin: str
    files: Mapping[str, Path]
    described: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    binding: Mapping[str, int]
    layout: str
    given: Given
    whole: Callable[[], Arrays] | None
    meta: Mapping[str, Any] = field(default_factory=dict)
    example: Callable[[], Arrays] = dict


class CompileTasks:
    """Makes the tasks of compiled cells; ``options`` are those of each compiler, ``calibration`` the method."""

    def __init__(
        self, workspace: Workspace, tasks: Tasks, *, options: Mapping[str, Mapping[str, str]], calibration: str
    ) -> None:
        self._workspace = workspace
        self._tasks = tasks
        self._options = options
        self._calibration = calibration

    def of_file(self, cell: Cell, model: Model, file: OnnxFile, drawn: Drawn) -> Subject:
        """An exported (or given) file as a subject."""
        declared = file.check.meta["check"]
        layout = model.constructors[cell.framework].layout if cell.framework in model.constructors else ""
        given = Given(drawn.samples, drawn.parts, drawn.batched)
        return Subject(
            file.origin, {"model.onnx": file.path}, drawn.described, list(declared["outputs"]), drawn.binding, layout,
            given, drawn.whole,
        )  # fmt: skip

    def of_framework(self, cell: Cell, model: Model, weights: Weights | None) -> Subject:
        """A framework's own model as a subject."""
        constructor = model.constructors[cell.framework]
        seed = self._tasks.seed

        def named(drawn: Arrays) -> Arrays:
            return {f"in:{name}": values for name, values in drawn.items()}

        parts = {"model": model.digest, "seed": seed, "samples": model.samples, "layout": constructor.layout}
        given = Given(
            lambda: named(inputs.samples(model, seed, model.samples, constructor.layout)),
            parts,
            inputs.is_batched(model),
        )
        return Subject(
            f"{cell.framework}:{model.digest}:{weights.key if weights else ''}",
            weights.files if weights else {},
            inputs.describe(model, constructor.layout),
            [dict(row) for row in model.outputs],
            model.binding(0),
            constructor.layout,
            given,
            (lambda: named(inputs.whole(model, seed, constructor.layout))) if model.bindings > 1 else None,
            {"model": self._tasks.described(model, constructor, weights), "seed": seed, "framework": cell.framework},
            lambda: named(inputs.samples(model, seed, 1, constructor.layout)),
        )

    def dataset_given(self, model: Model, subject: Subject, dataset: Done) -> Given:
        """The test set as a subject takes it."""
        name = subject.described[0]["name"]

        def arrays() -> Arrays:
            return {f"in:{name}": inputs.fitted(model, dataset.arrays["x_test"], subject.layout)}

        return Given(arrays, {"dataset": dataset.key, "layout": subject.layout}, batched=True)

    def calibration_given(self, model: Model, subject: Subject, dataset: Done | None) -> Given:
        """The same set for every compiler: of the training images, or seeded inputs that are not compared."""

        def drawn() -> list[Any]:
            if dataset is not None:
                return [inputs.fitted(model, dataset.arrays["x_train"][:CALIBRATION_SAMPLES], subject.layout)]
            if model.inputs:
                other = self._tasks.seed + CALIBRATION_SEED
                return list(inputs.samples(model, other, CALIBRATION_SAMPLES, subject.layout).values())
            return list(subject.given.arrays().values())

        def arrays() -> Arrays:
            return {f"calib:{row['name']}": x for row, x in zip(subject.described, drawn(), strict=True)}

        source = dataset.key if dataset else self._tasks.seed + CALIBRATION_SEED
        parts = {"source": source, "count": CALIBRATION_SAMPLES, "method": self._calibration}
        return Given(arrays, parts, subject.given.batched)

    def graph(self, cell: Cell, model: Model, subject: Subject, calibration: Given, graph: str) -> Task:
        """A ready graph of a reduced precision, made from the subject's file."""
        calibrated = graph == "qdq"
        meta = {"graph": graph, "batched": subject.given.batched, "calibration_method": self._calibration}
        call = CallSpec("prepare", meta, calibration.arrays if calibrated else dict)
        parts = {"file": subject.origin, **(calibration.parts if calibrated else {})}
        limits = self._tasks.limits(model, "onnx_graphs")
        return Task(Stage.BUILD, "onnx_graphs", (call,), parts, limits, subject.files)

    def layers(self, model: Model, subject: Subject) -> Task:
        """A QDQ graph taken apart into its layers."""
        call = CallSpec("layers", {"binding": dict(subject.binding)})
        limits = self._tasks.limits(model, "onnx_graphs")
        return Task(Stage.BUILD, "onnx_graphs", (call,), {"file": subject.origin}, limits, subject.files)

    def tapped(self, model: Model, subject: Subject, apart: Done) -> Task:
        """Every activation's integers in the float64 evaluation of a QDQ graph, sample by sample."""
        given = _one_by_one(subject.given)
        call = CallSpec("evaluate", {"batched": False, "ragged": False, "perturb": None}, given.arrays)
        parts = {"file": apart.key, **given.parts}
        limits = self._tasks.limits(model, "onnx_float64")
        files = {"model.onnx": apart.files["tapped.onnx"]}
        return Task(Stage.REFERENCE, "onnx_float64", (call,), parts, limits, files)

    def cut(self, subject: Subject, apart: Done, truth: Done, integers: Arrays) -> Subject:
        """The layers of a QDQ graph as one subject, with the truth's integers as its inputs."""
        described = [{**row, "layout": ""} for row in apart.meta["layers"]["inputs"]]
        own = _one_by_one(subject.given)

        def arrays() -> Arrays:
            known = {f"{name}_given": values for name, values in integers.items()}
            known.update({name.partition(":")[2]: values for name, values in own.arrays().items()})
            return {f"in:{row['name']}": known[row["name"]] for row in described}

        given = Given(arrays, {"integers": truth.key, **own.parts}, batched=False)
        return Subject(
            f"{apart.key}:cut", {"model.onnx": apart.files["cut.onnx"]}, described,
            list(apart.meta["layers"]["outputs"]), {}, "", given, None,
        )  # fmt: skip

    def predict(self, cell: Cell, model: Model, file: OnnxFile, drawn: Drawn, dataset: Done) -> Task:
        """What the unrounded file says of the test set, in onnxruntime."""
        subject = self.of_file(cell, model, file, drawn)
        given = self.dataset_given(model, subject, dataset)
        call = CallSpec("run", {"batched": True, "ragged": False, "threads": self._tasks.threads}, given.arrays)
        limits = self._tasks.limits(model, "onnxruntime")
        parts = {"file": file.origin, **given.parts}
        return Task(Stage.REFERENCE, "onnxruntime", (call,), parts, limits, {"model.onnx": file.path})

    def emulate(self, model: Model, subject: Subject) -> Task:
        """What every precision would do to a file, on its first inputs."""
        meta = {"batched": subject.given.batched, "samples": EMULATED_SAMPLES}
        call = CallSpec("emulate", meta, subject.given.arrays)
        parts = {"file": subject.origin, **subject.given.parts}
        limits = self._tasks.limits(model, "onnx_emulate")
        return Task(Stage.REFERENCE, "onnx_emulate", (call,), parts, limits, subject.files, sticky=subject.origin)

    def compile(self, cell: Cell, model: Model, subject: Subject, calibration: Given | None) -> Task:
        """The subject as the compiler's artefact."""
        return self._task(cell, model, subject, [self._compile_call(cell, subject, calibration)], calibration)

    def run(self, cell: Cell, model: Model, subject: Subject, compiled: Done, given: Given, *, whole: bool) -> Task:
        """The artefact, run in another process than the one that compiled it."""
        adapter = self._adapter(cell)
        calls = self._run_calls(cell, subject, given, whole=whole)
        return Task(
            Stage.RUN, adapter.name, tuple(calls), {"artefact": compiled.key, **given.parts}, self._limits(cell, model),
            dict(compiled.files), sticky=compiled.key, role="run", toolchain=self._toolchain(cell),
        )  # fmt: skip

    def compile_and_run(
        self, cell: Cell, model: Model, subject: Subject, calibration: Given | None, given: Given
    ) -> Task:
        """For compilers without an artefact: one process does both."""
        calls = [self._compile_call(cell, subject, calibration), *self._run_calls(cell, subject, given, whole=False)]
        task = self._task(cell, model, subject, calls, calibration)
        return replace(task, parts={**task.parts, **given.parts})

    def target(self, cell: Cell) -> dict[str, Any]:
        """The target's description, ``local`` without further facts."""
        return dict(self._workspace.targets.get(cell.target, {"name": cell.target}))

    def _task(
        self, cell: Cell, model: Model, subject: Subject, calls: list[CallSpec], calibration: Given | None
    ) -> Task:
        adapter = self._adapter(cell)
        parts = {"subject": subject.origin, **({"calibration": calibration.parts} if calibration else {})}
        return Task(
            Stage.COMPILE, adapter.name, tuple(calls), parts, self._limits(cell, model), dict(subject.files),
            role="compile", toolchain=self._toolchain(cell),
        )  # fmt: skip

    def _compile_call(self, cell: Cell, subject: Subject, calibration: Given | None) -> CallSpec:
        def arrays() -> Arrays:
            return {**subject.example(), **(calibration.arrays() if calibration else {})}

        return CallSpec("compile", self._meta(cell, subject), arrays)

    def _run_calls(self, cell: Cell, subject: Subject, given: Given, *, whole: bool) -> list[CallSpec]:
        meta = {**self._meta(cell, subject), "batched": given.batched, "ragged": False}
        calls = [CallSpec("run", meta, given.arrays)]
        if whole and subject.whole is not None:
            calls.append(CallSpec("run", {**meta, "whole": True}, subject.whole, prefix="alt:", optional=True))
        return calls

    def _meta(self, cell: Cell, subject: Subject) -> dict[str, Any]:
        adapter, backend = self._workspace.catalog.compiler(cell.compiler)
        said = adapter.declaration.get("description")
        return {
            **({"description": said} if said else {}),
            "precision": cell.precision, "graph": cell.graph or ORIGINAL, "target": self.target(cell),
            "backend": backend or next(iter(adapter.backends), ""), "options": self._chosen(adapter),
            "threads": self._tasks.threads, "inputs": subject.described, "outputs": subject.outputs,
            "batched": subject.given.batched, "binding": dict(subject.binding),
            "calibration_method": self._calibration, **subject.meta,
        }  # fmt: skip

    def _chosen(self, adapter: Adapter) -> dict[str, str]:
        declared: Mapping[str, list[str]] = adapter.declaration.get("options", {})
        return {**{name: values[0] for name, values in declared.items()}, **self._options.get(adapter.name, {})}

    def _adapter(self, cell: Cell) -> Adapter:
        return self._workspace.catalog.compiler(cell.compiler)[0]

    def _toolchain(self, cell: Cell) -> str:
        return self._adapter(cell).toolchain_for(cell.framework)

    def _limits(self, cell: Cell, model: Model) -> Limits:
        return self._tasks.limits(model, self._adapter(cell).name)


def _one_by_one(given: Given) -> Given:
    """Batched samples as samples with a batch of one each: whatever comes of them is stacked, never joined."""
    if not given.batched:
        return given
    parts = {**given.parts, "one_by_one": True}
    return Given(lambda: {name: values[:, None] for name, values in given.arrays().items()}, parts, batched=False)
