"""The tasks of a model's stages: dataset, training, reference, export, check, run, evaluation, mutants, import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench_plugin.domain.cell import WHOLE, Cell
from bench_plugin.domain.outcome import Stage
from bench_plugin.inventory.models import Constructor, Model
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.pipeline.array_sets import ArraySet, identified, joined, renamed
from bench_plugin.pipeline.schedule import Need
from bench_plugin.pipeline.stages import CallSpec, Done, Task
from bench_plugin.pipeline.tasks import inputs as generated
from bench_plugin.pipeline.tasks.generated_inputs import GeneratedInputs
from bench_plugin.pipeline.tasks.given_inputs import GivenInputs
from bench_plugin.reach.processes.given_files import GivenFile
from bench_plugin.reach.processes.leased_agent import Limits, of_computing

NOISE_SAMPLES = 4
FEW_SAMPLES = 4  # of a large file: a mutant differs on any input, or on none, and noise is much the same on all
SMALL = 200_000  # parameters: a file with at most so many is emulated and mutated on all its inputs
GIB = 2**30
CHECKER = "onnx_check"


@dataclass(frozen=True)
class Weights:
    """Trained weights: ``key`` is the recipe that made them, ``file`` their file.

    ``kept`` is the percentage of channels that the model of these weights has in its inner layers.
    """

    key: str
    file: GivenFile
    kept: int = WHOLE

    @property
    def files(self) -> dict[str, GivenFile]:
        """The file under the name that tasks use."""
        return {"weights.npz": self.file}


def few_or_all(model: Model, check: Done) -> int:
    """On how many inputs a file is emulated and mutated: all of a small one (``check`` says how large it is)."""
    return model.samples if check.meta["check"]["parameters"] <= SMALL else min(FEW_SAMPLES, model.samples)


class Tasks:
    """Makes the tasks of cells. ``seed`` is that of weights and inputs, ``threads`` the number for each runtime."""

    def __init__(self, workspace: Workspace, *, seed: int, threads: int) -> None:
        self._workspace = workspace
        self.seed = seed
        self.threads = threads

    def dataset(self, model: Model) -> Task:
        """The dataset of the model: images ``x_train``, ``x_test`` [N, C, H, W], classes
        ``y_train``, ``y_test`` [N].
        """
        limits = self.limits(model, model.dataset)
        return Task(Stage.BUILD, model.dataset, (CallSpec("fetch", {}),), {}, limits)

    def train(self, model: Model, framework: str, dataset: Done) -> Task:
        """The model trained in a framework; the result is one file of weights."""
        constructor = model.constructors[framework]

        def arrays() -> dict[str, Any]:
            images = generated.fitted(model, dataset.arrays["x_train"], constructor.layout)
            return {f"in:{model.inputs[0].name}": images, "labels": dataset.arrays["y_train"]}

        training = dict(model.training(framework))
        meta = {"model": self.described(model, constructor), "seed": self.seed, "batched": True, "training": training}
        parts = {**self._parts(model), "dataset": dataset.key}
        adapter = f"training_{framework}"
        given = identified(("train", model.digest, constructor.layout, dataset.content), arrays)
        return Task(Stage.BUILD, adapter, (CallSpec("train", meta, given),), parts, self.limits(model, adapter))

    def prune(self, model: Model, framework: str, kept: int, dataset: Done, weights: Weights) -> Task:
        """The trained model with ``kept`` percent of the channels of its inner layers, trained again: its weights."""
        whole = self.train(model, framework, dataset)
        (call,) = whole.calls
        meta = {**call.meta, "model": {**call.meta["model"], "kept": kept}}
        parts = {**whole.parts, "weights": weights.key}
        return replace(whole, calls=(replace(call, meta=meta),), parts=parts, files=weights.files)

    def reference(self, model: Model, framework: str, weights: Weights | None = None) -> Task:
        """The framework's outputs [N, ...]: float64 reference, default kernels, a variant and a perturbed run."""
        constructor = model.constructors[framework]
        arrays = named("in", generated.sample_set(model, self.seed, model.samples, constructor.layout))
        if model.bindings > 1:
            other = generated.second_binding_set(model, self.seed, constructor.layout)
            arrays = joined(arrays, named("alt", other))
        meta = {
            "model": self.described(model, constructor, weights), "seed": self.seed,
            "batched": generated.is_batched(model), "noise_samples": NOISE_SAMPLES,
        }  # fmt: skip
        return Task(
            Stage.REFERENCE, framework, (CallSpec("reference", meta, arrays),), self._parts(model),
            self.limits(model, framework), weights.files if weights else {}, affinity=f"{model.name}:{framework}",
        )  # fmt: skip

    def export(self, model: Model, cell: Cell, weights: Weights | None = None) -> Task:
        """The export of the framework's model to an ONNX file."""
        constructor = model.constructors[cell.framework]
        arrays = named("in", generated.sample_set(model, self.seed, 1, constructor.layout))
        meta = {
            "model": self.described(model, constructor, weights), "seed": self.seed,
            "batched": generated.is_batched(model), "exporter": cell.exporter, "opset": cell.opset,
            "dynamic": model.bindings > 1,
        }  # fmt: skip
        return Task(
            Stage.EXPORT, cell.framework, (CallSpec("export", meta, arrays),), self._parts(model),
            self.limits(model, cell.framework), weights.files if weights else {},
            affinity=f"{model.name}:{cell.framework}",
        )  # fmt: skip

    def check(self, file: GivenFile, origin: str, model: Model) -> Task:
        """The result of onnx's checker on the file, and the inputs and outputs that the file declares."""
        return self._on_file(Stage.CHECK, "onnx_check", "check", file, origin, model, {})

    def without_quant_nodes(self, file: GivenFile, origin: str, model: Model) -> Task:
        """A QONNX file with QuantizeLinear and DequantizeLinear in place of its own operators."""
        return self._on_file(Stage.BUILD, "onnx_graphs", "prepare", file, origin, model, {"graph": "qcdq"})

    def run(self, file: GivenFile, origin: str, model: Model, inputs: GeneratedInputs) -> Task:
        """A run of the file in onnxruntime, at both bindings of symbols."""
        meta = {**_shape_of(model, inputs), "threads": self.threads}
        calls = [CallSpec("run", meta, inputs.samples)]
        if inputs.second_binding:
            calls.append(CallSpec("run", {**meta, "whole": True}, inputs.second_binding, prefix="alt:", optional=True))
        limits = self.limits(model, "onnxruntime")
        return Task(
            Stage.RUN,
            "onnxruntime",
            tuple(calls),
            {"file": origin, **inputs.parts},
            limits,
            {"model.onnx": file},
            affinity=origin,
        )

    def evaluate(
        self, file: Path | GivenFile, origin: str, model: Model, inputs: GeneratedInputs, *, perturbed: int = 0
    ) -> Task:
        """The file evaluated in float64, and ``perturbed`` times also with weights and inputs off by one ULP."""
        meta = {**_shape_of(model, inputs), "perturb": None}
        calls = [CallSpec("evaluate", meta, inputs.samples)]
        for index in range(perturbed):
            other = {**meta, "perturb": self.seed + 1 + index}
            calls.append(CallSpec("evaluate", other, inputs.samples, prefix=f"perturbed{index or ''}:"))
        limits = self.limits(model, "onnx_float64")
        parts = {"file": origin, **inputs.parts}
        return Task(Stage.REFERENCE, "onnx_float64", tuple(calls), parts, limits, {"model.onnx": file}, affinity=origin)

    def mutants(self, file: GivenFile, origin: str, check: Done, model: Model, inputs: GeneratedInputs) -> Task:
        """The outputs of the file's mutants on its first inputs."""
        meta = {"batched": inputs.batched, "samples": few_or_all(model, check)}
        limits = self.limits(model, "onnx_mutants")
        parts = {"file": origin, **inputs.parts}
        return Task(
            Stage.BUILD,
            "onnx_mutants",
            (CallSpec("mutate", meta, inputs.samples),),
            parts,
            limits,
            {"model.onnx": file},
        )

    def import_run(self, file: GivenFile, origin: str, cell: Cell, model: Model, inputs: GeneratedInputs) -> Task:
        """The file imported into a framework and run there, in one task and so in one agent."""
        meta = {"importer": cell.importer, "inputs": inputs.described, "batched": inputs.batched}
        calls = [
            CallSpec("import_model", meta, prefix="import:"),
            CallSpec("run_imported", _shape_of(model, inputs), inputs.samples),
        ]
        if inputs.second_binding:
            calls.append(CallSpec("run_imported", {"whole": True}, inputs.second_binding, prefix="alt:", optional=True))
        limits = self.limits(model, cell.importer_framework)
        parts = {"file": origin, **inputs.parts}
        return Task(Stage.IMPORT, cell.importer_framework, tuple(calls), parts, limits, {"model.onnx": file})

    def inputs(self, model: Model, framework: str, check: Done) -> GeneratedInputs:
        """The inputs of a file, generated or the user's own, under the file's own names and in the layout that it was
        exported with.
        """
        if model.given is not None:
            return GivenInputs(model, model.given, self.seed, check.meta["check"])
        return GeneratedInputs(model, model.constructors.get(framework), self.seed, check.meta["check"])

    def _on_file(
        self, stage: Stage, adapter: str, operation: str, file: GivenFile, origin: str, model: Model,
        meta: Mapping[str, Any],
    ) -> Task:  # fmt: skip
        calls = (CallSpec(operation, meta),)
        return Task(stage, adapter, calls, {"file": origin}, self.limits(model, adapter), {"model.onnx": file})

    def described(self, model: Model, constructor: Constructor, weights: Weights | None = None) -> dict[str, Any]:
        """The description of a model that the adapters of frameworks get."""
        trained = {"trained": weights.key} if weights else {}
        kept = {"kept": weights.kept} if weights and weights.kept != WHOLE else {}
        return {
            **trained,
            **kept,
            "name": model.name,
            "spec": dict(constructor.spec),
            "source_name": constructor.source_name,
            "source": constructor.source,
            "inputs": generated.describe(model, constructor.layout),
            "outputs": [dict(row) for row in model.outputs],
            "detections": model.detections,
            "binding": model.binding(0),
            "weights": dict(model.extra.get("weights", {})),
        }

    def _parts(self, model: Model) -> dict[str, Any]:
        return {"model": model.digest, "samples": model.samples}

    def toolchain(self, adapter: str) -> str:
        """The toolchain of an adapter; that of our own ONNX tools for a user's file, which no framework made."""
        catalog = self._workspace.catalog
        return catalog[adapter if adapter in catalog.adapters else CHECKER].toolchain

    def need(self, cell: Cell, toolchain: str) -> Need:
        """What a cell of a model occupies: the given toolchain, and the model's memory in bytes."""
        return Need(toolchain, int(self._workspace.models[cell.model].memory_gb * GIB))

    def limits(self, model: Model, adapter: str) -> Limits:
        """The limits of one stage of a model: its seconds of processor time, the larger of both memories in bytes."""
        toolchain = self._workspace.catalog[adapter].toolchain
        memory = max(self._workspace.toolchains.memory_gb(toolchain), model.memory_gb)
        return of_computing(model.seconds, int(memory * GIB))


def named(kind: str, arrays: ArraySet) -> ArraySet:
    """The arrays under their names in a call, ``<kind>:<name>``."""
    return renamed(arrays, lambda found: {f"{kind}:{name}": values for name, values in found.items()})


def _shape_of(model: Model, inputs: GeneratedInputs) -> dict[str, Any]:
    """How samples are separated: along the batch or not, and whether the length of outputs varies."""
    return {"batched": inputs.batched, "ragged": model.detections}
