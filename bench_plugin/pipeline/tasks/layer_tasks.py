"""Tasks on the layers of quantised models: to run the same integers through the tool and through float64."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench_plugin.agent.contract.rebuilt import HIGHEST, LOWEST, NOT_THE_FILES
from bench_plugin.domain.outcome import Stage
from bench_plugin.inventory.models import Model
from bench_plugin.pipeline.array_sets import ArraySet, identified, renamed
from bench_plugin.pipeline.stages import CallSpec, Done, Task
from bench_plugin.pipeline.tasks.model_tasks import Tasks
from bench_plugin.pipeline.tasks.subjects import Arrays, InputSet
from bench_plugin.reach.processes.given_files import GivenFile

UNROUNDED = "unrounded.onnx"
MUTANT_SAMPLES = 4
LARGE, FEW = 20_000, 4  # from inputs of so many elements on, only so many samples go through every layer
HELD, LEAST = 1 << 30, 2  # bytes of the tensors of all samples that are held at once; fewer samples where they are more


def few(inputs: InputSet) -> InputSet:
    """The samples [N, ...] that go through the layers, each without a batch dimension of the call's."""
    apart = inputs.one_by_one()
    arrays = apart.arrays()
    if all(values[0].size < LARGE for values in arrays.values() if len(values)):
        return apart
    own = apart.arrays
    cut = ArraySet(
        lambda: {name: values[:FEW] for name, values in own().items()},
        lambda: {name: f"{digest} first {FEW}" for name, digest in own.digests().items()},
    )
    return InputSet(cut, {**apart.parts, "first": FEW}, batched=False)


def assembled(tasks: Tasks, model: Model, rebuilt: Done) -> Task:
    """The file ``unrounded.onnx`` of the layers that were read back."""
    said = rebuilt.meta["rebuild"]
    meta = {
        "nodes": said["nodes"], "given": [row["name"] for row in said["given"]],
        "results": [row["name"] for row in said["results"]],
    }  # fmt: skip

    def constants() -> Arrays:
        named = {name: values for name, values in rebuilt.arrays.items() if name.startswith("const:")}
        return {f"fix:{name.partition(':')[2]}": values for name, values in named.items()}

    call = CallSpec("assemble", meta, identified(("assemble", rebuilt.content), constants))
    return Task(Stage.BUILD, "onnx_layers", (call,), {"rebuilt": rebuilt.key}, tasks.limits(model, "onnx_layers"))


def joined(
    tasks: Tasks, model: Model, rebuilt: Done, matched: Done, ends: Sequence[str], cut: Sequence[str] = (), *,
    as_corrected: bool = False,
) -> Task:  # fmt: skip
    """The file ``unrounded.onnx`` of the layers that were read back as one whole, not quantised.

    Its quantised constants are those of the model's file, while those in floating point are the artefact's own. Biases
    that the tool may have corrected are the file's, or ``as_corrected`` the artefact's own. Its
    inputs are the tensors that no layer makes (:func:`sources`), its outputs what the real values ``ends``, at least
    one, are made of (:func:`unrounded_names`). What reads a result of ``cut`` takes it as it is cut to its range, and
    still not rounded.
    """
    said = rebuilt.meta["rebuild"]
    own_ones = [row for row in said["constants"] if row.get("floating")]
    floating = {row["name"] for row in own_ones if as_corrected or not row.get("corrected")}
    names = unrounded_names(rebuilt, cut)
    cuts = clips(rebuilt, names, cut)
    free = [row["name"] for row in _free(rebuilt)]
    wanted = list(dict.fromkeys(names.get(name, name) for name in ends))

    def constants() -> Arrays:
        own = {name.partition(":")[2]: x for name, x in rebuilt.arrays.items() if name.startswith("const:")}
        of_file = {name.partition(":")[2]: x for name, x in matched.arrays.items() if name.startswith("file:")}
        own |= {name: values for name, values in of_file.items() if name not in floating}
        own |= {name: values for clip in cuts for name, values in clip.ends.items()}
        return {f"fix:{name}": values for name, values in own.items()}

    unrounded = [{**row, "inputs": [names.get(name, name) for name in row["inputs"]]} for row in said["nodes"]]
    call = CallSpec(
        "assemble", {"nodes": clipped_nodes(unrounded, cuts), "given": free, "results": wanted},
        identified(("joined", rebuilt.content, matched.content, as_corrected, *sorted(cut)), constants),
    )  # fmt: skip
    parts = {"rebuilt": rebuilt.key, "matched": matched.key}
    return Task(Stage.BUILD, "onnx_layers", (call,), parts, tasks.limits(model, "onnx_layers"))


def _free(rebuilt: Done) -> list[Mapping[str, Any]]:
    """The rows of the tensors that layers are given and that no layer makes."""
    said = rebuilt.meta["rebuild"]
    made = {row["output"] for row in said["results"]}
    return [row for row in said["given"] if row["output"] not in made]


