"""Stages of a round trip as tasks: which operation, with which inputs, under which recipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench_plugin.domain.cell import Cell
from bench_plugin.domain.outcome import Stage
from bench_plugin.inventory.models import Constructor, InputSpec, Model
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.pipeline import inputs
from bench_plugin.pipeline.stages import CallSpec, Done, Task
from bench_plugin.reach.processes.client import Limits

NOISE_SAMPLES = 4
MUTANT_SAMPLES = 2  # a mutant is off by orders of magnitude on any input, or it is not caught at all
GIB = 2**30
DRAWN = (
    "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool",
)  # fmt: skip


@dataclass(frozen=True)
class Weights:
    """Trained weights: the recipe that they come from, and their file."""

    key: str
    path: Path

    @property
    def files(self) -> dict[str, Path]:
        """As a task takes them."""
        return {"weights.npz": self.path}


class Tasks:
    """Makes the tasks of cells; ``seed`` is that of weights and inputs."""

    def __init__(self, workspace: Workspace, *, seed: int, threads: int) -> None:
        self._workspace = workspace
        self.seed = seed
        self.threads = threads

    def dataset(self, model: Model) -> Task:
        """The model's dataset: ``x_train y_train x_test y_test``."""
        limits = self.limits(model, model.dataset)
        return Task(Stage.BUILD, model.dataset, (CallSpec("fetch", {}),), {}, limits)

    def train(self, model: Model, framework: str, dataset: Done) -> Task:
        """The model trained in a framework, as one file of weights."""
        constructor = model.constructors[framework]

        def arrays() -> dict[str, Any]:
            images = inputs.fitted(model, dataset.arrays["x_train"], constructor.layout)
            return {f"in:{model.inputs[0].name}": images, "labels": dataset.arrays["y_train"]}

        training = dict(model.training(framework))
        meta = {"model": self.described(model, constructor), "seed": self.seed, "batched": True, "training": training}
        parts = {**self._parts(model), "dataset": dataset.key}
        adapter = f"training_{framework}"
        return Task(Stage.BUILD, adapter, (CallSpec("train", meta, arrays),), parts, self.limits(model, adapter))

    def reference(self, model: Model, framework: str, weights: Weights | None = None) -> Task:
        """Truth in float64, default kernels, a variant and a perturbed run, by the framework itself."""
        constructor = model.constructors[framework]

        def arrays() -> dict[str, Any]:
            drawn = inputs.samples(model, self.seed, model.samples, constructor.layout)
            given = {f"in:{name}": value for name, value in drawn.items()}
            if model.bindings > 1:
                other = inputs.whole(model, self.seed, constructor.layout)
                given.update({f"alt:{name}": value for name, value in other.items()})
            return given

        meta = {
            "model": self.described(model, constructor, weights), "seed": self.seed,
            "batched": inputs.is_batched(model), "noise_samples": NOISE_SAMPLES,
        }  # fmt: skip
        return Task(
            Stage.REFERENCE, framework, (CallSpec("reference", meta, arrays),), self._parts(model),
            self.limits(model, framework), weights.files if weights else {}, sticky=f"{model.name}:{framework}",
        )  # fmt: skip

    def export(self, model: Model, cell: Cell, weights: Weights | None = None) -> Task:
        """The framework's model as an ONNX file."""
        constructor = model.constructors[cell.framework]

        def arrays() -> dict[str, Any]:
            drawn = inputs.samples(model, self.seed, 1, constructor.layout)
            return {f"in:{name}": value for name, value in drawn.items()}

        meta = {
            "model": self.described(model, constructor, weights), "seed": self.seed,
            "batched": inputs.is_batched(model), "exporter": cell.exporter, "opset": cell.opset,
            "dynamic": model.bindings > 1,
        }  # fmt: skip
        return Task(
            Stage.EXPORT, cell.framework, (CallSpec("export", meta, arrays),), self._parts(model),
            self.limits(model, cell.framework), weights.files if weights else {},
            sticky=f"{model.name}:{cell.framework}",
        )  # fmt: skip

    def check(self, file: Path, origin: str, model: Model) -> Task:
        """What onnx's checker says of the file, and what the file declares."""
        return self._on_file(Stage.CHECK, "onnx_check", "check", file, origin, model, {})

    def run(self, file: Path, origin: str, model: Model, drawn: Drawn) -> Task:
        """The file in onnxruntime, at both bindings."""
        meta = {**_shape_of(model, drawn), "threads": self.threads}
        calls = [CallSpec("run", meta, drawn.samples)]
        if drawn.whole:
            calls.append(CallSpec("run", {**meta, "whole": True}, drawn.whole, prefix="alt:", optional=True))
        limits = self.limits(model, "onnxruntime")
        return Task(
            Stage.RUN,
            "onnxruntime",
            tuple(calls),
            {"file": origin, **drawn.parts},
            limits,
            {"model.onnx": file},
            sticky=origin,
        )

    def evaluate(self, file: Path, origin: str, model: Model, drawn: Drawn, *, perturbed: int = 0) -> Task:
        """The file's own function in float64; ``perturbed`` times also with weights and inputs off by one ulp."""
        meta = {**_shape_of(model, drawn), "perturb": None}
        calls = [CallSpec("evaluate", meta, drawn.samples)]
        for index in range(perturbed):
            other = {**meta, "perturb": self.seed + 1 + index}
            calls.append(CallSpec("evaluate", other, drawn.samples, prefix=f"perturbed{index or ''}:"))
        limits = self.limits(model, "onnx_float64")
        parts = {"file": origin, **drawn.parts}
        return Task(Stage.REFERENCE, "onnx_float64", tuple(calls), parts, limits, {"model.onnx": file}, sticky=origin)

    def mutants(self, file: Path, origin: str, model: Model, drawn: Drawn) -> Task:
        """Outputs of the file's standard mutants."""
        meta = {"batched": drawn.batched, "samples": MUTANT_SAMPLES}
        limits = self.limits(model, "onnx_mutants")
        parts = {"file": origin, **drawn.parts}
        return Task(
            Stage.BUILD, "onnx_mutants", (CallSpec("mutate", meta, drawn.samples),), parts, limits, {"model.onnx": file}
        )

    def import_run(self, file: Path, origin: str, cell: Cell, model: Model, drawn: Drawn) -> Task:
        """The file imported into a framework and run there; one task, for the imported model lives in the agent."""
        meta = {"importer": cell.importer, "inputs": drawn.described, "batched": drawn.batched}
        calls = [
            CallSpec("import_model", meta, prefix="import:"),
            CallSpec("run_imported", _shape_of(model, drawn), drawn.samples),
        ]
        if drawn.whole:
            calls.append(CallSpec("run_imported", {"whole": True}, drawn.whole, prefix="alt:", optional=True))
        limits = self.limits(model, cell.importer_framework)
        parts = {"file": origin, **drawn.parts}
        return Task(Stage.IMPORT, cell.importer_framework, tuple(calls), parts, limits, {"model.onnx": file})

    def drawn(self, model: Model, framework: str, check: Done) -> Drawn:
        """The inputs that a file takes, under the file's own names and in the layout that it was exported with."""
        return Drawn(model, model.constructors.get(framework), self.seed, check.meta["check"])

    def _on_file(
        self, stage: Stage, adapter: str, operation: str, file: Path, origin: str, model: Model, meta: Mapping[str, Any]
    ) -> Task:
        calls = (CallSpec(operation, meta),)
        return Task(stage, adapter, calls, {"file": origin}, self.limits(model, adapter), {"model.onnx": file})

    def described(self, model: Model, constructor: Constructor, weights: Weights | None = None) -> dict[str, Any]:
        """A model as a framework's adapter is told it."""
        trained = {"trained": weights.key} if weights else {}
        return {
            **trained,
            "name": model.name,
            "spec": dict(constructor.spec),
            "source_name": constructor.source_name,
            "source": constructor.source,
            "inputs": inputs.describe(model, constructor.layout),
            "outputs": [dict(row) for row in model.outputs],
            "detections": model.detections,
            "binding": model.binding(0),
            "weights": dict(model.extra.get("weights", {})),
        }

    def _parts(self, model: Model) -> dict[str, Any]:
        return {"model": model.digest, "samples": model.samples}

    def limits(self, model: Model, adapter: str) -> Limits:
        toolchain = self._workspace.catalog[adapter].toolchain
        memory = max(self._workspace.toolchains.memory_gb(toolchain), model.memory_gb)
        return Limits(seconds=model.seconds, memory_bytes=int(memory * GIB))


