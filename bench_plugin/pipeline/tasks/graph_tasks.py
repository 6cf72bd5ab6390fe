"""Tasks of our own ONNX tools that prepare, split or emulate a file at a reduced precision (docs/numbers.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench_plugin.domain.outcome import Stage
from bench_plugin.domain.precision import FIXED_QDQ, STORED, Precision
from bench_plugin.inventory.models import Model
from bench_plugin.pipeline.array_sets import identified, renamed
from bench_plugin.pipeline.cell_run import OnnxFile
from bench_plugin.pipeline.stages import CallSpec, Done, Task
from bench_plugin.pipeline.tasks.inputs import BATCH
from bench_plugin.pipeline.tasks.model_tasks import Tasks, few_or_all
from bench_plugin.pipeline.tasks.subjects import Arrays, InputSet, Subject

CALIBRATED = ("qdq", FIXED_QDQ)  # the prepared graphs whose scales come from a calibration set
FACTS = "onnx_facts"


def prepared(
    tasks: Tasks, model: Model, subject: Subject, calibration: InputSet, graph: str, method: str, types: Precision,
    *, every_contraction: bool = False,
) -> Task:  # fmt: skip
    """The pre-quantised or pre-converted model of the subject's file.

    ``graph`` is qdq, weights, fixed, fixed-qdq, kmeans, dynamic, w16 or fp16; ``types`` are those of integers of few
    bits. With ``every_contraction`` the graph ``weights`` has also rounded weights of ConvTranspose, LSTM, GRU and RNN.
    """
    calibrated = graph in CALIBRATED
    tool = _preparing(graph)
    meta: dict[str, Any] = {"graph": graph, "batched": subject.inputs.batched, "calibration_method": method}
    if graph in STORED or graph == FIXED_QDQ or (calibrated and types.few_bits):
        meta.update(weights=types.weights, activations=types.activations, granularity=types.granularity)
    if every_contraction:
        meta.update(every_contraction=True)
    call = CallSpec("prepare", meta, calibration.arrays if calibrated else dict)
    parts = {"file": subject.origin, **(calibration.parts if calibrated else {})}
    return Task(Stage.BUILD, tool, (call,), parts, tasks.limits(model, tool), subject.files)


def _preparing(graph: str) -> str:
    """The adapter that prepares a graph."""
    if graph.startswith("w16"):
        return "onnx_rounding"
    return "fixed_point_graphs" if graph == FIXED_QDQ else "onnx_graphs"


def effects(tasks: Tasks, model: Model, subject: Subject, graph: str) -> Task:
    """What rounding each constant of the subject's file to float16 changes in its outputs, for its own inputs."""

    def under_names(values: Mapping[str, Any]) -> dict[str, Any]:
        return {f"calib:{name.partition(':')[2]}": x for name, x in values.items()}

    inputs = subject.inputs
    call = CallSpec("prepare", {"graph": graph, "batched": inputs.batched}, renamed(inputs.arrays, under_names))
    parts = {"file": subject.origin, **inputs.parts}
    limits = tasks.limits(model, "onnx_effects")
    return Task(Stage.BUILD, "onnx_effects", (call,), parts, limits, subject.files)


def layers(
    tasks: Tasks, model: Model, subject: Subject, *, fused_sums: bool = False, floating: bool = False,
    in_bfloat16: bool = False,
) -> Task:  # fmt: skip
    """A QDQ file split into layers: one file with all layers side by side, and one that exposes all integers.

    With ``fused_sums`` what is added to something stays inside the layers that take it. Of a ``floating`` file it is
    what contractions take that is exposed, and with ``in_bfloat16`` it is an output of that type.
    """
    ways = {"fused_sums": fused_sums, "floating": floating, "in_bfloat16": in_bfloat16}
    call = CallSpec("layers", {"binding": dict(subject.binding), **{name: True for name, on in ways.items() if on}})
    limits = tasks.limits(model, "onnx_graphs")
    return Task(Stage.BUILD, "onnx_graphs", (call,), {"file": subject.origin}, limits, subject.files)


def exposed(tasks: Tasks, model: Model, subject: Subject, apart: Done) -> Task:
    """The integers of every activation in the float64 evaluation of a QDQ file, [N, ...] over N samples."""
    inputs = subject.inputs.one_by_one()
    call = CallSpec("evaluate", {"batched": False, "ragged": False, "perturb": None}, inputs.arrays)
    parts = {"file": apart.key, **inputs.parts}
    files = {"model.onnx": apart.given["exposed.onnx"]}
    return Task(Stage.REFERENCE, "onnx_float64", (call,), parts, tasks.limits(model, "onnx_float64"), files)


