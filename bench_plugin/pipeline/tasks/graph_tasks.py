"""Stages that prepare, take apart or emulate a file at a reduced precision, as tasks of our own ONNX tools."""

from __future__ import annotations

from bench_plugin.domain.outcome import Stage
from bench_plugin.inventory.models import Model
from bench_plugin.pipeline.cell_run import OnnxFile
from bench_plugin.pipeline.stages import CallSpec, Done, Task
from bench_plugin.pipeline.tasks.model_tasks import Tasks
from bench_plugin.pipeline.tasks.subjects import Arrays, InputSet, Subject

EMULATED_SAMPLES = 4
CALIBRATED = "qdq"  # the prepared graph whose scales come from a calibration set


def prepared(tasks: Tasks, model: Model, subject: Subject, calibration: InputSet, graph: str, method: str) -> Task:
    """A pre-quantised or pre-converted file (``graph``: qdq, dynamic, w16, fp16), made from the subject's own."""
    calibrated = graph == CALIBRATED
    meta = {"graph": graph, "batched": subject.inputs.batched, "calibration_method": method}
    call = CallSpec("prepare", meta, calibration.arrays if calibrated else dict)
    parts = {"file": subject.origin, **(calibration.parts if calibrated else {})}
    return Task(Stage.BUILD, "onnx_graphs", (call,), parts, tasks.limits(model, "onnx_graphs"), subject.files)


def layers(tasks: Tasks, model: Model, subject: Subject) -> Task:
    """A QDQ file taken apart into its layers: one file with every layer side by side, one with all integers exposed."""
    call = CallSpec("layers", {"binding": dict(subject.binding)})
    limits = tasks.limits(model, "onnx_graphs")
    return Task(Stage.BUILD, "onnx_graphs", (call,), {"file": subject.origin}, limits, subject.files)


def exposed(tasks: Tasks, model: Model, subject: Subject, apart: Done) -> Task:
    """Every activation's integers in the float64 evaluation of a QDQ file, sample by sample."""
    inputs = subject.inputs.one_by_one()
    call = CallSpec("evaluate", {"batched": False, "ragged": False, "perturb": None}, inputs.arrays)
    parts = {"file": apart.key, **inputs.parts}
    files = {"model.onnx": apart.files["exposed.onnx"]}
    return Task(Stage.REFERENCE, "onnx_float64", (call,), parts, tasks.limits(model, "onnx_float64"), files)


def layer_by_layer(subject: Subject, apart: Done, reference: Done, integers: Arrays) -> Subject:
    """The layers of a QDQ file as one subject, with the integers of the float64 reference as its inputs."""
    described = [{**row, "layout": ""} for row in apart.meta["layers"]["inputs"]]
    own = subject.inputs.one_by_one()

    def arrays() -> Arrays:
        known = {f"{name}_given": values for name, values in integers.items()}
        known.update({name.partition(":")[2]: values for name, values in own.arrays().items()})
        return {f"in:{row['name']}": known[row["name"]] for row in described}

    inputs = InputSet(arrays, {"integers": reference.key, **own.parts}, batched=False)
    files = {"model.onnx": apart.files["layers.onnx"]}
    return Subject(f"{apart.key}:cut", files, described, list(apart.meta["layers"]["outputs"]), {}, "", inputs)


def predict(tasks: Tasks, model: Model, file: OnnxFile, images: InputSet) -> Task:
    """What the unrounded file says of the test set, in onnxruntime."""
    call = CallSpec("run", {"batched": True, "ragged": False, "threads": tasks.threads}, images.arrays)
    parts = {"file": file.origin, **images.parts}
    limits = tasks.limits(model, "onnxruntime")
    return Task(Stage.REFERENCE, "onnxruntime", (call,), parts, limits, {"model.onnx": file.path})


def emulate(tasks: Tasks, model: Model, subject: Subject) -> Task:
    """What every precision would do to a file, on its first inputs."""
    meta = {"batched": subject.inputs.batched, "samples": EMULATED_SAMPLES}
    call = CallSpec("emulate", meta, subject.inputs.arrays)
    parts = {"file": subject.origin, **subject.inputs.parts}
    limits = tasks.limits(model, "onnx_emulate")
    return Task(Stage.REFERENCE, "onnx_emulate", (call,), parts, limits, subject.files, affinity=subject.origin)