def _shape_of(model: Model, drawn: Drawn) -> dict[str, Any]:
    """How samples are told apart: along the batch, and whether outputs vary in length."""
    return {"batched": drawn.batched, "ragged": model.detections}


class Drawn:
    """Inputs for one file, made when asked for: names and order are the file's."""

    def __init__(self, model: Model, constructor: Constructor | None, seed: int, declared: Mapping[str, Any]) -> None:
        self._model = model if model.inputs else _model_of(model, declared)
        self._layout = constructor.layout if constructor else ""
        self._seed = seed
        self._names = [row["name"] for row in declared["inputs"]]
        self.batched = inputs.is_batched(self._model)
        self.parts = {
            "model": model.digest,
            "seed": seed,
            "samples": model.samples,
            "layout": self._layout,
            "names": self._names,
        }
        self.whole = self._whole if self._model.bindings > 1 else None
        described = inputs.describe(self._model, self._layout)
        self.described = [
            {**row, "layout": mine["layout"]} for row, mine in zip(declared["inputs"], described, strict=False)
        ]
        self.complaint = self._complain(declared)
        self._declared = declared

    @property
    def binding(self) -> dict[str, int]:
        """The numbers of the file's symbolic dimensions, under the names that the file gives them, in one sample."""
        found: dict[str, int] = {}
        binding = {**self._model.binding(0), inputs.BATCH: 1}
        for row, spec in zip(self._declared["inputs"], self._model.inputs, strict=False):
            shape = inputs.permuted(spec.bound(binding), spec.layout, self._layout)
            found.update({dim: size for dim, size in zip(row["shape"], shape, strict=False) if isinstance(dim, str)})
        return found

    def samples(self) -> dict[str, Any]:
        """[N, ...] per input (Tasks' convention: ``in:`` and the file's name)."""
        return self._named(inputs.samples(self._model, self._seed, self._model.samples, self._layout))

    def _whole(self) -> dict[str, Any]:
        return self._named(inputs.whole(self._model, self._seed, self._layout))

    def _named(self, drawn: Mapping[str, Any]) -> dict[str, Any]:
        return {f"in:{name}": value for name, value in zip(self._names, drawn.values(), strict=True)}

    def _complain(self, declared: Mapping[str, Any]) -> str:
        for row in declared["inputs"]:
            if row["dtype"] not in DRAWN:
                named = row["dtype"] if row["dtype"] not in ("", "object") else "string, or no tensor at all"
                return f"input {row['name']!r} is of type {named}; inputs are drawn of {', '.join(DRAWN)}"
        have, want = len(declared["inputs"]), len(self._model.inputs)
        return "" if have == want else f"the file takes {have} inputs ({', '.join(self._names)}), the model has {want}"


def _model_of(model: Model, declared: Mapping[str, Any]) -> Model:
    """A plain file's inputs as specs: its symbolic dimensions are bound to 1 or 2 for a batch, 8 otherwise."""
    symbols: dict[str, tuple[int, ...]] = {}
    specs = []
    for row in declared["inputs"]:
        shape: list[int | str] = []
        for index, dim in enumerate(row["shape"]):
            if isinstance(dim, int):
                shape.append(dim)
                continue
            name = inputs.BATCH if index == 0 else (str(dim) or f"{row['name']}_{index}")
            symbols[name] = (1, 2) if index == 0 else (8, 9)
            shape.append(name)
        specs.append(InputSpec(row["name"], tuple(shape), row["dtype"]))
    return replace(model, inputs=tuple(specs), symbols=symbols)