def layer_by_layer(subject: Subject, apart: Done, reference: Done, integers: Arrays) -> Subject:
    """The layers of a QDQ file as one subject; its inputs are the ``integers`` [N, ...] of the float64 reference.

    A tensor that the file has in floating point is one in float64 there, and is rounded to the type of the file.
    """
    described = [{**row, "layout": ""} for row in apart.meta["layers"]["inputs"]]
    own = subject.inputs.one_by_one()

    def arrays() -> Arrays:
        known = {f"{name}_given": values for name, values in integers.items()}
        known.update({name.partition(":")[2]: values for name, values in own.arrays().items()})
        return {f"in:{row['name']}": _in_type(known[row["name"]], row["dtype"]) for row in described}

    types = [f"{row['name']}: {row['dtype']}" for row in described]
    identity = ("layers", reference.content, *sorted(own.arrays.digests().items()), *types)
    inputs = InputSet(identified(identity, arrays), {"integers": reference.key, **own.parts}, batched=False)
    files = {"model.onnx": apart.given["layers.onnx"]}
    return Subject(f"{apart.key}:cut", files, described, list(apart.meta["layers"]["outputs"]), {}, "", inputs)


def _in_type(values: Any, dtype: str) -> Any:
    return values.astype(dtype) if values.dtype == "float64" and dtype in ("float32", "float16") else values


def all_at_once(subject: Subject, apart: Done) -> Subject:
    """A file whose tensors between layers are outputs too, before its own; it takes the inputs of the file one by one.

    Its symbolic sizes are bound.
    """
    files = {"model.onnx": apart.given["exposed.onnx"]}
    made = list(apart.meta["layers"]["outputs"])
    outputs = [*made, *(row for row in subject.outputs if row["name"] not in {one["name"] for one in made})]
    described = [
        {**row, "layout": "", "shape": [_bound(size, subject) for size in row["shape"]]} for row in subject.described
    ]
    return Subject(f"{apart.key}:exposed", files, described, outputs, {}, "", subject.inputs.one_by_one())


def _bound(size: int | str, subject: Subject) -> int:
    return subject.binding.get(size, 1) if isinstance(size, str) else size


def predict(tasks: Tasks, model: Model, file: OnnxFile, images: InputSet) -> Task:
    """The unrounded file's outputs for the test images, by onnxruntime."""
    call = CallSpec("run", {"batched": True, "ragged": False, "threads": tasks.threads}, images.arrays)
    parts = {"file": file.origin, **images.parts}
    limits = tasks.limits(model, "onnxruntime")
    return Task(Stage.REFERENCE, "onnxruntime", (call,), parts, limits, {"model.onnx": file.given})


def emulate(
    tasks: Tasks, model: Model, subject: Subject, check: Done, *, sums: str = "", only: str = ""
) -> Task:  # fmt: skip
    """The file's outputs under the emulation of every precision, on its first inputs.

    With ``sums`` that of this precision alone, fp32, fp16, bf16 or own, whose terms are summed in its type, too; with
    ``only`` this one.
    """
    chosen = {name: kind for name, kind in (("sums", sums), ("only", only)) if kind}
    meta = {"batched": subject.inputs.batched, "samples": few_or_all(model, check), **chosen}
    call = CallSpec("emulate", meta, subject.inputs.arrays)
    parts = {"file": subject.origin, **subject.inputs.parts}
    limits = tasks.limits(model, "onnx_emulate")
    return Task(Stage.REFERENCE, "onnx_emulate", (call,), parts, limits, subject.files, affinity=subject.origin)


def emulate_layers(
    tasks: Tasks, model: Model, apart: Done, inputs: InputSet, kind: str, *, sums: bool = False
) -> Task:  # fmt: skip
    """The results ``<kind>:out0`` ... of the layers of a file in floating point, for what ``inputs`` give each of them.

    ``kind`` is fp16, bf16 or own, the rounding of every result inside. With ``sums`` terms are added in its type, too.
    """
    count = min(len(values) for values in inputs.arrays().values())
    meta = {"batched": False, "samples": count, "sums" if sums else "only": kind}
    call = CallSpec("emulate", meta, inputs.arrays)
    parts = {"file": apart.key, **inputs.parts}
    files = {"model.onnx": apart.given["layers.onnx"]}
    return Task(Stage.REFERENCE, "onnx_emulate", (call,), parts, tasks.limits(model, "onnx_emulate"), files)


def facts(tasks: Tasks, model: Model, file: OnnxFile) -> Task:
    """What the file is made of, as ``facts.json`` (characterise/facts.py), at a batch of one."""
    sizes = {name: size for name, size in model.binding(0).items() if name != BATCH}
    call = CallSpec("facts", {"batch": 1, "sizes": sizes})
    limits = tasks.limits(model, FACTS)
    return Task(Stage.CHECK, FACTS, (call,), {"file": file.origin}, limits, {"model.onnx": file.given})