def sources(rebuilt: Done, exposed: Mapping[str, Any], inputs: InputSet) -> dict[str, str] | str:
    """For each tensor that no layer makes the name of the input that it is; a text says why that is not known.

    Of several inputs it is the one whose values the artefact gave in ``exposed``, out<n> [N, ...], when it ran on the
    N samples of ``inputs``. Where two have the same values it is not known.
    """
    free, given = _free(rebuilt), inputs.arrays()
    found: dict[str, str] = {}
    for row in free:
        values = np.asarray(exposed[f"out{row['output']}"]).reshape(-1)
        alone = len(free) == len(given) == 1
        same = [name for name, own in given.items() if alone or np.array_equal(values, own.reshape(-1))]
        if not same:
            return f"what {row['layer'] or 'the tool'} makes in front of its layers was not read back"
        if len(same) > 1:
            return f"its inputs {' and '.join(map(_named, same[:2]))} have the same values"
        found[row["name"]] = _named(same[0])
    return found or "its layers take no tensor at all"


def _named(name: str) -> str:
    """The name of an input, of which a call has the values under in:<name> or calib:<name>."""
    return name.partition(":")[2]


@dataclass(frozen=True)
class Clip:
    """A node that cuts a real value to the ``ends`` of a range, as the integers of the result ``output`` do."""

    source: str
    output: str
    ends: Mapping[str, Any]

    @property
    def node(self) -> dict[str, Any]:
        """The node as one of the layers."""
        return {"operator": "Clip", "inputs": [self.source, *self.ends], "outputs": [self.output], "attributes": {}}


def clips(rebuilt: Done, names: Mapping[str, str], cut: Sequence[str]) -> list[Clip]:
    """The nodes that cut the results ``cut``, by their real values; ``names`` are those of :func:`unrounded_names`."""
    return [
        Clip(
            names.get(row["real"], row["real"]), _cut_name(row),
            {f"{_cut_name(row)}_{end}": np.asarray(row[end], np.float64) for end in ("low", "high")},
        )
        for row in rebuilt.meta["rebuild"]["results"]
        if row["real"] in cut and row.get("scale") is not None
    ]  # fmt: skip


def _cut_name(row: Mapping[str, Any]) -> str:
    return f"cut{row['output']}"


def clipped_nodes(nodes: Sequence[Mapping[str, Any]], cuts: Sequence[Clip]) -> list[Mapping[str, Any]]:
    """The nodes in their order, each clip behind the node that makes what it cuts."""
    found: list[Mapping[str, Any]] = []

    def add(row: Mapping[str, Any]) -> None:
        found.append(row)
        for clip in cuts:
            if clip.source in row["outputs"]:
                add(clip.node)

    for row in nodes:
        add(row)
    return found


def unrounded_names(rebuilt: Done, cut: Sequence[str] = ()) -> dict[str, str]:
    """For the values that layers are given, those that they are made of without any rounding.

    These are the real values behind the integers of another layer, and inputs that a layer rounds as it runs. What
    they are made of may be such a value itself: integers of which others are made, with another scale. Of the integers
    of the results ``cut`` it is what they are cut to (:func:`joined`).
    """
    said = rebuilt.meta["rebuild"]
    made = {row["output"]: row["real"] for row in said["results"]}
    before = {row["real"]: made[row["output"]] for row in said["given"] if row["output"] in made}
    before |= said.get("rounded", {})
    clipped = {row["output"]: _cut_name(row) for row in said["results"] if row["real"] in cut}
    before |= {row["real"]: clipped[row["output"]] for row in said["given"] if row["output"] in clipped}
    found: dict[str, str] = {}
    for name in before:
        last = name
        while last in before:
            last = before[last]
        found[name] = last
    return found


def readers(rebuilt: Done) -> dict[str, str]:
    """For the real values of each result those of the result of the one node that reads it, where one alone does."""
    said = rebuilt.meta["rebuild"]
    given = {row["output"]: row["real"] for row in said["given"]}
    made = {row["real"] for row in said["results"]}
    users: dict[str, list[str]] = {}
    for row in _leading_to(said["nodes"], made):
        for name in row["inputs"]:
            users.setdefault(name, []).append(row["outputs"][0])
    found: dict[str, str] = {}
    for row in said["results"]:
        name = given.get(row["output"], "")
        while len(users.get(name, [])) == 1:
            [name] = users[name]
            if name in made:
                found[row["real"]] = name
                break
    return found


def _leading_to(nodes: Sequence[Mapping[str, Any]], made: Collection[str]) -> list[Mapping[str, Any]]:
    """The nodes that these values are made with: what a kernel with two roundings gives has nodes of its own."""
    needed, found = set(made), []
    for row in reversed(nodes):
        if needed.intersection(row["outputs"]):
            needed.update(row["inputs"])
            found.append(row)
    return found[::-1]


