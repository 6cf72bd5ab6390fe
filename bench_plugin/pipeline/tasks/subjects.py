"""What a compiler is given: a file or a framework's own model, with its inputs; and the sets of inputs of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_plugin.domain.cell import Cell
from bench_plugin.inventory.models import Model
from bench_plugin.pipeline.cell_run import OnnxFile
from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.tasks import inputs as generated
from bench_plugin.pipeline.tasks.generated_inputs import GeneratedInputs
from bench_plugin.pipeline.tasks.model_tasks import Tasks, Weights

if TYPE_CHECKING:
    import numpy as np

Arrays = Mapping[str, "np.ndarray[Any, Any]"]

CALIBRATION_SAMPLES = 64
CALIBRATION_SEED = 1000  # apart from the inputs that are compared


@dataclass(frozen=True)
class InputSet:
    """Inputs as a subject takes them, made when they are asked for; ``parts`` name them in recipes.

    ``arrays`` are N samples per input, [N, ...] each, which are run one by one; of a ``batched`` set the first
    dimension is the batch. ``once``: the arrays are the inputs of a single run. ``values`` describes inputs that are
    no plain arrays (sequences, strings, types that numpy lacks).
    """

    arrays: Callable[[], Arrays]
    parts: Mapping[str, Any]
    batched: bool
    once: bool = False
    values: Mapping[str, Any] = field(default_factory=dict)

    def one_by_one(self) -> InputSet:
        """Batched samples as samples with a batch of one each: what comes of them is stacked, never joined."""
        if not self.batched:
            return self
        parts = {**self.parts, "one_by_one": True}
        return InputSet(lambda: {name: x[:, None] for name, x in self.arrays().items()}, parts, batched=False)


@dataclass(frozen=True)
class Subject:
    """What a compiler is given: an ONNX file, or a framework's own model (``files`` then holds at most its weights).

    ``described`` are its inputs with layouts, ``outputs`` what it declares, ``binding`` the sizes of its symbolic
    dimensions; ``meta`` is what only a framework needs; ``example`` makes one sample for compilers that trace.
    """

    origin: str
    files: Mapping[str, Path]
    described: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    binding: Mapping[str, int]
    layout: str
    inputs: InputSet
    second_binding: Callable[[], Arrays] | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    example: Callable[[], Arrays] = dict


def of_file(cell: Cell, model: Model, file: OnnxFile, inputs: GeneratedInputs) -> Subject:
    """An exported (or given) file as a subject."""
    declared = file.check.meta["check"]
    layout = model.constructors[cell.framework].layout if cell.framework in model.constructors else ""
    return Subject(
        file.origin, {"model.onnx": file.path}, inputs.described, list(declared["outputs"]), inputs.binding, layout,
        InputSet(inputs.samples, inputs.parts, inputs.batched), inputs.second_binding,
    )  # fmt: skip


def of_framework(cell: Cell, model: Model, weights: Weights | None, tasks: Tasks) -> Subject:
    """A framework's own model as a subject."""
    constructor = model.constructors[cell.framework]
    seed, layout = tasks.seed, constructor.layout

    def samples(count: int) -> Arrays:
        return _named(generated.samples(model, seed, count, layout))

    def second_binding() -> Arrays:
        return _named(generated.second_binding(model, seed, layout))

    parts = {"model": model.digest, "seed": seed, "samples": model.samples, "layout": layout}
    return Subject(
        f"{cell.framework}:{model.digest}:{weights.key if weights else ''}", weights.files if weights else {},
        generated.describe(model, layout), [dict(row) for row in model.outputs], model.binding(0), layout,
        InputSet(lambda: samples(model.samples), parts, generated.is_batched(model)),
        second_binding if model.bindings > 1 else None,
        {"model": tasks.described(model, constructor, weights), "seed": seed, "framework": cell.framework},
        lambda: samples(1),
    )  # fmt: skip


def test_set(model: Model, subject: Subject, dataset: Done) -> InputSet:
    """The dataset's test images as a subject takes them."""
    name = subject.described[0]["name"]

    def arrays() -> Arrays:
        return {f"in:{name}": generated.fitted(model, dataset.arrays["x_test"], subject.layout)}

    return InputSet(arrays, {"dataset": dataset.key, "layout": subject.layout}, batched=True)


def calibration_set(model: Model, subject: Subject, dataset: Done | None, *, seed: int, method: str) -> InputSet:
    """The same set for every compiler: of the training images, or seeded inputs that are not compared."""

    def values() -> list[Any]:
        if dataset is not None:
            return [generated.fitted(model, dataset.arrays["x_train"][:CALIBRATION_SAMPLES], subject.layout)]
        if model.inputs:
            other = seed + CALIBRATION_SEED
            return list(generated.samples(model, other, CALIBRATION_SAMPLES, subject.layout).values())
        return list(subject.inputs.arrays().values())

    def arrays() -> Arrays:
        return {f"calib:{row['name']}": x for row, x in zip(subject.described, values(), strict=True)}

    source = dataset.key if dataset else seed + CALIBRATION_SEED
    parts = {"source": source, "count": CALIBRATION_SAMPLES, "method": method}
    return InputSet(arrays, parts, subject.inputs.batched)


def _named(arrays: Arrays) -> dict[str, Any]:
    return {f"in:{name}": values for name, values in arrays.items()}
