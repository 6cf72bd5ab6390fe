"""The subjects of compilers, a file or a framework's own model, and the sets of inputs that they run on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_plugin.domain.cell import Cell
from bench_plugin.inventory.models import Model
from bench_plugin.pipeline.array_sets import ArraySet, identified, renamed
from bench_plugin.pipeline.cell_run import OnnxFile
from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.tasks import inputs as generated
from bench_plugin.pipeline.tasks.generated_inputs import GeneratedInputs
from bench_plugin.pipeline.tasks.model_tasks import Tasks, Weights, named
from bench_plugin.reach.processes.given_files import GivenFile

if TYPE_CHECKING:
    import numpy as np

Arrays = Mapping[str, "np.ndarray[Any, Any]"]

CALIBRATION_SAMPLES = 64
CALIBRATION_SEED = 1000  # added to the seed, so that calibration does not use the inputs of a model that are compared


@dataclass(frozen=True)
class InputSet:
    """A set of inputs of a subject, generated on use; ``parts`` identify it in recipes.

    ``arrays`` gives N samples of every input, [N, ...] of its dtype, which are run one by one; in a ``batched`` set a
    sample is [1, ...]. With ``once`` the arrays [...] are the inputs of a single run. ``values`` describes inputs that
    are not arrays (sequences, strings, types that numpy lacks).
    """

    arrays: ArraySet
    parts: Mapping[str, Any]
    batched: bool
    once: bool = False
    values: Mapping[str, Any] = field(default_factory=dict)

    def one_by_one(self) -> InputSet:
        """The same samples [N, 1, ...] with a batch of 1 each, so that outputs are stacked and not concatenated."""
        if not self.batched:
            return self
        parts = {**self.parts, "one_by_one": True}
        own = self.arrays
        apart = ArraySet(
            lambda: {name: x[:, None] for name, x in own().items()},
            lambda: {name: f"{digest} one by one" for name, digest in own.digests().items()},
        )
        return InputSet(apart, parts, batched=False)


@dataclass(frozen=True)
class Subject:
    """What a compiler gets: an ONNX file, or a framework's own model (``files`` then holds its trained weights, if
    any).

    ``origin`` identifies it in recipes. ``described`` are its inputs with layouts, ``outputs`` those that it declares,
    ``binding`` the sizes of its symbolic dimensions. ``second_binding`` makes inputs [...] at other sizes, None for a
    static model. ``meta`` is what only frameworks need; ``example`` makes one sample [1, ...] for compilers that trace.
    A call takes ``batch`` samples (checks/compiled/batches.py); the example is then [batch, ...].
    """

    origin: str
    files: Mapping[str, Path | GivenFile]
    described: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    binding: Mapping[str, int]
    layout: str
    inputs: InputSet
    second_binding: Callable[[], Arrays] | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    example: Callable[[], Arrays] = dict
    batch: int = 1


def of_file(cell: Cell, model: Model, file: OnnxFile, inputs: GeneratedInputs) -> Subject:
    """The subject of an ONNX file, exported or the user's own."""
    declared = file.check.meta["check"]
    layout = model.constructors[cell.framework].layout if cell.framework in model.constructors else ""
    return Subject(
        file.origin, {"model.onnx": file.given}, inputs.described, list(declared["outputs"]), inputs.binding, layout,
        InputSet(inputs.samples, inputs.parts, inputs.batched), inputs.second_binding,
    )  # fmt: skip


def of_framework(cell: Cell, model: Model, weights: Weights | None, tasks: Tasks) -> Subject:
    """The subject of a framework's own model."""
    constructor = model.constructors[cell.framework]
    seed, layout = tasks.seed, constructor.layout

    def samples(count: int) -> ArraySet:
        return named("in", generated.sample_set(model, seed, count, layout))

    parts = {"model": model.digest, "seed": seed, "samples": model.samples, "layout": layout}
    return Subject(
        f"{cell.framework}:{model.digest}:{weights.key if weights else ''}", weights.files if weights else {},
        generated.describe(model, layout), [dict(row) for row in model.outputs], model.binding(0), layout,
        InputSet(samples(model.samples), parts, generated.is_batched(model)),
        named("in", generated.second_binding_set(model, seed, layout)) if model.bindings > 1 else None,
        {"model": tasks.described(model, constructor, weights), "seed": seed, "framework": cell.framework},
        samples(1),
    )  # fmt: skip


def test_set(model: Model, subject: Subject, dataset: Done) -> InputSet:
    """The test images of the dataset as inputs [N, ...] of the subject."""
    name = subject.described[0]["name"]

    def arrays() -> Arrays:
        return {f"in:{name}": generated.fitted(model, dataset.arrays["x_test"], subject.layout)}

    given = identified(("test set", model.digest, dataset.content, subject.layout, name), arrays)
    return InputSet(given, {"dataset": dataset.key, "layout": subject.layout}, batched=True)


def calibration_set(model: Model, subject: Subject, dataset: Done | None, *, seed: int, method: str) -> InputSet:
    """The calibration set [CALIBRATION_SAMPLES, ...], the same for every compiler.

    It consists of training images where there is a dataset, else of seeded inputs that are never compared. Of a file
    without a description it is the inputs [N, ...] that are compared: nothing else is known of what it takes.
    """

    def images(dataset: Done) -> Arrays:
        return {"": generated.fitted(model, dataset.arrays["x_train"][:CALIBRATION_SAMPLES], subject.layout)}

    def under_names(values: Mapping[str, Any]) -> dict[str, Any]:
        return {f"calib:{row['name']}": x for row, x in zip(subject.described, values.values(), strict=True)}

    if dataset is not None:
        identity = ("calibration", model.digest, dataset.content, subject.layout)
        values = identified(identity, lambda: images(dataset))
    elif model.inputs:
        values = generated.sample_set(model, seed + CALIBRATION_SEED, CALIBRATION_SAMPLES, subject.layout)
    else:
        values = subject.inputs.arrays
    arrays = renamed(values, under_names)
    source = {"source": dataset.key if dataset else seed + CALIBRATION_SEED, "count": CALIBRATION_SAMPLES}
    parts = {**(source if dataset is not None or model.inputs else subject.inputs.parts), "method": method}
    return InputSet(arrays, parts, subject.inputs.batched)