def as_sources(inputs: InputSet, sources: Mapping[str, str]) -> InputSet:
    """The inputs as those of the layers as one whole; ``sources`` are those of :func:`sources`."""
    apart = inputs.one_by_one()

    def under_names(values: Mapping[str, Any]) -> dict[str, Any]:
        named = {_named(name): one for name, one in values.items()}
        return {f"in:{name}": named[own] for name, own in sources.items()}

    return InputSet(renamed(apart.arrays, under_names), {**apart.parts, "sources": dict(sources)}, batched=False)


def held_samples(exposed: Mapping[str, Any]) -> int | None:
    """How many of the N samples of the tensors [N, ...] of an artefact are judged; None for all of them.

    All tensors of a model are held at once, and again in float64: of DenseNet201 four samples take 6 GB.
    """
    count = min((len(values) for values in exposed.values()), default=0)
    size = sum(values.nbytes for values in exposed.values())
    if size <= HELD or count <= LEAST:
        return None
    return max(LEAST, int(count * HELD / size))


def exposed_inputs(rebuilt: Done, exposed: Done, samples: int | None = None) -> InputSet:
    """What the layers are given: the tensors [N, ...] of the exposed artefact's own run; of the first ``samples``."""
    rows = rebuilt.meta["rebuild"]["given"]

    def arrays() -> Arrays:
        return {f"in:{row['name']}": exposed.arrays[f"out{row['output']}"][:samples] for row in rows}

    cut: dict[str, Any] = {} if samples is None else {"first": samples}
    identity = ("exposed", exposed.content, *cut.values())
    return InputSet(identified(identity, arrays), {"exposed": exposed.key, **cut}, batched=False)


def unrounded(tasks: Tasks, model: Model, made: Done, inputs: InputSet, perturb: int | None = None) -> Task:
    """The results of all layers in float64, before their rounding: [N, ...] over the N samples of ``inputs``.

    With ``perturb``, a seed, all that they are given is one rounding to float32 off.
    """
    call = CallSpec("evaluate", {"batched": False, "ragged": False, "perturb": perturb}, inputs.arrays)
    parts: Mapping[str, Any] = {"file": made.key, **inputs.parts}
    files: Mapping[str, GivenFile] = {"model.onnx": made.given[UNROUNDED]}
    return Task(Stage.REFERENCE, "onnx_float64", (call,), parts, tasks.limits(model, "onnx_float64"), files)


def mutated(tasks: Tasks, model: Model, made: Done, inputs: InputSet, *, branches: bool = False) -> Task:
    """The results of the layers' mutants for the first samples; with ``branches`` those without one, too."""
    meta = {"samples": MUTANT_SAMPLES} | ({"branches": True} if branches else {})
    call = CallSpec("mutate_layers", meta, inputs.arrays)
    parts = {"file": made.key, **inputs.parts}
    files = {UNROUNDED: made.given[UNROUNDED]}
    return Task(Stage.BUILD, "onnx_layers", (call,), parts, tasks.limits(model, "onnx_layers"), files)


def matched(
    tasks: Tasks, model: Model, rebuilt: Done, file: GivenFile | Path, origin: str, *, twins: bool = True
) -> Task:  # fmt: skip
    """The constants that were read back, found among those of the file; and the file with their real values.

    With ``twins`` what the artefact has once is replaced under each name that the file has for it.
    """
    rows = rebuilt.meta["rebuild"]["constants"]
    names = [row["name"] for row in rows]
    weights: dict[str, str] = {}
    for before, row in itertools.pairwise(rows):  # a bias follows its weight, and then one that is added later
        if row["kind"] == "bias" and (before["kind"] == "weight" or before["name"] in weights):
            weights[row["name"]] = weights.get(before["name"], before["name"])

    def constants() -> Arrays:
        wanted = {f"{kind}:{name}" for kind in ("const", "step") for name in names}
        return {f"fix:{name}": values for name, values in rebuilt.arrays.items() if name in wanted}

    meta = {
        "names": names, "weights": weights, "floating": [row["name"] for row in rows if row.get("floating")],
        "corrected": [row["name"] for row in rows if row.get("corrected")],
        "numbers": [row["name"] for row in rows if row["kind"] in NOT_THE_FILES],
        **{kind: [row["name"] for row in rows if row["kind"] == kind] for kind in (LOWEST, HIGHEST)},
        "twins": twins,
    }  # fmt: skip
    call = CallSpec("match", meta, identified(("match", rebuilt.content), constants))
    parts = {"rebuilt": rebuilt.key, "file": origin}
    limits = tasks.limits(model, "onnx_matching")
    return Task(Stage.BUILD, "onnx_matching", (call,), parts, limits, {"model.onnx": file})
