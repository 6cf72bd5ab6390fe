"""From a cell to the files of its layers: the facts of its model, the cut, and the tensors that layers are fed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_plugin.characterise.facts import Facts
from bench_plugin.checks.layers.pieces import LAYER, Piece, pieces
from bench_plugin.domain.outcome import Failure, Outcome, Stage, Unverified
from bench_plugin.domain.recipes import recipe
from bench_plugin.inventory.inputs_file import InputsFile
from bench_plugin.inventory.models import Model
from bench_plugin.pipeline.array_sets import ArraySet
from bench_plugin.pipeline.cell_log import CellLog
from bench_plugin.pipeline.cell_run import CellRun, OnnxFile
from bench_plugin.pipeline.stages import CallSpec, Done, Task
from bench_plugin.pipeline.tasks import subjects
from bench_plugin.pipeline.tasks.subjects import InputSet

if TYPE_CHECKING:
    import numpy as np

    Arrays = Mapping[str, np.ndarray[Any, Any]]

FACTS, UNITS, RUNTIME = "onnx_facts", "onnx_units", "onnxruntime"
SAMPLES = 4  # of the model's inputs: a layer gets the tensors that these give
STACKED = 2  # of them go through stacks and blocks, whose references cost several times those of all layers
BATCH = "batch"


@dataclass(frozen=True)
class Cut:
    """A piece with the run that computes it like a model of its own; ``run`` is None where it is no file.

    ``why_not`` says why it is none.
    """

    piece: Piece
    run: CellRun | None
    why_not: str = ""


def cut(run: CellRun) -> list[Cut] | Outcome:
    """Every piece of the cell's model as a file with inputs; the outcome of the cell where it cannot be taken apart."""
    file = run.file()
    if isinstance(file, Failure):
        if run.model.onnx is not None:
            return run.failed(file)
        reason = f"export failed: {file.symptom} at {file.stage}: {file.message}"
        return run.log.unverified(Unverified.BLOCKED, reason)
    inputs = run.inputs(file)
    if (outcome := run.without_inputs(inputs)) is not None:
        return outcome
    told = run.obtain("facts", _facts_task(run, file, inputs.binding))
    if told.failure:
        return _unknown(run, "its layers cannot be told apart", told.failure)
    facts = Facts.read(json.loads(told.files["facts.json"].read_bytes()))
    found = pieces(facts)
    whole = [piece for piece in found if not piece.why_not and piece.twin is None]
    done = run.obtain("cut", _cut_task(run, file, inputs.binding, whole))
    if done.failure:
        return _unknown(run, "its layers cannot be cut out", done.failure)
    given = _first(subjects.of_file(run.cell, run.model, file, inputs).inputs.one_by_one())
    fed = run.obtain("activations", _activations_task(run, done, given))
    if fed.failure:
        return _unknown(run, "the tensors between its layers cannot be computed", fed.failure)
    return _with_runs(run, found, whole, done, _Tensors(done, fed, given))


def _unknown(run: CellRun, what: str, failure: Failure) -> Outcome:
    return run.log.unverified(Unverified.HARNESS, f"{what}: {failure.message}", stage=failure.stage)


def _first(given: InputSet) -> InputSet:
    """The first samples [n, 1, ...] of the model's inputs."""
    own = given.arrays
    arrays = ArraySet(
        lambda: {name: values[:SAMPLES] for name, values in own().items()},
        lambda: {name: f"{digest} first {SAMPLES}" for name, digest in own.digests().items()},
    )
    return replace(given, arrays=arrays, parts={**given.parts, "first": SAMPLES})


def _facts_task(run: CellRun, file: OnnxFile, binding: Mapping[str, int]) -> Task:
    call = CallSpec("facts", {"batch": 1, "sizes": dict(binding)})
    limits = run.tasks.limits(run.model, FACTS)
    return Task(Stage.CHECK, FACTS, (call,), {"file": file.origin}, limits, {"model.onnx": file.given})


