"""The layers of quantised models: the same integers go through the tool's layers and, in float64, through ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bench_plugin.checks.compiled.compiling import Compiled, CompiledModels
from bench_plugin.compare.measures import distance, scale_of
from bench_plugin.compare.verdict import MISMATCH, Comparison
from bench_plugin.domain.outcome import Failure
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.judging.judge_quantised import LayerResults, mutants_of_layers, numbered
from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.tasks import graph_tasks, layer_tasks
from bench_plugin.pipeline.tasks.subjects import InputSet, Subject

# Seeds of the roundings that find what a tie may change, each followed by the opposite ones: one of the two moves an
# element to the other side, and the other one further away.
PERTURBATIONS = ((1, -1), (2, -2))
UNFAITHFUL = "exposing the tensors of the model changes its result"


@dataclass(frozen=True)
class Layers:
    """The layers of a model with their results.

    ``made`` is the stage whose file ``unrounded.onnx`` has them in float64, ``inputs`` what they were given.
    They are not ``faithful`` where the artefact with its tensors as outputs gives another result than without; its own
    ``outputs`` [n, ...] are then kept. ``inside`` counts the integers of a pre-quantised model that stay inside the
    layers which add them.
    """

    results: LayerResults
    made: Done
    inputs: InputSet
    faithful: bool = True
    inside: int = 0
    outputs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def numbers(self) -> Mapping[str, int]:
        """What a row says of the layers of a pre-quantised model: how many integers stay inside, where some do."""
        return {"inside": self.inside} if self.inside else {}

    def with_noise(self, run: CellRun) -> Layers:
        """The same with what one rounding of their inputs changes in layers that round them as they run.

        An input that lies as near to a tie as float32 rounds goes to either side of it.
        """
        results = self.results
        for pair in PERTURBATIONS:
            moved = []
            for seed in pair:
                task = layer_tasks.unrounded(run.tasks, run.model, self.made, self.inputs, perturb=seed)
                other = run.obtain("evaluate", task)
                if other.failure:
                    run.log.flag(f"what one rounding changes in the layers is not known: {other.failure.message}")
                    return self
                moved.append(list(numbered(other.arrays).values()))
            results = results.with_noise(*moved)
        return replace(self, results=results)


@dataclass(frozen=True)
class Exposed:
    """The run ``done`` of a model with its ``tensors`` [N, ...] between its layers as outputs, by name.

    It is not ``faithful`` where the model's own ``outputs`` [N, ...] are others than without them.
    """

    done: Done
    tensors: Mapping[str, Any]
    outputs: Mapping[str, Any]
    faithful: bool


def of_graph(run: CellRun, models: CompiledModels, graph: Subject) -> Layers | None:
    """The layers of a pre-quantised model, compiled by the same tool and run on the integers of the reference.

    Of large inputs only the first go through them (:func:`layer_tasks.few`). None where the graph cannot be split or
    its layers cannot be run; a flag of the cell says why.
    """
    graph = replace(graph, inputs=layer_tasks.few(graph.inputs))
    apart = taken_apart(run, graph)
    if apart is None:
        return None
    names = list(apart.meta["layers"]["layers"])
    reference = run.obtain("evaluate", graph_tasks.exposed(run.tasks, run.model, graph, apart))
    if reference.failure:
        run.log.flag(f"layers have no float64 reference: {reference.failure.message}")
        return None
    integers = {name: reference.arrays[f"out{index}"] for index, name in enumerate(names)}
    subject = graph_tasks.layer_by_layer(graph, apart, reference, integers)
    exact = run.obtain("evaluate", layer_tasks.unrounded(run.tasks, run.model, apart, subject.inputs))
    if exact.failure:
        run.log.flag(f"layers have no float64 reference: {exact.failure.message}")
        return None
    done = run.obtain("layers", models.compile_tasks.compile(run.cell, subject, models.limits(run)))
    if not done.failure:
        done = run.obtain("layers", models.compile_tasks.run(run.cell, subject, done, models.limits(run)))
    if done.failure:
        run.log.flag(f"layers could not be run one by one: {done.failure.message}")
        return None
    return Layers(_named(names, exact, done), apart, subject.inputs)


def taken_apart(run: CellRun, graph: Subject) -> Done | None:
    """The stage that split a pre-quantised model into layers; None where it cannot be, and a flag says why."""
    apart = run.obtain("layers", graph_tasks.layers(run.tasks, run.model, graph))
    if apart.failure or not apart.meta["layers"]["layers"]:
        why = apart.failure.message if apart.failure else "none of them is named"
        run.log.flag(f"layers could not be taken apart: {why}")
        return None
    return apart


def in_place(run: CellRun, models: CompiledModels, graph: Subject, apart: Done, ran: Done) -> Layers | str:
    """The layers of a pre-quantised model within the model, compiled with all its integers as outputs.

    A tool may compute a layer in one way alone and in another one among the others. Where the model gives another
    result than ``ran`` once they are outputs, what is added to something stays inside. A text says why the layers could
    not be read so; they are not ``faithful`` where the result is another one even then, which a flag says.
    """
    graph = replace(graph, inputs=layer_tasks.few(graph.inputs))
    found = _exposed(run, models, graph, apart, ran)
    if isinstance(found, str) or found.faithful:
        return found
    return _with_fused_sums(run, models, graph, ran) or replace(found, faithful=flagged(run, faithful=False))


def _with_fused_sums(run: CellRun, models: CompiledModels, graph: Subject, ran: Done) -> Layers | None:
    """The same with summands inside the layers; None where the graph has none, and where that is no help.

    It is none where the layers are not right: which rounding a tool leaves out in a sum is not read, but known of the
    tools of today. A flag of the cell says why, but for a graph without sums.
    """
    apart = run.obtain("layers", graph_tasks.layers(run.tasks, run.model, graph, fused_sums=True))
    if apart.failure:
        run.log.flag(f"with sums as they are layers could not be taken apart: {apart.failure.message}")
        return None
    if not apart.meta["layers"]["inside"]:
        return None
    found = _exposed(run, models, graph, apart, ran)
    if isinstance(found, str) or not found.faithful:
        run.log.flag(f"with sums as they are: {found if isinstance(found, str) else UNFAITHFUL}")
        return None
    found, comparison = compared(run, found)
    if comparison.status == MISMATCH:
        run.log.flag(f"with sums as they are a layer is wrong: {comparison.reason}")
        return None
    return found


def _exposed(run: CellRun, models: CompiledModels, graph: Subject, apart: Done, ran: Done) -> Layers | str:
    """The layers of ``apart`` within the model, whose tensors are outputs; a text says why there are none."""
    names = list(apart.meta["layers"]["layers"])
    found = ran_exposed(run, models, graph, apart, ran)
    if isinstance(found, str):
        return found
    inputs = graph_tasks.layer_by_layer(graph, apart, found.done, found.tensors).inputs
    exact = run.obtain("evaluate", layer_tasks.unrounded(run.tasks, run.model, apart, inputs))
    if exact.failure:
        return f"the layers have no float64 reference: {_why(exact.failure)}"
    results = replace(_named(names, exact, found.done), dynamic=frozenset(apart.meta["layers"]["dynamic"]))
    kept = {} if found.faithful else found.outputs
    return Layers(results, apart, inputs, found.faithful, apart.meta["layers"]["inside"], kept)


def ran_exposed(run: CellRun, models: CompiledModels, graph: Subject, apart: Done, ran: Done) -> Exposed | str:
    """The run of a model whose tensors between its layers are outputs; a text says why there is none."""
    names, limits = list(apart.meta["layers"]["layers"]), models.limits(run)
    exposed = graph_tasks.all_at_once(graph, apart)
    done = run.obtain("layers", models.compile_tasks.compile(run.cell, exposed, limits))
    if not done.failure:
        done = run.obtain("layers", models.compile_tasks.run(run.cell, exposed, done, limits))
    if done.failure:
        return f"the model with its tensors as outputs does not run: {_why(done.failure)}"
    found = list(numbered(done.arrays).values())
    tensors, rest = dict(zip(names, found, strict=False)), iter(found[len(names) :])
    own = [tensors[row["name"]] if row["name"] in tensors else next(rest) for row in graph.outputs]
    outputs = {f"out{index}": values for index, values in enumerate(own)}
    return Exposed(done, tensors, outputs, _faithful(run, ran, outputs))


def compared(run: CellRun, found: Layers) -> tuple[Layers, Comparison]:
    """The verdict on layers, and these with the noise of what they round as they run, where that was needed."""
    comparison = found.results.compared(run.judge.table)
    if comparison.status != MISMATCH or not found.results.dynamic:
        return found, comparison
    found = found.with_noise(run)
    return found, found.results.compared(run.judge.table)


def _named(names: Sequence[str], exact: Done, ran: Done) -> LayerResults:
    unrounded = dict(zip(names, numbered(exact.arrays).values(), strict=True))
    return LayerResults(unrounded, dict(zip(names, numbered(ran.arrays).values(), strict=False)))


def read_back(run: CellRun, models: CompiledModels, found: Compiled, *, fused_sums: bool = False) -> Done | str:
    """The stage that read back what the tool quantised by itself; a text says why nothing could be read.

    With ``fused_sums`` what is added to something is no output of the artefact, so that the tool runs as without any.
    """
    if not models.compile_tasks.rebuilds(run.cell):
        return f"the adapter of {run.cell.compiler} cannot read its artefacts"
    limits = models.limits(run)
    task = models.compile_tasks.rebuild(run.cell, found.subject, found.compiled, limits, fused_sums=fused_sums)
    rebuilt = run.obtain("rebuild", task)
    return _why(rebuilt.failure) if rebuilt.failure else rebuilt


def of_artefact(run: CellRun, models: CompiledModels, found: Compiled, ran: Done, rebuilt: Done) -> Layers | str:
    """The layers of an artefact that the tool quantised by itself, as they were read back from it.

    Each gets what the tool itself fed it: the tensors of the same artefact with all of them as outputs. A text says
    why they could not be run.
    """
    limits = models.limits(run)
    given = layer_tasks.few(found.subject.inputs)
    exposed = run.obtain("layers", models.compile_tasks.run(run.cell, found.subject, rebuilt, limits, inputs=given))
    if exposed.failure:
        return f"the artefact with all tensors as outputs does not run: {_why(exposed.failure)}"
    made = run.obtain("layers", layer_tasks.assembled(run.tasks, run.model, rebuilt))
    if made.failure:
        return _why(made.failure)
    samples = layer_tasks.held_samples(exposed.arrays)
    if samples is not None:
        run.log.flag(f"layers are compared on {samples} inputs: the tensors of all of them take too much memory")
    inputs = layer_tasks.exposed_inputs(rebuilt, exposed, samples)
    exact = run.obtain("evaluate", layer_tasks.unrounded(run.tasks, run.model, made, inputs))
    if exact.failure:
        return f"the layers have no float64 reference: {_why(exact.failure)}"
    return Layers(_results(rebuilt, exposed, exact, samples), made, inputs, _faithful(run, ran, exposed.arrays))


def note_mutants(run: CellRun, layers: Layers) -> None:
    """Add to the row which mutants of the layers the rule of layers detects."""
    done = run.obtain("mutants", layer_tasks.mutated(run.tasks, run.model, layers.made, layers.inputs))
    if done.failure:
        run.log.flag(f"mutants of the layers could not be run: {done.failure.message}")
        return
    run.log.numbers["mutants"] = mutants_of_layers(layers.results, done, run.judge.table)


def _results(rebuilt: Done, exposed: Done, exact: Done, samples: int | None) -> LayerResults:
    unrounded, actual, exceptions, dynamic = {}, {}, {}, set()
    rows = rebuilt.meta["rebuild"]["results"]
    for row, values in zip(rows, numbered(exact.arrays).values(), strict=True):
        name = f"{row['layer']} {row['output']}"
        unrounded[name] = values
        actual[name] = _in_steps(exposed.arrays[f"out{row['output']}"][:samples], row)
        if row.get("exception"):
            exceptions[name] = row["exception"]
        if row.get("dynamic"):
            dynamic.add(name)
    return LayerResults(unrounded, actual, exceptions, frozenset(dynamic))


def _in_steps(values: Any, row: Mapping[str, Any]) -> Any:
    """A tensor of the artefact [N, ...] as integers, where it stands for integers and is given in floating point."""
    if row.get("scale") is None or values.dtype.kind in "iu":
        return values
    steps = np.asarray(values, dtype=np.float64)
    if row.get("scales"):
        along = [-1 if place == values.ndim + row["axis"] else 1 for place in range(values.ndim)]
        steps = steps / np.reshape(row["scales"], along) + np.reshape(row["zeros"], along)
    else:
        steps = steps / row["scale"] + row.get("zero", 0)
    if not np.isfinite(steps).all():
        return steps
    whole = np.rint(steps)
    few = np.abs(whole).max(initial=0) < 2**15  # of a large model all tensors are held at once
    return whole.astype(np.int16 if few else np.int64)


def flagged(run: CellRun, *, faithful: bool) -> bool:
    """The same; the cell is flagged where a model with its tensors as outputs is not ``faithful``."""
    if not faithful:
        run.log.flag(UNFAITHFUL)
    return faithful


def _faithful(run: CellRun, ran: Done, exposed: Mapping[str, Any]) -> bool:
    """Whether a model gives the same outputs once its tensors are ``exposed``.

    Integers have to be the same bit by bit. Floating point may be off by what a few roundings in float32 change, as
    where the tool no longer fuses the last nodes: another integer inside the model changes a thousand times more.
    """
    for name, values in numbered(ran.arrays).items():
        other = np.asarray(exposed[name])
        part = np.asarray(values)[: len(other)]
        if part.size != other.size or not _same_but_for_rounding(run, part, other):
            return False
    return True


def _same_but_for_rounding(run: CellRun, values: Any, other: Any) -> bool:
    if values.tobytes() == other.tobytes():
        return True
    if values.dtype.kind != "f" or not (np.isfinite(values).all() and np.isfinite(other).all()):
        return False
    return run.judge.table.row("fp32").floor >= distance(other.reshape(values.shape), values, scale_of(values)).M


def _why(failure: Failure) -> str:
    return failure.message or f"{failure.stage} ended with {failure.symptom}"