def _cut_task(run: CellRun, file: OnnxFile, binding: Mapping[str, int], whole: Sequence[Piece]) -> Task:
    rows = [{"nodes": list(piece.nodes), "outputs": list(piece.outputs)} for piece in whole]
    call = CallSpec("cut", {"parts": rows, "binding": dict(binding)})
    limits = run.tasks.limits(run.model, UNITS)
    return Task(Stage.BUILD, UNITS, (call,), {"file": file.origin}, limits, {"model.onnx": file.given})


def _activations_task(run: CellRun, done: Done, given: InputSet) -> Task:
    """The tensors that the pieces take, [n, ...] over n samples, by ONNX Runtime in float32.

    They need not be exact: the reference of a piece is computed from the same tensors.
    """
    call = CallSpec("run", {"batched": False, "ragged": False, "threads": run.tasks.threads}, given.arrays)
    limits = run.tasks.limits(run.model, RUNTIME)
    files = {"model.onnx": done.given["exposed.onnx"]}
    return Task(Stage.REFERENCE, RUNTIME, (call,), {"file": done.key, **given.parts}, limits, files)


class _Tensors:
    """The tensors that pieces take, [n, ...] over n samples each, where a batch is [1, ...]."""

    def __init__(self, done: Done, fed: Done, given: InputSet) -> None:
        self._exposed = {name: f"out{place}" for place, name in enumerate(done.meta["cut"]["exposed"])}
        self._fed = fed
        self._given = {name.partition(":")[2]: values for name, values in given.arrays().items()}
        self._content = recipe(stage="activations", fed=fed.content, given=dict(given.arrays.digests()))

    def file(self, name: str, rows: Sequence[Mapping[str, Any]], count: int) -> InputsFile:
        """``count`` inputs of a piece: as rows of a batch where all its inputs grow with it, else one by one."""
        batched = all(row["shape"] and row["shape"][0] == BATCH for row in rows)
        arrays = {}
        for row in rows:
            key = self._exposed.get(row["name"])
            values = self._given[row["name"]] if key is None else self._fed.arrays[key]
            arrays[row["name"]] = values[:count, 0] if batched else values[:count]
        names = [row["name"] for row in rows]
        digest = recipe(stage="piece", of=self._content, names=names, batched=batched, count=count)
        return InputsFile(Path(name), digest, arrays)


def _with_runs(
    run: CellRun, found: Sequence[Piece], whole: Sequence[Piece], done: Done, tensors: _Tensors
) -> list[Cut]:
    places = {id(piece): number for number, piece in enumerate(whole)}
    cuts = []
    for piece in found:
        number = places.get(id(piece))
        said = {} if number is None else done.meta["cut"]["parts"][number]
        why_not = piece.why_not or str(said.get("error", ""))
        if why_not or piece.twin is not None:
            cuts.append(Cut(piece, None, why_not))
            continue
        given = tensors.file(piece.name, said["inputs"], SAMPLES if piece.group == LAYER else STACKED)
        model = _model(run.model, piece, done, f"part{number}.onnx", given)
        cuts.append(Cut(piece, replace(run, model=model, log=CellLog(run.log.versions))))
    return cuts


def _model(whole: Model, piece: Piece, done: Done, file: str, given: InputsFile) -> Model:
    """The model of a piece, as that of a user's file with the user's own inputs; limits are those of the whole."""
    onnx, samples = done.given[file], min(map(len, given.arrays.values()))
    return Model(
        name=f"{whole.name}: {piece.name}", title=piece.signature, family="", task="", application="",
        parameters=piece.weights, source="", profiles=(), compiled_profiles=(), inputs=(), outputs=(), symbols={},
        constructors={}, missing={}, samples=samples, seconds=whole.seconds, memory_gb=whole.memory_gb,
        digest=recipe(stage="model", file=onnx.content, inputs=given.digest), onnx=onnx, given=given,
    )  # fmt: skip
